//! Registration of agents: what a template asks for and what an instance's status says.
//!
//! Decides how subjects are compared: the agent's own subject is one word, because ten thousand clusters have it. Never
//! decides who may have which certificate.

use std::sync::Arc;

use crate::names::Names;
use api::v1alpha1 as wire;
use kubernetes::field::{Fault, Path};
use model::Name;
use model::{OwnSigner, ReservedSigners, check_certificate_name, rule};

/// Signer of certificates for clients of the hub.
pub const KUBE_CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// A user with groups, as a certificate names it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CertificateSubject {
    /// The user, "" when it is open.
    pub user: Name,
    /// The groups, in order.
    pub groups: Vec<Name>,
    /// Organization units, in order.
    pub units: Vec<Name>,
}

/// The subject of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentIdentity {
    /// Not stated yet.
    Open,
    /// The subject that every template add-on's agent has by default.
    Agent,
    /// Any other one.
    Stated(Arc<CertificateSubject>),
}

/// One entry of `status.registrations`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// `signerName`
    pub signer: Name,
    /// `subject`
    pub identity: AgentIdentity,
}

impl Registered {
    /// Returns whether the registration gives access to the hub.
    pub fn is_kube_client(&self) -> bool {
        *self.signer == *KUBE_CLIENT_SIGNER
    }
}

/// What a template asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registration {
    /// Access to the hub with these permissions.
    KubeClient(Vec<Permission>),
    /// A certificate of a signer of the add-on's own.
    CustomSigner {
        /// The signer.
        signer: Name,
        /// The subject of the certificate.
        identity: AgentIdentity,
        /// Namespace of the secret that signs, "" when the controllers' own counts.
        ca_namespace: Name,
        /// Name of the secret that signs.
        ca_name: Name,
    },
    /// Something that is not carried out, and why.
    Faulty(Name),
}

/// One permission of the agent on the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// A cluster role in the cluster's namespace.
    CurrentCluster(Name),
    /// A role in one namespace.
    SingleNamespace {
        /// The namespace.
        namespace: Name,
        /// `Role` or `ClusterRole`.
        kind: Name,
        /// Name of the role.
        name: Name,
    },
    /// Something that cannot be carried out, and why.
    Faulty(&'static str),
}

/// Returns the default user of an add-on's agent on a cluster.
pub fn agent_user(cluster: &str, addon: &str) -> String {
    format!("{}{addon}-agent", agent_user_prefix(cluster, addon))
}

/// Returns how the user of any agent of an add-on on a cluster begins.
pub fn agent_user_prefix(cluster: &str, addon: &str) -> String {
    format!("system:open-cluster-management:cluster:{cluster}:addon:{addon}:agent:")
}

/// Returns the default groups of an add-on's agent on a cluster: that of the cluster's agent, and that of the add-on's agents on
/// all clusters.
pub fn agent_groups(cluster: &str, addon: &str) -> [String; 2] {
    [
        format!("system:open-cluster-management:cluster:{cluster}:addon:{addon}"),
        format!("system:open-cluster-management:addon:{addon}"),
    ]
}

/// Returns the groups of a cluster's own agent.
pub fn cluster_groups(cluster: &str) -> [String; 2] {
    [
        format!("system:open-cluster-management:{cluster}"),
        format!("open-cluster-management:{cluster}"),
    ]
}

/// Returns `status.registrations` as records.
pub(crate) fn registered(
    registrations: &[wire::RegistrationConfig],
    cluster: &str,
    addon: &str,
    names: &mut Names,
) -> Vec<Registered> {
    let identity = |subject: &wire::Subject, names: &mut Names| {
        if *subject == wire::Subject::default() {
            AgentIdentity::Open
        } else if is_agent(subject, cluster, addon) {
            AgentIdentity::Agent
        } else {
            AgentIdentity::Stated(Arc::new(decode(subject, names)))
        }
    };
    let each = registrations.iter().map(|one| Registered {
        signer: names.share(&one.signer_name),
        identity: match &one.subject {
            None => AgentIdentity::Open,
            Some(subject) => identity(subject, names),
        },
    });
    each.collect()
}

fn is_agent(subject: &wire::Subject, cluster: &str, addon: &str) -> bool {
    subject.organization_units.is_empty()
        && subject.user == agent_user(cluster, addon)
        && subject.groups == agent_groups(cluster, addon)
}

fn decode(subject: &wire::Subject, names: &mut Names) -> CertificateSubject {
    let mut share = |texts: &[String]| texts.iter().map(|text| names.share(text)).collect();
    let (groups, units) = (share(&subject.groups), share(&subject.organization_units));
    CertificateSubject {
        user: names.share(&subject.user),
        groups,
        units,
    }
}

/// Returns what a template asks for that is made for an add-on.
pub(crate) fn asked(
    registrations: &[wire::RegistrationSpec],
    addon: &str,
    reserved: &ReservedSigners,
    names: &mut Names,
) -> Vec<Registration> {
    let each = registrations.iter().enumerate();
    each.map(|(index, one)| asked_one(one, index, addon, reserved, names))
        .collect()
}

fn asked_one(
    one: &wire::RegistrationSpec,
    index: usize,
    addon: &str,
    reserved: &ReservedSigners,
    names: &mut Names,
) -> Registration {
    let faulty = |why: &str| Registration::Faulty(Name::from(why));
    match (one.type_.as_str(), &one.custom_signer) {
        ("KubeClient", _) => {
            let permissions = one.kube_client.iter().flat_map(|client| &client.hub_permissions);
            Registration::KubeClient(permissions.map(|one| permission(one, names)).collect())
        }
        ("CustomSigner", Some(custom)) => match fault(custom, addon, reserved) {
            Some((steps, fault, rule)) => {
                let registration = Path::root().key("spec").key("registration").index(index);
                let path = steps
                    .iter()
                    .fold(registration.key("customSigner"), |path, step| match step {
                        Step::Field(name) => path.key(*name),
                        Step::Index(index) => path.index(*index),
                    });
                faulty(&fault.at(path, rule).to_string())
            }
            None => custom_signer(custom, names),
        },
        ("CustomSigner", None) => faulty("custom signer is nil"),
        _ => faulty("the type of a registration is neither KubeClient nor CustomSigner"),
    }
}

fn custom_signer(custom: &wire::CustomSignerRegistration, names: &mut Names) -> Registration {
    Registration::CustomSigner {
        signer: names.share(&custom.signer_name),
        identity: match &custom.subject {
            Some(subject) if *subject != wire::Subject::default() => {
                AgentIdentity::Stated(Arc::new(decode(subject, names)))
            }
            Some(_) | None => AgentIdentity::Open,
        },
        ca_namespace: names.share(&custom.signing_ca.namespace),
        ca_name: names.share(&custom.signing_ca.name),
    }
}

enum Step {
    Field(&'static str),
    Index(usize),
}

/// The same as the gate refuses: what was stored before there was a gate, or while it was away, is not carried out either.
fn fault(
    custom: &wire::CustomSignerRegistration,
    addon: &str,
    reserved: &ReservedSigners,
) -> Option<(Vec<Step>, Fault, &'static str)> {
    if let Err(fault) = OwnSigner::parse(&custom.signer_name, addon, reserved) {
        return Some((vec![Step::Field("signerName")], fault, rule::SIGNER));
    }
    let subject = custom.subject.as_ref()?;
    if let Err(fault) = check_certificate_name(&subject.user, addon) {
        let steps = vec![Step::Field("subject"), Step::Field("user")];
        return Some((steps, fault, rule::SIGNER_SUBJECT));
    }
    let lists = [
        ("groups", &subject.groups),
        ("organizationUnit", &subject.organization_units),
    ];
    lists.into_iter().find_map(|(field, names)| {
        names.iter().enumerate().find_map(|(index, name)| {
            let fault = check_certificate_name(name, addon).err()?;
            let steps = vec![Step::Field("subject"), Step::Field(field), Step::Index(index)];
            Some((steps, fault, rule::SIGNER_SUBJECT))
        })
    })
}

fn permission(one: &wire::HubPermission, names: &mut Names) -> Permission {
    match (one.type_.as_str(), &one.current_cluster, &one.single_namespace) {
        ("CurrentCluster", Some(current), _) => {
            Permission::CurrentCluster(names.share(&current.cluster_role_name))
        }
        ("CurrentCluster", None, _) => {
            Permission::Faulty("current cluster is required when the HubPermission type is CurrentCluster")
        }
        ("SingleNamespace", _, Some(single)) => Permission::SingleNamespace {
            namespace: names.share(&single.namespace),
            kind: names.share(&single.role_ref.kind),
            name: names.share(&single.role_ref.name),
        },
        ("SingleNamespace", _, None) => {
            Permission::Faulty("single namespace is required when the HubPermission type is SingleNamespace")
        }
        _ => Permission::Faulty("the type of a HubPermission is neither CurrentCluster nor SingleNamespace"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire_subject(user: &str, groups: &[&str]) -> wire::RegistrationConfig {
        wire::RegistrationConfig {
            signer_name: KUBE_CLIENT_SIGNER.to_owned(),
            subject: Some(wire::Subject {
                user: user.to_owned(),
                groups: groups.iter().map(ToString::to_string).collect(),
                organization_units: Vec::new(),
            }),
        }
    }

    #[test]
    fn the_default_subject_is_recognised_and_nothing_near_it() {
        let groups = agent_groups("c1", "hello");
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        let user = agent_user("c1", "hello");
        let rows = [
            (wire_subject(&user, &groups), true),
            (wire_subject(&agent_user("c2", "hello"), &groups), false),
            (wire_subject(&user, &groups[..1]), false),
            (wire_subject(&user, &[groups[1], groups[0]]), false),
        ];
        for (row, expected) in rows {
            let decoded = registered(std::slice::from_ref(&row), "c1", "hello", &mut Names::default());
            assert_eq!(decoded[0].identity == AgentIdentity::Agent, expected, "{row:?}");
        }
        let open = wire_subject("", &[]);
        let decoded = registered(&[open], "c1", "hello", &mut Names::default());
        assert_eq!(decoded[0].identity, AgentIdentity::Open);
    }
}
