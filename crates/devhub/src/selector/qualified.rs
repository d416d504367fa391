//! Syntax of label keys, label values and names with an optional prefix.
//!
//! Decides which faults such a text has, in the words of Kubernetes.

/// Fault of a name that should be an RFC 1123 subdomain.
pub(crate) const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
     and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const NAME_PART: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
     character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
     start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

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
                faults.extend(
                    subdomain_faults(prefix)
                        .into_iter()
                        .map(|fault| format!("prefix part {fault}")),
                );
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

/// Returns the faults of a label value.
pub fn label_value_faults(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > 63 {
        faults.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_name_part(value) {
        faults.push(LABEL_VALUE.to_owned());
    }
    faults
}

/// Returns the faults of a name that should be an RFC 1123 subdomain.
pub(crate) fn subdomain_faults(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 253 {
        faults.push("must be no more than 253 characters".to_owned());
    }
    if !name.split('.').all(is_label) {
        faults.push(SUBDOMAIN.to_owned());
    }
    faults
}

/// Returns whether `part` has the letters of an RFC 1123 label, whatever its length.
pub(crate) fn is_label(part: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    part.bytes().all(|byte| inner(byte) || byte == b'-')
        && part.bytes().next().is_some_and(inner)
        && part.bytes().next_back().is_some_and(inner)
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
