//! Every call that Tidegate sends to a hub, with the role that grants it.
//!
//! One table: what is read and written of a kind comes from its row in the store, the rest is listed here. The doctor asks about its
//! rows, the roles of `manifests/rbac` are generated from them, and the tests record what is really sent (`tests/hub/rights.rs`). A kind that is
//! watched has `get` beside `list` and `watch`: what a list no longer shows is read by its name before it counts as deleted.

use crate::doctor::rights::Right;
use store::{Address, Kind, Read};

pub use store::Sent;

/// A role of `manifests/rbac`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// What the webhook reads.
    Gate,
    /// What the controllers read and write.
    Controllers,
    /// How replicas of the controllers elect, and where they publish their settings.
    Election,
    /// Registration of agents: what is read, and certificates for the hub.
    Registration,
    /// Registration of agents, in the namespace of a cluster.
    Cluster,
    /// Registration of agents, in another namespace: bindings only.
    Bindings,
    /// An example of roles that may be given to agents.
    HubPermissions,
    /// An example of a custom signer.
    Signing,
    /// The Secret of that signer.
    SigningSecret,
    /// Certificates of the webhook: the authority, in the webhook configurations.
    Certificates,
    /// Certificates of the webhook: the Secret, for the account that writes it.
    CertificatesWritten,
    /// Certificates of the webhook: the Secret, for the webhook.
    CertificatesRead,
    /// Certificates of the webhook, in definitions that it converts.
    CertificatesOfConversion,
    /// The keys of records, for the webhook, which puts a first one into their Secret.
    RecordKeys,
    /// The keys of records, for the controllers.
    RecordKeysRead,
    /// What controllers read that only observe.
    Observer,
    /// What the web page asks.
    WebPage,
}

/// A service account of `manifests/rbac`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Account {
    /// The process with the open port.
    Gate,
    /// The controllers.
    Controllers,
    /// The keeper of the webhook's certificate.
    Certificates,
    /// Controllers that only observe.
    Observer,
}

impl Account {
    /// Every account.
    pub const ALL: [Self; 4] = [Self::Gate, Self::Controllers, Self::Certificates, Self::Observer];

    /// Returns the name of the account.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gate => "tidegate-gate",
            Self::Controllers => "tidegate-controllers",
            Self::Certificates => "tidegate-certificates",
            Self::Observer => "tidegate-observer",
        }
    }

    /// Returns the roles that are bound to the account, or may be.
    pub fn roles(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| role.account() == self)
    }

    /// Returns the rights of the certificates' account that this one has no need of: with one of them it could reach every other
    /// right of the hub, or present itself as the webhook.
    pub fn must_not_have(self) -> Vec<Right> {
        let own: Vec<Right> = self.roles().flat_map(Role::rights).collect();
        let is_own = |right: &Right| own.iter().any(|one| one.covers(right));
        let reserved = Self::Certificates.roles().flat_map(Role::rights);
        let mut all: Vec<Right> = reserved
            .filter(|right| !right.reads() || right.resource == "secrets")
            .filter(|right| !is_own(right))
            .collect();
        // The webhooks first: who may change them has everything else.
        all.sort_by_key(|right| (right.resource == "secrets", right.clone()));
        all.dedup();
        all
    }
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 17] = [
        Self::Gate,
        Self::Controllers,
        Self::Election,
        Self::Registration,
        Self::Cluster,
        Self::Bindings,
        Self::HubPermissions,
        Self::Signing,
        Self::SigningSecret,
        Self::Certificates,
        Self::CertificatesWritten,
        Self::CertificatesRead,
        Self::CertificatesOfConversion,
        Self::RecordKeys,
        Self::RecordKeysRead,
        Self::Observer,
        Self::WebPage,
    ];

    /// Returns the file below `manifests/rbac`, the kind and the name of the role.
    pub const fn manifest(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Gate => ("gate.yaml", "ClusterRole", "tidegate-gate"),
            Self::Controllers => ("controllers.yaml", "ClusterRole", "tidegate-controllers"),
            Self::Election => ("controllers.yaml", "Role", "tidegate-election"),
            Self::Registration => ("registration.yaml", "ClusterRole", "tidegate-registration"),
            Self::Cluster => ("registration.yaml", "ClusterRole", "tidegate-cluster"),
            Self::Bindings => ("registration.yaml", "ClusterRole", "tidegate-bindings"),
            Self::HubPermissions => ("hub-permissions.yaml", "ClusterRole", "tidegate-hub-permissions"),
            Self::Signing => ("signing.yaml", "ClusterRole", "tidegate-signing"),
            Self::SigningSecret => ("signing.yaml", "Role", "tidegate-signing"),
            Self::Certificates => ("certificates.yaml", "ClusterRole", "tidegate-certificates"),
            Self::CertificatesWritten => ("certificates.yaml", "Role", "tidegate-certificates"),
            Self::CertificatesRead => ("certificates.yaml", "Role", "tidegate-certificates-read"),
            Self::CertificatesOfConversion => (
                "certificates-conversion.yaml",
                "ClusterRole",
                "tidegate-certificates-conversion",
            ),
            Self::RecordKeys => ("gate.yaml", "Role", "tidegate-record-keys"),
            Self::RecordKeysRead => ("controllers.yaml", "Role", "tidegate-record-keys-read"),
            Self::Observer => ("observe.yaml", "ClusterRole", "tidegate-observer"),
            Self::WebPage => ("web-page.yaml", "ClusterRole", "tidegate-web-page"),
        }
    }

    /// Returns the account that the role is bound to.
    pub const fn account(self) -> Account {
        match self {
            Self::Gate | Self::CertificatesRead | Self::RecordKeys => Account::Gate,
            Self::Controllers
            | Self::RecordKeysRead
            | Self::Election
            | Self::Registration
            | Self::Cluster
            | Self::Bindings
            | Self::HubPermissions
            | Self::Signing
            | Self::SigningSecret
            | Self::WebPage => Account::Controllers,
            Self::Certificates | Self::CertificatesWritten | Self::CertificatesOfConversion => {
                Account::Certificates
            }
            Self::Observer => Account::Observer,
        }
    }

    /// Returns the namespace of a role that counts in one namespace only; empty for the others.
    pub const fn namespace(self) -> &'static str {
        match self {
            Self::Election
            | Self::CertificatesWritten
            | Self::CertificatesRead
            | Self::RecordKeys
            | Self::RecordKeysRead => "tidegate",
            Self::SigningSecret => "open-cluster-management-hub",
            Self::Gate
            | Self::Controllers
            | Self::Registration
            | Self::Cluster
            | Self::Bindings
            | Self::HubPermissions
            | Self::Signing
            | Self::Certificates
            | Self::CertificatesOfConversion
            | Self::Observer
            | Self::WebPage => "",
        }
    }

    /// Returns the rights of the role, one a verb and name.
    pub fn rights(self) -> Vec<Right> {
        let mut all: Vec<Right> = CALLS
            .iter()
            .filter(|call| call.role == self)
            .flat_map(Call::rights)
            .collect();
        all.sort();
        all.dedup();
        all
    }
}

/// Calls of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The role that grants them.
    pub role: Role,
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The resource (plural), with its subresource: `managedclusteraddons/status`.
    pub resource: &'static str,
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// The names of the objects; empty for all of them.
    pub names: &'static [&'static str],
    /// What they are for.
    pub purpose: &'static str,
    /// What is lost where the hub withholds them; absent where Tidegate needs them.
    pub lost: Option<&'static str>,
    /// When they are sent.
    pub sent: Sent,
}

/// A group and a resource.
type Of = (&'static str, &'static str);

impl Call {
    const fn new(role: Role, of: Of, verbs: &'static [&'static str], purpose: &'static str) -> Self {
        Self {
            role,
            group: of.0,
            resource: of.1,
            verbs,
            names: &[],
            purpose,
            lost: None,
            sent: Sent::Always,
        }
    }

    const fn named(self, names: &'static [&'static str]) -> Self {
        Self { names, ..self }
    }

    /// Loses what its kind is for.
    const fn without(self, kind: Kind) -> Self {
        Self {
            lost: kind.lost(),
            ..self
        }
    }

    const fn lost(self, lost: &'static str) -> Self {
        Self {
            lost: Some(lost),
            ..self
        }
    }

    const fn when(self, when: &'static str) -> Self {
        Self {
            sent: Sent::When(when),
            ..self
        }
    }

    const fn never(self, why: &'static str) -> Self {
        Self {
            sent: Sent::Never(why),
            ..self
        }
    }

    /// Returns the resource and its subresource, which is empty where there is none.
    pub fn resource_and_subresource(&self) -> (&'static str, &'static str) {
        self.resource.split_once('/').unwrap_or((self.resource, ""))
    }

    /// Returns the rights for the calls, one a verb and name.
    pub fn rights(&self) -> Vec<Right> {
        let (resource, subresource) = self.resource_and_subresource();
        let names: &[&str] = if self.names.is_empty() { &[""] } else { self.names };
        let each = self
            .verbs
            .iter()
            .flat_map(|verb| names.iter().map(move |name| (verb, name)));
        each.map(|(verb, name)| Right {
            group: self.group.to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            verb: (*verb).to_owned(),
            namespace: self.role.namespace().to_owned(),
            name: (*name).to_owned(),
        })
        .collect()
    }
}

/// Returns the row of a right.
pub fn row(right: &Right) -> Option<&'static Call> {
    let is_it = |call: &&Call| {
        call.group == right.group
            && call.resource_and_subresource() == (right.resource.as_str(), right.subresource.as_str())
            && call.verbs.contains(&right.verb.as_str())
    };
    // Where roles disagree about whether a call may be withheld, the one that needs it counts.
    let mut all: Vec<&Call> = CALLS.iter().filter(is_it).collect();
    all.sort_by_key(|call| call.lost.is_some());
    let named = all
        .iter()
        .find(|call| call.names.contains(&right.name.as_str()))
        .copied();
    named.or_else(|| all.first().copied())
}

const ADDON: &str = "addon.open-cluster-management.io";
const OWN: &str = "tidegate.io";
const WORK: &str = "work.open-cluster-management.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const CERTIFICATES: &str = "certificates.k8s.io";
const LEASES: &str = "coordination.k8s.io";
const DEFINITIONS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");
const MUTATING: (&str, &str) = ("admissionregistration.k8s.io", "mutatingwebhookconfigurations");
const VALIDATING: (&str, &str) = ("admissionregistration.k8s.io", "validatingwebhookconfigurations");

const GET: &[&str] = &["get"];
const SEE: &[&str] = &["list", "watch"];
const PATCH: &[&str] = &["patch"];
const CREATE: &[&str] = &["create"];

/// Purpose of watching a kind.
pub const WATCHED: &str = "what plans, rules and policies are made from";
/// Purpose of reading an object of a watched kind by its name.
pub const CONFIRMED: &str = "before an instance is removed, and what a list no longer shows";
const LEFT_OUT: &str = "a list has left out an object, or a watch has not shown an own write in time";
const AUDITED: &str = "too many objects change at once for the audit to keep them all";
const FORMER: &str = "the hub has the definition of the former group of policies";

const NO_DEFINITIONS: &str = "kinds that come later are noticed within a minute";
const NO_ERASURE: &str = "erased fields are not noticed";
const NO_WEBHOOKS: &str = "edits of the webhooks are not noticed";
const NO_KEYS: &str = "replicas do not accept each other's records";
const NO_REPORTS: &str = "the audit writes no reports";
const NO_EVENTS: &str = "no events are written";
const NO_SETTINGS: &str = "`plan --live` and `why` need flags for the settings";

const CONVERTED: &[&str] = &[
    "clustermanagementaddons.addon.open-cluster-management.io",
    "managedclusteraddons.addon.open-cluster-management.io",
];
const REPORTS: &[&str] = &[
    "policyreports.wgpolicyk8s.io",
    "clusterpolicyreports.wgpolicyk8s.io",
    "reports.openreports.io",
    "clusterreports.openreports.io",
];
const NOT_SERVED: &str = "a hub does not serve a kind that it may lack";

/// What a role reads of kinds, each once: two kinds of the store may be one on the API.
fn reads(role: Role, kinds: impl Iterator<Item = Kind>, how: impl Fn(Kind) -> Read) -> Vec<Call> {
    let mut all: Vec<Call> = Vec::new();
    for kind in kinds {
        let Address { group, resource, .. } = kind.address();
        let is_known = |call: &Call| (call.group, call.resource) == (group, resource);
        if how(kind) == Read::Not || all.iter().any(is_known) {
            continue;
        }
        let is_configuration = Kind::of_config(group, resource) == Some(kind) && role != Role::Gate;
        let purpose = if is_configuration {
            "configurations"
        } else {
            WATCHED
        };
        let get = Call::new(role, (group, resource), GET, CONFIRMED);
        let get = match how(kind) {
            Read::ByName => get,
            Read::Watched | Read::Not => get.when(if is_configuration { AUDITED } else { LEFT_OUT }),
        };
        let calls = [Call::new(role, (group, resource), SEE, purpose), get];
        all.extend(calls.map(|call| call.without(kind)));
    }
    all
}

/// What the controllers write of a kind.
fn writes(role: Role, kind: Kind) -> impl Iterator<Item = Call> {
    let Address { group, resource, .. } = kind.address();
    kind.writes().iter().map(move |write| {
        let of = match write.subresource {
            "" => resource,
            // The table is made once.
            subresource => &*format!("{resource}/{subresource}").leak(),
        };
        let call = Call::new(role, (group, of), write.verbs, write.purpose).without(kind);
        Call {
            sent: write.sent,
            ..call
        }
    })
}

/// What is written of a kind for agents, and read where a list has left out an object.
fn grants(role: Role, kind: Kind) -> impl Iterator<Item = Call> {
    let Address { group, resource, .. } = kind.address();
    let get = Call::new(role, (group, resource), GET, "what agents may do on the hub");
    writes(role, kind).chain([get.when(LEFT_OUT).without(kind)])
}

/// The definitions of kinds, and of policies, that a hub may begin to serve later.
fn awaited(kinds: impl Iterator<Item = Kind>) -> &'static [&'static str] {
    let needed: Vec<String> = Kind::ALL
        .into_iter()
        .filter(|kind| kind.must_exist())
        .filter_map(Kind::definition)
        .collect();
    let later = kinds
        .filter_map(Kind::definition)
        .filter(|name| !needed.contains(name));
    let policies = [ADDON, OWN].map(|group| format!("addonpolicies.{group}"));
    // The table is made once.
    let names: Vec<&str> = later.chain(policies).map(|name| &*name.leak()).collect();
    names.leak()
}

/// Every call.
pub static CALLS: std::sync::LazyLock<Vec<Call>> = std::sync::LazyLock::new(|| {
    [
        of_the_gate(),
        of_the_controllers(),
        of_reports_and_events(),
        of_election(),
        of_registration(),
        of_secrets(),
        of_observers(),
        of_the_page(),
    ]
    .concat()
});

fn of_the_gate() -> Vec<Call> {
    const OF: Role = Role::Gate;
    let kinds = Kind::ALL.into_iter().filter(|kind| kind.is_for_admission());
    let mut all = reads(OF, kinds.clone(), Kind::read_by_gate);
    all.extend(of_policies(OF));
    all.extend([
        Call::new(OF, DEFINITIONS, SEE, "when the hub begins to serve a kind")
            .named(awaited(kinds))
            .lost(NO_DEFINITIONS)
            .when(NOT_SERVED),
        Call::new(
            OF,
            ("authorization.k8s.io", "subjectaccessreviews"),
            CREATE,
            "whether the author of a template may bind the roles that it requests",
        ),
    ]);
    all
}

/// Policies, in their group and in the one that they had before.
fn of_policies(role: Role) -> [Call; 3] {
    [
        Call::new(role, (OWN, "addonpolicies"), SEE, "policies"),
        Call::new(
            role,
            (ADDON, "addonpolicies"),
            &["list"],
            "policies of the former group",
        ),
        Call::new(
            role,
            (ADDON, "addonpolicies"),
            &["watch"],
            "policies of the former group",
        )
        .when(FORMER),
    ]
}

fn of_the_controllers() -> Vec<Call> {
    const OF: Role = Role::Controllers;
    let kinds = || {
        let is_of_agents = |kind: &Kind| kind.is_for_registration() || kind.is_hub_role();
        Kind::ALL.into_iter().filter(move |kind| !is_of_agents(kind))
    };
    let mut all = reads(OF, kinds(), Kind::read_by_controllers);
    all.extend(kinds().flat_map(|kind| writes(OF, kind)));
    all.extend(of_policies(OF));
    let status = |group| {
        Call::new(
            OF,
            (group, "addonpolicies/status"),
            PATCH,
            "whether a policy compiles",
        )
    };
    all.extend([
        status(OWN),
        status(ADDON).when(FORMER),
        // OCM grants its add-on manager the same (`addon-manager-work-executor:controller`).
        Call::new(
            OF,
            (WORK, "manifestworks"),
            &["execute-as"],
            "ManifestWorks without an executor",
        )
        .named(&["system:serviceaccount::klusterlet-work-sa"])
        .lost("with OCM's feature gate NilExecutorValidating, OCM's webhook denies every ManifestWork")
        .never("OCM's webhook asks the API server for it"),
        Call::new(
            OF,
            (LEASES, "leases"),
            SEE,
            "whether OCM's add-on manager is active",
        )
        .named(&["manager-lock"]),
        Call::new(OF, DEFINITIONS, GET, "whether the hub's conversion erases fields")
            .named(CONVERTED)
            .lost(NO_ERASURE)
            .when("`tidegate serve` starts"),
    ]);
    all.extend(of_the_hub(OF));
    all
}

/// What is watched of the hub itself.
fn of_the_hub(role: Role) -> [Call; 3] {
    const EDITED: &str = "whether the webhooks are edited";
    [
        Call::new(role, MUTATING, SEE, EDITED).lost(NO_WEBHOOKS),
        Call::new(role, VALIDATING, SEE, EDITED).lost(NO_WEBHOOKS),
        Call::new(role, DEFINITIONS, SEE, "when the hub begins to serve a kind")
            .named(awaited(Kind::ALL.into_iter()))
            .lost(NO_DEFINITIONS)
            .when(NOT_SERVED),
    ]
}

fn of_reports_and_events() -> Vec<Call> {
    const OF: Role = Role::Controllers;
    const ALL: &[&str] = &["get", "list", "watch", "create", "update", "delete"];
    const OTHER: &str = "a hub serves this kind of report: tests/hub/audit.rs";
    const REPORT: &str = "the reports of the audit";
    const WG: &str = "wgpolicyk8s.io";
    const OPEN: &str = "openreports.io";
    let of = |group, kind, verbs| Call::new(OF, (group, kind), verbs, REPORT).lost(NO_REPORTS);
    vec![
        of(
            WG,
            "policyreports",
            &["list", "watch", "create", "update", "delete"],
        ),
        of(WG, "policyreports", GET).when(LEFT_OUT),
        of(WG, "clusterpolicyreports", &["list", "watch", "create"]),
        of(WG, "clusterpolicyreports", &["get", "update", "delete"]).when("as for reports of a namespace"),
        of(OPEN, "reports", ALL).when(OTHER),
        of(OPEN, "clusterreports", ALL).when(OTHER),
        Call::new(OF, DEFINITIONS, SEE, "which kind of report the hub serves")
            .named(REPORTS)
            .lost(NO_REPORTS),
        Call::new(OF, ("events.k8s.io", "events"), CREATE, "events").lost(NO_EVENTS),
        Call::new(OF, ("events.k8s.io", "events"), PATCH, "events")
            .lost(NO_EVENTS)
            .when("an event is repeated"),
    ]
}

fn of_election() -> Vec<Call> {
    const OF: Role = Role::Election;
    const SETTINGS: &str = "`tidegate serve` starts";
    vec![
        Call::new(OF, (LEASES, "leases"), &["get", "update"], "which replica writes")
            .named(&["leader", "leader-next"]),
        Call::new(OF, (LEASES, "leases"), CREATE, "which replica writes"),
        Call::new(
            OF,
            ("", "configmaps"),
            &["get", "patch"],
            "the settings, for `plan --live` and `why`",
        )
        .named(&["tidegate-settings"])
        .lost(NO_SETTINGS)
        .when(SETTINGS),
        Call::new(
            OF,
            ("", "configmaps"),
            CREATE,
            "the settings, for `plan --live` and `why`",
        )
        .lost(NO_SETTINGS)
        .when(SETTINGS),
    ]
}

fn of_registration() -> Vec<Call> {
    const HELD: &str = "checked by the API server when a role is bound or a request is approved";
    let of = Role::Registration;
    let signers = (CERTIFICATES, "signers");
    let kinds = Kind::ALL
        .into_iter()
        .filter(|kind| kind.is_for_registration() || kind.is_hub_role());
    let mut all = reads(of, kinds.clone(), Kind::read_by_controllers);
    for kind in kinds.filter(|kind| !kind.writes().is_empty()) {
        if kind.address().namespaced {
            all.extend(grants(Role::Cluster, kind));
        } else {
            all.extend(writes(of, kind));
        }
    }
    all.extend(grants(Role::Bindings, Kind::RoleBinding));
    all.extend([
        Call::new(of, signers, &["approve"], "certificates of agents")
            .named(&["kubernetes.io/kube-apiserver-client"])
            .without(Kind::SigningRequest)
            .never(HELD),
        Call::new(
            Role::HubPermissions,
            (RBAC, "clusterroles"),
            &["bind"],
            "what agents may do on the hub",
        )
        .named(&["hello-reader"])
        .without(Kind::RoleBinding)
        .never(HELD),
        Call::new(
            Role::Signing,
            (CERTIFICATES, "certificatesigningrequests/status"),
            PATCH,
            "certificates of a custom signer",
        )
        .without(Kind::SigningRequest),
        Call::new(
            Role::Signing,
            signers,
            &["approve", "sign"],
            "certificates of a custom signer",
        )
        .named(&["example.com/hello"])
        .without(Kind::SigningRequest)
        .never(HELD),
        Call::new(
            Role::SigningSecret,
            ("", "secrets"),
            GET,
            "the authority of a custom signer",
        )
        .named(&["hello-ca"])
        .without(Kind::SigningRequest),
    ]);
    all
}

fn of_secrets() -> Vec<Call> {
    const TRUST: &str = "the authority of the webhook's certificate";
    const PAIR: &str = "the webhook's certificate";
    const KEYS: &str = "the keys of records";
    const APPLY: &[&str] = &["list", "watch", "patch"];
    let secret = ("", "secrets");
    vec![
        Call::new(
            Role::CertificatesWritten,
            secret,
            &["list", "watch", "update"],
            PAIR,
        )
        .named(&["tidegate-tls"]),
        Call::new(Role::CertificatesRead, secret, SEE, PAIR).named(&["tidegate-tls"]),
        Call::new(Role::RecordKeys, secret, &["list", "watch", "update"], KEYS)
            .named(&["tidegate-record-keys"])
            .lost(NO_KEYS),
        Call::new(Role::RecordKeysRead, secret, SEE, KEYS)
            .named(&["tidegate-record-keys"])
            .lost(NO_KEYS),
        Call::new(Role::Certificates, MUTATING, APPLY, TRUST).named(&["tidegate-mutate"]),
        Call::new(Role::Certificates, VALIDATING, APPLY, TRUST).named(&["tidegate-guard"]),
        Call::new(Role::CertificatesOfConversion, DEFINITIONS, APPLY, TRUST).named(CONVERTED),
    ]
}

fn of_observers() -> Vec<Call> {
    const OF: Role = Role::Observer;
    let mut all = reads(OF, Kind::ALL.into_iter(), |_| Read::Watched);
    all.extend(of_policies(OF));
    all.extend(of_the_hub(OF));
    all
}

fn of_the_page() -> Vec<Call> {
    const ASKED: &str = "a user opens the web page";
    let of = Role::WebPage;
    vec![
        Call::new(
            of,
            ("authentication.k8s.io", "tokenreviews"),
            CREATE,
            "whose token it is",
        )
        .when(ASKED),
        Call::new(
            of,
            ("authorization.k8s.io", "subjectaccessreviews"),
            CREATE,
            "what a user may see",
        )
        .when(ASKED),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: &str = "cluster.open-cluster-management.io";

    #[test]
    fn every_row_says_what_it_is_for_and_is_in_the_table_once() {
        let mut seen = Vec::new();
        for call in CALLS.iter() {
            assert!(!call.purpose.is_empty() && !call.verbs.is_empty(), "{call:?}");
            for right in call.rights() {
                let one = (call.role, right);
                assert!(!seen.contains(&one), "twice: {one:?}");
                seen.push(one);
            }
        }
        for role in Role::ALL {
            assert!(!role.rights().is_empty(), "{role:?}");
        }
    }

    #[test]
    fn what_may_change_the_webhooks_is_reserved_for_the_account_of_the_certificates() {
        let words = |account: Account| {
            let rights = account.must_not_have();
            rights.iter().map(Right::words).collect::<Vec<_>>()
        };
        let controllers = words(Account::Controllers);
        for right in [
            "patch mutatingwebhookconfigurations.admissionregistration.k8s.io/tidegate-mutate -A",
            "patch validatingwebhookconfigurations.admissionregistration.k8s.io/tidegate-guard -A",
            "list secrets/tidegate-tls -n tidegate",
            "update secrets/tidegate-tls -n tidegate",
        ] {
            assert!(
                controllers.contains(&right.to_owned()),
                "{right} in {controllers:#?}"
            );
        }
        let gate = words(Account::Gate);
        assert!(gate.contains(&"update secrets/tidegate-tls -n tidegate".to_owned()));
        assert!(
            !gate.contains(&"list secrets/tidegate-tls -n tidegate".to_owned()),
            "the webhook shows this certificate: {gate:#?}"
        );
        assert!(words(Account::Certificates).is_empty());
    }

    #[test]
    fn a_kind_that_is_listed_by_the_store_can_be_read_by_name() {
        for role in [Role::Controllers, Role::Observer] {
            let rights = role.rights();
            for kind in store::Kind::ALL {
                let address = kind.address();
                let of = |verb: &str| {
                    rights.iter().any(|right| {
                        right.group == address.group
                            && right.resource == address.resource
                            && right.verb == verb
                    })
                };
                assert_eq!(of("list"), of("get"), "{role:?} {kind:?}");
                assert_eq!(of("list"), of("watch"), "{role:?} {kind:?}");
            }
        }
    }

    #[test]
    fn a_right_without_which_nothing_goes_on_may_not_be_withheld() {
        let right = |group: &str, resource: &str, verb: &str| Right {
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: String::new(),
            verb: verb.to_owned(),
            namespace: String::new(),
            name: String::new(),
        };
        let lost = |group: &str, resource: &str, verb: &str| {
            row(&right(group, resource, verb)).map(|call| call.lost)
        };
        assert_eq!(lost(CLUSTER, "placements", "get"), Some(None));
        assert_eq!(lost(CLUSTER, "placementdecisions", "get"), Some(None));
        assert_eq!(
            lost("", "namespaces", "list"),
            Some(Some("policies that read namespaces cannot be evaluated"))
        );
        assert_eq!(lost("", "pods", "list"), None);
    }
}
