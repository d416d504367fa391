//! Grants: from the service accounts, roles and role bindings that are wanted to the writes that are left.
//!
//! Decides the content of each object, except its name. Changes only objects that the controllers have created: the view shows no
//! other. The role of a binding cannot be changed, so the binding is deleted and the next plan creates a new one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::owners;
use crate::types::{Action, Revision};
use api::names::labels;
use store::{
    AgentGroups, Grant, GrantContent, Holders, Instance, Kind, Name, ObjectKey, Purpose, Unbindable, View,
    agent_groups, agent_user, cluster_groups, terms,
};

const RBAC: &str = "rbac.authorization.k8s.io";

/// One grant that should exist.
#[derive(Debug)]
pub(super) struct WantedGrant<'v> {
    /// Which object.
    pub key: ObjectKey,
    /// The instance whose agent it is for.
    pub instance: &'v Instance,
    /// What it is for, with the index of a permission.
    pub purpose: Purpose,
    /// The index of a permission.
    pub index: usize,
    /// What it says.
    pub content: GrantContent,
}

/// The clusters whose wanted grants are all known: there, what is not wanted can go.
#[derive(Debug, Default)]
pub(super) struct KnownGrants<'v> {
    pub(super) permissions: BTreeSet<&'v Name>,
    pub(super) tokens: BTreeSet<&'v Name>,
    /// Whether nothing but the token infrastructure is this program's business.
    pub(super) only_tokens: bool,
}

impl KnownGrants<'_> {
    fn holds(&self, grant: &Grant) -> bool {
        match grant.purpose {
            Purpose::Permission => self.permissions.contains(&grant.cluster),
            Purpose::Token => self.tokens.contains(&grant.cluster),
        }
    }
}

/// The writes that are left.
#[derive(Debug, Default)]
pub(super) struct Writes<'v> {
    pub(super) actions: Vec<Action>,
    /// The clusters whose grants are not, or not simply, as they should be.
    pub(super) clusters: Vec<&'v Name>,
}

/// Returns the writes that are left.
pub(super) fn writes<'v>(
    view: &View<'v>,
    wanted: Vec<WantedGrant<'v>>,
    known: &KnownGrants<'_>,
) -> Writes<'v> {
    let mut wanted: BTreeMap<ObjectKey, WantedGrant<'v>> =
        wanted.into_iter().map(|one| (one.key.clone(), one)).collect();
    let mut left = Writes::default();
    for (key, grant) in view.grants() {
        let (action, owner) = match wanted.remove(key) {
            Some(one) => (one.correction(grant), &one.instance.cluster),
            None if !view.is_within(&grant.cluster) => continue,
            None if known.only_tokens && grant.purpose != Purpose::Token => continue,
            None if grant.meta.deleting => (None, &grant.cluster),
            None if view.instance(&grant.cluster).is_some() && !known.holds(grant) => {
                let action = withdrawn(view, key, grant).or_else(|| narrowed(view, key, grant));
                (action, &grant.cluster)
            }
            None => {
                let why = "the agent no longer needs it";
                (Some(delete(key, grant, why)), &grant.cluster)
            }
        };
        // A grant for another cluster is reported on that cluster when it changes.
        if action.is_some() || grant.meta.deleting || *owner != grant.cluster {
            left.clusters.extend([owner, &grant.cluster]);
        }
        left.actions.extend(action);
    }
    for one in wanted.into_values() {
        left.clusters.push(&one.instance.cluster);
        left.actions.push(one.creation());
    }
    left
}

/// The label is the permission: a role that is not one for agents any more is removed, whatever the agent waits for. Where a
/// namespace is no cluster's at the moment, what stands there stays.
fn withdrawn(view: &View<'_>, key: &ObjectKey, grant: &Grant) -> Option<Action> {
    let GrantContent::Binding { kind, role, .. } = &grant.content else {
        return None;
    };
    if grant.meta.deleting || grant.purpose != Purpose::Permission {
        return None;
    }
    match view.unbindable(&grant.cluster, &key.namespace, kind, role)? {
        Unbindable::Name | Unbindable::Unlabelled | Unbindable::Danger(_) => {
            Some(delete(key, grant, "the role is no longer allowed for agents"))
        }
        Unbindable::Namespace if key.namespace != grant.cluster && view.cluster(&key.namespace).is_some() => {
            Some(delete(key, grant, "the namespace belongs to another cluster"))
        }
        Unbindable::Namespace | Unbindable::Withheld => None,
    }
}

/// What cannot be judged now stays as it is; only that the add-on's agents of all clusters hold it is taken back.
fn narrowed(view: &View<'_>, key: &ObjectKey, grant: &Grant) -> Option<Action> {
    let is_wide = match &grant.content {
        GrantContent::Binding { holders, .. } => *holders == Holders::AgentsOfAll,
        GrantContent::Account | GrantContent::Role(_) => false,
    };
    let is_due = match view.settings().agent_groups {
        AgentGroups::Cluster => is_wide && !grant.meta.deleting && grant.purpose == Purpose::Permission,
        AgentGroups::Stock => false,
    };
    is_due.then(|| Action::Replace {
        object: key.clone(),
        before: Revision::from(&grant.meta),
        patch: json!({"subjects": subjects(&Holders::Agent, &grant.cluster, &view.addon.name)}).into(),
        why: "agents of other clusters have the permission",
    })
}

fn delete(key: &ObjectKey, grant: &Grant, why: &'static str) -> Action {
    Action::Delete {
        object: key.clone(),
        before: Revision::from(&grant.meta),
        why,
    }
}

impl WantedGrant<'_> {
    /// Returns whether the stored object is what is wanted.
    pub(super) fn stands(&self, grant: &Grant) -> bool {
        grant.labelled
            && !grant.meta.deleting
            && grant.content == self.content
            && self.owners(grant).is_none()
    }

    fn creation(&self) -> Action {
        Action::Create {
            object: self.key.clone(),
            body: self.body().into(),
            why: "the agent registers with the hub",
        }
    }

    fn correction(&self, grant: &Grant) -> Option<Action> {
        if grant.meta.deleting || self.stands(grant) {
            return None;
        }
        if let (
            GrantContent::Binding { kind, role, .. },
            GrantContent::Binding {
                kind: old_kind,
                role: old_role,
                ..
            },
        ) = (&self.content, &grant.content)
            && (kind != old_kind || role != old_role)
        {
            return Some(delete(&self.key, grant, "a role binding cannot change its role"));
        }
        Some(Action::Replace {
            object: self.key.clone(),
            before: Revision::from(&grant.meta),
            patch: self.patch(grant).into(),
            why: "the permission differs from what the agent needs",
        })
    }

    /// An owner in another namespace is none: the garbage collector would take the object for an orphan.
    fn is_owned(&self) -> bool {
        self.key.namespace == self.instance.cluster
    }

    /// Returns the owners that the stored object should have, if it has others.
    fn owners(&self, grant: &Grant) -> Option<Vec<Value>> {
        if !self.is_owned() {
            return None;
        }
        let mut owners = owners::owned_by(self.instance, &grant.owners)?;
        if let Some(own) = owners.last_mut() {
            *own = owners::of_instance(self.instance, false);
        }
        Some(owners)
    }

    fn labels(&self) -> Value {
        let addon = &*self.instance.addon;
        match self.purpose {
            Purpose::Token => {
                json!({(labels::TOKEN_ADDON_NAME): addon, (labels::TOKEN_INFRASTRUCTURE): "true"})
            }
            Purpose::Permission => json!({
                (labels::ADDON_NAME): addon,
                (labels::ADDON_TEMPLATE_NAME): "",
                (labels::TOKEN_ADDON_NAME): addon,
                (terms::CLUSTER_NAME): &*self.instance.cluster,
                (terms::PERMISSION): self.index.to_string(),
            }),
        }
    }

    fn content(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        match &self.content {
            GrantContent::Account => {}
            GrantContent::Role(_) => {
                fields.insert("rules".to_owned(), super::token::rules(&self.instance.addon));
            }
            GrantContent::Binding { holders, .. } => {
                let Instance { cluster, addon, .. } = self.instance;
                fields.insert("subjects".to_owned(), subjects(holders, cluster, addon));
            }
        }
        fields
    }

    fn body(&self) -> Value {
        let mut metadata = json!({
            "name": &*self.key.name,
            "namespace": &*self.key.namespace,
            "labels": self.labels(),
        });
        if let Some(fields) = metadata.as_object_mut().filter(|_| self.is_owned()) {
            let owner = owners::of_instance(self.instance, false);
            fields.insert("ownerReferences".to_owned(), json!([owner]));
        }
        let mut body = self.content();
        body.insert("apiVersion".to_owned(), Value::from(self.key.kind.api_version()));
        body.insert("kind".to_owned(), Value::from(self.key.kind.address().kind));
        body.insert("metadata".to_owned(), metadata);
        if let GrantContent::Binding { kind, role, .. } = &self.content {
            let role = json!({"apiGroup": RBAC, "kind": &**kind, "name": &**role});
            body.insert("roleRef".to_owned(), role);
        }
        Value::Object(body)
    }

    fn patch(&self, grant: &Grant) -> Value {
        let mut metadata = Map::new();
        metadata.insert("labels".to_owned(), self.labels());
        if let Some(owners) = self.owners(grant) {
            metadata.insert("ownerReferences".to_owned(), Value::Array(owners));
        }
        let mut patch = self.content();
        patch.insert("metadata".to_owned(), Value::Object(metadata));
        Value::Object(patch)
    }
}

fn subjects(holders: &Holders, cluster: &str, addon: &str) -> Value {
    let one = |(kind, name): (&str, &str)| json!({"kind": kind, "name": name, "apiGroup": RBAC});
    let agent = |groups: &[String]| {
        let user = agent_user(cluster, addon);
        let groups = groups.iter().map(|group| one(("Group", group)));
        std::iter::once(one(("User", &user))).chain(groups).collect()
    };
    let groups = agent_groups(cluster, addon);
    match holders {
        Holders::Agent => agent(groups.get(..1).unwrap_or_default()),
        Holders::AgentsOfAll => agent(&groups),
        Holders::Cluster => {
            let groups = cluster_groups(cluster);
            groups.iter().map(|group| one(("Group", group))).collect()
        }
        Holders::Stated(all) => all.iter().map(|(kind, name)| one((&**kind, &**name))).collect(),
    }
}

/// Returns the key of a role binding.
pub(super) fn binding(namespace: &Name, name: String) -> ObjectKey {
    ObjectKey::new(Kind::RoleBinding, namespace.clone(), name)
}
