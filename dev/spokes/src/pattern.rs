//! Name patterns: `*` stands for any run of characters, everything else for itself.

/// A name, or a pattern of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Returns the pattern that this text writes.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the name fits.
    pub fn matches(&self, name: &str) -> bool {
        glob(&self.0, name)
    }
}

/// Returns whether the name fits the pattern.
pub(crate) fn glob(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        // The leftmost match is enough: it leaves the most text for the rest.
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn a_star_stands_for_any_run_of_characters() {
        for (pattern, name, wanted) in [
            ("cluster1", "cluster1", true),
            ("cluster1", "cluster12", false),
            ("*", "", true),
            ("cluster*", "cluster", true),
            ("*-deploy-*", "addon-hello-deploy-0", true),
            ("*-deploy", "addon-hello-deploy-0", false),
            ("a*b*b", "ab", false),
            ("a*b*b", "axbxb", true),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(glob(pattern, name), wanted, "{pattern} over {name}");
        }
    }
}
