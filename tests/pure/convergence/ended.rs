//! What must be true at the end of every scenario: a cluster that the strategy reaches has the content of the current spec, or is
//! blocked for a true reason; and a cluster with good conditions is done.
//!
//! The expected content of each cluster is derived from the users' objects and the agents' behaviour only, not from the planner or the
//! status.

use std::collections::{BTreeMap, BTreeSet};

use api::hash::SpecHash;
use serde_json::Value;
use store::{Kind, ObjectKey};

use super::agents::{Agents, Mood};
use super::hub::{Hub, Object, is_deleting, text};
use super::spec::{LABEL, amount_of};
use super::told::{SUPERSEDED, condition, held, list};
use super::undone;
use super::user::{ADDON, NEWER, is_taken_over};

const MARK: &str = "tidegate.io/installed-by";
const OPT_OUT: &str = "tidegate.io/opt-out";
const LABELS: &str = "cluster.open-cluster-management.io/";
pub(crate) const CONFIGS: &str = "addondeploymentconfigs";
pub(crate) const TEMPLATES: &str = "addontemplates";

/// The end of a story.
struct End<'h> {
    hub: &'h Hub,
    agents: &'h Agents,
    addon: &'h Object,
    /// The spec of the AddOnRollout.
    settings: &'h Value,
    /// Where clusters are configured: index of the placement, and decision group there.
    homes: BTreeMap<&'h str, (usize, Group)>,
    /// The clusters that a change of `spec.configuration` reaches; absent where it reaches all.
    reached: Option<BTreeSet<&'h str>>,
}

type Group = (u64, String);

/// An instance against what it should be.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
struct Member<'h> {
    cluster: &'h str,
    object: &'h Object,
    home: Option<(usize, Group)>,
    is_reached: bool,
    /// It is assigned what it should have, as far as that is for it.
    is_assigned: bool,
    /// It runs with that.
    is_done: bool,
    /// It keeps something of `spec.configuration` that is no longer said there.
    keeps: bool,
    /// What it keeps is no longer on the hub: works are made of the whole, so that nothing else can arrive either.
    keeps_all: bool,
}

/// Returns what is wrong with the end of a story.
pub(crate) fn judge(hub: &Hub, agents: &Agents) -> Result<(), String> {
    let Some(addon) = hub.get(&ObjectKey::new(Kind::AddOn, "", ADDON)) else {
        return Ok(());
    };
    if is_deleting(addon) {
        return Ok(());
    }
    let settings = hub.get(&ObjectKey::new(Kind::Rollout, "", ADDON));
    let end = End {
        hub,
        agents,
        addon,
        settings: settings.map_or(&Value::Null, |settings| &settings["spec"]),
        homes: homes(hub, addon),
        reached: reached(hub, addon),
    };
    end.missing()?;
    let members: Vec<Member<'_>> = hub
        .of_kind(Kind::Instance)
        .filter_map(|(key, object)| end.member(key, object))
        .collect();
    for member in &members {
        end.progress(member, &members)?;
        green(member)?;
    }
    let own = members
        .iter()
        .filter_map(|member| Some((member.home.as_ref()?.0, member.object)));
    undone::judge(addon, &own.collect::<Vec<_>>())?;
    end.summary(&members)
}

/// Whether the end follows from the users' objects alone: nothing is kept that history has decided.
pub(crate) fn is_plain(hub: &Hub) -> bool {
    let addon = hub.get(&ObjectKey::new(Kind::AddOn, "", ADDON));
    addon.is_none_or(|addon| addon["spec"].get("configuration").is_none())
}

/// The clusters of a placement with their first decision group.
fn decided<'h>(hub: &'h Hub, placement: &str) -> BTreeMap<&'h str, Group> {
    let mut clusters: BTreeMap<&'h str, Group> = BTreeMap::new();
    for (_, decision) in hub.of_kind(Kind::Decision) {
        let label = |name: &str| decision["metadata"]["labels"][format!("{LABELS}{name}")].as_str();
        if label("placement") != Some(placement) {
            continue;
        }
        let index = label("decision-group-index").and_then(|index| index.parse().ok());
        let group = (
            index.unwrap_or_default(),
            label("decision-group-name").unwrap_or_default().to_owned(),
        );
        for one in list(decision, "/status/decisions") {
            let known = clusters.entry(text(one, "/clusterName"));
            let known = known.or_insert_with(|| group.clone());
            *known = known.clone().min(group.clone());
        }
    }
    clusters
}

fn homes<'h>(hub: &'h Hub, addon: &Value) -> BTreeMap<&'h str, (usize, Group)> {
    let mut homes = BTreeMap::new();
    if text(addon, "/spec/installStrategy/type") != "Placements" {
        return homes;
    }
    for (index, by) in list(addon, "/spec/installStrategy/placements").enumerate() {
        let clusters = decided(hub, text(by, "/name")).into_iter();
        homes.extend(clusters.map(|(cluster, group)| (cluster, (index, group))));
    }
    homes
}

/// Whether an instance has, or had, the content of a configuration: its first one is no change that a rollout brings.
fn had_config(object: &Value) -> bool {
    let mut references =
        list(object, "/status/configReferences").filter(|one| text(one, "/resource") == CONFIGS);
    references.any(|one| {
        ["/desiredConfig/specHash", "/lastAppliedConfig/specHash"]
            .iter()
            .any(|hash| !text(one, hash).is_empty())
    })
}

fn rolling(addon: &Value) -> Option<&Value> {
    addon.pointer("/spec/configuration/rolloutStrategy/rollingUpdateWithPlacement")
}

fn has_placement(hub: &Hub, name: &str) -> bool {
    hub.get(&ObjectKey::new(Kind::Placement, "default", name))
        .is_some()
}

fn reached<'h>(hub: &'h Hub, addon: &Value) -> Option<BTreeSet<&'h str>> {
    let name = text(rolling(addon)?, "/name");
    let exists = has_placement(hub, name);
    let clusters = exists.then(|| decided(hub, name).into_keys());
    Some(clusters.into_iter().flatten().collect())
}

fn opts_out(cluster: &Value) -> bool {
    cluster["metadata"]["annotations"].get(OPT_OUT).is_some()
}

impl<'h> End<'h> {
    fn cluster(&self, name: &str) -> Option<&'h Object> {
        let found = self.hub.get(&ObjectKey::new(Kind::Cluster, "", name))?;
        (!is_deleting(found)).then_some(found)
    }

    /// Every cluster that the strategy selects has the add-on.
    fn missing(&self) -> Result<(), String> {
        let labels = text(self.addon, "/spec/installStrategy/type") == "ClusterLabelSelector";
        for (key, cluster) in self.hub.of_kind(Kind::Cluster) {
            let selected = if labels {
                cluster["metadata"]["labels"][LABEL] == "prod"
            } else {
                self.homes.contains_key(&*key.name)
            };
            let has = self
                .hub
                .get(&ObjectKey::new(Kind::Instance, key.name.clone(), ADDON));
            if selected && has.is_none() && !is_deleting(cluster) && !opts_out(cluster) {
                return Err(format!("progress: {} is selected and has no add-on", key.name));
            }
        }
        Ok(())
    }

    fn member(&self, key: &'h ObjectKey, object: &'h Object) -> Option<Member<'h>> {
        let cluster = self.cluster(&key.namespace)?;
        let marked = object["metadata"]["annotations"].get(MARK).is_some() && !is_taken_over(object);
        if is_deleting(object) || (marked && opts_out(cluster)) {
            return None;
        }
        let home = self.homes.get(&*key.namespace);
        let is_governed = rolling(self.addon).is_some()
            && had_config(object)
            && list(object, "/spec/configs").next().is_none()
            && home.is_none_or(|home| self.of_placement(home.0, "/configs").next().is_none());
        let reached = self.reached.as_ref();
        let is_reached = reached.is_none_or(|reached| reached.contains(&*key.namespace));
        let mut template = self.is_assigned(object, TEMPLATES, &self.template(object));
        let mut config = self.is_assigned(object, CONFIGS, &self.config(object, home));
        if let Some(good) = home.and_then(|home| undone::good(self.addon, home.0)) {
            (template, config) = undone::is_back(object, good, (template, config));
        }
        let is_for_it = is_reached || !is_governed;
        let is_assigned = template && (config || !is_for_it);
        Some(Member {
            cluster: &key.namespace,
            object,
            home: home.cloned(),
            is_reached,
            is_assigned,
            is_done: is_assigned && list(object, "/status/configReferences").all(is_applied),
            keeps: !config && !is_for_it,
            keeps_all: !config && !is_for_it && !self.is_there(object),
        })
    }

    fn of_placement(&self, index: usize, field: &str) -> impl Iterator<Item = &'h Value> {
        self.place(index).into_iter().flat_map(|place| {
            let listed = place.pointer(field).and_then(Value::as_array);
            listed.into_iter().flatten().collect::<Vec<_>>()
        })
    }

    /// The configuration that an instance should have: its own, else its placement's, else the default.
    fn config(&self, object: &Value, home: Option<&(usize, Group)>) -> ObjectKey {
        let own = list(object, "/spec/configs").next();
        let placed = home.and_then(|home| self.of_placement(home.0, "/configs").next());
        let name = own.or(placed).map(|one| text(one, "/name"));
        let name = name.unwrap_or_else(|| undone::default_config(self.addon));
        ObjectKey::new(Kind::DeploymentConfig, "default", name)
    }

    /// The template that an instance should have: the one that is named, else that of its version, else the newest.
    fn template(&self, object: &Value) -> ObjectKey {
        let mut listed = list(self.addon, "/spec/supportedConfigs");
        let is_named = listed.any(|one| one["resource"] == TEMPLATES && one.get("defaultConfig").is_some());
        let name = match text(object, "/spec/desiredVersion") {
            _ if is_named => ADDON,
            "v1" => ADDON,
            _ => NEWER,
        };
        ObjectKey::new(Kind::Template, "", name)
    }

    fn is_assigned(&self, object: &Value, resource: &str, wanted: &ObjectKey) -> bool {
        let Some(stored) = self.hub.get(wanted) else {
            return false;
        };
        let hash = SpecHash::of(stored).to_string();
        let mut references =
            list(object, "/status/configReferences").filter(|one| text(one, "/resource") == resource);
        let (first, second) = (references.next(), references.next());
        second.is_none()
            && first.is_some_and(|one| {
                text(one, "/desiredConfig/name") == &*wanted.name
                    && text(one, "/desiredConfig/specHash") == hash
            })
    }

    /// A cluster that has not what it should have is held for a true reason, unless its agent is what fails.
    fn progress(&self, member: &Member<'_>, all: &[Member<'_>]) -> Result<(), String> {
        let fails = self.agents.mood(member.cluster) == Mood::Failing;
        if member.keeps && !self.is_true_of_kept(member) {
            return Err(format!(
                "progress: {} keeps what spec.configuration no longer says, and says {:?}; it has {}",
                member.cluster,
                held(member.object),
                member.object["status"]["configReferences"]
            ));
        }
        // What it keeps may have been edited before it arrived: then it keeps what it had before that.
        let is_left = member.is_assigned && (fails || member.keeps);
        if member.is_done || is_left || self.is_held(member, all) {
            return Ok(());
        }
        Err(format!(
            "progress: {} has not what it should have, and says {:?}, {}; it has {}",
            member.cluster,
            held(member.object),
            condition(member.object, "/status/conditions", "Configured").unwrap_or(&Value::Null),
            member.object["status"]["configReferences"]
        ))
    }

    fn is_true_of_kept(&self, member: &Member<'_>) -> bool {
        let exists =
            rolling(self.addon).is_some_and(|rolling| has_placement(self.hub, text(rolling, "/name")));
        let said = held(member.object);
        // A turn that the placement has not given comes first.
        said == if exists {
            "OutsideRollout"
        } else {
            "PlacementNotFound"
        } || said == SUPERSEDED
            || (!member.is_assigned
                && [
                    "RolloutPaused",
                    "TooManyFailures",
                    "WaitingForApproval",
                    "WaitingForGroup",
                ]
                .contains(&said))
    }

    /// Whether the reason for which an instance waits is true.
    fn is_held(&self, member: &Member<'_>, all: &[Member<'_>]) -> bool {
        match held(member.object) {
            "RolloutPaused" => self.is_paused(member),
            "WaitingForApproval" => self.is_asked(member),
            "WaitingForGroup" => all.iter().any(|other| {
                let same = member.home.as_ref().zip(other.home.as_ref());
                let same = same.is_some_and(|(one, other)| one.0 == other.0 && one.1 != other.1);
                same && held(other.object) == "WaitingForApproval" && self.is_asked(other)
            }),
            "TooManyFailures" => member
                .home
                .as_ref()
                .is_some_and(|home| self.is_stopped(home.0, all)),
            "WaitingForSlot" => self.is_full(member, all),
            "OutsideRollout" | "PlacementNotFound" | SUPERSEDED => member.keeps_all,
            // What was good is no longer on the hub.
            "UndoImpossible" => {
                let good = member
                    .home
                    .as_ref()
                    .and_then(|home| undone::good(self.addon, home.0));
                good.is_some_and(|good| !undone::is_on(self.hub, good))
            }
            _ => false,
        }
    }

    /// Whether the configuration that an instance is assigned is still on the hub.
    fn is_there(&self, object: &Value) -> bool {
        let mut references = list(object, "/status/configReferences");
        references.all(|one| {
            let name = text(one, "/desiredConfig/name");
            let key = ObjectKey::new(Kind::DeploymentConfig, "default", name);
            let hash = text(one, "/desiredConfig/specHash");
            let found = self.hub.get(&key).filter(|_| text(one, "/resource") == CONFIGS);
            text(one, "/resource") != CONFIGS
                || found.is_some_and(|found| SpecHash::of(found).to_string() == hash)
        })
    }

    /// Whether changes wait before the decision group of a cluster.
    fn is_asked(&self, member: &Member<'_>) -> bool {
        let home = member.home.as_ref();
        home.is_some_and(|(index, (_, group))| {
            let name = self.place(*index).map_or("", |place| text(place, "/name"));
            let own = self.level(name).and_then(|level| level.get("approvalBefore"));
            let asked = own.or_else(|| self.settings.get("approvalBefore"));
            let asked = asked.and_then(Value::as_array).into_iter().flatten();
            asked
                .into_iter()
                .any(|asked| asked == "*" || asked == group.as_str())
        })
    }

    fn is_paused(&self, member: &Member<'_>) -> bool {
        let pauses = |name: &str| self.level(name).is_some_and(|level| level.get("pause").is_some());
        let home = member.home.as_ref().and_then(|home| self.place(home.0));
        let change = rolling(self.addon).filter(|_| member.is_reached);
        self.settings.get("pause").is_some()
            || home.is_some_and(|home| pauses(text(home, "/name")))
            || change.is_some_and(|change| pauses(text(change, "/name")))
    }

    /// The settings of a placement.
    fn level(&self, name: &str) -> Option<&'h Value> {
        let mut all = self.settings.get("placements")?.as_array()?.iter();
        all.find(|one| one["name"] == name)
    }

    fn place(&self, index: usize) -> Option<&'h Value> {
        let pointer = format!("/spec/installStrategy/placements/{index}");
        self.addon.pointer(&pointer)
    }

    fn fails(&self, member: &Member<'_>) -> bool {
        self.agents.mood(member.cluster) == Mood::Failing
    }

    /// Whether more have failed in a placement than may.
    fn is_stopped(&self, index: usize, all: &[Member<'_>]) -> bool {
        let strategy = self.place(index).map(|place| &place["rolloutStrategy"]);
        let Some(strategy) = strategy else { return false };
        let by_group = strategy["type"] == "ProgressivePerGroup";
        let block = &strategy[if by_group {
            "progressivePerGroup"
        } else {
            "progressive"
        }];
        let own: Vec<&Member<'_>> = all
            .iter()
            .filter(|member| member.home.as_ref().is_some_and(|home| home.0 == index))
            .collect();
        let mandatory: BTreeSet<&str> = list(block, "/mandatoryDecisionGroups")
            .map(|group| text(group, "/groupName"))
            .collect();
        let stage = |member: &Member<'_>| {
            let group = member
                .home
                .as_ref()
                .map(|home| home.1.clone())
                .unwrap_or_default();
            let is_mandatory = mandatory.contains(group.1.as_str());
            (is_mandatory, (is_mandatory || by_group).then_some(group))
        };
        let mut stages: BTreeMap<(bool, Option<Group>), (usize, usize)> = BTreeMap::new();
        for member in &own {
            let (size, failed) = stages.entry(stage(member)).or_default();
            *size += 1;
            *failed += usize::from(self.fails(member));
        }
        stages.into_iter().any(|((is_mandatory, _), (size, failed))| {
            let of = if by_group { size } else { own.len() };
            let tolerated = if is_mandatory {
                0
            } else {
                amount_of(&block["maxFailures"], of).unwrap_or(0)
            };
            failed > tolerated
        })
    }

    /// Whether failed clusters keep all slots of `spec.configuration`.
    fn is_full(&self, member: &Member<'_>, all: &[Member<'_>]) -> bool {
        let Some(rolling) = rolling(self.addon).filter(|_| member.is_reached) else {
            return false;
        };
        let own: Vec<&Member<'_>> = all.iter().filter(|member| member.is_reached).collect();
        let failed = own.iter().filter(|member| self.fails(member)).count();
        let limit = amount_of(&rolling["maxConcurrentlyUpdating"], own.len()).unwrap_or(usize::MAX);
        failed >= limit.max(1)
    }

    /// The add-on and its placements are green only when all of their clusters are done.
    fn summary(&self, all: &[Member<'_>]) -> Result<(), String> {
        let kept = all.iter().filter(|member| member.keeps).count();
        let said = condition(self.addon, "/status/conditions", "Ready");
        let message = said.map(|said| text(said, "/message")).unwrap_or_default();
        let ready = said.is_some_and(|said| said["status"] == "True");
        if let Some(open) = all
            .iter()
            .find(|member| ready && !member.is_done && !member.keeps_all)
        {
            return Err(format!(
                "green: the add-on is Ready, and {} is not done",
                open.cluster
            ));
        }
        if ready && kept > 0 && !message.contains("outside of the rollout") {
            return Err(format!(
                "green: {kept} keep what they have, and the add-on says {message:?}"
            ));
        }
        let stalled = condition(self.addon, "/status/conditions", "Stalled");
        let reconciling = condition(self.addon, "/status/conditions", "Reconciling");
        let is_true = |said: Option<&Value>| said.is_some_and(|said| said["status"] == "True");
        if is_true(stalled) && is_true(reconciling) {
            return Err("green: the add-on is stalled and reconciling".to_owned());
        }
        for progression in list(self.addon, "/status/installProgressions") {
            let name = text(progression, "/name");
            let said = condition(progression, "/conditions", "Progressing");
            let own = all.iter().filter(|member| {
                let place = member.home.as_ref().and_then(|home| self.place(home.0));
                place.is_some_and(|place| text(place, "/name") == name)
            });
            let open = own.into_iter().find(|member| !member.is_done || member.keeps);
            let completed = said.is_some_and(|said| said["reason"] == "Completed");
            if let Some(open) = open.filter(|_| completed) {
                return Err(format!(
                    "green: placement {name} is Completed, and {} is not done",
                    open.cluster
                ));
            }
        }
        Ok(())
    }
}

/// An instance is ready only with what it should have, or says why not.
fn green(member: &Member<'_>) -> Result<(), String> {
    let said = condition(member.object, "/status/conditions", "Ready");
    let ready = said.is_some_and(|said| said["status"] == "True");
    let says_why = member.keeps_all && !held(member.object).is_empty();
    if ready && !member.is_done && !says_why {
        return Err(format!("green: {} is Ready, and not done", member.cluster));
    }
    Ok(())
}

fn is_applied(one: &Value) -> bool {
    ["name", "namespace", "specHash"].iter().all(|field| {
        text(one, &format!("/desiredConfig/{field}")) == text(one, &format!("/lastAppliedConfig/{field}"))
    })
}
