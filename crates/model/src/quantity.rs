//! Quantities that people write, such as `500Mi`, `0.5` and `100m`.
//!
//! Decides what is said about a text that is none, and what was meant. What a quantity is, and how two are ordered, is
//! `kubernetes::quantity`.

use kubernetes::quantity::Quantity;

use kubernetes::field::{Class, Fault, quoted};

/// Reads a number with at most one point and a suffix.
pub fn parse_quantity(text: &str) -> Result<Quantity, Fault> {
    Quantity::parse(text).ok_or_else(|| {
        let detail = "must be an amount such as \"100m\", \"0.5\" or \"128Mi\"";
        Fault::of_text(Class::Invalid, text, detail).hint_if(meant(text))
    })
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
        .find(|near| *near != text && Quantity::parse(near).is_some())?;
    Some(format!("did you mean {}?", quoted(near)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_reported_with_a_suggestion() {
        let rows = [
            ("512MB", Some("512M")),
            ("2GiB", Some("2Gi")),
            ("1 Gi", Some("1Gi")),
            ("1K", Some("1k")),
            ("lots", None),
            ("", None),
            ("1.2.3", None),
            ("1e", None),
        ];
        for (text, expected) in rows {
            let said = parse_quantity(text).expect_err(text).to_string();
            let hint = expected.map(|near| format!("did you mean \"{near}\"?"));
            assert_eq!(
                said.split_once("hint: ").map(|(_, hint)| hint.to_owned()),
                hint,
                "{said}"
            );
        }
    }
}
