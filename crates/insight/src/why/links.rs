//! The objects of the chain from an add-on to a cluster, with their states.
//!
//! Decides which words of an object matter. Where the chain stops is decided by `chain`.

use jiff::Timestamp;
use serde_json::Value;

use super::answer::Link;
use super::context::Context;
use super::placements::{DecidedGroup, place};
use super::stage::{Stage, deadline, stage, under_way_since};
use super::turn::mandatory_text;
use api::names::conditions;
use model::ConfigRollout;
use store::{
    Cluster, ConfigRef, Fence, Instance, Kind, Lifecycle, ObjectKey, PlacementUse, Reference, Status, terms,
};

/// How many letters of a hash are shown.
const SHORT: usize = 8;

impl Context<'_> {
    pub(super) fn addon(&self) -> Link {
        let addon = self.view.addon;
        if addon.meta.uid.is_empty() && addon.meta.deleting {
            return Link::new(format!("ClusterManagementAddOn {}", addon.name), "was deleted");
        }
        let managed = match &addon.lifecycle {
            Lifecycle::Tidegate => "managed by Tidegate".to_owned(),
            Lifecycle::Managed if self.view.settings().fence == Fence::Closed => {
                "managed by OCM's add-on manager, which holds its Lease".to_owned()
            }
            Lifecycle::Managed | Lifecycle::Empty if self.view.is_anothers() => {
                "managed by another program (--manage marked)".to_owned()
            }
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
        let going = if addon.meta.deleting {
            "; is being deleted"
        } else {
            ""
        };
        Link::new(
            format!("ClusterManagementAddOn {}", addon.name),
            format!("{managed}{going}{ready}"),
        )
    }

    /// Returns the placement over which changes of `spec.configuration` go.
    pub(super) fn rolling(&self) -> Option<String> {
        match &self.view.addon.configuration_rollout {
            Ok(ConfigRollout::RollingUpdateWithPlacement(update)) => {
                Some(format!("{}/{}", update.namespace, update.name))
            }
            Ok(ConfigRollout::UpdateAll) | Err(_) => None,
        }
    }

    /// Whether changes of `spec.configuration` reach a cluster.
    pub(super) fn rolls_to(&self, cluster: &str) -> bool {
        match &self.view.addon.configuration_rollout {
            Ok(ConfigRollout::RollingUpdateWithPlacement(update)) => {
                let (namespace, name) = (update.namespace.as_str().into(), update.name.as_str().into());
                let mut decisions = self.view.decisions(&namespace, &name);
                decisions.any(|decision| decision.clusters.iter().any(|one| **one == *cluster))
            }
            Ok(ConfigRollout::UpdateAll) | Err(_) => true,
        }
    }

    /// Returns the placement that the configuration of a cluster comes from.
    pub(super) fn home(&self, cluster: &str) -> Option<&PlacementUse> {
        let seat = self.decided.home(cluster)?;
        self.view.addon.placements.get(seat.placement)
    }

    /// The placements that select a cluster.
    pub(super) fn placement_links(&self, cluster: &str) -> Vec<Link> {
        let seats = self.decided.of_cluster(cluster).iter();
        seats.filter_map(|seat| self.placement(seat)).collect()
    }

    fn placement(&self, seat: &DecidedGroup) -> Option<Link> {
        let used = self.view.addon.placements.get(seat.placement)?;
        let is_there = self.view.placement(&used.namespace, &used.name).is_some();
        let absent = if is_there { "" } else { "does not exist; " };
        let mut says = format!("{absent}{}; {}", seat.group_text(), self.strategy(used));
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
        Some(Link::new(format!("Placement {}", place(used)), says))
    }

    /// The strategy as its author wrote it: the store keeps only its meaning.
    fn strategy(&self, used: &PlacementUse) -> String {
        let groups = match self.view.strategy(used) {
            Err(why) => return format!("the rollout strategy is invalid: {why}"),
            Ok(strategy) => &strategy.mandatory,
        };
        let profile = self.view.rollout().strategy_profile(used.rollout.as_ref().ok());
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
        let of_profile = profile.and_then(|name| {
            let key = ObjectKey::new(Kind::Profile, "", name.clone());
            self.hub.object(&key)?.pointer("/spec/rolloutStrategy")
        });
        let strategy = of_profile.or_else(|| written.and_then(|written| written.get("rolloutStrategy")));
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
        if !groups.is_empty() {
            let first: Vec<String> = groups.iter().map(mandatory_text).collect();
            says.extend([" mandatory groups ", &first.join(", ")]);
        }
        if let Some(name) = profile {
            says.extend([" (RolloutProfile ", &**name, ")"]);
        }
        says
    }

    /// What a reference of an instance is assigned, what its agent has confirmed, and what the specs require now.
    pub(super) fn config(&self, reference: &Reference, cluster: &str, instance: Option<&Instance>) -> Link {
        let config = &reference.config;
        let (level, wanted) = self.wanted(config, cluster, instance);
        let applied = reference
            .applied
            .as_ref()
            .map_or("nothing", |applied| &applied.hash);
        let mut says = if reference.is_applied() {
            format!("level {level}; {} applied", short(&reference.desired))
        } else {
            format!(
                "level {level}; desired {}, applied {}",
                short(&reference.desired),
                short(applied)
            )
        };
        if let Some(wanted) = wanted {
            let hash = self.view.config(wanted).map(|found| &*found.hash);
            let is_other = *wanted != *config;
            match hash {
                Some(hash) if is_other || *hash != *reference.desired => {
                    let name = if is_other {
                        written(wanted) + " "
                    } else {
                        String::new()
                    };
                    says.extend(["; the specs require ", &name, &short(hash)]);
                }
                None if is_other => says.extend(["; the specs require ", &written(wanted)]),
                Some(_) | None => {}
            }
        }
        Link::new(config_name(config), says)
    }

    /// The layer that a type of configurations comes from now, and the configuration of that type that it names, if it names just one.
    fn wanted<'a>(
        &'a self,
        config: &ConfigRef,
        cluster: &str,
        instance: Option<&'a Instance>,
    ) -> (&'static str, Option<&'a ConfigRef>) {
        let of_type = |layer: &'a [ConfigRef]| -> Vec<&'a ConfigRef> {
            layer.iter().filter(|one| one.of == config.of).collect()
        };
        let own = instance
            .map(|instance| of_type(&instance.configs))
            .unwrap_or_default();
        let home = self
            .home(cluster)
            .map(|used| of_type(&used.configs))
            .unwrap_or_default();
        let shared = of_type(&self.view.addon.configuration);
        let supported: Vec<&ConfigRef> = self
            .view
            .addon
            .supported
            .iter()
            .filter_map(|one| one.config.as_ref())
            .filter(|one| one.of == config.of && *one.name != *terms::NO_DEFAULT)
            .collect();
        let layers = [
            ("cluster", own),
            ("placement", home),
            ("default", shared),
            ("default", supported),
        ];
        let found = layers.into_iter().find(|(_, layer)| !layer.is_empty());
        match found {
            Some((level, layer)) => match layer.as_slice() {
                [one] => (level, Some(*one)),
                _ => (level, None),
            },
            None => ("default", None),
        }
    }

    /// Returns since when an instance is ready, or not: the time of the condition that sums it up, as the controllers would write
    /// it now. Where that condition says otherwise, the time is unknown: no other condition's time stands for it.
    pub(super) fn since(&self, instance: &Instance, is_ready: bool) -> Option<Timestamp> {
        if instance.meta.deleting && !is_ready {
            return instance.farewell.since();
        }
        let sums_up = if self.view.addon.managed {
            conditions::READY
        } else {
            conditions::AVAILABLE
        };
        let words = self.conditions.words(instance);
        let word = words.into_iter().find(|word| word.kind == sums_up)?;
        word.since.filter(|_| (word.status == Status::True) == is_ready)
    }

    pub(super) fn instance_link(&self, instance: &Instance) -> Link {
        let word = |kind: &str| {
            let condition = instance.condition(kind)?;
            Some(format!(
                "{kind} {} {}: {}",
                condition.status.as_str(),
                condition.reason,
                condition.message
            ))
        };
        let shown = [
            conditions::PROGRESSING,
            conditions::AVAILABLE,
            conditions::DEGRADED,
        ];
        let mut said: Vec<String> = shown.into_iter().filter_map(word).collect();
        if said.is_empty() {
            said.push("no conditions yet".to_owned());
        }
        let since = under_way_since(&self.conditions.words(instance));
        let end = since.and_then(|since| deadline(&self.view, self.home(&instance.cluster)?, since));
        said.extend(end.map(|end| {
            let tense = if self.now < end { "ends" } else { "ended" };
            format!("progressDeadline {tense} at {end}")
        }));
        if let Stage::Soaking(end) = stage(self, instance) {
            said.push(format!("must stay successful until {end}"));
        }
        Link::new(
            format!("ManagedClusterAddOn {}/{}", instance.cluster, instance.addon),
            said.join("; "),
        )
    }
}

/// Returns a configuration as links name it.
pub(super) fn config_name(config: &ConfigRef) -> String {
    format!("{} {}", kind_of(config), written(config))
}

/// Returns the kind of a configuration; of foreign ones only the resource is known.
fn kind_of(config: &ConfigRef) -> String {
    if &*config.of.group == api::v1alpha1::GROUP {
        match &*config.of.resource {
            "addondeploymentconfigs" => return "AddOnDeploymentConfig".to_owned(),
            "addonhubconfigs" => return "AddOnHubConfig".to_owned(),
            "addontemplates" => return "AddOnTemplate".to_owned(),
            _ => {}
        }
    }
    config.of.to_string()
}

fn written(config: &ConfigRef) -> String {
    if config.namespace.is_empty() {
        return config.name.to_string();
    }
    format!("{}/{}", config.namespace, config.name)
}

pub(super) fn cluster_link(name: &str, cluster: Option<&Cluster>) -> Link {
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

fn short(hash: &str) -> String {
    if hash.is_empty() {
        return "nothing".to_owned();
    }
    hash.chars().take(SHORT).collect()
}
