//! AddOnHubConfig: a version of an add-on as a configuration object.
//!
//! Holds its wire shape only; which version wins is decided by `plan`.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::{absent_is_default, null_is_default};

/// Settings of an add-on that hold for the whole hub.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1alpha1",
    kind = "AddOnHubConfig",
    plural = "addonhubconfigs",
    derive = "PartialEq",
    derive = "Default",
    doc = "AddOnHubConfig selects a version of an add-on, and is assigned to clusters like any other configuration.",
    printcolumn(
        name = "Desired Version",
        type_ = "string",
        json_path = ".spec.desiredVersion"
    )
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct AddOnHubConfigSpec {
    /// Version of the add-on to install.
    pub desired_version: String,
}

absent_is_default!(AddOnHubConfigSpec);
