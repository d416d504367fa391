//! Who the hub is and who its clients are.
//!
//! Decides which credentials open the door and makes those that do; never decides what a user may do.

mod authority;
mod kubeconfig;
mod users;

pub(crate) use authority::{Authority, Credentials, IdentityError};
pub(crate) use kubeconfig::{kubeconfig, write_private};
pub(crate) use users::{Peer, Users};
