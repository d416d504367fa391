//! Who the hub is and who its clients are.
//!
//! Decides which credentials open the door and makes those that do; never decides what a user may do.

mod authority;
mod kubeconfig;
mod tokens;
mod users;

pub(crate) use authority::{Authority, Credentials, IdentityError};
pub(crate) use kubeconfig::kubeconfig;
pub(crate) use tokens::{API_AUDIENCE, Named, Wish, uid};
pub(crate) use users::{ADMINS, ANONYMOUS, AUTHENTICATED, Identity, Peer, UNAUTHENTICATED, Users, anonymous};
