//! Why an upgrade of clusters is not complete: what blocks it, and which clusters share a reason.
//!
//! Decides nothing about upgrades: reasons are those of the planner, asked as the controllers ask it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::command;
use super::upgrade_next_steps::{of_hold, of_reason};
use crate::cockpit::authored;
use crate::layout::instead;
use crate::offline::Hub;
use api::reason::{Act, NextStep, Reason};
use kubernetes::field::quoted;
use plan::upgrade::{Hold, Plan, Record};
use store::upgrade::{View, Work};
use store::{FreezeRecord, Name, Owner, Settings, Store};

/// The upgrade does not exist, its name is ambiguous, or it does not include the cluster.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UpgradeUnknown {
    /// No such upgrade.
    #[error("no ManagedClustersUpgrade has the name {name:?}; {instead}")]
    Upgrade {
        /// The name, with its namespace where it was given.
        name: String,
        /// What was probably meant, or what there is.
        instead: String,
    },
    /// More than one.
    #[error("several ManagedClustersUpgrades have the name {name:?}: use {}", .all.join(" or "))]
    Ambiguous {
        /// The name.
        name: String,
        /// What can be said.
        all: Vec<String>,
    },
    /// The upgrade is not about the cluster.
    #[error(
        "the upgrade {upgrade} does not include the cluster {name:?}: neither its placements nor its selector select it, and it has not \
         started there"
    )]
    Cluster {
        /// The upgrade.
        upgrade: String,
        /// The cluster.
        name: String,
    },
}

/// An object of the chain to a cluster, with its state.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct UpgradeLink {
    /// The object.
    pub object: String,
    /// What it says.
    pub says: String,
}

/// Clusters that share a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeGroup {
    /// The reason, in one word.
    pub reason: String,
    /// The same in a sentence.
    pub detail: String,
    /// Whether an administrator has to act.
    pub act: Act,
    /// What to do.
    pub fix: &'static str,
    /// The command to run.
    pub command: String,
    /// The clusters; none when the upgrade as a whole is concerned.
    pub clusters: Vec<String>,
}

/// Why an upgrade is not complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeAnswer {
    /// Namespace and name.
    pub upgrade: String,
    /// `status.phase` as the planner would tell it now.
    pub phase: String,
    /// How many clusters it is about, and how many of them have what was asked.
    pub clusters: usize,
    /// How many of them are upgraded.
    pub complete: usize,
    /// The reasons, those first for which an administrator has to act.
    pub groups: Vec<UpgradeGroup>,
    /// The chain to the requested cluster.
    pub links: Vec<UpgradeLink>,
}

impl UpgradeAnswer {
    /// Returns whether every reason ends by itself.
    pub fn is_well(&self) -> bool {
        self.groups.iter().all(|group| group.act == Act::Waits)
    }
}

/// Returns why an upgrade is not further, as a whole or on one cluster. `name` is its name, or its namespace and name with a slash.
pub fn why_upgrade(
    hub: &Hub,
    settings: Settings,
    name: &str,
    cluster: Option<&str>,
    now: Timestamp,
) -> Result<UpgradeAnswer, UpgradeUnknown> {
    why_upgrade_from(&hub.store(settings), name, cluster, now)
}

/// Returns the same from a store of the hub.
pub fn why_upgrade_from(
    store: &Store,
    name: &str,
    cluster: Option<&str>,
    now: Timestamp,
) -> Result<UpgradeAnswer, UpgradeUnknown> {
    let owner = find(store, name)?;
    let unknown = || UpgradeUnknown::Upgrade {
        name: name.to_owned(),
        instead: "it was deleted".to_owned(),
    };
    let view = store.upgrade_view(&owner).ok_or_else(unknown)?;
    let plan = plan::upgrade::plan(&view, now);
    let upgrade = format!("{}/{}", owner.namespace, owner.name);
    let case = Case {
        view: &view,
        plan: &plan,
        owner: &owner,
    };
    let Some(asked) = cluster else {
        return Ok(case.whole(upgrade));
    };
    let mut answer = case.whole(upgrade.clone());
    answer.links = case.links(asked);
    answer
        .groups
        .retain(|group| group.clusters.is_empty() || group.clusters.iter().any(|one| one == asked));
    if case.is_strange(asked) {
        let name = asked.to_owned();
        return Err(UpgradeUnknown::Cluster { upgrade, name });
    }
    Ok(answer)
}

fn find(store: &Store, name: &str) -> Result<Owner, UpgradeUnknown> {
    let said = |owner: &Owner| format!("{}/{}", owner.namespace, owner.name);
    let all: Vec<Owner> = store.upgrades().collect();
    let mut found: Vec<&Owner> = all
        .iter()
        .filter(|owner| said(owner) == name || *owner.name == *name)
        .collect();
    match (found.pop(), found.is_empty()) {
        (Some(owner), true) => Ok(owner.clone()),
        (Some(owner), false) => {
            found.push(owner);
            let all = found.into_iter().map(|owner| format!("mcu/{}", said(owner)));
            Err(UpgradeUnknown::Ambiguous {
                name: name.to_owned(),
                all: all.collect(),
            })
        }
        (None, _) => {
            let bare = name.rsplit_once('/').map_or(name, |(_, bare)| bare);
            Err(UpgradeUnknown::Upgrade {
                name: name.to_owned(),
                instead: instead(bare, all.iter().map(|owner| &*owner.name)),
            })
        }
    }
}

struct Case<'a> {
    view: &'a View<'a>,
    plan: &'a Plan,
    owner: &'a Owner,
}

impl Case<'_> {
    fn status(&self) -> &api::cluster::ManagedClustersUpgradeStatus {
        self.plan.status.as_ref().unwrap_or(self.view.upgrade.status)
    }

    fn group(
        &self,
        reason: &str,
        detail: &str,
        (act, fix, command): NextStep,
        clusters: Vec<String>,
    ) -> UpgradeGroup {
        let first = clusters.first().map(String::as_str).unwrap_or_default();
        let command = command
            .replace("{mcu}", &self.owner.name)
            .replace("{namespace}", &self.owner.namespace)
            .replace("{cluster}", first);
        UpgradeGroup {
            reason: reason.to_owned(),
            detail: detail.to_owned(),
            act,
            fix,
            command,
            clusters,
        }
    }

    fn whole(&self, upgrade: String) -> UpgradeAnswer {
        let status = self.status();
        let counts = status.clusters_summary.unwrap_or_default();
        let count = |number: i64| usize::try_from(number).unwrap_or_default();
        let mut groups = self.of_upgrade();
        // Clusters that fail come before those that wait because of them, however many those are.
        for mut some in [self.of_clusters(), self.of_holds()] {
            some.sort_by_key(|group| std::cmp::Reverse(group.clusters.len()));
            groups.append(&mut some);
        }
        groups.sort_by_key(|group| group.act);
        UpgradeAnswer {
            upgrade,
            phase: status.phase.clone(),
            clusters: count(counts.total),
            complete: count(counts.complete),
            groups,
            links: Vec::new(),
        }
    }

    /// Clusters that are blocked, being upgraded or failed.
    fn of_clusters(&self) -> Vec<UpgradeGroup> {
        let mut shared: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for told in &self.status().clusters {
            let is_done = told.state == "Complete" && told.phase == "Done";
            let is_queued = told.state == "NotStarted" && told.phase == "Queued";
            if is_done || is_queued {
                continue;
            }
            let word = if told.reason.is_empty() {
                &told.phase
            } else {
                &told.reason
            };
            // Each cluster says how far it is in words of its own.
            let detail = if *told.reason == Reason::Upgrading {
                ""
            } else {
                &told.message
            };
            let key = (word.clone(), detail.to_owned());
            shared.entry(key).or_default().push(told.name.clone());
        }
        let each = shared.into_iter();
        each.map(|((reason, detail), clusters)| {
            self.group(&reason, &detail, of_reason(&reason, &detail), clusters)
        })
        .collect()
    }

    /// Clusters that could start and wait.
    fn of_holds(&self) -> Vec<UpgradeGroup> {
        let mut shared: BTreeMap<Hold, Vec<String>> = BTreeMap::new();
        for wait in &self.plan.waits {
            let clusters = shared.entry(wait.on.clone()).or_default();
            clusters.push(wait.cluster.to_string());
        }
        let each = shared.into_iter();
        each.map(|(hold, clusters)| match self.endless_freeze(&hold) {
            Some(freeze) => of_endless_freeze(freeze, &hold, clusters),
            None => self.group(hold.word(), &hold.sentence(), of_hold(&hold), clusters),
        })
        .collect()
    }

    /// Returns the freeze for which clusters wait, if it stops upgrades until a user ends or corrects it.
    fn endless_freeze(&self, hold: &Hold) -> Option<&FreezeRecord> {
        let Hold::Frozen(name) = hold else { return None };
        let record = self.view.freezes.iter().copied().find(|one| one.name == *name)?;
        let is_endless = record
            .freeze
            .as_ref()
            .map_or(true, |freeze| freeze.until().is_none());
        is_endless.then_some(record)
    }

    /// What concerns the upgrade as a whole.
    fn of_upgrade(&self) -> Vec<UpgradeGroup> {
        let status = self.status();
        let selected = status.conditions.iter().find(|one| one.type_ == "Selected");
        let unselected = selected.filter(|one| one.status == "False");
        let fix = if unselected.is_some_and(|one| *one.reason == Reason::SpecInvalid) {
            "correct the field in the message"
        } else {
            "bind the cluster set to the namespace of the upgrade, or correct placements and selector"
        };
        let look = "kubectl get managedclustersetbindings,placementdecisions -n {namespace}";
        let none =
            unselected.map(|one| self.group(&one.reason, &one.message, (Act::Needed, fix, look), Vec::new()));
        let unwritten = self.view.unwritten.as_deref().map(|why| {
            let fix = (
                Act::Needed,
                "grant Tidegate permission to write the upgrade",
                "kubectl get mcu {mcu} -n {namespace} -o yaml",
            );
            self.group("UpgradeRefused", why, fix, Vec::new())
        });
        let missing = self.plan.missing_placements.as_deref().map(|message| {
            let reason = Reason::PlacementNotFound.as_str();
            self.group(reason, message, of_reason(reason, message), Vec::new())
        });
        // A placement that does not exist explains why no cluster is selected.
        let none = none.filter(|_| missing.is_none());
        missing.into_iter().chain(none).chain(unwritten).collect()
    }

    fn is_strange(&self, cluster: &str) -> bool {
        let is_reported = self.status().clusters.iter().any(|told| told.name == cluster);
        let settled = self.status().settled.iter();
        let is_settled = settled
            .flat_map(|settled| settled.complete.iter().chain(&settled.failed))
            .any(|name| name == cluster);
        let waits = self.plan.waits.iter().any(|wait| *wait.cluster == *cluster);
        let starts = self.plan.writes.iter().any(|write| **write.place().0 == *cluster);
        !(is_reported || is_settled || waits || starts)
    }

    /// The upgrade, the cluster, its works and what their agent says.
    fn links(&self, cluster: &str) -> Vec<UpgradeLink> {
        let link = |object: String, says: String| UpgradeLink { object, says };
        let told = self.status().clusters.iter().find(|told| told.name == cluster);
        let said = told.map_or_else(
            || "waiting to start".to_owned(),
            |told| {
                let record = Record::of(told);
                let words = [
                    record.state.word(),
                    record.phase.word(),
                    record.reason.map_or("", Reason::as_str),
                    &record.message,
                ];
                let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
                words.join(" · ")
            },
        );
        let mut links = vec![link(
            format!(
                "ManagedClustersUpgrade {}/{}",
                self.owner.namespace, self.owner.name
            ),
            said,
        )];
        let known = self.view.clusters.get(cluster);
        links.push(link(
            format!("ManagedCluster {cluster}"),
            known.map_or_else(
                || "does not exist on the hub".to_owned(),
                |known| {
                    let answers = if known.available {
                        "available"
                    } else {
                        "not available"
                    };
                    let version = Some(known.version.as_str()).filter(|version| !version.is_empty());
                    format!("{answers}; runs {}", version.unwrap_or("an unknown version"))
                },
            ),
        ));
        let name = Name::from(cluster);
        for (work, found) in self.view.works.get(&name).into_iter().flatten() {
            links.push(link(
                format!("ManifestWork {cluster}/{work}"),
                of_work(found, self.view.upgrade.uid),
            ));
        }
        links
    }
}

fn of_endless_freeze(record: &FreezeRecord, hold: &Hold, clusters: Vec<String>) -> UpgradeGroup {
    let name = &record.name;
    let author = authored(record.set_by.as_ref());
    let (detail, fix, command) = match &record.freeze {
        Ok(freeze) => (
            format!(
                "the RolloutFreeze {} stops upgrades and has no end: {}{author}",
                quoted(name),
                freeze.reason
            ),
            "end the freeze",
            format!("tidegate rollout unfreeze {}", command::quoted(name)),
        ),
        Err(fault) => (
            format!(
                "the RolloutFreeze {} is invalid, and stops all upgrades: {fault}{author}",
                quoted(name)
            ),
            "correct the RolloutFreeze",
            format!("kubectl edit rolloutfreeze {}", command::quoted(name)),
        ),
    };
    UpgradeGroup {
        reason: hold.word().to_owned(),
        detail,
        act: Act::Needed,
        fix,
        command,
        clusters,
    }
}

fn of_work(work: &Work, uid: &str) -> String {
    if work.owner != uid {
        let owner = Some(work.owned_by.as_str()).filter(|owner| !owner.is_empty());
        return format!("belongs to {}", owner.unwrap_or("no upgrade"));
    }
    let applied = match work.applied {
        store::upgrade::Applied::Never => "the agent has not reported on it",
        store::upgrade::Applied::Not => "the agent has not applied its current generation",
        store::upgrade::Applied::Yes => "applied",
    };
    let mut parts = vec![applied.to_owned()];
    if !work.failure.is_empty() {
        parts.push(work.failure.clone());
    }
    for manifest in &work.manifests {
        let each = manifest.feedback.iter().filter(|(_, value)| !value.is_empty());
        parts.extend(each.map(|(name, value)| format!("{name}={value}")));
    }
    parts.join(", ")
}
