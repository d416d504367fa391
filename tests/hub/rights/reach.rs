//! What each shipped account can reach with its permissions: the page `docs/internals/accounts.md`.
//!
//! A permission that changes something, or reads Secrets, has a row with its consequences; one without a row is a failure.
//! `UPDATE_EXPECT=1` writes the page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use operate::doctor::Right;
use operate::doctor::calls::{Account, Role};

use super::manifests::{granted, objects};
use crate::kit::manifests::repository;

const PAGE: &str = "docs/internals/accounts.md";

/// How far a right goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Far {
    /// What it names, and nothing else.
    Itself,
    /// Every managed cluster.
    Clusters,
    /// Every user of the hub, together with an account that may create certificate requests.
    WithHelp,
    /// Every right on the hub.
    Hub,
}

/// Resources with their subresource, verbs, how far that goes, and what follows from it.
type Row = (
    &'static [&'static str],
    &'static [&'static str],
    Far,
    &'static str,
);

const ANY: &[&str] = &["create", "update", "patch", "delete"];

const ROWS: [Row; 26] = [
    (
        &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        ANY,
        Far::Hub,
        "a webhook of its own in them receives every Secret that is written, and changes every role binding",
    ),
    (
        &["customresourcedefinitions"],
        ANY,
        Far::Clusters,
        "a conversion webhook of its own reads and changes every ClusterManagementAddOn and ManagedClusterAddOn",
    ),
    (
        &["secrets/tidegate-record-keys"],
        &["update"],
        Far::Itself,
        "which records are valid: with a key of its own it signs some, and makes those that are stored invalid",
    ),
    (
        &["secrets/tidegate-record-keys"],
        &["get", "list", "watch"],
        Far::Itself,
        "the keys that sign records: that an author may use a placement of another namespace, and what `/convert` restores",
    ),
    (
        &["secrets"],
        &["get", "list", "watch"],
        Far::Itself,
        "the key in this Secret",
    ),
    (
        &["secrets"],
        ANY,
        Far::Itself,
        "the certificate that the webhook shows",
    ),
    (
        &["manifestworks"],
        ANY,
        Far::Clusters,
        "whatever the work agents of the clusters may apply, which is everything as a rule",
    ),
    (
        &["managedclusteraddons"],
        ANY,
        Far::Clusters,
        "add-ons of every manager, on every cluster",
    ),
    (
        &["managedclusters"],
        ANY,
        Far::Clusters,
        "labels, and with them which placements select a cluster",
    ),
    (
        &[
            "clustermanagementaddons/status",
            "managedclusteraddons/status",
            "addonpolicies/status",
            "managedclustersupgrades/status",
            "addonrollouts/status",
        ],
        ANY,
        Far::Itself,
        "what people and tools read about add-ons, policies and upgrades",
    ),
    (
        &[
            "clustermanagementaddons/finalizers",
            "managedclusteraddons/finalizers",
        ],
        ANY,
        Far::Itself,
        "owner references that block a deletion",
    ),
    (
        &["managedclustersupgrades"],
        ANY,
        Far::Clusters,
        "upgrades of every cluster",
    ),
    (&["addonrollouts"], ANY, Far::Itself, "the roll-ups of add-ons"),
    (
        &["controllerrevisions"],
        ANY,
        Far::Itself,
        "what add-ons, DaemonSets and StatefulSets can go back to; a rollout goes back only to content with the hash that its status names",
    ),
    (
        &[
            "policyreports",
            "clusterpolicyreports",
            "reports",
            "clusterreports",
        ],
        ANY,
        Far::Itself,
        "policy reports of every program",
    ),
    (
        &["events"],
        ANY,
        Far::Itself,
        "events in the name of any component",
    ),
    (
        &["leases"],
        ANY,
        Far::Itself,
        "which replica writes; new Leases in its namespace",
    ),
    (
        &["configmaps"],
        ANY,
        Far::Itself,
        "the settings that `plan --live` and `why` read; new ConfigMaps in its namespace",
    ),
    (
        &["subjectaccessreviews"],
        ANY,
        Far::Itself,
        "the answer to who may do what",
    ),
    (
        &["tokenreviews"],
        ANY,
        Far::Itself,
        "the answer to whose token it was shown",
    ),
    (
        &["serviceaccounts", "serviceaccounts/token"],
        &["create", "patch", "delete", "subscribe"],
        Far::Itself,
        "the rights of every service account in the namespace of a cluster",
    ),
    (
        &["roles", "rolebindings"],
        ANY,
        Far::Itself,
        "roles and bindings in namespaces where it is bound; Kubernetes lets it give no right that it does not have or may not `bind`",
    ),
    (
        &["clusterroles"],
        &["bind"],
        Far::Itself,
        "this role, for any user in namespaces where it writes bindings",
    ),
    (
        &["certificatesigningrequests/approval"],
        ANY,
        Far::WithHelp,
        "with `approve` on the signer: a request of another client for any user but members of `system:masters`",
    ),
    (
        &["certificatesigningrequests/status"],
        ANY,
        Far::Itself,
        "the certificate in a request for a signer that it may `sign` for",
    ),
    (
        &["signers"],
        &["approve", "sign"],
        Far::Itself,
        "requests for this signer",
    ),
];

fn resource(right: &Right) -> String {
    if right.subresource.is_empty() {
        right.resource.clone()
    } else {
        format!("{}/{}", right.resource, right.subresource)
    }
}

/// Returns where the row of a right is.
fn row(right: &Right) -> Option<usize> {
    let resource = resource(right);
    let named = format!("{resource}/{}", right.name);
    let is_it = |(resources, verbs, ..): &Row| {
        let is_listed = |one: &&str| *one == resource || *one == named;
        resources.iter().any(is_listed) && verbs.contains(&right.verb.as_str())
    };
    ROWS.iter().position(is_it)
}

/// What the manifests grant the account of a role.
fn of_role(role: Role) -> BTreeSet<Right> {
    let (file, kind, name) = role.manifest();
    granted(&objects(file), (kind, name))
}

/// What an account can reach with these roles, as text for the page.
fn far(roles: &[Role]) -> [&'static str; 2] {
    let rights = roles.iter().flat_map(|role| of_role(*role));
    let reached: BTreeSet<Far> = rights
        .filter_map(|right| row(&right))
        .map(|at| ROWS[at].2)
        .collect();
    let hub = if reached.contains(&Far::Hub) {
        "**yes**"
    } else if reached.contains(&Far::WithHelp) {
        "not alone: with an account that may create certificate requests it reaches every user but members of `system:masters`"
    } else {
        "no"
    };
    let is_reached = reached.contains(&Far::Clusters) || reached.contains(&Far::Hub);
    [hub, if is_reached { "**yes**" } else { "no" }]
}

fn list(words: &BTreeSet<String>) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

/// The rows of a role: what it changes or keeps secret, by what follows from it.
fn rows_of(role: Role) -> String {
    let (file, _, _) = role.manifest();
    let mut reads = BTreeSet::new();
    let mut by_row: BTreeMap<usize, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for right in of_role(role) {
        if right.reads() && right.resource != "secrets" {
            reads.insert(resource(&right));
            continue;
        }
        let at = row(&right);
        assert!(
            at.is_some(),
            "{}: nothing says what follows from it",
            right.words()
        );
        let Some(at) = at else { continue };
        let name = if right.name.is_empty() {
            resource(&right)
        } else {
            format!("{}/{}", resource(&right), right.name)
        };
        let (verbs, resources) = by_row.entry(at).or_default();
        verbs.insert(right.verb.clone());
        resources.insert(name);
    }
    let mut text = String::new();
    for (at, (verbs, resources)) in by_row {
        let verbs: Vec<String> = verbs.into_iter().collect();
        let follows = ROWS[at].3;
        let _ = writeln!(
            text,
            "| `{file}` | {} of {} | {follows} |",
            verbs.join(", "),
            list(&resources)
        );
    }
    if !reads.is_empty() {
        let _ = writeln!(text, "| `{file}` | reads {} | |", list(&reads));
    }
    text
}

fn page() -> String {
    let mut text = String::from(
        "# What each account can reach\n\n\
         <!-- Generated from manifests/rbac by tests/hub/rights/reach.rs; change those instead. -->\n\n\
         What follows if the token of an account of Tidegate is stolen, or the process that runs as it is taken over. The rights are those of\n\
         [manifests/rbac](../../manifests/rbac), with every optional file applied. `tests/hub/rights/takeover.rs` tries to take over a hub\n\
         as each account.\n\n\
         | account | every right on the hub | every managed cluster |\n|---|---|---|\n",
    );
    for account in Account::ALL {
        let roles: Vec<Role> = account.roles().collect();
        let [hub, clusters] = far(&roles);
        let _ = writeln!(text, "| `{}` | {hub} | {clusters} |", account.name());
    }
    let all = [Account::Gate, Account::Controllers, Account::Certificates];
    let one: Vec<Role> = all.into_iter().flat_map(Account::roles).collect();
    let [hub, clusters] = far(&one);
    let _ = writeln!(
        text,
        "| one workload with self-managed certificates | {hub} | {clusters} |"
    );
    text.push_str(
        "\nA hub that manages itself (a ManagedCluster such as `local-cluster`) is one of its own managed clusters: there, an account that reaches\n\
         every managed cluster reaches every right on the hub as well, through the work agent.\n",
    );
    for account in Account::ALL {
        let _ = write!(
            text,
            "\n## `{}`\n\n| file | right | what follows |\n|---|---|---|\n",
            account.name()
        );
        for role in account.roles() {
            text.push_str(&rows_of(role));
        }
    }
    text
}

#[test]
fn the_page_of_the_accounts_is_what_the_manifests_grant() {
    let (wanted, place) = (page(), repository(PAGE));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(place.parent().expect("a folder")).expect("writable");
        std::fs::write(&place, &wanted).expect("writable");
    }
    let found = std::fs::read_to_string(&place).unwrap_or_default();
    assert!(found == wanted, "{PAGE} is stale: run again with UPDATE_EXPECT=1");
}

/// The claim of SECURITY.md: only the account of the certificates reaches the whole hub by itself.
#[test]
fn only_the_account_of_the_certificates_reaches_the_hub() {
    for account in Account::ALL {
        let roles: Vec<Role> = account.roles().collect();
        let reaches = far(&roles)[0] == "**yes**";
        assert_eq!(reaches, account == Account::Certificates, "{account:?}");
    }
}
