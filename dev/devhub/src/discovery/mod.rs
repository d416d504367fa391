//! Discovery documents: which groups, versions and resources there are.
//!
//! Decides the documents from a list of [`Resource`](crate::Resource)s.
//!
//! The old documents are `/api` ([`api_versions`]), `/apis` ([`group_list`]), `/apis/<group>` ([`group`]) and
//! `/apis/<group>/<version>` ([`resource_list`]); the aggregated one ([`aggregated()`]) answers `/api` and `/apis` for clients
//! that ask for `APIGroupDiscoveryList`.

mod aggregated;
mod legacy;
mod versions;

pub use aggregated::{AGGREGATED, Root, aggregated};
pub use legacy::{StorageVersions, api_versions, group, group_list, resource_list, storage_version_hash};
pub(crate) use versions::hexadecimal;
pub use versions::{compare_versions, entity_tag, groups};
