//! Syntax of names: DNS labels and subdomains, label keys and values, names with an optional prefix.
//!
//! Decides which texts are such names, and which faults others have, in the words of Kubernetes. Never looks whether the named thing
//! exists.

use std::fmt;

/// Fault of a name that should be an RFC 1123 label.
const DNS1123_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end \
     with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/// Fault of a name that should be an RFC 1123 subdomain.
const DNS1123_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
     and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// Fault of a name that should be an RFC 1035 label.
pub const DNS1035_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
     character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
     '[a-z]([-a-z0-9]*[a-z0-9])?')";

const NAME_PART: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
     character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
     start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Most bytes of a label: one between the points of a name, and the key's name and the value of an object's.
const LABEL_LIMIT: usize = 63;
/// Most bytes of a subdomain.
const SUBDOMAIN_LIMIT: usize = 253;

/// The unit of the length of a text: Kubernetes counts bytes, and its older checks call them characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// "63 bytes".
    Bytes,
    /// "63 characters".
    Characters,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes => "bytes",
            Self::Characters => "characters",
        })
    }
}

/// Tells whether a text is an RFC 1123 label: at most 63 lower case letters, digits and inner dashes.
pub fn is_dns1123_label(text: &str) -> bool {
    text.len() <= LABEL_LIMIT && has_label_letters(text)
}

/// Tells whether a text is an RFC 1123 subdomain: labels with points between them, at most 253 bytes together.
pub fn is_dns1123_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_LIMIT && text.split('.').all(has_label_letters)
}

/// Tells whether a text can be the key of a label: a name, optionally with a domain and `/` before it.
pub fn is_label_key(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    prefix.is_none_or(is_dns1123_subdomain) && name.len() <= LABEL_LIMIT && is_name_part(name)
}

/// Tells whether a text can be the value of a label.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || (text.len() <= LABEL_LIMIT && is_name_part(text))
}

/// Returns the faults of a name that should be an RFC 1123 label.
pub fn dns1123_label_faults(name: &str, unit: Unit) -> Vec<String> {
    let shape = if is_dns1123_subdomain(name) {
        "must not contain dots"
    } else {
        DNS1123_LABEL
    };
    faults(name, LABEL_LIMIT, unit, has_label_letters(name), shape)
}

/// Returns the faults of a name that should be an RFC 1123 subdomain.
pub fn dns1123_subdomain_faults(name: &str, unit: Unit) -> Vec<String> {
    let is_right = name.split('.').all(has_label_letters);
    faults(name, SUBDOMAIN_LIMIT, unit, is_right, DNS1123_SUBDOMAIN)
}

/// Returns the faults of a name that should be an RFC 1035 label: one that begins with a letter.
pub fn dns1035_label_faults(name: &str, unit: Unit) -> Vec<String> {
    let is_right = has_label_letters(name) && name.starts_with(|letter: char| letter.is_ascii_lowercase());
    faults(name, LABEL_LIMIT, unit, is_right, DNS1035_LABEL)
}

/// Returns the faults of a label value.
pub fn label_value_faults(value: &str) -> Vec<String> {
    let is_right = value.is_empty() || is_name_part(value);
    faults(value, LABEL_LIMIT, Unit::Bytes, is_right, LABEL_VALUE)
}

fn faults(text: &str, most: usize, unit: Unit, is_right: bool, shape: &str) -> Vec<String> {
    let length = (text.len() > most).then(|| format!("must be no more than {most} {unit}"));
    let shape = (!is_right).then(|| shape.to_owned());
    length.into_iter().chain(shape).collect()
}

/// What a name with an optional prefix is called in the text for too many slashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// The key of a label or an annotation.
    LabelKey,
    /// Anything else, such as a finalizer.
    QualifiedName,
}

/// Returns the faults of `name`, which should be `[prefix/]name`.
pub fn qualified_name_faults(name: &str, named: Named) -> Vec<String> {
    let parts: Vec<&str> = name.split('/').collect();
    let mut faults = Vec::new();
    let last = match parts.as_slice() {
        [last] => *last,
        [prefix, last] => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".to_owned());
            } else {
                let of_prefix = dns1123_subdomain_faults(prefix, Unit::Characters);
                faults.extend(of_prefix.into_iter().map(|fault| format!("prefix part {fault}")));
            }
            *last
        }
        _ => {
            let subject = match named {
                Named::LabelKey => "a valid label key",
                Named::QualifiedName => "a qualified name",
            };
            return vec![format!(
                "{subject} {NAME_PART} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if last.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if last.len() > 63 {
        faults.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_name_part(last) {
        faults.push(format!("name part {NAME_PART}"));
    }
    faults
}

/// Whether a text has the letters of an RFC 1123 label, whatever its length.
fn has_label_letters(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.bytes().all(|byte| inner(byte) || byte == b'-')
        && text.bytes().next().is_some_and(inner)
        && text.bytes().next_back().is_some_and(inner)
}

fn is_name_part(part: &str) -> bool {
    part.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && part
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric())
        && part
            .bytes()
            .next_back()
            .is_some_and(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_letters_and_their_lengths() {
        let long = |length: usize| "a".repeat(length);
        for (text, label, subdomain) in [
            ("a", true, true),
            ("0-a", true, true),
            ("a.b", false, true),
            ("-a", false, false),
            ("a-", false, false),
            ("a..b", false, false),
            ("A", false, false),
            ("ä", false, false),
            ("", false, false),
            (&long(63), true, true),
            (&long(64), false, true),
            (&long(253), false, true),
            (&long(254), false, false),
        ] {
            assert_eq!(is_dns1123_label(text), label, "{text}");
            assert_eq!(is_dns1123_subdomain(text), subdomain, "{text}");
            assert_eq!(
                dns1123_label_faults(text, Unit::Bytes).is_empty(),
                label,
                "{text}"
            );
            assert_eq!(
                dns1123_subdomain_faults(text, Unit::Bytes).is_empty(),
                subdomain,
                "{text}"
            );
        }
        assert_eq!(
            dns1123_label_faults(&long(64), Unit::Characters),
            ["must be no more than 63 characters"]
        );
        assert_eq!(dns1035_label_faults("1-web", Unit::Bytes), [DNS1035_LABEL]);
        assert!(dns1035_label_faults("web-1", Unit::Bytes).is_empty());
    }

    /// The short question and the long answer are one rule.
    #[test]
    fn what_is_a_label_has_no_faults() {
        let texts = [
            "a",
            "A_b.c",
            "",
            "-",
            "a/b",
            "example.com/Name",
            "/a",
            "a/",
            "a/b/c",
            "Ex.com/a",
            "a b",
        ];
        let long = [
            "x".repeat(63),
            "x".repeat(64),
            format!("{}/x", "a".repeat(254)),
            format!("a/{}", "x".repeat(64)),
        ];
        for text in texts.into_iter().chain(long.iter().map(String::as_str)) {
            let is_key = qualified_name_faults(text, Named::LabelKey).is_empty();
            assert_eq!(is_label_key(text), is_key, "key {text}");
            assert_eq!(
                is_label_value(text),
                label_value_faults(text).is_empty(),
                "value {text}"
            );
        }
    }
}
