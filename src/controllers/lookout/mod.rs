//! Looks at configurations of any kind: one watch for each type that a spec refers to, for as long as one does.
//!
//! `dispatch` begins and ends watches, `served` finds out how a type is addressed, `ledger` knows what must be looked at
//! next, `one_type` watches and looks.

mod dispatch;
mod ledger;
mod one_type;
mod served;

pub(super) use dispatch::look_out;
