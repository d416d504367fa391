//! `tidegate serve`: the gate and the tide of a hub that is already there.

mod reload;
mod run;

pub(super) use run::run;
