//! How rules spell the properties of a schema.
//!
//! Decides by the reserved words of CEL and the signs that its names have not; never looks at a schema.

use std::borrow::Cow;

use cel_engine::names::is_reserved;

/// Returns how an expression spells a property: `a-b` is `a__dash__b`. Some names cannot be spelled at all.
pub(super) fn escape(name: &str) -> Option<Cow<'_, str>> {
    if is_reserved(name) {
        return Some(Cow::Owned(format!("__{name}__")));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let first = name.chars().next()?;
    if first.is_ascii_digit() || !name.chars().all(|c| plain(c) || matches!(c, '.' | '-' | '/')) {
        return None;
    }
    if name.chars().all(plain) && !name.contains("__") {
        return Some(Cow::Borrowed(name));
    }
    let mut out = String::with_capacity(name.len() + 16);
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '_' if letters.next_if_eq(&'_').is_some() => out.push_str("__underscores__"),
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            other => out.push(other),
        }
    }
    Some(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_escaped_like_kubernetes_does() {
        let rows = [
            ("name", Some("name")),
            ("namespace", Some("__namespace__")),
            ("a-b.c/d", Some("a__dash__b__dot__c__slash__d")),
            ("a__b", Some("a__underscores__b")),
            ("_x", Some("_x")),
            ("1a", None),
            ("a b", None),
            ("", None),
        ];
        for (name, wanted) in rows {
            assert_eq!(escape(name).as_deref(), wanted, "{name}");
        }
    }
}
