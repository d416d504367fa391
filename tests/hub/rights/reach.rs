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

/// What a right reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Far {
    /// Only the named objects.
    Itself,
    /// Every managed cluster.
    Clusters,
    /// Every user of the hub, together with an account that may create certificate requests.
    WithHelp,
    /// Every right on the hub.
    Hub,
}

/// Resources with their subresource, verbs, what they reach, and the consequence.
type Row = (
    &'static [&'static str],
    &'static [&'static str],
    Far,
    &'static str,
);

const ANY: &[&str] = &["create", "update", "patch", "delete"];

const ROWS: [Row; 28] = [
    (
        &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        ANY,
        Far::Hub,
        "the account can add its own webhook, which receives every Secret that is written and changes role bindings",
    ),
    (
        &["customresourcedefinitions"],
        ANY,
        Far::Clusters,
        "the account can set its own conversion webhook, which reads and changes every ClusterManagementAddOn and ManagedClusterAddOn",
    ),
    (
        &["secrets/tidegate-record-keys"],
        &["update"],
        Far::Itself,
        "the account can replace the keys: it can then sign records, and stored records become invalid",
    ),
    (
        &["secrets/tidegate-record-keys"],
        &["get", "list", "watch"],
        Far::Itself,
        "the account can read the keys and sign records: that an author may use a placement of another namespace, and \
         what `/convert` restores",
    ),
    (
        &["secrets"],
        &["get", "list", "watch"],
        Far::Itself,
        "the account can read the private key in this Secret",
    ),
    (
        &["secrets"],
        ANY,
        Far::Itself,
        "the account can replace the certificate of the webhook",
    ),
    (
        &["manifestworks"],
        ANY,
        Far::Clusters,
        "the account can apply every object that the work agents of the clusters may apply, usually any object",
    ),
    (
        &["manifestworks"],
        &["execute-as"],
        Far::Clusters,
        "OCM's webhook lets the account create ManifestWorks that work agents apply with their own rights",
    ),
    (
        &["managedclusteraddons"],
        ANY,
        Far::Clusters,
        "the account can create, change and delete add-ons of every manager on every cluster",
    ),
    (
        &["managedclusters"],
        ANY,
        Far::Clusters,
        "the account can change labels of clusters, and so which placements select a cluster",
    ),
    (
        &[
            "clustermanagementaddons/status",
            "managedclusteraddons/status",
            "addonpolicies/status",
            "managedclustersupgrades/status",
            "addonrollouts/status",
            "rolloutapprovals/status",
            "rolloutchecks/status",
        ],
        ANY,
        Far::Itself,
        "the account can change the status that users and tools read of add-ons, policies and upgrades",
    ),
    (
        &[
            "clustermanagementaddons/finalizers",
            "managedclusteraddons/finalizers",
        ],
        ANY,
        Far::Itself,
        "the account can set owner references that block a deletion",
    ),
    (
        &["managedclustersupgrades"],
        ANY,
        Far::Clusters,
        "the account can change the upgrades of every cluster",
    ),
    (
        &["addonrollouts"],
        ANY,
        Far::Itself,
        "the account can create, change and delete AddOnRollouts, which have the settings of rollouts and report the health of add-ons",
    ),
    (
        &["rolloutapprovals"],
        ANY,
        Far::Itself,
        "the account can create and delete RolloutApprovals; it cannot decide in their place",
    ),
    (
        &["controllerrevisions"],
        ANY,
        Far::Itself,
        "the account can create and delete the revisions that add-ons, DaemonSets and StatefulSets roll back to; a rollout \
         rolls back only to content with the hash in its status",
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
        "the account can change policy reports of every program",
    ),
    (
        &["events"],
        ANY,
        Far::Itself,
        "the account can write events in the name of any component",
    ),
    (
        &["leases"],
        ANY,
        Far::Itself,
        "the account can choose the leader, and create other Leases in its namespace",
    ),
    (
        &["configmaps"],
        ANY,
        Far::Itself,
        "the account can change the settings that `plan --live` and `why` read, and create other ConfigMaps in its namespace",
    ),
    (
        &["subjectaccessreviews"],
        ANY,
        Far::Itself,
        "the account can read which user has which permission",
    ),
    (
        &["tokenreviews"],
        ANY,
        Far::Itself,
        "the account can read which user a token belongs to",
    ),
    (
        &["serviceaccounts", "serviceaccounts/token"],
        &["create", "patch", "delete", "subscribe"],
        Far::Itself,
        "the account can get the rights of every service account in the namespace of a cluster",
    ),
    (
        &["roles", "rolebindings"],
        ANY,
        Far::Itself,
        "the account can write roles and bindings in namespaces where it is bound; Kubernetes rejects rights that it does not \
         have and roles that it may not `bind`",
    ),
    (
        &["clusterroles"],
        &["bind"],
        Far::Itself,
        "the account can bind this role for any user in namespaces where it may write bindings",
    ),
    (
        &["certificatesigningrequests/approval"],
        ANY,
        Far::WithHelp,
        "with `approve` on the signer, the account can approve the request of another client for any user except \
         members of `system:masters`",
    ),
    (
        &["certificatesigningrequests/status"],
        ANY,
        Far::Itself,
        "the account can set the certificate of a request, if it may `sign` for the signer",
    ),
    (
        &["signers"],
        &["approve", "sign"],
        Far::Itself,
        "the account can approve or sign requests for this signer, as listed",
    ),
];

fn resource(right: &Right) -> String {
    if right.subresource.is_empty() {
        right.resource.clone()
    } else {
        format!("{}/{}", right.resource, right.subresource)
    }
}

/// Returns the index of the row of a right.
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
        "not alone: with an account that may create certificate requests, it can act as every user except members of `system:masters`"
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

/// Returns the rows of a role, by their consequence.
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
        assert!(at.is_some(), "{}: no row of ROWS has this right", right.words());
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
         This page lists what an attacker can do with the token of an account of Tidegate, or in a process that runs as it.\n\
         The rights are those of [manifests/rbac](../../manifests/rbac), with every optional file applied.\n\
         `tests/hub/rights/takeover.rs` tries to take over a hub as each account.\n\n\
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
         every managed cluster also has every right on the hub, through the work agent.\n",
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
