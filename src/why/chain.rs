//! The chain of one cluster: add-on, placement, configurations, instance, works, workloads.
//!
//! Decides where it stops. The first link that cannot pass on what the one before it says is the one to open.

use jiff::Timestamp;
use serde_json::Value;

use super::answer::{Cause, Chain, Link};
use super::causes;
use super::{wait, work};
use crate::api::names::conditions;
use crate::offline::Hub;
use crate::plan::{State, Wait};
use crate::snapshot::{
    Cluster, Condition, Instance, Kind, Lifecycle, ObjectKey, PlacementUse, Reference, Status, View,
};

/// How many letters of a hash are shown.
const SHORT: usize = 8;

/// Everything that the chains of one add-on share.
pub(super) struct Case<'a> {
    pub(super) hub: &'a Hub,
    pub(super) view: View<'a>,
    pub(super) waits: &'a [Wait],
}

impl Case<'_> {
    /// Returns the chain of one cluster.
    pub(super) fn chain(&self, cluster: &str) -> (Chain, Option<Cause>) {
        let mut links = vec![self.addon()];
        let used = self.placements(cluster);
        links.extend(used.iter().map(|used| self.placement(used, cluster)));
        let instance = self.view.instance(cluster);
        for reference in instance
            .into_iter()
            .flat_map(|instance| instance.references.iter())
        {
            links.push(self.config(reference, cluster, instance));
        }
        let cause = self.follow(cluster, instance, used.is_empty(), &mut links);
        let nowhere = cause.is_some() && !links.iter().any(|link| link.stops);
        if let Some(last) = links.last_mut().filter(|_| nowhere) {
            last.stops = true;
        }
        let chain = Chain {
            cluster: cluster.to_owned(),
            links,
            cause: cause.as_ref().map(|cause| cause.doc.id),
            detail: cause
                .as_ref()
                .map(|cause| cause.detail.clone())
                .unwrap_or_default(),
            since: since(instance),
        };
        (chain, cause)
    }

    fn follow(
        &self,
        cluster: &str,
        instance: Option<&Instance>,
        unselected: bool,
        links: &mut Vec<Link>,
    ) -> Option<Cause> {
        let mine = self
            .waits
            .iter()
            .filter(|wait| wait.cluster.as_deref() == Some(cluster));
        let held = wait::heaviest(mine);
        let known = self.view.cluster(cluster);
        let Some(instance) = instance else {
            links.push(cluster_link(cluster, known).stopping());
            let nobody = || Cause {
                doc: causes::NOT_SELECTED,
                detail: "no placement of the add-on has decided for the cluster".to_owned(),
            };
            let behind = || Cause {
                doc: causes::WORK_MISSING,
                detail: "the ManagedClusterAddOn has not been created yet".to_owned(),
            };
            return Some(held.map_or_else(|| if unselected { nobody() } else { behind() }, wait::cause));
        };
        links.push(instance_link(instance));
        if let Some(wait) = held.filter(|wait| !wait::is_about_the_agent(&wait.on)) {
            mark(links, wait);
            self.works(cluster, links);
            return Some(wait::cause(wait));
        }
        if instance.meta.deleting {
            return Some(Cause {
                doc: causes::DELETING,
                detail: "the ManagedClusterAddOn is being deleted".to_owned(),
            });
        }
        if let Some(cause) = unreachable(known) {
            links.push(cluster_link(cluster, known).stopping());
            return Some(cause);
        }
        let found = self.works(cluster, links);
        found.or_else(|| held.map(wait::cause)).or_else(|| said(instance))
    }

    fn works(&self, cluster: &str, links: &mut Vec<Link>) -> Option<Cause> {
        let stopped = links.iter().any(|link| link.stops);
        let before = links.len();
        let cause = work::follow(self.hub, self.view.works(cluster), links);
        if stopped {
            links.iter_mut().skip(before).for_each(|link| link.stops = false);
        }
        cause
    }

    fn addon(&self) -> Link {
        let addon = self.view.addon;
        let managed = match &addon.lifecycle {
            Lifecycle::Managed => "managed by the hub".to_owned(),
            Lifecycle::Empty if addon.managed => "managed by the hub".to_owned(),
            Lifecycle::Empty => "manages itself".to_owned(),
            Lifecycle::Own(by) => format!("manages itself (lifecycle {by:?})"),
        };
        let ready = addon
            .conditions
            .iter()
            .find(|condition| &*condition.kind == conditions::READY);
        let ready = ready.map_or_else(String::new, |condition| {
            format!("; Ready {}: {}", condition.status.as_str(), condition.message)
        });
        Link::new(
            format!("ClusterManagementAddOn {}", addon.name),
            format!("{managed}{ready}"),
        )
    }

    /// The placements of the add-on that have decided for the cluster.
    fn placements(&self, cluster: &str) -> Vec<&PlacementUse> {
        let uses = self.view.addon.placements.iter();
        uses.filter(|used| self.group(used, cluster).is_some()).collect()
    }

    fn group(&self, used: &PlacementUse, cluster: &str) -> Option<String> {
        let mut decisions = self.view.decisions(&used.namespace, &used.name);
        let decision = decisions.find(|decision| decision.clusters.iter().any(|name| **name == *cluster))?;
        Some(match &*decision.group_name {
            "" => format!("group {}", decision.group_index),
            name => format!("group {} {name:?}", decision.group_index),
        })
    }

    fn placement(&self, used: &PlacementUse, cluster: &str) -> Link {
        let group = self.group(used, cluster).unwrap_or_default();
        let mut says = format!("{group}; {}", self.strategy(used));
        let progression = self.view.addon.progressions.iter().flatten();
        let mut mine =
            progression.filter(|found| found.namespace == used.namespace && found.name == used.name);
        let said = mine.find_map(|found| {
            found
                .conditions
                .iter()
                .find(|condition| &*condition.kind == conditions::PROGRESSING)
        });
        if let Some(condition) = said {
            says.push_str("; ");
            says.push_str(&condition.message);
        }
        Link::new(format!("Placement {}/{}", used.namespace, used.name), says)
    }

    /// The strategy as its author wrote it: the store keeps only its meaning.
    fn strategy(&self, used: &PlacementUse) -> String {
        if let Err(why) = &used.rollout {
            return format!("the rollout strategy has no meaning: {why}");
        }
        let key = ObjectKey::new(Kind::AddOn, "", self.view.addon.name.clone());
        let uses = self
            .hub
            .object(&key)
            .and_then(|object| object.pointer("/spec/installStrategy/placements"));
        let written = uses
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .find(|written| {
                let text = |name: &str| written.get(name).and_then(Value::as_str);
                text("namespace") == Some(&*used.namespace) && text("name") == Some(&*used.name)
            });
        let strategy = written.and_then(|written| written.get("rolloutStrategy"));
        let kind = strategy
            .and_then(|strategy| strategy.get("type"))
            .and_then(Value::as_str)
            .unwrap_or("All");
        let block =
            strategy.and_then(|strategy| strategy.as_object()?.values().find(|value| value.is_object()));
        let mut says = kind.to_owned();
        for (name, value) in block.and_then(Value::as_object).into_iter().flatten() {
            if !value.is_array() && !value.is_object() {
                let value = value.to_string();
                says.extend([" ", name, " ", value.trim_matches('"')]);
            }
        }
        says
    }

    fn config(&self, reference: &Reference, cluster: &str, instance: Option<&Instance>) -> Link {
        let config = &reference.config;
        let addon = self.view.addon;
        let mut uses = addon
            .placements
            .iter()
            .filter(|used| self.group(used, cluster).is_some());
        let level = if instance.is_some_and(|instance| instance.configs.contains(config)) {
            "cluster"
        } else if uses.any(|used| used.configs.contains(config)) {
            "placement"
        } else {
            "default"
        };
        let applied = reference
            .applied
            .as_ref()
            .map_or("nothing", |applied| &applied.hash);
        let says = if reference.is_applied() {
            format!("level {level}; {} applied", short(&reference.desired))
        } else {
            format!(
                "level {level}; desired {}, applied {}",
                short(&reference.desired),
                short(applied)
            )
        };
        let place = if config.namespace.is_empty() {
            config.name.to_string()
        } else {
            format!("{}/{}", config.namespace, config.name)
        };
        Link::new(format!("{} {place}", config.of), says)
    }
}

/// A wait that is about an object stops the chain at that object.
fn mark(links: &mut [Link], wait: &Wait) {
    let text = wait.to_string();
    let named = |link: &Link| {
        let name = link.object.split_once(' ').map_or("", |(_, name)| name);
        name.contains('/') && text.contains(name)
    };
    let position = links
        .iter()
        .position(named)
        .unwrap_or_else(|| links.len().saturating_sub(1));
    if let Some(link) = links.get_mut(position) {
        link.stops = true;
    }
}

fn instance_link(instance: &Instance) -> Link {
    let word = |kind: &str| {
        let condition = instance.condition(kind)?;
        Some(format!(
            "{kind} {} {}: {}",
            condition.status.as_str(),
            condition.reason,
            condition.message
        ))
    };
    let said: Vec<String> = [
        conditions::PROGRESSING,
        conditions::AVAILABLE,
        conditions::DEGRADED,
    ]
    .into_iter()
    .filter_map(word)
    .collect();
    let said = if said.is_empty() {
        "no conditions yet".to_owned()
    } else {
        said.join("; ")
    };
    Link::new(
        format!("ManagedClusterAddOn {}/{}", instance.cluster, instance.addon),
        said,
    )
}

fn cluster_link(name: &str, cluster: Option<&Cluster>) -> Link {
    let says = match cluster {
        None => "does not exist".to_owned(),
        Some(cluster) => {
            let accepted = if cluster.accepted {
                "accepted"
            } else {
                "not accepted"
            };
            let available = cluster.available.map_or("not reported", Status::as_str);
            let why = cluster
                .unknown
                .as_ref()
                .map_or_else(String::new, |(reason, message)| format!(" ({reason}: {message})"));
            format!("{accepted}, available {available}{why}")
        }
    };
    Link::new(format!("ManagedCluster {name}"), says)
}

fn unreachable(cluster: Option<&Cluster>) -> Option<Cause> {
    let cluster = cluster?;
    match cluster.available {
        None | Some(Status::True) => None,
        Some(Status::False | Status::Unknown) => Some(Cause {
            doc: causes::UNREACHABLE,
            detail: "the hub does not hear of the cluster".to_owned(),
        }),
    }
}

/// What conditions say when nothing else does.
fn said(instance: &Instance) -> Option<Cause> {
    let is = |kind: &str, status: Status| {
        instance
            .condition(kind)
            .filter(|condition| condition.status == status)
    };
    let failed =
        |condition: &&Condition| State::is_failure(&condition.reason) || condition.status == Status::True;
    let progressing = instance.condition(conditions::PROGRESSING).filter(failed);
    let bad = progressing
        .or_else(|| is(conditions::AVAILABLE, Status::False))
        .or_else(|| is(conditions::AVAILABLE, Status::Unknown))
        .or_else(|| is(conditions::DEGRADED, Status::True))?;
    Some(Cause {
        doc: causes::CONDITION,
        detail: format!(
            "{} {} {}: {}",
            bad.kind,
            bad.status.as_str(),
            bad.reason,
            bad.message
        ),
    })
}

fn since(instance: Option<&Instance>) -> Option<Timestamp> {
    let kinds = [conditions::PROGRESSING, conditions::AVAILABLE];
    let since = kinds
        .into_iter()
        .filter_map(|kind| instance?.condition(kind)?.since);
    since.max()
}

fn short(hash: &str) -> String {
    if hash.is_empty() {
        return "nothing".to_owned();
    }
    hash.chars().take(SHORT).collect()
}
