//! The engine: one environment with the standard library and Kubernetes' functions.
//!
//! Decides which functions exist; never evaluates.

use super::{cost, library, macros, members};
use ::cel::{DeclarationError, Env, extensions};
use std::sync::{Arc, LazyLock};

/// The environment that all programs share. It is built once and never changes.
static ENGINE: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut env = Env::stdlib();
    // Kubernetes lets a later entry of a map literal win.
    env.set_error_on_duplicate_map_keys(false);
    extend(&mut env).expect("the names of the added functions are distinct, which a test holds");
    Arc::new(env)
});

/// Returns the shared environment.
pub fn engine() -> &'static Arc<Env> {
    &ENGINE
}

fn extend(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_extension(extensions::strings)?;
    env.add_extension(extensions::lists)?;
    env.add_extension(extensions::math)?;
    env.add_extension(extensions::encoders)?;
    macros::register(env)?;
    members::register(env)?;
    cost::register(env)?;
    library::register(env)
}

/// What an expression is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A rule, a condition, a message.
    Judgement,
    /// A mutation: it may make `Object{}` and `JSONPatch{}` values.
    Mutation,
}

/// A use of something that does not exist, and where.
pub(super) struct Misuse {
    pub(super) id: u64,
    pub(super) words: String,
    pub(super) unsupported: bool,
}

/// Longest message that an expression may make, in bytes.
const LONGEST: usize = 5 * 1024;

/// Returns a text as a message, without the space around it; `None` if it is empty, has several lines, or is too long.
pub fn usable_message(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && !text.contains('\n') && text.len() <= LONGEST).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_environment_can_be_built() {
        assert!(super::engine().compile("1 == 1").is_ok());
    }
}

#[cfg(test)]
mod message_tests {
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
