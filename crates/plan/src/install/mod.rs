//! Install: which clusters get the add-on, what becomes of the instances that are there, and which writes follow.

mod annotations;
mod budget;
mod create;
mod membership;
mod wanted;

pub(super) use budget::{Holding, Over};
pub(super) use membership::membership;
pub(super) use wanted::{DecisionState, InstanceFate, Missing, Selected, Wanted, wanted};
