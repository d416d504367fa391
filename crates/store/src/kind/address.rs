//! How a kind is addressed on the API, what it is needed for, and which objects of it count.
//!
//! Decides nothing. Knows no kind by name.

/// How a kind is addressed on the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The API group.
    pub group: &'static str,
    /// The version that the controllers use.
    pub version: &'static str,
    /// The kind, as manifests spell it.
    pub kind: &'static str,
    /// The resource (plural), as URLs spell it.
    pub resource: &'static str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
}

/// What a kind is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// There is no hub without it.
    Always,
    /// Where the hub serves it.
    WhereServed,
    /// The registration of agents.
    ForRegistration,
    /// The roles that agents may have.
    ForRights,
    /// Upgrades of whole clusters.
    ForUpgrades,
    /// What policies ask about namespaces.
    ForPolicies,
    /// Content that rollouts go back to.
    ForUndo,
}

/// Which limit of memory counts the objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// None: what is kept of an object is small.
    Unlimited,
    /// That of templates and configurations.
    Content,
    /// That of kept copies of content.
    Copies,
    /// That of what the agents of a cluster write.
    OfAgents,
    /// Four times that: an instance that names thousands of configurations, and says so of each in its status, takes more than half of
    /// the limit for others.
    OfAgentsLarge,
}

/// What is held while an object of a kind cannot be read: nothing is planned, or nothing is written, that depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Nothing depends on it.
    Nothing,
    /// The add-on of its name.
    AddOn,
    /// What the add-on of its name has on the cluster of its namespace.
    Instance,
    /// What add-ons have on the cluster of its name.
    Cluster,
    /// The owners that select by it.
    Placement,
    /// The owners that select by its placement.
    Decision,
    /// What the add-on of the work has on the cluster of its namespace.
    Work,
    /// The add-ons that name it.
    Configuration,
    /// The upgrade itself.
    Upgrade,
    /// Every upgrade.
    AllUpgrades,
    /// Every add-on and every upgrade.
    Everything,
}

impl Holds {
    /// Returns whether an owner as a whole is held, and not only what it has on one cluster.
    pub(crate) const fn is_whole(self) -> bool {
        match self {
            Self::AddOn
            | Self::Placement
            | Self::Decision
            | Self::Configuration
            | Self::Upgrade
            | Self::AllUpgrades
            | Self::Everything => true,
            Self::Nothing | Self::Instance | Self::Cluster | Self::Work => false,
        }
    }
}

/// What is lost without roles for agents.
pub(super) const NO_ROLES: &str = "agents get no roles";

impl Need {
    /// Returns what is lost where a hub withholds such a kind; nothing where Tidegate needs it.
    pub(super) const fn lost(self) -> Option<&'static str> {
        match self {
            Self::Always | Self::WhereServed => None,
            Self::ForRegistration => Some("agents are not registered"),
            Self::ForRights => Some(NO_ROLES),
            Self::ForUpgrades => Some("clusters are not upgraded"),
            Self::ForPolicies => Some("policies that read namespaces cannot be evaluated"),
            Self::ForUndo => Some(
                "no content is kept to which a rollout could be rolled back after its object was edited or deleted",
            ),
        }
    }
}

/// A label that an object must have to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    /// With any value.
    Has(&'static str),
    /// With this value.
    Is(&'static str, &'static str),
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Has(label) => f.write_str(label),
            Self::Is(label, value) => write!(f, "{label}={value}"),
        }
    }
}

/// The address of a kind whose objects live in no namespace.
pub(super) const fn cluster_scoped(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    resource: &'static str,
) -> Address {
    Address {
        group,
        version,
        kind,
        resource,
        namespaced: false,
    }
}

/// The address of a kind whose objects live in namespaces.
pub(super) const fn namespaced(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    resource: &'static str,
) -> Address {
    Address {
        namespaced: true,
        ..cluster_scoped(group, version, kind, resource)
    }
}
