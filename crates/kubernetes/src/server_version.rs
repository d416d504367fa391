//! The version of an API server.

/// Returns the minor version of a Kubernetes 1 from the fields `major` and `minor` of `/version`; `None` if it is another major version or
/// not a number. Vendors write a suffix, such as `30+`.
pub fn minor_version(major: &str, minor: &str) -> Option<u32> {
    let digits = minor.trim_end_matches(|one: char| !one.is_ascii_digit());
    (major == "1").then_some(digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_ignored_and_unknown_versions_have_no_number() {
        let rows = [
            ("1", "20", Some(20)),
            ("1", "27+", Some(27)),
            ("2", "0", None),
            ("", "", None),
            ("1", "x", None),
        ];
        for (major, minor, expected) in rows {
            assert_eq!(minor_version(major, minor), expected, "{major}.{minor}");
        }
    }
}
