//! YAML bodies and answers.
//!
//! Decides how YAML becomes JSON and back; duplicate keys are kept as faults, as for JSON.

use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Error, Options};

use super::Decoded;

/// Decodes YAML. The error is a text for people.
pub(crate) fn decode_yaml(bytes: &[u8]) -> Result<Decoded, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("yaml: {error}"))?;
    match serde_saphyr::from_str::<Value>(text) {
        Ok(value) => Ok(Decoded {
            value,
            faults: Vec::new(),
        }),
        Err(error) => {
            let Some(fault) = duplicate(&error) else {
                return Err(converting(&error));
            };
            let options = lenient();
            let value =
                serde_saphyr::from_str_with_options(text, options).map_err(|error| converting(&error))?;
            Ok(Decoded {
                value,
                faults: vec![fault],
            })
        }
    }
}

/// Encodes YAML.
pub(crate) fn encode_yaml(value: &Value) -> Vec<u8> {
    serde_saphyr::to_string(value).map_or_else(|_| value.to_string().into_bytes(), String::into_bytes)
}

fn lenient() -> Options {
    serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins }
}

/// The place comes first, and not at all where it is the first line.
fn converting(error: &Error) -> String {
    let text = error.without_snippet().to_string();
    let (what, place) = text.rsplit_once(" at line ").unwrap_or((&text, ""));
    let line = place.split(',').next().unwrap_or_default();
    let place = match line {
        "" | "1" => String::new(),
        line => format!("line {line}: "),
    };
    format!("error converting YAML to JSON: yaml: {place}{what}")
}

fn duplicate(error: &Error) -> Option<String> {
    let Error::DuplicateMappingKey { key, location } = error.without_snippet() else {
        return None;
    };
    let key = key.clone().unwrap_or_default();
    Some(format!(
        "yaml: unmarshal errors:\n  line {}: key \"{key}\" already set in map",
        location.line()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_of_two_keys_wins_and_the_line_is_reported() {
        let decoded = decode_yaml(b"a:\n  b: 1\n  b: 2\n").unwrap();
        assert_eq!(decoded.value, json!({"a": {"b": 2}}));
        assert_eq!(
            decoded.faults,
            ["yaml: unmarshal errors:\n  line 3: key \"b\" already set in map"]
        );
        assert!(decode_yaml(b"a: [").is_err());
    }

    #[test]
    fn values_survive_a_round_trip() {
        let value = json!({"a": {"b": [1, "x: y", null, true]}, "n": "5"});
        assert_eq!(decode_yaml(&encode_yaml(&value)).unwrap().value, value);
    }
}
