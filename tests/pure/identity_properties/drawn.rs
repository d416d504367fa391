//! Random data for the proof about identities: templates, subjects, and everything that a cluster's agent can write.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};

pub(crate) const GROUP: &str = "addon.open-cluster-management.io";
pub(crate) const HUB: &str = "kubernetes.io/kube-apiserver-client";
pub(crate) const SIGNERS: [&str; 5] = [
    HUB,
    "example.com/a",
    "example.com/b",
    "kubernetes.io/kubelet-serving",
    "open-cluster-management.io/grpc",
];
pub(crate) const TEMPLATES: usize = 5;
pub(crate) const CLUSTERS: usize = 3;

/// A template: whose it is, what it asks for, and whether it can be rendered.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub(crate) struct Drawn {
    pub(crate) is_own: bool,
    pub(crate) is_client: bool,
    pub(crate) roles: Vec<u8>,
    pub(crate) signers: Vec<(usize, usize)>,
    pub(crate) renders: bool,
}

/// What is done to the hub: by agents, users and the controllers.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Lies in the status of an add-on: a template with its true hash, a subject, a driver.
    Status(usize, usize, usize, u8),
    /// Lies in a work and its status.
    Work(usize, u8),
    /// Labels, annotations and status of a cluster.
    Cluster(usize, u8),
    /// A request: of a cluster, by a requester, of a signer, for a subject, approved already or not.
    Request(usize, usize, usize, usize, bool),
    /// The add-on's author changes the default template.
    Default(usize),
    /// A cluster gets a template of its own, or none.
    Own(usize, Option<usize>),
    /// A template is edited.
    Edit(usize, Drawn),
    /// An instance, or the cluster, is deleted.
    Leave(usize, bool),
    Apply,
}

pub(crate) fn drawn() -> impl Strategy<Value = Drawn> {
    let signers = prop::collection::vec((1..SIGNERS.len(), 0..subjects("c0").len()), 0..3);
    (
        prop::bool::weighted(0.8),
        prop::bool::weighted(0.7),
        prop::collection::vec(0..4_u8, 0..3),
        signers,
        prop::bool::weighted(0.9),
    )
        .prop_map(|(is_own, is_client, roles, signers, renders)| Drawn {
            is_own,
            is_client,
            roles,
            signers,
            renders,
        })
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let (cluster, subject) = (0..CLUSTERS, 0..subjects("c0").len());
    prop_oneof![
        4 => (cluster.clone(), 0..TEMPLATES, subject.clone(), any::<u8>())
            .prop_map(|(cluster, template, subject, more)| Step::Status(cluster, template, subject, more)),
        1 => (cluster.clone(), any::<u8>()).prop_map(|(cluster, more)| Step::Work(cluster, more)),
        1 => (cluster.clone(), any::<u8>()).prop_map(|(cluster, more)| Step::Cluster(cluster, more)),
        4 => (cluster.clone(), 0..4_usize, 0..SIGNERS.len(), subject, any::<bool>())
            .prop_map(|(cluster, by, signer, subject, approved)| Step::Request(cluster, by, signer, subject, approved)),
        1 => (0..TEMPLATES).prop_map(Step::Default),
        1 => (cluster.clone(), prop::option::of(0..TEMPLATES)).prop_map(|(cluster, own)| Step::Own(cluster, own)),
        1 => (0..TEMPLATES, drawn()).prop_map(|(template, drawn)| Step::Edit(template, drawn)),
        1 => (cluster, prop::bool::weighted(0.8)).prop_map(|(cluster, alone)| Step::Leave(cluster, alone)),
        5 => Just(Step::Apply),
    ]
}

/// User, groups and units of a certificate.
pub(crate) type Subject = (String, BTreeSet<String>, BTreeSet<String>);

/// Whom a certificate may be asked for, the agent itself first.
pub(crate) fn subjects(cluster: &str) -> Vec<Subject> {
    let own = format!("system:open-cluster-management:cluster:{cluster}:addon:hello");
    let all = "system:open-cluster-management:addon:hello";
    let set = |groups: &[&str]| groups.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let rows: [(String, &[&str], &[&str]); 8] = [
        (format!("{own}:agent:hello-agent"), &[&own, all], &[]),
        (format!("{own}:agent:x7f2q"), &[], &[]),
        ("worker".to_owned(), &["workers"], &[]),
        ("worker".to_owned(), &["workers"], &["unit"]),
        ("kubernetes-admin".to_owned(), &["kubeadm:cluster-admins"], &[]),
        ("system:kube-scheduler".to_owned(), &["system:nodes"], &[]),
        (format!("{own}:agent:hello-agent"), &[&own, "system:masters"], &[]),
        (
            "system:open-cluster-management:cluster:c9:addon:hello:agent:hello-agent".to_owned(),
            &["system:open-cluster-management:cluster:c9:addon:hello", all],
            &[],
        ),
    ];
    rows.into_iter()
        .map(|(user, groups, units)| (user, set(groups), set(units)))
        .collect()
}

pub(crate) fn wire((user, groups, units): &Subject) -> Value {
    json!({"user": user, "groups": groups, "organizationUnit": units})
}

pub(crate) fn pem((user, groups, units): &Subject) -> String {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, user.as_str());
    let kinds = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
    for (kind, group) in kinds.into_iter().zip(groups) {
        params.distinguished_name.push(kind, group.as_str());
    }
    for unit in units {
        params
            .distinguished_name
            .push(DnType::OrganizationalUnitName, unit.as_str());
    }
    let key = KeyPair::generate().expect("a key");
    let request = params.serialize_request(&key).expect("a request");
    request.pem().expect("PEM")
}
