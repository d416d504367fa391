//! Quantities such as `500Mi`, `0.5` and `100m`, as Go's `resource.Quantity`: exact, in nanos.
//!
//! Decides which texts are quantities, how they are ordered, added and printed. As in Go nothing is smaller than a nano (rounded
//! up, away from zero) and nothing read is larger than 2^63-1.

use std::cmp::Ordering;
use std::fmt;

/// A number with its suffix system. Two are equal when they are the same amount, however they are written.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    /// The power of ten of the smallest digit written, as long as all digits fit into 64 bits.
    scale: Option<i32>,
    form: Format,
}

/// The suffixes that a quantity is written with: Go's `resource.Format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `k`, `M`, `G`.
    Decimal,
    /// `Ki`, `Mi`, `Gi`.
    Binary,
    /// `e3`, `e6`.
    Exponent,
}

const NANO: i128 = 1_000_000_000;
/// What larger numbers are read as.
const LARGEST: i128 = 9_223_372_036_854_775_807 * NANO;
/// Digits that fit into 64 bits in any case.
const SAFE_DIGITS: i32 = 18;

/// A suffix: its system, a power of ten and a power of two.
struct Suffix {
    form: Format,
    ten: i32,
    two: u32,
}

impl Quantity {
    /// Reads a number and its suffix.
    pub fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let end = unsigned
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at_checked(end)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || number.len() > 1000 {
            return None;
        }
        let suffix = suffix_of(suffix)?;
        let whole = whole.trim_start_matches('0');
        let size = nanos(whole, fraction, &suffix);
        let digits = i32::try_from(whole.len().max(1)).ok()?;
        Some(Self {
            nanos: if text.starts_with('-') { -size } else { size },
            scale: scale(digits, i32::try_from(fraction.len()).ok()?, &suffix),
            form: suffix.form,
        })
    }

    /// Makes a whole number.
    pub fn whole(number: i64, form: Format) -> Self {
        Self {
            nanos: i128::from(number) * NANO,
            scale: Some(0),
            form,
        }
    }

    /// Returns the number of nanos.
    pub fn nanos(self) -> i128 {
        self.nanos
    }

    /// Returns the number if it is written as an integer that fits.
    pub fn as_integer(self) -> Option<i64> {
        let written = self.scale.is_some_and(|scale| scale >= 0);
        (written && self.nanos % NANO == 0)
            .then(|| i64::try_from(self.nanos / NANO).ok())
            .flatten()
    }

    /// Returns the nearest floating-point number.
    #[expect(clippy::cast_precision_loss, reason = "an approximation is what is asked for")]
    pub fn float(self) -> f64 {
        let (whole, rest) = (self.nanos / NANO, self.nanos % NANO);
        whole as f64 + rest as f64 / 1e9
    }

    /// Tells whether it is less than nothing.
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Adds.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let nanos = self.nanos.saturating_add(other.nanos);
        let scale = match (self.scale, other.scale) {
            (scale, _) if other.nanos == 0 => scale,
            (_, scale) if self.nanos == 0 => scale,
            (Some(left), Some(right)) => Some(left.min(right)),
            (None, _) | (_, None) => None,
        };
        let form = if self.nanos == 0 { other.form } else { self.form };
        Self { nanos, scale, form }
    }

    /// Turns the sign around.
    #[must_use]
    pub fn negated(self) -> Self {
        Self {
            nanos: self.nanos.saturating_neg(),
            ..self
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

fn suffix_of(suffix: &str) -> Option<Suffix> {
    let decimal = |ten| Suffix {
        form: Format::Decimal,
        ten,
        two: 0,
    };
    let binary = |two| Suffix {
        form: Format::Binary,
        ten: 0,
        two,
    };
    Some(match suffix {
        "" => decimal(0),
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => Suffix {
            form: Format::Exponent,
            ten: suffix
                .strip_prefix(['e', 'E'])?
                .parse::<i32>()
                .ok()
                .filter(|ten| (-100_000..=100_000).contains(ten))?,
            two: 0,
        },
    })
}

/// Returns the scale that Go keeps a parsed number with, or nothing where it switches to arbitrary precision.
fn scale(whole: i32, fraction: i32, suffix: &Suffix) -> Option<i32> {
    let (scale, spare) = match suffix.form {
        Format::Decimal | Format::Exponent => (suffix.ten, SAFE_DIGITS - whole - fraction),
        Format::Binary if fraction == 0 => (0, 15 - whole - i32::try_from(suffix.two * 3 / 10).ok()? - 1),
        Format::Binary => return None,
    };
    let scale = scale.checked_sub(fraction)?;
    (spare >= 0 && scale >= -9).then_some(scale)
}

/// Returns a number without a sign in nanos, rounded up and capped.
fn nanos(whole: &str, fraction: &str, suffix: &Suffix) -> i128 {
    let (whole, fraction) = shifted(whole, fraction, suffix.ten);
    let factor = 1_i128 << suffix.two;
    let below = fraction_nanos(&fraction, factor);
    let Ok(whole) = (if whole.is_empty() { "0" } else { whole.as_str() }).parse::<i128>() else {
        return LARGEST;
    };
    whole
        .checked_mul(factor)
        .and_then(|size| size.checked_mul(NANO))
        .and_then(|size| size.checked_add(below))
        .map_or(LARGEST, |size| size.min(LARGEST))
}

/// Moves the decimal point to the right by `places`, or to the left. Far moves come out as something that is capped or
/// rounded up all the same.
fn shifted(whole: &str, fraction: &str, places: i32) -> (String, String) {
    let places = places.clamp(-1100, 1100);
    let (mut whole, mut fraction) = (whole.to_owned(), fraction.to_owned());
    for _ in 0..places {
        whole.push(if fraction.is_empty() {
            '0'
        } else {
            fraction.remove(0)
        });
    }
    for _ in places..0 {
        fraction.insert(0, whole.pop().unwrap_or('0'));
    }
    (whole.trim_start_matches('0').to_owned(), fraction)
}

/// Returns the part below one in nanos, rounded up.
fn fraction_nanos(fraction: &str, factor: i128) -> i128 {
    const DIGITS: usize = 19;
    // 19 digits behind the point and nine places for nanos leave ten.
    const REST: i128 = 10_000_000_000;
    let kept = fraction.get(..DIGITS.min(fraction.len())).unwrap_or_default();
    let lost = fraction
        .get(kept.len()..)
        .is_some_and(|rest| rest.bytes().any(|digit| digit != b'0'));
    let padded = format!("{kept:0<DIGITS$}");
    let Ok(digits) = padded.parse::<i128>() else {
        return 0;
    };
    let size = digits * factor;
    size / REST + i128::from(size % REST != 0 || lost)
}

impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return out.write_str("0");
        }
        let whole = self.nanos / NANO;
        if self.form == Format::Binary && self.nanos % NANO == 0 && whole.abs() >= 1024 {
            let suffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
            let (mut rest, mut at) = (whole, 0);
            while rest % 1024 == 0 && at + 1 < suffixes.len() {
                rest /= 1024;
                at += 1;
            }
            return write!(out, "{rest}{}", suffixes.get(at).unwrap_or(&""));
        }
        let (mut rest, mut power) = (self.nanos, -9);
        while rest % 1000 == 0 && power < 18 {
            rest /= 1000;
            power += 3;
        }
        match self.form {
            Format::Exponent if power == 0 => write!(out, "{rest}"),
            Format::Exponent => write!(out, "{rest}e{power}"),
            Format::Decimal | Format::Binary => {
                let suffix = match power {
                    -9 => "n",
                    -6 => "u",
                    -3 => "m",
                    3 => "k",
                    6 => "M",
                    9 => "G",
                    12 => "T",
                    15 => "P",
                    18 => "E",
                    _ => "",
                };
                write!(out, "{rest}{suffix}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Quantity {
        Quantity::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn quantities_are_ordered_by_size() {
        let rows = [
            ("1", "1000m", Ordering::Equal),
            ("0.5", "500m", Ordering::Equal),
            ("1Gi", "1024Mi", Ordering::Equal),
            ("1G", "1Gi", Ordering::Less),
            ("128Mi", "64Mi", Ordering::Greater),
            (".5", "5e-1", Ordering::Equal),
            ("9000000000000000000E", "1n", Ordering::Greater),
            ("1e99", "1E", Ordering::Greater),
            ("1Gi", "1G", Ordering::Greater),
            ("200M", "0.2G", Ordering::Equal),
            ("100m", "0.1", Ordering::Equal),
            ("1e3", "1k", Ordering::Equal),
            ("-1", "0", Ordering::Less),
            ("9999999999999999999999999999999999999G", "1Ei", Ordering::Greater),
            ("0.1n", "1n", Ordering::Equal),
            ("1e-90000", "1n", Ordering::Equal),
            ("-1e90000", "-1e80000", Ordering::Equal),
            ("0.1Ki", "102.4", Ordering::Equal),
            ("0.0000000000000000000001Ei", "116n", Ordering::Less),
        ];
        for (left, right, wanted) in rows {
            assert_eq!(parse(left).cmp(&parse(right)), wanted, "{left} {right}");
        }
    }

    #[test]
    fn other_texts_are_no_quantities() {
        for text in [
            "",
            ".",
            "abc",
            "1.2.3",
            "1Qi",
            "1 Gi",
            "Mi",
            "--1",
            "1e",
            "1e1000000",
            "1ki",
        ] {
            assert!(Quantity::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn quantities_print_in_canonical_form() {
        let rows = [
            ("1024Ki", "1Mi"),
            ("1000", "1k"),
            ("1500m", "1500m"),
            ("2000m", "2"),
            ("0.5Gi", "512Mi"),
            ("1023Ki", "1023Ki"),
            ("500", "500"),
            ("1e3", "1e3"),
            ("12e6", "12e6"),
            ("0.1", "100m"),
            ("-5k", "-5k"),
            ("1.5Gi", "1536Mi"),
            ("100Ki", "100Ki"),
            ("0", "0"),
            ("0.1Ki", "102400m"),
        ];
        for (text, wanted) in rows {
            assert_eq!(parse(text).to_string(), wanted, "{text}");
        }
    }

    #[test]
    fn an_integer_is_written_without_a_part_below_one() {
        let rows = [
            ("50k", Some(50_000)),
            ("1000m", None),
            ("1.0", None),
            ("500000G", Some(500_000_000_000_000)),
            ("9999999999999999999999999999999999999G", None),
            ("1Gi", Some(1 << 30)),
            ("-3", Some(-3)),
        ];
        for (text, wanted) in rows {
            assert_eq!(parse(text).as_integer(), wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-+0-9.a-zA-Z ]{0,50}") {
            if let Some(quantity) = Quantity::parse(&text) {
                let again = Quantity::parse(&quantity.to_string());
                prop_assert_eq!(again, Some(quantity));
            }
        }
    }
}
