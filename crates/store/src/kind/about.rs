//! What is asked about a kind.
//!
//! Decides nothing that is not said in the row of the kind. Never knows the content of an object.

use serde_json::Value;

use super::address::{Address, Holds, Memory, Need};
use super::rights::{Read, Write};
use super::row::Kind;
use crate::terms;

impl Kind {
    /// Returns how the kind is addressed on the API.
    pub const fn address(self) -> Address {
        self.row().address
    }

    const fn need(self) -> Need {
        self.row().need
    }

    /// Returns the label selector that an object must match to count, if not all do. Lists and watches of the kind ask
    /// with it.
    pub fn selector(self) -> Option<String> {
        let all: Vec<String> = self.row().selector.iter().map(ToString::to_string).collect();
        (!all.is_empty()).then(|| all.join(","))
    }

    /// Returns the word that tells the kind from all others, also where two of them are one on the API.
    pub const fn word(self) -> &'static str {
        self.row().word
    }

    /// Returns what is lost where a hub withholds the kind; nothing where Tidegate needs it.
    pub const fn lost(self) -> Option<&'static str> {
        self.row().lost
    }

    /// Returns whether the objects of the kind only serve the registration of agents: a hub that lacks or forbids the
    /// kind can do without them, and their writes wait for no other in their namespace.
    pub const fn is_for_registration(self) -> bool {
        matches!(self.need(), Need::ForRegistration)
    }

    /// Returns whether admission asks for facts of the kind. A gate that runs alone reads no other.
    pub const fn is_for_admission(self) -> bool {
        !matches!(self.row().gate, Read::Not)
    }

    /// Returns how the account of the gate reads the kind.
    pub const fn read_by_gate(self) -> Read {
        self.row().gate
    }

    /// Returns how the account of the controllers reads the kind.
    pub const fn read_by_controllers(self) -> Read {
        self.row().controllers
    }

    /// Returns what the controllers write of the kind.
    pub const fn writes(self) -> &'static [Write] {
        self.row().writes
    }

    /// Returns which limit of memory counts the objects of the kind.
    pub(crate) const fn memory(self) -> Memory {
        self.row().memory
    }

    /// Returns what is held while an object of the kind cannot be read.
    pub(crate) const fn holds(self) -> Holds {
        self.row().holds
    }

    /// Returns whether objects that a dump or a list lacks may be withheld: what agents may do, and that no content is kept, is not
    /// concluded from them.
    pub const fn is_never_guessed(self) -> bool {
        matches!(
            self.need(),
            Need::ForRegistration | Need::ForRights | Need::ForUndo
        )
    }

    /// Returns whether a hub may withhold the kind: the others can do without it.
    pub const fn may_be_withheld(self) -> bool {
        match self.need() {
            Need::Always | Need::WhereServed => false,
            Need::ForRegistration
            | Need::ForRights
            | Need::ForPolicies
            | Need::ForUpgrades
            | Need::ForUndo => true,
        }
    }

    /// Returns whether the kind is about roles that agents may have: read, and never written.
    pub const fn is_hub_role(self) -> bool {
        matches!(self.need(), Need::ForRights)
    }

    /// Returns the kind of an object by what manifests call it, if the store knows it.
    pub fn of_object(object: &Value) -> Option<Self> {
        let name = object.get("kind").and_then(Value::as_str)?;
        let labels = object.pointer("/metadata/labels");
        if name == "Role" && labels.is_some_and(|labels| labels.get(terms::HUB_PERMISSIONS).is_some()) {
            return Some(Self::HubRole);
        }
        if name == "ManifestWork"
            && labels.is_some_and(|labels| labels.get(crate::upgrade::marks::UID).is_some())
        {
            return Some(Self::UpgradeWork);
        }
        let is_kept = labels.is_some_and(|labels| labels.get(terms::KEPT_CONTENT).is_some());
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.word() == name && (*kind != Self::KeptContent || is_kept))
    }

    /// Returns whether there is no hub without the kind (Open Cluster Management's own have no `AddOnHubConfig`). An answer that
    /// such a kind is not there is a fault of the hub or of the way to it, and no proof that there are no objects.
    pub const fn must_exist(self) -> bool {
        matches!(self.need(), Need::Always)
    }

    /// Returns `group/version` as manifests spell it.
    pub fn api_version(self) -> String {
        let Address { group, version, .. } = self.address();
        if group.is_empty() {
            return version.to_owned();
        }
        format!("{group}/{version}")
    }

    /// Returns the name of the definition that a hub needs to serve the kind; none for kinds that are part of Kubernetes.
    pub fn definition(self) -> Option<String> {
        let Address { group, resource, .. } = self.address();
        let is_built_in = !group.contains('.') || group.ends_with(".k8s.io");
        (!is_built_in).then(|| format!("{resource}.{group}"))
    }

    /// Returns the configuration kind behind a group and resource, if the store watches it.
    pub fn of_config(group: &str, resource: &str) -> Option<Self> {
        [Self::DeploymentConfig, Self::Template, Self::HubConfig]
            .into_iter()
            .find(|kind| {
                let address = kind.address();
                address.group == group && address.resource == resource
            })
    }
}
