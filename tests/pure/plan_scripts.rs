//! Plan scripts: scenarios in `tests/plans/*.txt`, applied to a hub in memory; `*.out` next to them has the plans.
//!
//! Each is a test of its own: `cargo test --workspace --test suite -- plan_scripts::canary`. With `UPDATE_EXPECT=1` its output is written.
//! At the end of every script, plans must settle.

mod any_kind;
mod asked;
mod cockpit_words;
mod foreign;
mod hooks;
mod rollout_words;
mod templates;
mod versions;
mod wire_texts;
mod words;

mod registration;

use std::fmt::Write as _;

use any_kind::AnyKinds;
use model::{HubNamespaces, ReservedSigner, ReservedSigners};
use plan::{Action, Plan};
use serde_json::Value;
use store::{
    AgentGroups, ClusterConfigs, DiscoveryLabels, EmptyLifecycle, Failures, Kind, Managing, ObjectKey,
    RollUps, Settings, TemplateSharing, UnsetVariables, Vocabulary,
};
use words::{condition_line, expand, reference_line, shape};

use crate::kit::each::{self, test_each};
use crate::kit::manifests::repository;
use crate::kit::world::World;

test_each! {
    ends_as_written, "tests/plans", "txt":
    addon_deleted
    cluster_annotations
    cluster_deleted
    cluster_gone
    cluster_vanished
    cockpit
    compat_conditions
    compat_failures
    compat_hooks
    compat_progression
    compat_references
    compat_template
    config_all_faults
    config_any_kind
    config_foreign_hash
    config_layers
    config_of_clusters_at_once
    config_of_clusters_rollout
    config_old_status
    config_pinned
    config_reasons
    configs_dropped
    creation_namespace
    decision_grace
    decision_in_two_groups
    dependencies
    dependencies_of_addon
    discovery
    empty_lifecycle
    empty_lifecycle_self
    failure
    failures_deadline
    failures_deadline_goes_on
    foreign
    foreign_config
    hand_made
    hook_blocks
    hook_completes
    hook_fails
    hook_namespace_deleted
    hook_never_deployed
    hook_template_gone
    hook_unknown
    hosted
    hosted_failure
    hub_config
    install
    label_selector
    late_namespace
    late_namespace_decided
    manage_marked
    merged_configs
    merged_configs_alike
    merged_configs_off
    missing_config
    no_clusters_selected
    no_grace
    odd_decisions
    opt_out
    owners
    permissions_held
    phase_ended
    placement_flaps
    placement_shrinks
    precedence
    progression_keeps
    protected_configs
    registration_certificates
    registration_foreign
    registration_held
    registration_namespace_taken
    registration_permissions
    registration_reserved
    registration_shared
    registration_shared_with_access
    registration_signers
    registration_stock
    registration_token
    registration_token_alone
    registration_token_marked
    registration_token_template
    roll_up_marked
    rollback
    rolling_no_circle
    rolling_update
    rolling_update_edit
    rolling_update_undecided
    rollout_approval
    rollout_approval_order
    rollout_check
    rollout_check_soak
    rollout_check_undo
    rollout_deadline
    rollout_foreign
    rollout_freeze
    rollout_fresh
    rollout_health
    rollout_kept_placements
    rollout_lowered
    rollout_odd
    rollout_overlap
    rollout_own_version
    rollout_pause
    rollout_per_group
    rollout_profile
    rollout_progressive
    rollout_promote
    rollout_regions
    rollout_reverted
    rollout_share
    rollout_tolerated
    rollout_tolerated_per_group
    rollout_undecided
    rollout_window
    strategy_switch
    taken_over
    template_cluster_values
    template_edit
    template_faults
    template_health
    template_hosted
    template_options
    template_settings
    template_unset_variables
    undo
    undo_forged
    undo_impossible
    undo_kept
    undo_merged
    undo_order
    undo_template
    union
    upgrade
    versions_auto_upgrade
    versions_canary
    versions_chosen
    versions_dropped
    versions_explicit
    versions_foreign
    versions_install
    versions_invalid
    versions_invalid_install
    versions_odd
    versions_rollback
    why_ending
    why_ending_instance
    why_kept_placements
    why_mandatory_group
    why_no_namespace
    why_outside
    why_placement_deleted
    why_rendering
    why_rollout
    why_selection
    why_since
    why_whole
    work_splitting
    works_of_others
}

fn ends_as_written(name: &str) {
    let story = repository("tests/plans").join(name).with_extension("txt");
    let script = std::fs::read_to_string(&story).expect("a story");
    let told = Teller::new(&script).tell(&script);
    let golden = story.with_extension("out");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&golden, &told).expect("the output is written");
        return;
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert!(
        told == expected,
        "{} differs from {}:\n{told}",
        story.display(),
        golden.display()
    );
}

/// What the lines `setting <name> <value>` ask for; they hold for the whole story, wherever they stand.
fn settings(script: &str) -> Settings {
    // Output that would be in every script is printed only on request.
    let mut settings = Settings {
        discovery_labels: DiscoveryLabels::Off,
        arrival_grace: std::time::Duration::ZERO,
        ..Settings::of(wire_texts::compat(script))
    };
    for line in script.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["setting", "cluster-configs", "rollout"] => settings.cluster_configs = ClusterConfigs::Rollout,
            ["setting", "agent-groups", "stock"] => settings.agent_groups = AgentGroups::Stock,
            ["setting", "template-sharing", "with-access"] => {
                settings.template_sharing = TemplateSharing::WithAccess;
            }
            ["setting", "unset-variables", "empty"] => settings.unset_variables = UnsetVariables::Empty,
            ["setting", "compat", "ocm"] => {}
            ["setting", "failures", "deadline"] => settings.failures = Failures::Deadline,
            ["setting", "vocabulary", "ocm"] => settings.reasons = Vocabulary::Ocm,
            ["setting", "discovery-labels", "on"] => settings.discovery_labels = DiscoveryLabels::On,
            ["setting", "hook-timeout" | "hook-timeout-policy", _] => hooks::set(&mut settings, &words),
            ["setting", "startup", time] => {
                let time: jiff::SignedDuration = time.parse().expect("a length of time");
                settings.startup = time.try_into().expect("not negative");
            }
            ["setting", "decision-grace", time] => {
                let time: jiff::SignedDuration = time.parse().expect("a length of time");
                settings.decision_grace = time.try_into().expect("not negative");
            }
            ["setting", "arrival-grace", time] => {
                let time: jiff::SignedDuration = time.parse().expect("a length of time");
                settings.arrival_grace = time.try_into().expect("not negative");
            }
            ["setting", "hub-namespaces", names] => {
                settings.hub_namespaces = HubNamespaces::of(names.split(','));
            }
            ["setting", "reserved-signers", entries] => {
                let entries: Result<Vec<_>, _> = entries.split(',').map(ReservedSigner::parse).collect();
                settings.reserved_signers = ReservedSigners::with(&entries.expect("signers"));
            }
            ["setting", "manage", "marked"] => settings.managing = Managing::Marked,
            ["setting", "roll-ups", "own"] => settings.roll_ups = RollUps::InOwnKind,
            ["setting", "empty-lifecycle", "self"] => settings.empty_lifecycle = EmptyLifecycle::Own,
            ["setting", ..] => unknown(&words),
            _ => {}
        }
    }
    settings
}

struct Teller {
    world: World,
    any_kinds: AnyKinds,
    addon: String,
    out: String,
}

impl Teller {
    fn new(script: &str) -> Self {
        Self {
            world: World::new(settings(script)),
            any_kinds: AnyKinds::default(),
            addon: "hello".to_owned(),
            out: String::new(),
        }
    }

    fn tell(mut self, script: &str) -> String {
        let mut lines = script.lines().peekable();
        while let Some(line) = lines.next() {
            let mut block = String::new();
            while let Some(indented) = lines.next_if(|next| next.starts_with("  ")) {
                block.push_str(indented);
                block.push('\n');
            }
            if line.trim().is_empty() {
                continue;
            }
            if line.starts_with('#') {
                writeln!(self.out, "{line}").expect("a string takes text");
                continue;
            }
            writeln!(self.out, "> {line}").expect("a string takes text");
            self.act(line, &block);
            self.any_kinds.look(&mut self.world.store);
            self.picture_agrees();
        }
        // Nothing is left to write, now and whenever the plan asks to be made again, and that ends too.
        self.world.come_to_rest(&self.addon);
        assert!(self.world.is_settled(&self.addon));
        assert_eq!(self.world.plan(&self.addon).recheck_at, None);
        self.out
    }

    fn act(&mut self, line: &str, block: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["setting", ..] => {}
            ["given"] => self.given(block),
            ["cluster", "add", names @ ..] => {
                for name in expand(names) {
                    self.world.add_cluster(&name);
                }
            }
            ["cluster", "leave", name] => self
                .world
                .mark_deleting(&ObjectKey::new(Kind::Cluster, "", *name)),
            ["placement", name, words @ ..] => self.act_on_placement(name, words),
            ["config", "set", name, pairs @ ..] => self.config(name, pairs),
            // The lines that follow are about another add-on.
            ["addon", name] => (*name).clone_into(&mut self.addon),
            ["restart"] => {
                let known = self.world.store.view(&self.addon).map(|view| view.settings());
                let settings = known.cloned().unwrap_or_default();
                self.world.store = self.any_kinds.restart(settings, &self.world.objects);
                // A memo belongs to one store.
                self.world.memos.take();
            }
            // The hub does not show a kind, and shows it again.
            ["withhold", name] => self.world.withhold(kind_named(name)),
            ["disclose", name] => self.world.disclose(kind_named(name)),
            ["type", of, how] => self.any_kinds.serve(of, how),
            ["object", reference] => {
                let content = serde_saphyr::from_str(block).expect("a block holds YAML");
                self.any_kinds.put(reference, content);
            }
            ["delete", "object", reference] => self.any_kinds.delete(reference),
            ["delete", kind, place] => self.delete(kind, place),
            ["work", words @ ..] => self.act_on_work(words, line),
            ["deleting", kind, place] => {
                let key = key(kind, place);
                self.world.mark_deleting(&key);
            }
            ["condition" | "annotate", words @ ..] => self.act_as_others(words, line),
            ["settings", addon, ..] => self.set_rollout(addon, line),
            ["check", name, result, length, ..] => self.check(name, result, length, line),
            ["approve", placement, group, contents @ ..] => self.approve(placement, group, contents),
            ["status", kind, place] => self.status(kind, place, block),
            ["hook" | "why", ..] | ["show", "everything"] => self.act_on_end(&words, line),
            ["foreign", words @ ..] => foreign::act(&mut self.world, &self.addon, words),
            ["refuse" | "accept" | "request", ..] | ["show", "object" | "grants" | "registration", ..] => {
                registration::act(self, &words, line);
            }
            ["tick", time] => self.world.tick(time.parse().expect("a length of time")),
            ["plan"] => self.print_plan(),
            ["apply"] => {
                let plan = self.world.plan(&self.addon);
                self.world.apply(&plan);
            }
            ["settle"] => {
                self.world.settle(&self.addon);
            }
            ["manifests", name, sizes @ ..] => templates::put_sized(&mut self.world, name, sizes),
            ["unlabelled", cluster] => templates::strip_labels(&mut self.world, cluster),
            ["show", words @ ..] => self.act_on_show(words),
            other => versions::act(&mut self.world, &self.addon, other),
        }
    }

    fn act_on_show(&mut self, words: &[&str]) {
        match words {
            ["addon"] => self.show_addon(),
            ["rollout"] => self.show_rollout(),
            ["work", cluster] => self.show_work(cluster),
            ["holdings", cluster] => self.out.push_str(&templates::holdings(&self.world, cluster)),
            ["pods", cluster] => self.out.push_str(&templates::pods(&self.world, cluster)),
            ["meta", names @ ..] => {
                for name in expand(names) {
                    self.show_meta(&name);
                }
            }
            names => {
                for name in expand(names) {
                    self.show(&name);
                }
            }
        }
    }

    fn act_on_work(&mut self, words: &[&str], line: &str) {
        match words {
            ["applied", names @ ..] => {
                for name in expand(names) {
                    self.world.report(&name, None, true);
                }
            }
            ["unavailable", name] => self.world.report(name, None, false),
            ["failed", name, ..] => {
                let message = line.split('"').nth(1).expect("a message in quotes").to_owned();
                self.world.report(name, Some(&message), false);
            }
            ["edited", name] => self.edit_work(name),
            ["deleting", name] => {
                for key in self.world.works(name) {
                    self.world.mark_deleting(&key);
                }
            }
            other => unknown(other),
        }
    }

    fn given(&mut self, block: &str) {
        for text in block.split("  ---\n") {
            let object: Value = serde_saphyr::from_str(text).expect("a block holds YAML");
            self.world
                .put(Kind::of_object(&object).expect("a known kind"), object);
        }
    }

    fn config(&mut self, name: &str, pairs: &[&str]) {
        let variables: Vec<Value> = pairs
            .iter()
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| serde_json::json!({"name": name, "value": value}))
            .collect();
        let spec = serde_json::json!({"customizedVariables": variables, "agentInstallNamespace": ""});
        let metadata = serde_json::json!({"name": name, "namespace": "default"});
        self.world.put(
            Kind::DeploymentConfig,
            serde_json::json!({"metadata": metadata, "spec": spec}),
        );
    }

    fn delete(&mut self, kind: &str, place: &str) {
        self.world.delete(&key(kind, place));
    }

    fn status(&mut self, kind: &str, place: &str, block: &str) {
        let status: Value = serde_saphyr::from_str(block).expect("a status");
        self.world.put_status(&key(kind, place), &status);
    }

    fn edit_work(&mut self, cluster: &str) {
        for key in self.world.works(cluster) {
            let mut work = self.world.objects[&key].clone();
            work["spec"]["workload"]["manifests"] = serde_json::json!([]);
            work["metadata"]["labels"]["foreign"] = serde_json::json!("kept");
            self.world.put(Kind::Work, work);
        }
    }

    fn print_plan(&mut self) {
        let plan = self.world.plan(&self.addon);
        let Plan {
            actions,
            waits,
            postponed: _,
            recheck_at,
        } = &plan;
        let lines = actions.iter().map(describe).chain(waits.iter().map(|wait| {
            (
                wait.cluster.as_deref().unwrap_or_default().to_owned(),
                format!("  wait {wait}"),
            )
        }));
        // Clusters with the same line share it.
        let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
        for (cluster, line) in lines {
            let general = if cluster.is_empty() {
                line
            } else {
                line.replace(&cluster, "*")
            };
            match grouped.iter_mut().find(|(known, _)| *known == general) {
                Some((_, clusters)) => clusters.push(cluster),
                None => grouped.push((general, vec![cluster])),
            }
        }
        if grouped.is_empty() {
            self.out.push_str("  nothing to do\n");
        }
        for (line, clusters) in grouped {
            let clusters = clusters.join(",");
            let of = if clusters.is_empty() {
                String::new()
            } else {
                format!("  [* = {clusters}]")
            };
            writeln!(self.out, "{line}{of}").expect("a string takes text");
        }
        if let Some(at) = recheck_at {
            writeln!(self.out, "  again at {at}").expect("a string takes text");
        }
    }

    fn show(&mut self, cluster: &str) {
        let key = ObjectKey::new(Kind::Instance, cluster, self.addon.as_str());
        let Some(instance) = self.world.objects.get(&key) else {
            writeln!(self.out, "  {cluster}: no add-on").expect("a string takes text");
            return;
        };
        let status = &instance["status"];
        let mut text = format!("  {cluster} spec={}\n", instance["spec"]);
        text.push_str(&versions::told(status, "    ", "\n"));
        for reference in status["configReferences"].as_array().into_iter().flatten() {
            writeln!(text, "    {}", reference_line(reference)).expect("a string takes text");
        }
        for condition in status["conditions"].as_array().into_iter().flatten() {
            writeln!(text, "    {}", condition_line(condition)).expect("a string takes text");
        }
        self.out.push_str(&text);
    }

    /// Annotations and owners of an instance.
    fn show_meta(&mut self, cluster: &str) {
        let key = ObjectKey::new(Kind::Instance, cluster, self.addon.as_str());
        let metadata = self.world.objects.get(&key).map(|instance| &instance["metadata"]);
        let mut text = format!("  {cluster}\n");
        let annotations = metadata.and_then(|metadata| metadata["annotations"].as_object());
        for (name, value) in annotations.into_iter().flatten() {
            writeln!(text, "    {name}: {}", value.as_str().unwrap_or_default())
                .expect("a string takes text");
        }
        let owners = metadata.and_then(|metadata| metadata["ownerReferences"].as_array());
        for owner in owners.into_iter().flatten() {
            let controller = if owner["controller"] == true {
                " (controller)"
            } else {
                ""
            };
            let word = |field: &str| owner[field].as_str().unwrap_or_default();
            writeln!(
                text,
                "    owner {} {} {}{controller}",
                word("kind"),
                word("name"),
                word("uid")
            )
            .expect("a string takes text");
        }
        self.out.push_str(&text);
    }

    fn show_addon(&mut self) {
        let status = &self.world.objects[&ObjectKey::new(Kind::AddOn, "", self.addon.as_str())]["status"];
        let mut text = versions::told(status, "  ", "\n");
        for condition in status["conditions"].as_array().into_iter().flatten() {
            writeln!(text, "  {}", condition_line(condition)).expect("a string takes text");
        }
        for reference in status["defaultconfigReferences"].as_array().into_iter().flatten() {
            writeln!(text, "  default {}", reference_line(reference)).expect("a string takes text");
        }
        for progression in status["installProgressions"].as_array().into_iter().flatten() {
            writeln!(
                text,
                "  placement {}",
                progression["name"].as_str().unwrap_or_default()
            )
            .expect("text");
            for reference in progression["configReferences"].as_array().into_iter().flatten() {
                writeln!(text, "    {}", reference_line(reference)).expect("a string takes text");
            }
            for condition in progression["conditions"].as_array().into_iter().flatten() {
                writeln!(text, "    {}", condition_line(condition)).expect("a string takes text");
            }
        }
        self.out.push_str(&text);
    }

    fn show_work(&mut self, cluster: &str) {
        for key in self.world.works(cluster) {
            let work = &self.world.objects[&key];
            let mut shown = serde_json::json!({"labels": work["metadata"]["labels"], "spec": work["spec"]});
            shown["annotations"] = work["metadata"]["annotations"]
                .as_object()
                .map(|all| all.keys().cloned().collect())
                .unwrap_or_default();
            let text = serde_json::to_string_pretty(&shown).expect("JSON");
            writeln!(self.out, "  {}", text.replace('\n', "\n  ")).expect("a string takes text");
        }
    }
}

fn kind_named(word: &str) -> Kind {
    let known = Kind::ALL.into_iter().find(|known| known.word() == word);
    known.expect("a known kind")
}

fn key(kind: &str, place: &str) -> ObjectKey {
    let kind = kind_named(kind);
    let (namespace, name) = place.split_once('/').unwrap_or(("", place));
    ObjectKey::new(kind, namespace, name)
}

fn describe(action: &Action) -> (String, String) {
    let object = action.object();
    let line = match action {
        Action::Create { why, body, .. } => {
            format!("  create {object} ({why}) spec={}", shape(&body.value()["spec"]))
        }
        Action::Replace { why, patch, .. } => format!("  patch {object} ({why}): {}", shape(&patch.value())),
        Action::Delete { why, .. } => format!("  delete {object} ({why})"),
        Action::Certify { answer, .. } => registration::describe(object, answer),
        Action::Status { patch, notes, .. } => {
            let mut text = format!("  status {object}");
            let status = &patch.value()["status"];
            text.push_str(&versions::told(status, "\n      ", ""));
            for reference in status["configReferences"].as_array().into_iter().flatten() {
                write!(text, "\n      {}", reference_line(reference)).expect("a string takes text");
            }
            let told = ["Progressing", "HookManifestCompleted"].map(Value::from);
            let conditions = status["conditions"].as_array().into_iter().flatten();
            for condition in conditions.filter(|condition| told.contains(&condition["type"])) {
                write!(text, "\n      {}", condition_line(condition)).expect("a string takes text");
            }
            for progression in status["installProgressions"].as_array().into_iter().flatten() {
                for condition in progression["conditions"].as_array().into_iter().flatten() {
                    let name = progression["name"].as_str().unwrap_or_default();
                    write!(text, "\n      {name}: {}", condition_line(condition))
                        .expect("a string takes text");
                }
            }
            for note in notes {
                write!(text, "\n      note: {note}").expect("a string takes text");
            }
            text
        }
    };
    (object.namespace.to_string(), line)
}

#[expect(clippy::panic, reason = "an unknown line must fail and not count as executed")]
fn unknown(words: &[&str]) {
    panic!("no such line: {words:?}");
}
