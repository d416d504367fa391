//! What still holds an add-on that is going, on one cluster.
//!
//! Decides who holds it: pre-delete hooks, a finalizer, a work whose agent has not let go, or a cluster that the hub does not
//! hear of. An end is healthy for as long as an agent may take to start; after that it is a fault, and so is at once what cannot
//! come to an end by itself.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::answer::{Cause, Grade, Link};
use super::causes;
use super::command::{self, quoted};
use super::context::{Context, away};
use api::names::{conditions, finalizers};
use api::reason::Reason;
use plan::{Wait, WaitOn};
use store::{Instance, Kind, ObjectKey, TimeoutPolicy, Work, terms};

impl Context<'_> {
    /// Returns until when an end, or a first report, is waited for without fault: an agent may take this long to start.
    pub(super) fn patience(&self, deleted: Option<Timestamp>) -> Option<Timestamp> {
        let startup = SignedDuration::try_from(self.view.settings().startup).ok()?;
        deleted?.checked_add(startup).ok()
    }

    fn deleted_at(&self, key: &ObjectKey) -> Option<Timestamp> {
        let found = self.hub.object(key)?.pointer("/metadata/deletionTimestamp");
        found.and_then(Value::as_str)?.parse().ok()
    }

    /// Returns what holds an instance that is being deleted.
    pub(super) fn held_instance(
        &self,
        instance: &Instance,
        held: Option<&Wait>,
        links: &mut Vec<Link>,
    ) -> Cause {
        let cluster = &*instance.cluster;
        let known = self.view.cluster(cluster);
        let hook = held.and_then(|wait| {
            if let WaitOn::Hook(why) = &wait.on {
                Some(why)
            } else {
                None
            }
        });
        if hook.is_some() {
            links.extend(self.hook_work(cluster));
        }
        let unheard = away(known);
        if let Some(link) = links.last_mut() {
            link.stops = true;
        }
        match (hook, unheard) {
            (Some(why), Some(away)) => Cause {
                detail: format!("{}, so its pre-delete hooks cannot complete: {why}", away.detail),
                ..away
            },
            (Some(why), None) => self.hook(instance, why),
            (None, unheard) => self.finalizer(instance, unheard),
        }
    }

    fn hook(&self, instance: &Instance, why: &str) -> Cause {
        let settings = self.view.settings();
        let farewell = &instance.farewell;
        let policy = farewell.policy().unwrap_or(settings.hook_timeout_policy);
        let timeout = farewell.timeout().unwrap_or(settings.hook_timeout);
        let end = farewell.since().and_then(|since| timeout.end(since));
        let then = match (policy, end) {
            (TimeoutPolicy::Release, Some(end)) => format!("; the add-on is deleted without them at {end}"),
            (TimeoutPolicy::Block | TimeoutPolicy::Release, _) => {
                "; the add-on is kept until they have completed or are skipped".to_owned()
            }
        };
        let cause = Cause::new(
            causes::HOOK,
            format!("pre-delete hooks block the deletion of the add-on: {why}{then}"),
        );
        let said = instance.condition(conditions::HOOK_MANIFEST_COMPLETED);
        let has_failed = said
            .is_some_and(|said| *said.reason == Reason::HookFailed || *said.reason == Reason::HookTimedOut);
        if has_failed {
            return cause;
        }
        cause.within(self.patience(farewell.since()), self.now)
    }

    fn hook_work(&self, cluster: &str) -> Option<Link> {
        let name = terms::hook_work(&self.view.addon.name);
        let work = self.view.works(cluster).find(|work| *work.name == *name)?;
        let hook = work.hook.as_deref()?;
        let says = format!(
            "{} of {} pre-delete hooks have completed",
            hook.completed, hook.manifests
        );
        Some(Link::new(format!("ManifestWork {cluster}/{name}"), says))
    }

    fn finalizer(&self, instance: &Instance, unheard: Option<Cause>) -> Cause {
        let (cluster, addon) = (&*instance.cluster, &*instance.addon);
        let look = format!(
            "kubectl get managedclusteraddon {} -n {} -o jsonpath='{{.metadata.finalizers}}'",
            quoted(addon),
            quoted(cluster)
        );
        let is_ours = |one: &str| one == finalizers::ADDON_PRE_DELETE;
        let names: Vec<&str> = instance.farewell.finalizers.iter().map(|one| &**one).collect();
        let others: Vec<&str> = names.iter().copied().filter(|one| !is_ours(one)).collect();
        let detail = match (names.is_empty(), others.is_empty()) {
            (true, _) => "the ManagedClusterAddOn is being deleted".to_owned(),
            (false, true) => format!(
                "the ManagedClusterAddOn is being deleted and is blocked by the finalizer {}",
                names.join(", ")
            ),
            (false, false) => format!(
                "the ManagedClusterAddOn is being deleted and is blocked by the finalizer {}, which is not a finalizer of Tidegate",
                others.join(", ")
            ),
        };
        let said = instance.condition(conditions::HOOK_MANIFEST_COMPLETED);
        let detail = match said.filter(|said| *said.reason == Reason::NamespaceTerminating) {
            Some(said) => format!("{detail}; {}", said.message),
            None => detail,
        };
        let cause = Cause::new(causes::DELETING, detail).typing(look);
        if unheard.is_some_and(|cause| cause.doc == causes::UNREACHABLE) {
            return Cause {
                detail: format!("{}; the cluster is not available to the hub", cause.detail),
                ..cause
            };
        }
        cause.within(self.patience(instance.farewell.since()), self.now)
    }

    /// Returns what blocks the deletion of the works that an instance has left behind.
    pub(super) fn held_works(&self, cluster: &str, links: &mut Vec<Link>) -> Option<Cause> {
        let works = self.view.works(cluster);
        let mut all: Vec<&Work> = works.collect();
        // A work that was not deleted explains more than one that is being deleted.
        all.sort_by_key(|work| work.meta.deleting);
        let work = *all.first()?;
        let name = format!("ManifestWork {}/{}", work.namespace, work.name);
        let look = command::get("manifestwork", &work.namespace, &work.name);
        if !work.meta.deleting {
            links.push(Link::new(name, "not deleted").stopping());
            let detail = "a ManifestWork of the add-on is left and was not deleted";
            let delete = format!(
                "kubectl delete manifestwork {} -n {}",
                quoted(&work.name),
                quoted(&work.namespace)
            );
            return Some(Cause::new(causes::WORK_NOT_REMOVED, detail).typing(delete));
        }
        let held: Vec<&str> = work.finalizers.iter().map(|one| &**one).collect();
        let says = format!("is being deleted, blocked by {}", held.join(", "));
        links.push(Link::new(name, says).stopping());
        if let Some(away) = away(self.view.cluster(&work.namespace)) {
            let detail = format!(
                "{}, so its agent does not remove the ManifestWorks of the add-on",
                away.detail
            );
            return Some(Cause { detail, ..away });
        }
        let key = ObjectKey::new(Kind::Work, work.namespace.clone(), work.name.clone());
        let cause = Cause::new(
            causes::WORK_NOT_REMOVED,
            "the agent of the cluster has not removed a ManifestWork of the add-on that is being deleted",
        );
        Some(
            cause
                .typing(look)
                .within(self.patience(self.deleted_at(&key)), self.now),
        )
    }

    /// Returns what blocks the deletion of the add-on itself when nothing of it is left on any cluster.
    pub(super) fn held_addon(&self) -> Cause {
        let addon = &*self.view.addon.name;
        let key = ObjectKey::new(Kind::AddOn, "", addon);
        let list = self
            .hub
            .object(&key)
            .and_then(|object| object.pointer("/metadata/finalizers")?.as_array());
        let names: Vec<&str> = list.into_iter().flatten().filter_map(Value::as_str).collect();
        let detail = if names.is_empty() {
            "the ClusterManagementAddOn is being deleted".to_owned()
        } else {
            format!(
                "the ClusterManagementAddOn is being deleted and is blocked by the finalizer {}",
                names.join(", ")
            )
        };
        let look = format!(
            "kubectl get clustermanagementaddon {} -o jsonpath='{{.metadata.finalizers}}'",
            quoted(addon)
        );
        Cause::new(causes::ADDON_DELETING, detail)
            .typing(look)
            .within(self.patience(self.deleted_at(&key)), self.now)
    }

    /// Returns why an instance was not deleted although its add-on was deleted or is being deleted.
    pub(super) fn left_over(&self, instance: &Instance) -> Cause {
        let addon = self.view.addon;
        let delete = format!(
            "kubectl delete managedclusteraddon {} -n {}",
            quoted(&addon.name),
            quoted(&instance.cluster)
        );
        let is_owned = instance
            .owners
            .iter()
            .any(|owner| *owner.kind == *"ClusterManagementAddOn" && owner.name == addon.name);
        if addon.meta.uid.is_empty() && is_owned {
            let detail = "the ClusterManagementAddOn was deleted, and the garbage collector is about to delete the ManagedClusterAddOn";
            return Cause::new(causes::ADDON_DELETING, detail).graded(Grade::Waits(None));
        }
        let detail = if addon.meta.uid.is_empty() {
            "the ClusterManagementAddOn was deleted, but the ManagedClusterAddOn was not"
        } else {
            "the ClusterManagementAddOn is being deleted, but the ManagedClusterAddOn has not been deleted yet"
        };
        let key = ObjectKey::new(Kind::AddOn, "", addon.name.clone());
        Cause::new(causes::ADDON_DELETING, detail)
            .typing(delete)
            .within(self.patience(self.deleted_at(&key)), self.now)
    }
}

/// A cluster on which nothing is left of an add-on that is being deleted.
pub(super) fn nothing_left() -> Cause {
    Cause::new(
        causes::NOT_SELECTED,
        "the add-on is being deleted, and nothing of it is left on the cluster",
    )
    .graded(Grade::Absent)
}
