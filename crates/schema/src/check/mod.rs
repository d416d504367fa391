//! Table of contents of the value checks: types, limits, alternatives, formats.

mod format;
mod junctors;
mod names;
mod number;
mod value;

pub(crate) use format::Format;
pub(crate) use value::{Checked, check};
