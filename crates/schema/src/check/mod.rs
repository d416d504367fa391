//! Table of contents of the value checks: types, limits, alternatives, formats.

mod names;
mod format;
mod junctors;
mod number;
mod value;

pub(crate) use format::Format;
pub(crate) use format::is_dns_subdomain;
pub(crate) use value::{Checked, check};
