//! The identity of the hub and of its clients: issues and verifies credentials. `rights` authorizes requests.

mod authority;
mod kubeconfig;
mod tokens;
mod users;

pub(crate) use authority::{Authority, Credentials, IdentityError};
pub(crate) use kubeconfig::kubeconfig;
pub(crate) use tokens::{API_AUDIENCE, Named, Wish, uid};
pub(crate) use users::{ADMINS, ANONYMOUS, AUTHENTICATED, Identity, Peer, UNAUTHENTICATED, Users, anonymous};
