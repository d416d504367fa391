//! Quantities of Kubernetes, such as `500Mi`, `0.5` and `100m`.
//!
//! Decides which texts are quantities and how they are ordered, by exact arithmetic. Never rounds: two amounts that do not
//! fit are not compared.

use std::cmp::Ordering;

use crate::field::{Class, Fault, quoted};

/// Suffixes with a power of ten, and those with a power of two.
const DECIMAL: [(&str, i32); 10] = [
    ("", 0),
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY: [(&str, u32); 6] = [
    ("Ki", 10),
    ("Mi", 20),
    ("Gi", 30),
    ("Ti", 40),
    ("Pi", 50),
    ("Ei", 60),
];
/// Longer texts are no amounts of anything.
const LONGEST: usize = 40;

/// An amount: `digits` × 10^`exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    digits: i128,
    exponent: i32,
}

impl Quantity {
    /// Reads a number with at most one point and a suffix.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        read(text).ok_or_else(|| {
            let detail = "must be an amount such as \"100m\", \"0.5\" or \"128Mi\"";
            Fault::of_text(Class::Invalid, text, detail).hint_if(meant(text))
        })
    }

    /// Tells whether it is less than nothing.
    pub fn is_negative(self) -> bool {
        self.digits < 0
    }

    /// Compares two amounts, if both fit.
    pub fn compare(self, other: Self) -> Option<Ordering> {
        let common = self.exponent.min(other.exponent);
        let scaled = |one: Self| {
            let up = u32::try_from(one.exponent.checked_sub(common)?).ok()?;
            one.digits.checked_mul(10_i128.checked_pow(up)?)
        };
        Some(scaled(self)?.cmp(&scaled(other)?))
    }
}

fn read(text: &str) -> Option<Quantity> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at_checked(end)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_bare = whole.is_empty() && fraction.is_empty();
    if is_bare || fraction.contains('.') || text.len() > LONGEST {
        return None;
    }
    let (factor, power) = factor_of(suffix)?;
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let digits = digits.checked_mul(factor)?;
    Some(Quantity {
        digits: if text.starts_with('-') { -digits } else { digits },
        exponent: power.checked_sub(i32::try_from(fraction.len()).ok()?)?,
    })
}

fn factor_of(suffix: &str) -> Option<(i128, i32)> {
    if let Some((_, power)) = BINARY.iter().find(|(known, _)| *known == suffix) {
        return Some((1_i128.checked_shl(*power)?, 0));
    }
    if let Some((_, power)) = DECIMAL.iter().find(|(known, _)| *known == suffix) {
        return Some((1, *power));
    }
    let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    (power.abs() <= 30).then_some((1, power))
}

/// `512MB`, `1 Gi`, `1K` and `2GiB` are the slips that people make.
fn meant(text: &str) -> Option<String> {
    let bare: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let bytes = bare.strip_suffix(['B', 'b']).unwrap_or(&bare);
    let kilo = bytes.strip_suffix('K').map(|number| format!("{number}k"));
    let tried = [Some(bare.as_str()), Some(bytes), kilo.as_deref()];
    let near = tried
        .into_iter()
        .flatten()
        .find(|near| *near != text && read(near).is_some())?;
    Some(format!("did you mean {}?", quoted(near)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_are_read_as_kubernetes_reads_them() {
        let rows = [
            ("1", "1000m", Some(Ordering::Equal)),
            ("0.5", "500m", Some(Ordering::Equal)),
            ("1Gi", "1024Mi", Some(Ordering::Equal)),
            ("1G", "1Gi", Some(Ordering::Less)),
            ("128Mi", "64Mi", Some(Ordering::Greater)),
            (".5", "5e-1", Some(Ordering::Equal)),
            ("-1", "0", Some(Ordering::Less)),
            ("9000000000000000000E", "1n", None),
        ];
        for (left, right, expected) in rows {
            let quantity = |text| Quantity::parse(text).expect(text);
            assert_eq!(
                quantity(left).compare(quantity(right)),
                expected,
                "{left} {right}"
            );
        }
    }

    #[test]
    fn slips_are_told_with_what_was_meant() {
        let rows = [
            ("512MB", Some("512M")),
            ("2GiB", Some("2Gi")),
            ("1 Gi", Some("1Gi")),
            ("1K", Some("1k")),
            ("lots", None),
            ("", None),
            ("1.2.3", None),
            ("1e99", None),
        ];
        for (text, expected) in rows {
            let said = Quantity::parse(text).expect_err(text).to_string();
            let hint = expected.map(|near| format!("did you mean \"{near}\"?"));
            assert_eq!(
                said.split_once("hint: ").map(|(_, hint)| hint.to_owned()),
                hint,
                "{said}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-+0-9.a-zA-Z ]{0,50}") {
            if let Ok(quantity) = Quantity::parse(&text) {
                prop_assert_eq!(quantity.compare(quantity).unwrap_or(Ordering::Equal), Ordering::Equal);
            }
        }
    }
}
