//! What the agent of a template add-on may do on the hub.
//!
//! Decides one role binding for each permission. Its name holds the cluster and the index of the permission, so that
//! clusters never share one and two permissions of a kind never meet.

use super::grants::{Wanted, binding};
use crate::snapshot::{
    AgentIdentity, GrantContent, Holders, Instance, Name, Permission, Purpose, Registered, Registration,
    token_account,
};

/// Why permissions cannot be given.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hindrance {
    /// The agent's subject is not known yet.
    SubjectNotReady,
    /// The template is wrong.
    Faulty(&'static str),
}

/// Returns the role bindings of an instance.
pub(super) fn wanted<'v>(
    asked: &[Registration],
    registrations: &[Registered],
    instance: &'v Instance,
) -> Result<Vec<Wanted<'v>>, Hindrance> {
    let mut found = Vec::new();
    for (index, permission) in asked.iter().flat_map(permissions).enumerate() {
        let (namespace, kind, role) = match permission {
            Ok(Permission::CurrentCluster(role)) => (&instance.cluster, Name::from("ClusterRole"), role),
            Ok(Permission::SingleNamespace {
                namespace,
                kind,
                name,
            }) => (namespace, kind.clone(), name),
            Ok(Permission::Faulty(why)) => return Err(Hindrance::Faulty(why)),
            Err(why) => return Err(Hindrance::Faulty(why)),
        };
        let holders = holders(registrations, instance).ok_or(Hindrance::SubjectNotReady)?;
        let name = name(instance, &kind, index);
        found.push(Wanted {
            key: binding(namespace, name),
            instance,
            purpose: Purpose::Permission,
            index,
            content: GrantContent::Binding {
                kind,
                role: role.clone(),
                holders,
            },
        });
    }
    Ok(found)
}

fn permissions(asked: &Registration) -> Vec<Result<&Permission, &'static str>> {
    match asked {
        Registration::KubeClient(permissions) => permissions.iter().map(Ok).collect(),
        Registration::CustomSigner { .. } => Vec::new(),
        Registration::Faulty(why) => vec![Err(why)],
    }
}

fn name(instance: &Instance, kind: &str, index: usize) -> String {
    let Instance { addon, cluster, .. } = instance;
    let kind = kind.to_lowercase();
    format!("open-cluster-management:{addon}:{kind}:agent:{cluster}:{index}")
}

/// Who the agent is: the subject of the first registration as a client of the hub.
///
/// A subject for tokens is stated by the cluster's own agent. It gets the permissions only if it is the add-on's service
/// account, and without groups: those of a service account hold all others of its namespace, and a cluster must not be able
/// to give the permissions of an add-on to whom it likes.
fn holders(registrations: &[Registered], instance: &Instance) -> Option<Holders> {
    let first = registrations.iter().find(|one| one.is_kube_client())?;
    match &first.identity {
        AgentIdentity::Open => None,
        AgentIdentity::Agent => Some(Holders::Agent),
        AgentIdentity::Stated(subject) => {
            let Instance { cluster, addon, .. } = instance;
            let account = format!("system:serviceaccount:{cluster}:{}", token_account(addon));
            let user = (Name::from("User"), subject.user.clone());
            (*subject.user == *account).then(|| Holders::Stated(vec![user]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{Meta, Subject};
    use std::sync::Arc;

    #[test]
    fn a_cluster_cannot_give_permissions_to_whom_it_likes() {
        let empty = || Name::from("");
        let instance = Instance {
            meta: Meta {
                uid: empty(),
                version: empty(),
                generation: 1,
                deleting: false,
            },
            addon: "hello".into(),
            cluster: "c1".into(),
            farewell: crate::snapshot::Farewell::default(),
            owners: [].into(),
            installed_by: empty(),
            deselected_at: None,
            annotations: crate::snapshot::Pairs::default(),
            copied: empty(),
            health_mode: empty(),
            desired_version: empty(),
            given_version: empty(),
            current_version: empty(),
            last_version: empty(),
            hosting_cluster: empty(),
            install_namespace: empty(),
            configs: Vec::new(),
            supported: [].into(),
            references: [].into(),
            conditions: Vec::new(),
            registrations: Vec::new(),
            driver: "token".into(),
            namespace: empty(),
        };
        let stated = |user: &str| Registered {
            signer: crate::snapshot::KUBE_CLIENT_SIGNER.into(),
            identity: AgentIdentity::Stated(Arc::new(Subject {
                user: user.into(),
                groups: vec!["system:authenticated".into(), "system:serviceaccounts".into()],
                units: Vec::new(),
            })),
        };
        let own = "system:serviceaccount:c1:hello-agent";
        let expected = Holders::Stated(vec![("User".into(), own.into())]);
        assert_eq!(holders(&[stated(own)], &instance), Some(expected));
        for other in ["system:serviceaccount:c2:hello-agent", "system:admin", ""] {
            assert_eq!(holders(&[stated(other)], &instance), None, "{other}");
        }
    }
}
