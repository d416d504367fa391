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

#[cfg(test)]
mod tests {
    #[test]
    fn the_environment_can_be_built() {
        assert!(super::engine().compile("1 == 1").is_ok());
    }
}
