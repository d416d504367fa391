//! What an expression says as a message.
//!
//! Decides which texts can be shown: Kubernetes takes one line that is not too long, of rules and of policies alike.

/// Longest message that an expression may make, in bytes.
const LONGEST: usize = 5 * 1024;

/// Returns a text as a message, without the space around it; `None` if it is empty, has several lines, or is too long.
pub fn usable_message(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && !text.contains('\n') && text.len() <= LONGEST).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::usable_message;

    #[test]
    fn one_line_that_is_not_too_long_can_be_shown() {
        assert_eq!(usable_message(" a b\n").as_deref(), Some("a b"));
        assert_eq!(usable_message(" \n"), None);
        assert_eq!(usable_message("a\nb"), None);
        assert!(usable_message(&"x".repeat(5 * 1024)).is_some());
        assert_eq!(usable_message(&"x".repeat(5 * 1024 + 1)), None);
    }
}
