//! Roles that agents may have: those that carry the label made for it, and what they would give away.
//!
//! Decides which rules are too much for an agent, whatever label the role has. Never decides who gets a role.

use super::role_facts::{RoleRecord, Unbindable, role_key};
use crate::kind::Owner;
use crate::kind::Touched;
use crate::kind::{Kind, ObjectKey};
use crate::kinds::granted::{HubClusterRole, HubRole};
use crate::settings::RollUps;
use crate::store::Store;
use crate::view::View;
use model::Name;
use model::{is_addons_own, is_never_bound, is_reserved};

impl Store {
    /// Returns a role that may be one for agents.
    pub(crate) fn hub_role(&self, key: &ObjectKey) -> Option<&RoleRecord> {
        if key.kind == Kind::HubClusterRole {
            self.kept.get::<HubClusterRole>(&key.place())
        } else {
            self.kept.get::<HubRole>(&key.place())
        }
    }

    /// Notes that such a role says something else.
    pub(crate) fn hub_role_changed(
        &mut self,
        key: &ObjectKey,
        before: Option<&RoleRecord>,
        touched: &mut Touched,
    ) {
        let says = |record: &RoleRecord| record.says;
        if self.hub_role(key).map(says) != before.map(says) {
            self.published.hub_role_changed(key);
            self.touch_all(touched);
        }
    }

    /// Notes whether the hub shows a kind.
    pub(crate) fn shown(&mut self, kind: Kind, shown: bool, touched: &mut Touched) {
        let news = if shown {
            self.objects.withheld.remove(&kind)
        } else {
            self.objects.withheld.insert(kind)
        };
        let begins = if shown {
            self.objects.shown.insert(kind)
        } else {
            self.objects.shown.remove(&kind)
        };
        let is_rolled_up = kind == Kind::Rollout && self.settings.roll_ups == RollUps::InOwnKind;
        let matters = begins && (is_rolled_up || kind == Kind::KeptContent);
        if matters || (news && kind.is_hub_role()) {
            self.touch_all(touched);
        }
    }

    /// Which add-ons ask for a role is in contents that may be gone: labels of roles change rarely.
    pub(crate) fn touch_all(&self, touched: &mut Touched) {
        touched.extend(self.objects.addons.keys().map(Owner::addon));
    }
}

impl View<'_> {
    /// Returns whether the hub shows everything that the permissions of agents are judged by.
    pub fn shows_permissions(&self) -> bool {
        let withheld = &self.store.objects.withheld;
        !withheld.iter().any(|kind| {
            kind.is_hub_role() || matches!(kind, Kind::RoleBinding | Kind::Role | Kind::ServiceAccount)
        })
    }

    /// Returns whether a namespace is that of a cluster. Only a cluster that the hub has accepted has one: a bootstrap token may
    /// register a ManagedCluster with any name. An instance in a namespace does not make it a cluster's.
    pub fn is_clusters_own(&self, namespace: &Name) -> bool {
        self.is_accepted(namespace) && !is_reserved(namespace)
    }

    fn is_accepted(&self, cluster: &Name) -> bool {
        self.cluster(cluster).is_some_and(|cluster| cluster.accepted)
    }

    /// Returns why the agent of this add-on on a cluster is not given a role in a namespace.
    pub fn unbindable(
        &self,
        cluster: &Name,
        namespace: &Name,
        kind: &str,
        role: &Name,
    ) -> Option<Unbindable> {
        if is_never_bound(role) {
            return Some(Unbindable::Name);
        }
        let addon = &self.addon.name;
        let own = is_addons_own(namespace, addon) && !self.is_accepted(addon);
        let clusters = namespace == cluster && self.is_clusters_own(cluster);
        if !clusters && !own && !self.settings().hub_namespaces.lists(namespace) {
            return Some(Unbindable::Namespace);
        }
        let Some(key) = role_key(kind, namespace, role) else {
            return Some(Unbindable::Unlabelled);
        };
        if self.store.objects.withheld.contains(&key.kind) {
            return Some(Unbindable::Withheld);
        }
        match self.store.hub_role(&key) {
            Some(role) if role.says.allowed => role.says.danger.map(Unbindable::Danger),
            Some(_) | None => Some(Unbindable::Unlabelled),
        }
    }
}
