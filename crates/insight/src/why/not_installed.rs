//! Why a cluster does not have the add-on, or why no cluster has it.
//!
//! `find` determines that no cluster has it, `chain` that one cluster does not have it.

use serde_json::Value;

use super::answer::{Cause, Grade};
use super::causes;
use super::command::{self, quoted};
use super::context::Context;
use super::placements::place;
use api::names::annotations::{LIFECYCLE, LIFECYCLE_ADDON_MANAGER, LIFECYCLE_SELF, LIFECYCLE_TIDEGATE};
use api::names::conditions::PLACEMENT_SATISFIED;
use api::reason::Reason;
use kubernetes::field::nearest;
use store::{Fence, InstallStrategy, Kind, Lifecycle, ObjectKey, PlacementUse, terms};

impl Context<'_> {
    /// Returns why no cluster has the add-on or waits for it.
    pub(super) fn no_clusters(&self) -> Cause {
        let addon = self.view.addon;
        if self.view.is_anothers() {
            return self.self_managed("no cluster has its ManagedClusterAddOn");
        }
        let of_all = |what: &str| format!("{what} none of {} ManagedClusters", self.view.clusters().count());
        let labels = "kubectl get managedclusters --show-labels";
        let (detail, command) = match &addon.strategy {
            _ if !addon.managed => (
                "the add-on manages itself, and no cluster has its ManagedClusterAddOn".to_owned(),
                command::manage(&addon.name),
            ),
            InstallStrategy::Manual => (
                "the install strategy is Manual, and no ManagedClusterAddOn was created".to_owned(),
                self.create_anywhere(),
            ),
            InstallStrategy::Placements if addon.placements.is_empty() => (
                "spec.installStrategy has no placement".to_owned(),
                format!("kubectl edit clustermanagementaddon {}", quoted(&addon.name)),
            ),
            InstallStrategy::Placements => {
                let named: Vec<String> = addon.placements.iter().map(place).collect();
                let told = addon.placements.iter().find_map(|used| self.unsatisfied(used));
                let told = told.map_or_else(String::new, |(_, message)| format!(": {message}"));
                let first = addon.placements.first();
                (
                    of_all(&format!("placement {} selects", named.join(", "))) + &told,
                    first.map(describe_placement).unwrap_or_default(),
                )
            }
            InstallStrategy::Labels(_) => (
                of_all("the label selector of the install strategy matches"),
                labels.to_owned(),
            ),
            InstallStrategy::BadLabels(_) | InstallStrategy::Other(_) => (
                "the install strategy selects no cluster".to_owned(),
                format!("kubectl edit clustermanagementaddon {}", quoted(&addon.name)),
            ),
        };
        Cause::new(causes::NO_CLUSTERS_SELECTED, detail).typing(command)
    }

    fn create_anywhere(&self) -> String {
        let first = self.view.clusters().next().map(|(name, _)| &**name);
        command::create_instance(&self.view.addon.name, first.unwrap_or("cluster1"))
    }

    /// Returns why a cluster that nothing holds has no instance.
    pub(super) fn absent(&self, cluster: &str) -> Cause {
        let addon = self.view.addon;
        let known = self.view.cluster(cluster);
        if known.is_some_and(|known| known.opts_out_of(&addon.name)) {
            return self.opted_out(cluster);
        }
        if self.selects(cluster) && self.lacks_namespace(cluster) {
            let detail = "the hub has no namespace with the name of the cluster, so the ManagedClusterAddOn cannot be created";
            return Cause::new(causes::NAMESPACE_MISSING, detail);
        }
        if self.selects(cluster) && !addon.managed {
            return self.self_managed("its manager has not created a ManagedClusterAddOn for the cluster");
        }
        if self.selects(cluster) {
            return Cause::new(
                causes::WORK_MISSING,
                "the ManagedClusterAddOn has not been created yet",
            );
        }
        let (detail, command) = match &addon.strategy {
            InstallStrategy::Manual => (
                "the install strategy is Manual, and no ManagedClusterAddOn was created for the cluster"
                    .to_owned(),
                Some(command::create_instance(&addon.name, cluster)),
            ),
            InstallStrategy::Placements => {
                let each = addon.placements.iter().enumerate();
                let each: Vec<String> = each
                    .map(|(position, used)| {
                        format!(
                            "placement {} selects {} others",
                            place(used),
                            self.decided.count(position)
                        )
                    })
                    .collect();
                let last = addon.placements.last();
                (
                    format!(
                        "no placement of the add-on selects the cluster ({})",
                        each.join(", ")
                    ),
                    last.map(describe_placement),
                )
            }
            InstallStrategy::Labels(_) => (
                "the label selector of the install strategy does not match the labels of the cluster"
                    .to_owned(),
                None,
            ),
            InstallStrategy::BadLabels(_) | InstallStrategy::Other(_) => {
                ("the install strategy selects no cluster".to_owned(), None)
            }
        };
        let cause = Cause::new(causes::NOT_SELECTED, detail).graded(Grade::Absent);
        Cause { command, ..cause }
    }

    /// Whether a cluster has no namespace. A hub that shows no namespace at all is not evaluated.
    fn lacks_namespace(&self, cluster: &str) -> bool {
        let key = ObjectKey::new(Kind::Namespace, "", cluster);
        let mut shown = self.hub.objects().keys();
        self.hub.object(&key).is_none() && shown.any(|one| one.kind == Kind::Namespace)
    }

    /// The cluster has opted out of the add-on.
    pub(super) fn opted_out(&self, cluster: &str) -> Cause {
        let addon = &*self.view.addon.name;
        let listed = self.view.cluster(cluster).map(|known| known.opt_out.to_string());
        let listed = listed.unwrap_or_default();
        let rest: Vec<&str> = listed
            .split(',')
            .map(str::trim)
            .filter(|one| !one.is_empty() && *one != "*" && *one != addon)
            .collect();
        let change = if rest.is_empty() {
            format!("{}-", terms::OPT_OUT)
        } else {
            format!("--overwrite {}={}", terms::OPT_OUT, quoted(&rest.join(",")))
        };
        let detail = format!(
            "the annotation {} of the ManagedCluster excludes the add-on",
            terms::OPT_OUT
        );
        Cause::new(causes::OPTED_OUT, detail)
            .graded(Grade::Absent)
            .typing(format!(
                "kubectl annotate --field-manager=ops managedcluster {} {change}",
                quoted(cluster)
            ))
    }

    fn self_managed(&self, what: &str) -> Cause {
        let addon = self.view.addon;
        if self.view.is_anothers() && self.view.settings().fence == Fence::Closed {
            let detail = format!(
                "OCM's add-on manager is active and manages every add-on without the annotation {LIFECYCLE}={LIFECYCLE_TIDEGATE}; check \
                 its log, or set this annotation so that Tidegate manages the add-on"
            );
            return Cause::new(causes::SELF_MANAGED, detail).typing(command::mark(&addon.name));
        }
        if self.view.is_anothers() {
            let detail = format!(
                "this program manages only add-ons with the annotation {LIFECYCLE}={LIFECYCLE_TIDEGATE} (--manage marked); another \
                 add-on manager of the hub manages the others"
            );
            return Cause::new(causes::SELF_MANAGED, detail).typing(command::mark(&addon.name));
        }
        let value = match &addon.lifecycle {
            Lifecycle::Own(value) => format!("has the value {value:?}"),
            Lifecycle::Managed | Lifecycle::Tidegate | Lifecycle::Empty => "has no value".to_owned(),
        };
        let detail = format!("the annotation {LIFECYCLE} {value}, so the add-on manages itself, and {what}");
        Cause::new(causes::SELF_MANAGED, detail).typing(command::manage(&addon.name))
    }

    /// Returns why the add-on as a whole is stalled; failures of single clusters are in the first link.
    pub(super) fn stalled(&self) -> Option<Cause> {
        let is_held = || !self.going.is_empty() || self.waits.iter().any(|wait| wait.on.is_held_removal());
        // What only the controllers know is in no other object.
        let is_theirs = |reason: &str| match Reason::of(reason) {
            Some(Reason::ClockUnknown | Reason::ReadFailed) => true,
            Some(Reason::RemovalHeld | Reason::ClustersAbsent | Reason::RemovalUnconfirmed) => is_held(),
            Some(_) | None => false,
        };
        let (reason, message) = self.conditions.stalled(self.stated(), is_theirs)?;
        let known = Reason::of(&reason);
        Some(match known {
            Some(Reason::ClustersStalled) => return None,
            Some(Reason::PlacementNotFound) if self.has_all_placements() => self.rolling_missing(&message),
            Some(Reason::PlacementNotFound) => Cause::new(causes::PLACEMENT_MISSING, message),
            Some(Reason::RolloutStrategyInvalid) => {
                Cause::new(causes::ROLLOUT_STRATEGY, message).typing(command::edit(&self.view.addon.name))
            }
            Some(
                Reason::LabelSelectorMissing | Reason::LabelSelectorInvalid | Reason::InstallStrategyUnknown,
            ) => Cause::new(causes::STRATEGY, message),
            Some(Reason::ClockUnknown) => Cause::new(causes::CLOCK, message),
            Some(Reason::RollingBack | Reason::RolledBack) => {
                Cause::new(causes::UNDONE, message).typing(format!(
                    "tidegate rollout history {}",
                    command::quoted(&self.view.addon.name)
                ))
            }
            Some(Reason::UndoImpossible) => Cause::new(causes::NO_WAY_BACK, message),
            Some(_) | None if let Some(cause) = self.held_cause(known, &message) => cause,
            Some(_) | None => Cause::new(causes::ADDON_STALLED, format!("{reason}: {message}")),
        })
    }

    /// Whether every placement of the install strategy exists, where it follows placements.
    fn has_all_placements(&self) -> bool {
        let addon = self.view.addon;
        let is_there = |used: &PlacementUse| self.view.placement(&used.namespace, &used.name).is_some();
        addon.strategy != InstallStrategy::Placements || addon.placements.iter().all(is_there)
    }

    /// Returns a probable typing error in the lifecycle annotation of an add-on that manages itself.
    pub(super) fn lifecycle_slip(&self) -> Option<Cause> {
        let Lifecycle::Own(value) = &self.view.addon.lifecycle else {
            return None;
        };
        if **value == *LIFECYCLE_SELF {
            return None;
        }
        let near = nearest(
            value,
            [LIFECYCLE_ADDON_MANAGER, LIFECYCLE_SELF, LIFECYCLE_TIDEGATE],
        )?;
        let cause = self.self_managed("the hub does not install it");
        Some(Cause {
            detail: format!("{}; did you mean {near:?}?", cause.detail),
            ..cause
        })
    }

    /// Returns the placement of the install strategy that has no cluster set to select from.
    pub(super) fn unbound(&self) -> Option<Cause> {
        let addon = self.view.addon;
        if !matches!(addon.strategy, InstallStrategy::Placements) {
            return None;
        }
        addon.placements.iter().find_map(|used| {
            let (reason, message) = self.unsatisfied(used)?;
            if reason != "NoManagedClusterSetBindings" {
                return None;
            }
            let set = self.first_set(used);
            let detail = format!(
                "placement {} has no cluster set to select from, because no ManagedClusterSetBinding binds one to namespace {:?}: \
                 {message}",
                place(used),
                &*used.namespace
            );
            Some(Cause::new(causes::BINDING_MISSING, detail).typing(command::bind(&set, &used.namespace)))
        })
    }

    /// The first cluster set of a placement, or the global set.
    fn first_set(&self, used: &PlacementUse) -> String {
        let sets = self
            .placement_object(used)
            .and_then(|object| object.pointer("/spec/clusterSets"));
        let first = sets.and_then(|sets| sets.get(0)?.as_str());
        first.unwrap_or("global").to_owned()
    }

    /// Returns reason and message of a placement's condition `PlacementSatisfied` where it is False.
    fn unsatisfied(&self, used: &PlacementUse) -> Option<(&str, &str)> {
        let conditions = self
            .placement_object(used)?
            .pointer("/status/conditions")?
            .as_array()?;
        conditions.iter().find_map(|condition| {
            let text = |name: &str| condition.get(name).and_then(Value::as_str);
            let is_it = text("type") == Some(PLACEMENT_SATISFIED) && text("status") == Some("False");
            is_it.then(|| {
                (
                    text("reason").unwrap_or_default(),
                    text("message").unwrap_or_default(),
                )
            })
        })
    }

    fn placement_object(&self, used: &PlacementUse) -> Option<&Value> {
        let key = ObjectKey::new(Kind::Placement, used.namespace.clone(), used.name.clone());
        self.hub.object(&key)
    }
}

fn describe_placement(used: &PlacementUse) -> String {
    command::describe("placement", &used.namespace, &used.name)
}
