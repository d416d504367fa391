//! Properties of plans: they settle, they keep their invariants, and the order of events never matters.

mod edits;

use api::hash::SpecHash;
use edits::{
    annotate, own_config, own_template, put_addon, put_check, put_default, put_freeze, put_on_failure,
    put_other_template, put_pause, put_profile, put_retry, put_rolling, put_rollout,
};
use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::json;
use store::{Event, Kind, ObjectKey, Settings, Store};

use crate::kit::drawn_settings::{DRAWN, drawn};
use crate::kit::search::amount;
use crate::kit::world::World;

const GROUP: &str = "addon.open-cluster-management.io";
const MERGED: &str = "addondeploymentconfigs.addon.open-cluster-management.io";

/// Something that a user, an agent or the scheduler does.
#[derive(Debug, Clone)]
enum Step {
    Decide(usize, u8),
    Undecide(usize),
    /// The scheduler counts more, or fewer, than its decisions name.
    Count(usize, u8),
    Forget(usize),
    Config(usize, u8),
    DropConfig(usize),
    Template(u8),
    Own(usize, bool),
    OwnTemplate(usize, bool),
    Groups(u8),
    Leave(usize),
    Report(usize, bool),
    Strategy(u8),
    Label(usize, bool),
    OptOut(usize, bool),
    Rollout(usize, u8),
    Rolling(u8),
    Pause(u8),
    Freeze(u8),
    Profile(u8),
    Check(u8),
    /// Whether all layers of deployment configurations count.
    Merge(bool),
    /// What becomes of rollouts that have stopped.
    OnFailure(u8),
    /// What was undone until now is tried again.
    Retry,
    /// Another object is the default configuration.
    Default(usize),
    Tick(i64),
    Settle,
    ApplyOnce,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..2_usize, any::<u8>()).prop_map(|(placement, mask)| Step::Decide(placement, mask)),
        (0..2_usize).prop_map(Step::Undecide),
        (0..2_usize, 0..5_u8).prop_map(|(placement, selected)| Step::Count(placement, selected)),
        (0..2_usize).prop_map(Step::Forget),
        (0..2_usize, 0..3_u8).prop_map(|(config, value)| Step::Config(config, value)),
        (0..2_usize).prop_map(Step::DropConfig),
        (0..4_u8).prop_map(Step::Template),
        (0..4_usize, any::<bool>()).prop_map(|(cluster, own)| Step::Own(cluster, own)),
        (0..4_usize, any::<bool>()).prop_map(|(cluster, own)| Step::OwnTemplate(cluster, own)),
        any::<u8>().prop_map(Step::Groups),
        (0..4_usize).prop_map(Step::Leave),
        (0..4_usize, any::<bool>()).prop_map(|(cluster, fine)| Step::Report(cluster, fine)),
        (0..6_u8).prop_map(Step::Strategy),
        (0..4_usize, any::<bool>()).prop_map(|(cluster, on)| Step::Label(cluster, on)),
        (0..4_usize, any::<bool>()).prop_map(|(cluster, out)| Step::OptOut(cluster, out)),
        (0..2_usize, 0..11_u8).prop_map(|(placement, kind)| Step::Rollout(placement, kind)),
        (0..6_u8).prop_map(Step::Rolling),
        (0..7_u8).prop_map(Step::Pause),
        (0..7_u8).prop_map(Step::Freeze),
        (0..8_u8).prop_map(Step::Profile),
        (0..9_u8).prop_map(Step::Check),
        any::<bool>().prop_map(Step::Merge),
        (0..4_u8).prop_map(Step::OnFailure),
        Just(Step::Retry),
        (0..2_usize).prop_map(Step::Default),
        (1..200_i64).prop_map(Step::Tick),
        Just(Step::Settle),
        Just(Step::ApplyOnce),
    ]
}

/// What happens while a change is rolled out that waits for a check.
fn checked_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => (0..3_u8).prop_map(|value| Step::Config(1, value)),
        3 => (0..6_u8).prop_map(Step::Check),
        6 => (0..4_usize, prop::bool::weighted(0.9)).prop_map(|(cluster, fine)| Step::Report(cluster, fine)),
        2 => (1..40_i64).prop_map(Step::Tick),
    ]
}

fn cluster(n: usize) -> String {
    format!("c{n}")
}

fn decision(n: usize) -> ObjectKey {
    ObjectKey::new(Kind::Decision, "default", format!("{}-decision-1", placement(n)))
}

fn placement(n: usize) -> String {
    format!("p{n}")
}

fn act(world: &mut World, step: &Step) {
    world.tick(SignedDuration::from_secs(1));
    match step {
        Step::Decide(which, mask) => {
            let clusters: Vec<String> = (0..4).filter(|n| mask & (1 << n) != 0).map(cluster).collect();
            world.decide(&placement(*which), &clusters);
        }
        Step::Undecide(which) => world.delete(&decision(*which)),
        Step::Count(which, selected) => count(world, *which, *selected),
        Step::Forget(which) => world.delete(&ObjectKey::new(Kind::Placement, "default", placement(*which))),
        Step::Config(which, value) => {
            let variables = json!([{"name": "MESSAGE", "value": value.to_string()}]);
            let metadata = json!({"name": format!("config{which}"), "namespace": "default"});
            let object = json!({"metadata": metadata, "spec": {"customizedVariables": variables}});
            world.put(Kind::DeploymentConfig, object);
        }
        Step::DropConfig(which) => {
            world.delete(&ObjectKey::new(
                Kind::DeploymentConfig,
                "default",
                format!("config{which}"),
            ));
        }
        Step::Template(variant) => put_template(world, *variant),
        Step::Own(n, own) => put_instance(world, &cluster(*n), own.then(own_config)),
        Step::OwnTemplate(n, own) => put_instance(world, &cluster(*n), own.then(own_template)),
        Step::Groups(mask) => put_groups(world, *mask),
        Step::Leave(n) => world.mark_deleting(&ObjectKey::new(Kind::Cluster, "", cluster(*n))),
        Step::Report(n, fine) => world.report(&cluster(*n), (!fine).then_some("no"), *fine),
        Step::Strategy(which) => put_addon(world, *which),
        Step::Label(n, on) => {
            let labels = if *on { json!({"env": "prod"}) } else { json!({}) };
            edit_cluster(world, &cluster(*n), &json!({"labels": labels}));
        }
        Step::OptOut(n, out) => {
            let annotations = if *out {
                json!({"tidegate.io/opt-out": "hello"})
            } else {
                json!({})
            };
            edit_cluster(world, &cluster(*n), &json!({"annotations": annotations}));
        }
        Step::Rollout(which, kind) => put_rollout(world, *which, *kind),
        Step::Rolling(kind) => put_rolling(world, *kind),
        Step::Pause(kind) => put_pause(world, *kind),
        Step::Freeze(kind) => put_freeze(world, *kind),
        Step::Profile(kind) => put_profile(world, *kind),
        Step::Check(kind) => put_check(world, *kind),
        Step::OnFailure(kind) => put_on_failure(world, *kind),
        Step::Retry => put_retry(world),
        Step::Default(which) => put_default(world, *which),
        Step::Merge(on) => annotate(world, "merged-configs", if *on { MERGED } else { "" }),
        Step::Tick(seconds) => world.tick(SignedDuration::from_secs(*seconds)),
        Step::Settle => {
            world.settle("hello");
        }
        Step::ApplyOnce => {
            let plan = world.plan("hello");
            world.apply(&plan);
        }
    }
}

fn count(world: &mut World, which: usize, selected: u8) {
    let key = ObjectKey::new(Kind::Placement, "default", placement(which));
    if world.objects.contains_key(&key) {
        world.put_status(&key, &json!({"numberOfSelectedClusters": selected}));
    }
}

fn put_template(world: &mut World, variant: u8) {
    let text = ["{{MESSAGE}}", "{{CLUSTER_NAME}}", "{{UNKNOWN}}", "plain"][usize::from(variant)];
    let manifest =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"text": text}});
    let manifests = if variant == 3 {
        json!([])
    } else {
        json!([manifest])
    };
    let spec = json!({"addonName": "hello", "agentSpec": {"workload": {"manifests": manifests}}});
    world.put(
        Kind::Template,
        json!({"metadata": {"name": "hello"}, "spec": spec}),
    );
}

/// What a cluster has of its own; a cluster without the add-on gets it by hand.
fn put_instance(world: &mut World, cluster: &str, own: Option<serde_json::Value>) {
    let key = ObjectKey::new(Kind::Instance, cluster, "hello");
    let mut object = world
        .objects
        .get(&key)
        .cloned()
        .unwrap_or_else(|| json!({"metadata": {"name": "hello", "namespace": cluster}, "spec": {}}));
    object["spec"]["configs"] = own.into_iter().collect();
    world.put(Kind::Instance, object);
}

/// Cuts the decisions of both placements into groups, by what is decided now: the bit of a cluster says whether it is in the
/// first group of `p0`, which has a name, and `p1` has a group for each of its clusters.
fn put_groups(world: &mut World, mask: u8) {
    let first = mask & 15;
    let all: Vec<(usize, String)> = (0..4).map(|n| (n, cluster(n))).collect();
    let (early, late): (Vec<_>, Vec<_>) = all.iter().cloned().partition(|(n, _)| first & (1 << n) != 0);
    let names = |of: Vec<(usize, String)>| of.into_iter().map(|(_, name)| name).collect::<Vec<_>>();
    let groups = [(Some(("canary", 0)), names(early)), (Some(("", 1)), names(late))];
    world.decide_in(&placement(0), &groups);
    let each = (0..).zip(&all);
    let each: Vec<_> = each
        .map(|(index, (_, name))| (Some(("", index)), vec![name.clone()]))
        .collect();
    world.decide_in(&placement(1), &each);
}

/// Replaces labels or annotations of a cluster.
fn edit_cluster(world: &mut World, name: &str, fields: &serde_json::Value) {
    let mut object = world.objects[&ObjectKey::new(Kind::Cluster, "", name)].clone();
    for (field, value) in fields.as_object().into_iter().flatten() {
        object["metadata"][field] = value.clone();
    }
    world.put(Kind::Cluster, object);
}

/// Settings of every combination.
fn settings() -> impl Strategy<Value = Settings> {
    prop::collection::vec(any::<usize>(), DRAWN).prop_map(|numbers| {
        let mut numbers = numbers.into_iter();
        drawn(|sides| numbers.next().unwrap_or(0) % sides)
    })
}

fn start(settings: Settings) -> World {
    let mut world = World::new(settings);
    (0..4).for_each(|n| world.add_cluster(&cluster(n)));
    act(&mut world, &Step::Config(0, 0));
    act(&mut world, &Step::Config(1, 1));
    put_template(&mut world, 0);
    put_other_template(&mut world);
    put_addon(&mut world, 1);
    world
}

/// Returns what is written, words aside, when one of the two placements has no decisions for a moment.
fn taken_in_a_moment_without_decisions(steps: &[Step], which: usize, emptied: bool) -> Vec<plan::Action> {
    taken_with(Settings::default(), steps, which, emptied)
}

fn taken_with(settings: Settings, steps: &[Step], which: usize, emptied: bool) -> Vec<plan::Action> {
    let mut world = start(settings);
    for step in steps {
        act(&mut world, step);
    }
    // The configuration of one placement is undefined while the other is unknown, so both are decided first.
    for n in 0..2 {
        let place = ObjectKey::new(Kind::Placement, "default", placement(n));
        if !world.objects.contains_key(&decision(n)) || !world.objects.contains_key(&place) {
            world.decide(&placement(n), &[]);
        }
        // A scheduler that has counted fewer than its decisions name means what it says when they are gone.
        let names = |number: usize| {
            let key = ObjectKey::new(
                Kind::Decision,
                "default",
                format!("{}-decision-{number}", placement(n)),
            );
            world
                .objects
                .get(&key)
                .map(|object| object["status"]["decisions"].as_array().map_or(0, Vec::len))
        };
        let selected: usize = (1..).map_while(names).sum();
        world.put_status(&place, &json!({"numberOfSelectedClusters": selected}));
    }
    world.settle("hello");
    if emptied {
        world.put_status(&decision(which), &json!({"decisions": []}));
    } else {
        world.delete(&decision(which));
    }
    let words_only = |action: &plan::Action| matches!(action, plan::Action::Status { patch, .. } if patch.value()["status"].get("configReferences").is_none());
    // An instance that has no configuration yet can lose none: made by hand, it may get its first one from the placement that
    // is known.
    let has_nothing = |namespace: &str| {
        let key = ObjectKey::new(Kind::Instance, namespace, "hello");
        world
            .objects
            .get(&key)
            .is_some_and(|instance| instance["status"].get("configReferences").is_none())
    };
    let gives = |action: &plan::Action| {
        matches!(action, plan::Action::Status { .. } | plan::Action::Create { .. })
            && has_nothing(&action.object().namespace)
    };
    // Nothing says that a placement configured what a human made, unless it runs with its configurations already
    // (docs/install-addons.md).
    let is_unmarked = |namespace: &str| {
        let instance = &world.objects[&ObjectKey::new(Kind::Instance, namespace, "hello")];
        instance["metadata"]["annotations"]
            .get("tidegate.io/installed-by")
            .is_none()
            && !instance["status"]["configReferences"]
                .to_string()
                .contains(&format!("config{which}"))
    };
    let moves = |action: &plan::Action| {
        let object = action.object();
        let is_config = matches!(object.kind, Kind::Instance | Kind::Work)
            && !matches!(action, plan::Action::Delete { .. });
        is_config && is_unmarked(&object.namespace)
    };
    let mut actions = world.plan("hello").actions;
    actions.retain(|action| !words_only(action) && !gives(action) && !moves(action));
    actions
}

/// Found by the property below: made by hand, held by a strategy without a meaning, and still without any configuration.
#[test]
fn an_instance_without_anything_may_get_its_first_configuration() {
    let steps = [
        Step::Decide(0, 78),
        Step::Decide(1, 154),
        Step::Own(1, false),
        Step::Rollout(1, 5),
    ];
    assert_eq!(taken_in_a_moment_without_decisions(&steps, 1, false), []);
}

/// Found by the property below: made by hand, kept from the second placement's configuration by a pause, and nothing on it says
/// so.
#[test]
fn instances_of_users_follow_the_known_placement() {
    let steps = [
        Step::Own(0, false),
        Step::Settle,
        Step::Config(0, 1),
        Step::Pause(2),
        Step::Groups(0),
    ];
    assert_eq!(taken_in_a_moment_without_decisions(&steps, 1, false), []);
}

/// Found by the property below: the cluster still runs with what the paused placement gave, but another one has taken it over.
#[test]
fn a_cluster_that_another_placement_has_taken_over_is_not_claimed_back() {
    let steps = [
        Step::Decide(1, 102),
        Step::Settle,
        Step::Pause(1),
        Step::Decide(1, 4),
        Step::Decide(0, 186),
    ];
    assert_eq!(taken_in_a_moment_without_decisions(&steps, 1, false), []);
}

/// Found by the property below: what waits for a slot of `spec.configuration` is not outside of its placement while that
/// placement is not decided.
#[test]
fn a_cluster_that_waits_for_the_configuration_of_the_add_on_goes_on_waiting_while_its_placement_is_unknown() {
    let steps = [
        Step::Leave(0),
        Step::Decide(1, 2),
        Step::OwnTemplate(2, true),
        Step::Settle,
        Step::Groups(18),
        Step::Decide(1, 4),
        Step::Rolling(4),
        Step::Template(1),
    ];
    for emptied in [false, true] {
        assert_eq!(taken_in_a_moment_without_decisions(&steps, 0, emptied), []);
    }
}

/// Found by the property below: a human's instance that another placement holds still runs with what the undecided one gave
/// before.
#[test]
fn what_a_human_made_does_not_move_with_a_placement_that_may_have_given_it_up() {
    let steps = [
        Step::Groups(0),
        Step::Own(0, false),
        Step::Pause(1),
        Step::Settle,
        Step::Config(1, 0),
        Step::Decide(1, 104),
    ];
    for emptied in [false, true] {
        assert_eq!(taken_in_a_moment_without_decisions(&steps, 1, emptied), []);
    }
}

/// Found by the properties below: the works are made of two deployment configurations that are merged, and one of them has been deleted.
#[test]
fn a_cluster_that_a_change_does_not_reach_keeps_a_layer_that_has_been_deleted() {
    let mut world = start(Settings::default());
    let steps = [
        Step::Merge(true),
        Step::Groups(170),
        Step::Settle,
        Step::DropConfig(0),
        Step::ApplyOnce,
        Step::Strategy(4),
        Step::Rolling(2),
        Step::Decide(1, 57),
    ];
    for step in &steps {
        act(&mut world, step);
    }
    let assigned = |world: &World| {
        let instance = &world.objects[&ObjectKey::new(Kind::Instance, cluster(2), "hello")];
        let references = instance["status"]["configReferences"].as_array().cloned();
        let named = references.into_iter().flatten();
        named.map(|one| one["name"].clone()).collect::<Vec<_>>()
    };
    let before = assigned(&world);
    assert_eq!(before, ["config1", "config0", "hello"]);
    world.settle("hello");
    assert_eq!(assigned(&world), before);
}

/// Whether changes wait for windows.
fn has_windows(world: &World) -> bool {
    let profile = world.objects.get(&ObjectKey::new(Kind::Profile, "", "profile"));
    profile.is_some_and(|profile| {
        let spec = &profile["spec"];
        spec["windows"].is_array() || spec["clusterWindows"].is_array()
    })
}

/// What a green instance hides: a configuration that is not what the hub has now, though nothing says that it is kept from it.
fn hidden_behind_green(world: &World) -> Vec<String> {
    let is_true = |object: &serde_json::Value, name: &str| {
        let listed = object["status"]["conditions"].as_array();
        let mut listed = listed.into_iter().flatten();
        listed.any(|one| one["type"] == name && one["status"] == "True")
    };
    let is_current = |reference: &serde_json::Value| {
        let kind = if reference["resource"] == "addontemplates" {
            Kind::Template
        } else {
            Kind::DeploymentConfig
        };
        let text = |pointer: &str| {
            reference
                .pointer(pointer)
                .and_then(|text| text.as_str())
                .unwrap_or_default()
        };
        let key = ObjectKey::new(
            kind,
            text("/desiredConfig/namespace"),
            text("/desiredConfig/name"),
        );
        let stored = world
            .objects
            .get(&key)
            .map(|object| SpecHash::of(object).to_string());
        stored.as_deref() == Some(text("/desiredConfig/specHash"))
    };
    let instances = world.objects.iter().filter(|(key, _)| key.kind == Kind::Instance);
    let green = instances.filter(|(_, object)| is_true(object, "Ready") && is_true(object, "Configured"));
    let hides = |object: &serde_json::Value| {
        let references = object["status"]["configReferences"].as_array();
        !references.into_iter().flatten().all(is_current)
    };
    green
        .filter(|(_, object)| hides(object))
        .map(|(key, object)| format!("{key}: {}", object["status"]))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: amount(100, 400), ..ProptestConfig::default() })]

    /// Whatever happens, plans end, and a settled hub is never written to again; what is green there is what the hub says now.
    #[test]
    fn plans_come_to_an_end(settings in settings(), steps in prop::collection::vec(step(), 1..40)) {
        let mut world = start(settings);
        for step in &steps {
            act(&mut world, step);
            let _checked = world.plan("hello");
        }
        // Time alone changes nothing before the wake-up time of the plan, and never if it has none.
        for _ in 0..64 {
            world.settle("hello");
            let Some(at) = world.plan("hello").recheck_at else {
                world.come_to_rest("hello");
                prop_assert_eq!(hidden_behind_green(&world), Vec::<String>::new());
                world.tick(SignedDuration::from_hours(24));
                prop_assert!(world.plan("hello").actions.is_empty());
                return Ok(());
            };
            let left = at.duration_since(world.now);
            prop_assert!(left > SignedDuration::ZERO);
            world.tick(left - SignedDuration::from_secs(1));
            prop_assert!(world.plan("hello").actions.is_empty());
            world.tick(SignedDuration::from_secs(1));
        }
        // What a window and something else hold says in turn which of them it waits for.
        prop_assert!(has_windows(&world), "the plans never stop waking up");
        prop_assert_eq!(hidden_behind_green(&world), Vec::<String>::new());
    }

    /// After any history, a scheduler that rewrites its decisions removes neither instances nor configurations.
    #[test]
    fn a_moment_without_decisions_takes_nothing_away(
        settings in settings(), steps in prop::collection::vec(step(), 1..30), which in 0..2_usize, emptied in any::<bool>(),
    ) {
        let taken = taken_with(settings, &steps, which, emptied);
        prop_assert!(taken.is_empty(), "{:?}", taken);
    }

    /// Changes, results of a check and reports of agents in any order: no cluster of a later group starts while the check has not passed
    /// (the oracle looks at each plan), and plans settle.
    #[test]
    fn a_check_holds_every_later_group(
        steps in prop::collection::vec(checked_step(), 1..60), rollout in prop::sample::select(vec![2_u8, 3, 8, 9, 10]), undo in any::<bool>(),
    ) {
        let mut world = start(Settings::default());
        for step in [Step::Groups(3), Step::Rollout(1, rollout), Step::Check(6)] {
            act(&mut world, &step);
        }
        act(&mut world, &Step::OnFailure(u8::from(!undo)));
        for step in &steps {
            act(&mut world, step);
            world.settle("hello");
        }
        prop_assert!(world.is_settled("hello"));
    }

    /// A store that saw the same objects in another order, some of them twice, plans the same.
    #[test]
    fn the_order_of_events_never_changes_the_plan(
        settings in settings(),
        steps in prop::collection::vec(step(), 1..30),
        order in prop::collection::vec(any::<u32>(), 64),
    ) {
        let mut world = start(settings.clone());
        for step in &steps {
            act(&mut world, step);
        }
        let mut events: Vec<(u32, Event)> = world.objects.iter().zip(order.iter().cycle()).map(|((key, object), at)| {
            (*at, Event::Applied { kind: key.kind, object: object.clone() })
        }).collect();
        events.extend(events.clone().into_iter().step_by(3).map(|(at, event)| (at.wrapping_mul(31), event)));
        events.sort_by_key(|(at, _)| *at);
        let mut other = Store::new(settings);
        for (_, event) in events {
            other.apply(event);
        }
        let planned = |store: &Store| store.view("hello").map(|view| plan::addon(&view, world.now));
        prop_assert_eq!(planned(&other), planned(&world.store));
    }

    /// A relist of every kind, after any history, changes nothing either.
    #[test]
    fn a_relist_changes_no_plan_and_no_cluster(settings in settings(), steps in prop::collection::vec(step(), 1..30)) {
        let mut world = start(settings);
        for step in &steps {
            act(&mut world, step);
        }
        let before = world.plan("hello");
        // Content is kept from the first list of copies on, which is news.
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::KeptContent) {
            let here = world.objects.iter().filter(|(key, _)| key.kind == kind);
            let objects = here.map(|(_, object)| object.clone()).collect();
            let touched = world.store.apply(Event::Listed { kind, objects });
            prop_assert!(touched.is_empty(), "touched {:?}", touched);
        }
        prop_assert_eq!(world.plan("hello"), before);
    }
}
