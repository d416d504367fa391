//! Watches configurations of any kind: one watch for each type, as long as a spec refers to it.
//!
//! `dispatch` begins and ends watches, `served` finds out how a type is addressed, `ledger` knows what must be looked at
//! next, `type_watch` watches and looks.

mod dispatch;
mod ledger;
mod served;
mod type_watch;

pub(super) use dispatch::look_out;
