//! Table of contents of the value checks: types, limits, alternatives.

mod junctors;
mod number;
mod value;

pub(crate) use value::{Checked, check};
