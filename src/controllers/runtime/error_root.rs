//! The root of a failure, for a line of log.
//!
//! Decides which of an error's causes is told: the innermost, in the words of the part that failed. The wrappers around it repeat
//! it, some with the whole answer of the API server in debug form.

use std::error::Error;

/// Returns the innermost cause of an error: the error itself when it has none.
pub(in crate::controllers) fn root<'e>(error: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_the_hub_is_told_in_its_own_words() {
        let status = kube::core::Status::failure("namespaces \"x\" not found", "NotFound");
        let error = kube::Error::Api(Box::new(status));
        assert_eq!(root(&error).to_string(), "namespaces \"x\" not found: NotFound");
    }
}
