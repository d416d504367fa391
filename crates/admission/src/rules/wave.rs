//! How many of the clusters that an edit affects are updated at once.
//!
//! Uses the same data as the planner: pauses, approvals, the strategies of placements and of `spec.configuration`, and the current
//! decision groups. Of waves that follow each other only the first one counts, because the others wait for it.

use std::collections::BTreeMap;

use crate::rules::reach::{Home, Mover, Reach, Source, known};
use model::{ConfigRollout, ResolvedSettings, Rest, RollingUpdate, RolloutStrategy};
use store::{AddonPlacement, Name, PlacementFacts};

type ByHome<'a> = BTreeMap<Home, Vec<&'a Name>>;

impl<'a> Reach<'a> {
    /// Returns how many of the movers are updated at once.
    pub(super) fn at_once(&self, movers: &[Mover<'a>]) -> usize {
        let (mut placed, mut rolled) = (ByHome::new(), ByHome::new());
        let mut alone = 0_usize;
        for mover in movers.iter().filter(|mover| !self.is_paused(mover.home)) {
            let list = match (mover.source, &self.says.configuration_rollout) {
                (Source::Own, _) => {
                    alone = alone.saturating_add(1);
                    continue;
                }
                (Source::Configuration, None) => continue,
                (Source::Configuration, Some(ConfigRollout::RollingUpdateWithPlacement(update))) => {
                    if !self.reaches(update, mover.cluster) {
                        continue;
                    }
                    &mut rolled
                }
                (_, _) => &mut placed,
            };
            list.entry(mover.home).or_default().push(mover.cluster);
        }
        let waves = |by_home: &ByHome<'a>| {
            let each = by_home.iter().map(|(home, clusters)| self.wave(*home, clusters));
            each.sum::<usize>()
        };
        let slots = self.says.rolling().map_or(0, |update| self.slots(update));
        let both = waves(&placed).saturating_add(waves(&rolled).min(slots));
        alone.saturating_add(both)
    }

    fn settings(&self) -> ResolvedSettings<'a> {
        self.facts.settings(self.name)
    }

    /// Clusters without a placement are paused only with all.
    fn is_paused(&self, home: Home) -> bool {
        let settings = self.settings();
        let pause = match self.placement(home) {
            Some(placement) => settings.pause(&placement.namespace, &placement.name),
            None => settings.pause_of_all(),
        };
        pause.is_some()
    }

    /// Returns whether a rolling update can update a cluster.
    fn reaches(&self, update: &RollingUpdate, cluster: &Name) -> bool {
        let pause = self.settings().pause(&update.namespace, &update.name);
        let found = known(self.facts, (&update.namespace, &update.name));
        pause.is_none() && found.is_some_and(|found| found.clusters.contains(cluster))
    }

    /// Returns how many clusters a rolling update updates at once. A percentage is of the clusters that have the add-on.
    fn slots(&self, update: &RollingUpdate) -> usize {
        let has_a_slot = |cluster: &Name| self.facts.selects(&update.namespace, &update.name, cluster);
        let reached = self.clusters().filter(|(cluster, _, _)| has_a_slot(cluster));
        update.at_once.of(reached.count()).max(1)
    }

    /// Returns how many clusters of a placement are in the first wave.
    fn wave(&self, home: Home, movers: &[&Name]) -> usize {
        let placement = self.placement(home);
        let Some(placement) = placement else {
            return movers.len();
        };
        let found = known(self.facts, (&placement.namespace, &placement.name));
        let waits = self.unapproved(placement, found);
        let strategy = placement.rollout.as_ref();
        match (strategy.map(|own| self.settings().strategy(own)), found) {
            (None, _) => 0,
            (Some(strategy), Some(found)) if !strategy.is_at_once(found.per_group) => {
                let rest = strategy.rest(found.per_group);
                let groups = self.groups(found);
                let mut turns = Turns::new(&groups, found, strategy);
                for cluster in movers {
                    turns.add(cluster, !waits(cluster));
                }
                turns.first(rest, || self.all_of_the_rest(home, &turns))
            }
            (Some(_), _) => movers.iter().filter(|cluster| !waits(cluster)).count(),
        }
    }

    /// Returns which clusters of a placement wait for an approval: an edit is not approved yet.
    fn unapproved<'p>(
        &'p self,
        placement: &'p AddonPlacement,
        found: Option<&'a PlacementFacts>,
    ) -> impl Fn(&Name) -> bool + 'p {
        let place = (placement.namespace.as_str(), placement.name.as_str());
        let settings = Some(self.settings());
        let settings = settings.filter(|settings| !settings.approval_before(place.0, place.1).is_empty());
        let groups = settings
            .and(found)
            .map(|found| self.groups(found))
            .unwrap_or_default();
        move |cluster| {
            let position = groups.get(cluster).copied().unwrap_or_default();
            let group = found.and_then(|found| found.groups.get(position));
            let group = group.map_or((0, ""), |group| (group.index, &*group.name));
            settings.is_some_and(|settings| settings.needs_approval(place, group))
        }
    }

    /// Returns the index of the first decision group of each cluster.
    fn groups(&self, found: &'a PlacementFacts) -> BTreeMap<&'a Name, usize> {
        let mut groups = BTreeMap::new();
        let each = found.groups.iter().enumerate();
        let each = each.flat_map(|(position, group)| group.clusters.iter().map(move |one| (one, position)));
        for (cluster, position) in each.take_while(|_| self.effort.spend(1)) {
            groups.entry(cluster).or_insert(position);
        }
        groups
    }

    /// Returns how many clusters of a placement are not in a mandatory group, whether they are updated or not. A percentage is of
    /// these.
    fn all_of_the_rest(&self, home: Home, turns: &Turns<'_>) -> usize {
        let here = self.clusters().filter(|(_, at, _)| *at == home);
        here.filter(|(cluster, _, _)| !turns.is_mandatory(cluster))
            .count()
    }
}

/// The movers of a placement by decision group.
struct Turns<'g> {
    groups: &'g BTreeMap<&'g Name, usize>,
    mandatory: Vec<bool>,
    /// How many clusters of each group can be updated.
    count: BTreeMap<usize, usize>,
}

impl<'g> Turns<'g> {
    fn new(
        groups: &'g BTreeMap<&'g Name, usize>,
        found: &PlacementFacts,
        strategy: &RolloutStrategy,
    ) -> Self {
        let each = found.groups.iter();
        Self {
            groups,
            mandatory: each
                .map(|group| strategy.is_mandatory(group.index, &group.name))
                .collect(),
            count: BTreeMap::new(),
        }
    }

    fn group(&self, cluster: &Name) -> usize {
        self.groups.get(cluster).copied().unwrap_or_default()
    }

    fn is_mandatory(&self, cluster: &Name) -> bool {
        let group = self.mandatory.get(self.group(cluster));
        group.copied().unwrap_or_default()
    }

    /// Adds a mover. One that cannot be updated yet still makes the later groups wait.
    fn add(&mut self, cluster: &Name, may_go: bool) {
        let count = self.count.entry(self.group(cluster)).or_default();
        *count = count.saturating_add(usize::from(may_go));
    }

    /// Returns the size of the first wave: the first mandatory group with movers, or else the first of the rest.
    fn first(&self, rest: Rest, all_of_the_rest: impl FnOnce() -> usize) -> usize {
        let is_mandatory = |group: usize| self.mandatory.get(group).copied().unwrap_or_default();
        let mut mandatory = self.count.iter().filter(|(group, _)| is_mandatory(**group));
        if let Some((_, count)) = mandatory.next() {
            return *count;
        }
        match rest {
            Rest::GroupByGroup => self.count.values().next().copied().unwrap_or_default(),
            Rest::Within(limit) => {
                let moving: usize = self.count.values().sum();
                moving.min(limit.of(all_of_the_rest()).max(1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::step_budget::StepBudget;
    use store::{AddonFacts, Completeness, Event, Facts, Kind, Settings, Store};

    const GROUP: &str = "addon.open-cluster-management.io";

    /// Ten clusters, and a placement that selects all of them in three decision groups of two, three and five.
    fn hub(per_group: &Value) -> Facts {
        let mut store = Store::new(Settings::default());
        let decision_strategy = json!({"groupStrategy": {"clustersPerDecisionGroup": per_group}});
        let mut objects = vec![
            (
                Kind::Placement,
                json!({"metadata": {"name": "all", "namespace": "default"}, "spec": {"decisionStrategy": decision_strategy}}),
            ),
            (
                Kind::Placement,
                json!({"metadata": {"name": "four", "namespace": "default"}, "spec": {}}),
            ),
            (
                Kind::Template,
                json!({"metadata": {"name": "t"}, "spec": {"addonName": "hello", "agentSpec": {"workload": {"manifests": []}}}}),
            ),
            (
                Kind::Template,
                json!({"metadata": {"name": "foreign"}, "spec": {"addonName": "x", "agentSpec": {"workload": {"manifests": []}},
                    "registration": [{"type": "KubeClient", "kubeClient": {"hubPermissions": [
                        {"type": "CurrentCluster", "currentCluster": {"clusterRoleName": "r"}}]}}]}}),
            ),
            (
                Kind::Template,
                json!({"metadata": {"name": "shared"}, "spec": {"addonName": "x", "agentSpec": {"workload": {"manifests": []}}}}),
            ),
        ];
        for name in ["a", "b"] {
            let metadata = json!({"name": name, "namespace": "default"});
            objects.push((Kind::DeploymentConfig, json!({"metadata": metadata, "spec": {}})));
        }
        let groups = [
            ("all", 0, "canary", 0..2),
            ("all", 1, "west", 2..5),
            ("all", 2, "", 5..10),
            ("four", 0, "", 0..4),
        ];
        for (placement, index, group, clusters) in groups {
            let labels = json!({
                "cluster.open-cluster-management.io/placement": placement,
                "cluster.open-cluster-management.io/decision-group-index": index.to_string(),
                "cluster.open-cluster-management.io/decision-group-name": group,
            });
            let metadata =
                json!({"name": format!("{placement}-{index}"), "namespace": "default", "labels": labels});
            let decisions: Vec<Value> = clusters
                .map(|one| json!({"clusterName": format!("c{one}")}))
                .collect();
            objects.push((
                Kind::Decision,
                json!({"metadata": metadata, "status": {"decisions": decisions}}),
            ));
        }
        for number in 0..10 {
            let metadata = json!({"name": "hello", "namespace": format!("c{number}")});
            objects.push((Kind::Instance, json!({"metadata": metadata, "spec": {}})));
        }
        for (number, (kind, mut object)) in objects.into_iter().enumerate() {
            object["metadata"]["uid"] = json!(number.to_string());
            object["metadata"]["resourceVersion"] = json!((number + 1).to_string());
            drop(store.apply(Event::Applied { kind, object }));
        }
        assert!(store.faults().is_empty(), "{:?}", store.faults());
        store.publish(Completeness::all()).expect("a hub")
    }

    fn config((resource, name): (&str, &str)) -> Value {
        let namespace = if resource == "addontemplates" {
            ""
        } else {
            "default"
        };
        let group = if resource == "things" {
            "example.com"
        } else {
            GROUP
        };
        json!({"group": group, "resource": resource, "name": name, "namespace": namespace})
    }

    fn says(spec: Value) -> AddonFacts {
        let spec = serde_json::from_value(spec).expect("the wire type reads it");
        AddonFacts::of(&spec)
    }

    /// The same facts with settings of the rollouts of the add-on.
    fn with(facts: &Facts, spec: Value) -> Facts {
        let spec = serde_json::from_value(spec).expect("the wire type reads it");
        let settings =
            model::RolloutSettings::parse(&spec, &kubernetes::field::Path::root()).expect("valid settings");
        facts.clone().with_rollout("hello", settings)
    }

    fn paused(facts: &Facts, placement: Option<&str>) -> Facts {
        match placement {
            None => facts.clone(),
            Some("*") => with(facts, json!({"pause": {}})),
            Some(name) => with(
                facts,
                json!({"placements": [{"namespace": "default", "name": name, "pause": {}}]}),
            ),
        }
    }

    fn moved(facts: &Facts, was: &AddonFacts, is: &AddonFacts) -> usize {
        let effort = StepBudget::default();
        let standing = |says| Reach::of(facts, "hello", says, &effort).expect("clusters have it");
        let (old, new) = (standing(was), standing(is));
        new.at_once(&old.moved_by(&new))
    }

    /// An add-on of templates whose placement names these configurations.
    fn placed(strategy: &Value, configs: &[(&str, &str)]) -> Value {
        let mut configs: Vec<Value> = configs.iter().map(|one| config(*one)).collect();
        configs.push(config(("addontemplates", "t")));
        json!({
            "supportedConfigs": [{"group": GROUP, "resource": "addontemplates"}],
            "installStrategy": {"type": "Placements", "placements": [
                {"name": "all", "namespace": "default", "rolloutStrategy": strategy, "configs": configs}]},
        })
    }

    const SETTINGS: &str = "addondeploymentconfigs";

    /// Strategies, and how many of ten clusters each one updates at once.
    fn strategies() -> Vec<(Value, usize)> {
        let progressive = |block: Value| json!({"type": "Progressive", "progressive": block});
        let per_group = |block: Value| json!({"type": "ProgressivePerGroup", "progressivePerGroup": block});
        let canary = json!([{"groupName": "canary"}]);
        let last = json!([{"groupIndex": 2}]);
        vec![
            (Value::Null, 10),
            (json!({"type": "All"}), 10),
            (progressive(json!({})), 10),
            (progressive(json!({"maxConcurrency": 2})), 2),
            (progressive(json!({"maxConcurrency": "30%"})), 3),
            (progressive(json!({"mandatoryDecisionGroups": canary})), 2),
            (
                progressive(json!({"mandatoryDecisionGroups": canary, "maxConcurrency": 3})),
                2,
            ),
            (
                progressive(json!({"mandatoryDecisionGroups": canary, "maxConcurrency": 1})),
                2,
            ),
            (
                progressive(json!({"mandatoryDecisionGroups": last, "maxConcurrency": 1})),
                5,
            ),
            (
                progressive(
                    json!({"mandatoryDecisionGroups": [{"groupName": "no such"}], "maxConcurrency": 1}),
                ),
                1,
            ),
            // A percentage of the clusters in no mandatory group; a group without movers is no canary.
            (per_group(json!({})), 2),
            (per_group(json!({"mandatoryDecisionGroups": last})), 5),
            // An invalid strategy updates no cluster.
            (progressive(json!({"maxConcurrency": "130%"})), 0),
        ]
    }

    #[test]
    fn strategy_pause_and_type_determine_the_first_wave() {
        let strategies = strategies();
        let pauses = [
            (None, true),
            (Some("other"), true),
            (Some("*"), false),
            (Some("all"), false),
        ];
        let changes: [(&[(&str, &str)], bool); 6] = [
            (&[(SETTINGS, "b")], true),
            (&[], true),
            (&[(SETTINGS, "a")], false),
            (&[(SETTINGS, "ghost")], false),
            (&[(SETTINGS, "a"), ("things", "any")], false),
            (&[(SETTINGS, "b"), ("things", "any")], false),
        ];
        let facts = hub(&Value::Null);
        for (strategy, wave) in &strategies {
            let was = says(placed(strategy, &[(SETTINGS, "a")]));
            for (place, moves) in pauses {
                let facts = paused(&facts, place);
                for (configs, arrives) in changes {
                    let is = says(placed(strategy, configs));
                    let expected = if moves && arrives { *wave } else { 0 };
                    let found = moved(&facts, &was, &is);
                    assert_eq!(found, expected, "{strategy} {place:?} {configs:?}");
                }
            }
        }
    }

    #[test]
    fn clusters_that_wait_for_an_approval_are_not_in_the_first_wave() {
        let facts = hub(&Value::Null);
        let canary = json!({"type": "ProgressivePerGroup"});
        let on_all = |group: &str| json!({"placements": [{"namespace": "default", "name": "all", "approvalBefore": [group]}]});
        for (strategy, before, expected) in [
            (json!({"type": "All"}), on_all("*"), 0),
            (json!({"type": "All"}), json!({"approvalBefore": ["*"]}), 0),
            (json!({"type": "All"}), on_all("canary"), 8),
            (json!({"type": "All"}), on_all("2"), 5),
            (
                json!({"type": "All"}),
                json!({"placements": [{"namespace": "default", "name": "other", "approvalBefore": ["*"]}]}),
                10,
            ),
            // The later groups wait as well.
            (canary.clone(), on_all("canary"), 0),
            (canary, on_all("west"), 2),
        ] {
            let [was, is] = ["a", "b"].map(|name| says(placed(&strategy, &[(SETTINGS, name)])));
            assert_eq!(
                moved(&with(&facts, before.clone()), &was, &is),
                expected,
                "{strategy} {before}"
            );
        }
    }

    #[test]
    fn a_canary_group_without_movers_limits_nothing() {
        let facts = hub(&Value::Null);
        let canary = json!([{"groupName": "canary"}]);
        let strategy = json!({"type": "Progressive", "progressive": {"mandatoryDecisionGroups": canary, "maxConcurrency": "50%"}});
        let [was, is] = ["a", "b"].map(|name| says(placed(&strategy, &[(SETTINGS, name)])));
        let effort = StepBudget::default();
        let standing = |says| Reach::of(&facts, "hello", says, &effort).expect("clusters have it");
        let (old, new) = (standing(&was), standing(&is));
        let mut movers = old.moved_by(&new);
        assert_eq!(new.at_once(&movers), 2);
        movers.retain(|mover| !["c0", "c1"].contains(&&**mover.cluster));
        assert_eq!(new.at_once(&movers), 4, "half of the eight outside of the group");
    }

    #[test]
    fn without_max_concurrency_the_size_of_the_placements_groups_counts() {
        let strategy = json!({"type": "Progressive", "progressive": {}});
        let [was, is] = ["a", "b"].map(|name| says(placed(&strategy, &[(SETTINGS, name)])));
        for (per_group, expected) in [(json!(4), 4), (json!("20%"), 2), (json!("0%"), 10)] {
            assert_eq!(moved(&hub(&per_group), &was, &is), expected, "{per_group}");
        }
    }

    #[test]
    fn defaults_follow_their_own_strategy_and_that_of_the_placement() {
        let rolling = |name: &str, at_once: Value| {
            let update = json!({"name": name, "namespace": "default", "maxConcurrentlyUpdating": at_once});
            json!({"type": "RollingUpdateWithPlacement", "rollingUpdateWithPlacement": update})
        };
        let two = json!({"type": "Progressive", "progressive": {"maxConcurrency": 2}});
        let rows = [
            (Value::Null, Value::Null, None, 10),
            (json!({"type": "UpdateAll"}), two.clone(), None, 2),
            (rolling("all", json!(7)), Value::Null, None, 7),
            (rolling("all", json!(7)), two, None, 2),
            (rolling("all", json!("25%")), Value::Null, None, 3),
            (rolling("four", json!("100%")), Value::Null, None, 4),
            (rolling("four", json!("100%")), Value::Null, Some("four"), 0),
            (rolling("four", json!("100%")), Value::Null, Some("*"), 0),
            (rolling("ghost", json!(7)), Value::Null, None, 0),
            (rolling("all", json!(0)), Value::Null, None, 0),
            (json!({"type": "Unknown"}), Value::Null, None, 0),
        ];
        let facts = hub(&Value::Null);
        for (defaults, strategy, place, expected) in rows {
            let [was, is] = ["a", "b"].map(|name| {
                let configs = [config((SETTINGS, name)), config(("addontemplates", "t"))];
                let spec = json!({
                    "configuration": {"configs": configs, "rolloutStrategy": defaults},
                    "installStrategy": {"type": "Placements", "placements": [
                        {"name": "all", "namespace": "default", "rolloutStrategy": strategy}]},
                });
                says(spec)
            });
            assert_eq!(
                moved(&paused(&facts, place), &was, &is),
                expected,
                "{defaults} {strategy} {place:?}"
            );
        }
    }

    #[test]
    fn clusters_without_a_placement_are_paused_only_with_everything() {
        let facts = hub(&Value::Null);
        for (place, expected) in [(None, 10), (Some("all"), 10), (Some("*"), 0)] {
            let [was, is] = ["a", "b"]
                .map(|name| says(json!({"configuration": {"configs": [config((SETTINGS, name))]}})));
            assert_eq!(moved(&paused(&facts, place), &was, &is), expected, "{place:?}");
        }
    }

    #[test]
    fn a_template_of_another_add_on_updates_clusters_unless_it_requests_access() {
        let facts = hub(&Value::Null);
        let [was, is, shared] = ["t", "foreign", "shared"]
            .map(|name| says(json!({"configuration": {"configs": [config(("addontemplates", name))]}})));
        assert_eq!(moved(&facts, &was, &is), 0);
        assert_eq!(
            moved(&facts, &is, &was),
            10,
            "the edit that fixes it updates them"
        );
        assert_eq!(moved(&facts, &was, &shared), 10, "it requests nothing on the hub");
    }

    #[test]
    fn a_type_that_becomes_supported_updates_the_clusters_that_name_it() {
        let facts = hub(&Value::Null);
        let spec = placed(&Value::Null, &[("things", "any")]);
        let mut fixed = spec.clone();
        fixed["supportedConfigs"] = json!([{"group": GROUP, "resource": "addontemplates"}, {"group": "example.com", "resource": "things"}]);
        assert_eq!(moved(&facts, &says(spec), &says(fixed)), 10);
    }
}
