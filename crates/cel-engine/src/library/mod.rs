//! Table of contents of the functions that Kubernetes adds to CEL.

mod authorizer;
mod errors;
mod format;
mod lists;
mod maps;
mod net;
mod quantity;
mod regex;
mod semver;
mod sets;
mod states;
mod text;
mod url;

pub use authorizer::{Access, Authority, Decision};
pub(super) use authorizer::{Authorizer, DecisionValue as Grant, GroupCheck, PathCheck, ResourceCheck};
pub(super) use format::{Format, is_named as is_format};
pub(super) use net::{Cidr, Ip};
pub(super) use quantity::Quantity;
pub(super) use regex::Pattern;
pub(super) use semver::Semver;
pub(super) use url::Url;

use ::cel::{DeclarationError, Env};

/// Adds all functions to an environment.
pub(super) fn register(env: &mut Env) -> Result<(), DeclarationError> {
    lists::register(env)?;
    maps::register(env)?;
    sets::register(env)?;
    regex::register(env)?;
    text::register(env)?;
    url::register(env)?;
    quantity::register(env)?;
    semver::register(env)?;
    format::register(env)?;
    authorizer::register(env)?;
    net::register(env)
}
