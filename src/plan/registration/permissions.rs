//! What the agent of a template add-on may do on the hub.
//!
//! Decides one role binding for each permission. Its name holds the cluster and the index of the permission, so that
//! clusters never share one and two permissions of a kind never meet.

use super::grants::{Wanted, binding};
use crate::snapshot::{
    GrantContent, Holders, Identity, Instance, Name, Permission, Purpose, Registered, Registration,
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
        let holders = holders(registrations).ok_or(Hindrance::SubjectNotReady)?;
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

/// Who the agent is: the subject of the first registration as a client of the hub. Everybody who is signed in belongs to
/// `system:authenticated`; a permission for that group would be one for everybody.
fn holders(registrations: &[Registered]) -> Option<Holders> {
    let first = registrations.iter().find(|one| one.is_kube_client())?;
    match &first.identity {
        Identity::Open => None,
        Identity::Agent => Some(Holders::Agent),
        Identity::Stated(subject) => {
            let user = Some(&subject.user).filter(|user| !user.is_empty());
            let user = user.map(|user| (Name::from("User"), user.clone()));
            let groups = subject
                .groups
                .iter()
                .filter(|group| &***group != "system:authenticated")
                .map(|group| (Name::from("Group"), group.clone()));
            let all: Vec<_> = user.into_iter().chain(groups).collect();
            (!all.is_empty()).then_some(Holders::Stated(all))
        }
    }
}
