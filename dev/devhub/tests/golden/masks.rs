//! Patterns inside texts that differ between any two runs.
//!
//! Decides how they are hidden.

use regex::Regex;

/// Patterns inside texts.
#[derive(Debug)]
pub(crate) struct Masks {
    pub(crate) time: Regex,
    pub(crate) uid: Regex,
    pub(crate) age: Regex,
    rewrites: Vec<(Regex, &'static str)>,
}

impl Masks {
    pub(crate) fn new() -> Self {
        let regex = |pattern: &str| Regex::new(pattern).expect("a valid pattern");
        let rewrites = [
            (
                r"too old resource version: (\d+) \(\d+\)",
                "too old resource version: $1 ($$rv)",
            ),
            (
                r"Too large resource version: (\d+), current: \d+",
                "Too large resource version: $1, current: $$rv",
            ),
            (
                r"ResourceVersion in (object meta|precondition): \d+",
                "ResourceVersion in $1: $$rv",
            ),
            (
                r"the ResourceVersion in the precondition \(\d+\) does not match the ResourceVersion in record \(\d+\)",
                "the ResourceVersion in the precondition ($$rv) does not match the ResourceVersion in record ($$rv)",
            ),
            (r#""\{\\"apiVersion\\"(?:[^"\\]|\\.)*""#, r#""$$object""#),
            (
                r#"is missing in '\{"apiVersion".*\}'"#,
                "is missing in '$$object'",
            ),
            (r#"in scheme "[^"]*""#, r#"in scheme "$$scheme""#),
            (r"\?hash=[0-9A-Fa-f]+", "?hash=$$hash"),
            (
                r"dial tcp [^ ]+: connect: connection refused",
                "dial tcp $$addr: connect: connection refused",
            ),
        ];
        Self {
            time: regex(r"^((\d{4})-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(\.\d+)?Z$"),
            uid: regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
            age: regex(r"^(?:\d+[dhms])+$"),
            rewrites: rewrites
                .into_iter()
                .map(|(pattern, with)| (regex(pattern), with))
                .collect(),
        }
    }

    pub(crate) fn apply(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for (pattern, with) in &self.rewrites {
            if pattern.is_match(&out) {
                out = pattern.replace_all(&out, *with).into_owned();
            }
        }
        out
    }
}
