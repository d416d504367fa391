//! The steps of JSON pointers (RFC 6901), as patches and definitions write them.
//!
//! Decides the spelling of one step; never follows a pointer.

/// Writes a name as a step of a pointer.
pub fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Reads the name that a step of a pointer stands for.
pub fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_read_as_it_was_written() {
        for (name, step) in [
            ("a", "a"),
            ("a/b", "a~1b"),
            ("~", "~0"),
            ("~1", "~01"),
            ("/~", "~1~0"),
        ] {
            assert_eq!(escape(name), step);
            assert_eq!(unescape(step), name);
        }
    }
}
