//! The end of an instance, of what it leaves behind, and of an add-on whose `ClusterManagementAddOn` was deleted.
//!
//! Decides when our finalizers go: after the pre-delete hooks, or when no agent can run them any more. The rest is the garbage
//! collector's: nothing is deleted here that an owner reference removes, and what a user wants to keep stays.
//!
//! ```text
//! deleted ─► cluster absent ─────────────────────────► released, and its agent's finalizers with it
//!         ├► no hooks, or they are to be skipped ────► released
//!         └► hooks ─► completed ─────────────────────► released
//!                 ├► the namespace is being deleted ─► released
//!                 └─► time is over ─► policy release ► released
//!                                 └─► policy block ──► stays, and the hooks go on
//! ```

use jiff::Timestamp;
use serde_json::json;

use super::change_event::Note;
use super::conditions::Wish;
use super::config::is_template;
use super::diff;
use super::hook::{finalizers, is_pre_delete};
use super::hook_body::Recipes;
use super::hook_run::{self, Pending, Run, delete, stored};
use super::types::{Action, Plan, Revision, Wait, WaitOn, earliest};
use super::work::is_deploy_work;
use crate::conditions::ocm;
use crate::conditions::state::{Outcome, Phase};
use api::names::conditions::HOOK_MANIFEST_COMPLETED;
use api::reason::Reason;
use store::{AddOn, Instance, Kind, Name, ObjectKey, Status, TimeoutPolicy, View, Work, terms};

/// Finalizer by which the agent of a cluster holds a work.
const AGENT: &str = "cluster.open-cluster-management.io/manifest-work-cleanup";

/// What is left to do for instances that go.
#[derive(Debug, Default)]
pub(super) struct Goodbye {
    pub(super) actions: Vec<Action>,
    pub(super) wait: Option<WaitOn>,
    pub(super) recheck_at: Option<Timestamp>,
    /// Why it does not go, where only a user can change that.
    pub(super) stuck: Option<Reason>,
}

/// Returns the plan of an add-on that is being deleted, or of which only instances, works or labels are left.
pub(super) fn addon(view: &View<'_>, now: Timestamp) -> Plan {
    let mut plan = Plan {
        actions: diff::unreachable_statuses(view, now),
        ..Plan::default()
    };
    if !view.addon.managed {
        return plan;
    }
    let mut recipes = Recipes::default();
    for instance in view.instances().filter(|instance| instance.meta.deleting) {
        let goodbye = self::instance(view, &mut recipes, instance, now);
        plan.actions.extend(goodbye.actions);
        let wait = goodbye.wait.map(|on| Wait::cluster(&instance.cluster, on));
        plan.waits.extend(wait);
        plan.recheck_at = earliest(plan.recheck_at, goodbye.recheck_at);
    }
    plan.actions.extend(remains(view).actions);
    plan
}

/// Returns what is left to do for one instance that is being deleted.
pub(super) fn instance(
    view: &View<'_>,
    recipes: &mut Recipes,
    instance: &Instance,
    now: Timestamp,
) -> Goodbye {
    if view.cluster(&instance.cluster).is_none() {
        return vanished(view, instance);
    }
    let is_held = instance.farewell.finalizers.iter().any(|one| is_pre_delete(one));
    if !is_held || !is_ours(view, instance) {
        return Goodbye::default();
    }
    if instance.farewell.skips_hooks() {
        return released(view, instance, "the pre-delete hooks are skipped");
    }
    let stated = instance.condition(HOOK_MANIFEST_COMPLETED);
    if stated.is_some_and(|condition| condition.status == Status::True) {
        return released(view, instance, "the pre-delete hooks have completed");
    }
    match hook_run::run(view, recipes, instance, now) {
        Run::Unneeded(why) => released(view, instance, why),
        Run::Completed => completed(view, instance, now),
        Run::Pending(_) if cannot_run(view, instance) => {
            let why = format!(
                "namespace {} is being deleted; the hook cannot run",
                instance.cluster
            );
            let message = format!(
                "hook manifestWork {} is not completed: {why}. The add-on is removed without running the hook.",
                terms::hook_work(&instance.addon)
            );
            let because = "the pre-delete hooks cannot run in a namespace that is being deleted";
            let wish = not_completed(Reason::NamespaceTerminating, message);
            gone_without(view, instance, &wish, because, why, now)
        }
        Run::Pending(pending) => pending_or_over(view, instance, pending, now),
    }
}

/// The hooks of an add-on that another program deploys belong to that program. When the add-on itself was deleted, the references
/// of the instance, or the works on its cluster, show which program deploys it.
fn is_ours(view: &View<'_>, instance: &Instance) -> bool {
    let mut held = instance.references.iter().map(|one| &one.config.of);
    let mut own = instance.configs.iter().map(|config| &config.of);
    let made_here = |work: &Work| is_deploy_work(&instance.addon, &work.name) && !work.mirror.is_empty();
    held.any(is_template)
        || own.any(is_template)
        || lists_templates(view.addon)
        || view.works(&instance.cluster).any(made_here)
}

fn lists_templates(addon: &AddOn) -> bool {
    addon.supported.iter().any(|supported| is_template(&supported.of))
        || addon.configuration.iter().any(|config| is_template(&config.of))
}

/// Takes our finalizers off, and the work of the hooks away.
fn released(view: &View<'_>, instance: &Instance, why: &'static str) -> Goodbye {
    let work = stored(view, instance).filter(|work| !work.meta.deleting);
    let mut actions: Vec<Action> = work
        .map(|work| delete(work, "the pre-delete hooks have ended"))
        .into_iter()
        .collect();
    let kept = instance.farewell.finalizers.iter();
    let kept: Vec<Name> = kept
        .filter(|one| !is_pre_delete(one) && !terms::finalizers::DEPRECATED.contains(&&***one))
        .cloned()
        .collect();
    actions.push(finalizers(instance, &kept, why));
    Goodbye {
        actions,
        ..Goodbye::default()
    }
}

/// The completion is written down before anything is removed: hooks must not run twice.
fn completed(view: &View<'_>, instance: &Instance, now: Timestamp) -> Goodbye {
    let message = format!(
        "hook manifestWork {} is completed.",
        terms::hook_work(&instance.addon)
    );
    let wish = Wish::new(
        HOOK_MANIFEST_COMPLETED,
        Status::True,
        Reason::HookManifestIsCompleted,
        message,
    );
    let mut goodbye = released(view, instance, "the pre-delete hooks have completed");
    let told = told(view, instance, &wish, Outcome::Succeeded, now);
    goodbye.actions.splice(0..0, told);
    goodbye
}

/// A namespace that is being deleted takes no new work, and its works are being deleted with it. That cannot be undone, so waiting
/// would only keep the namespace.
fn cannot_run(view: &View<'_>, instance: &Instance) -> bool {
    view.is_namespace_deleted(&instance.cluster)
        && stored(view, instance).is_none_or(|work| work.meta.deleting)
}

fn not_completed(reason: Reason, message: String) -> Wish<'static> {
    Wish::new(HOOK_MANIFEST_COMPLETED, Status::False, reason, message)
}

/// Releases an instance whose hooks have not run, and reports why.
fn gone_without(
    view: &View<'_>,
    instance: &Instance,
    wish: &Wish<'_>,
    because: &'static str,
    why: String,
    now: Timestamp,
) -> Goodbye {
    let mut goodbye = released(view, instance, because);
    let told = told(view, instance, wish, Outcome::Failed(why), now);
    goodbye.actions.splice(0..0, told);
    goodbye
}

fn pending_or_over(view: &View<'_>, instance: &Instance, pending: Pending, now: Timestamp) -> Goodbye {
    let settings = view.settings();
    let timeout = instance.farewell.timeout().unwrap_or(settings.hook_timeout);
    let policy = instance.farewell.policy().unwrap_or(settings.hook_timeout_policy);
    let end = instance.farewell.since().and_then(|since| timeout.end(since));
    let is_over = end.is_some_and(|end| end <= now);
    let Pending {
        actions,
        reason,
        why,
        again,
    } = pending;
    let name = terms::hook_work(&instance.addon);
    match policy {
        TimeoutPolicy::Release if is_over => {
            let message = format!(
                "hook manifestWork {name} did not complete in time: {why}. The add-on is removed without running the hook."
            );
            let because = "the pre-delete hooks have not completed in time";
            let why = format!("the hook timeout has passed: {why}");
            let wish = not_completed(Reason::HookTimedOut, message);
            gone_without(view, instance, &wish, because, why, now)
        }
        TimeoutPolicy::Release | TimeoutPolicy::Block => {
            let words = if is_over {
                let message = format!(
                    "hook manifestWork {name} did not complete in time: {why}. The deletion is blocked until it completes, or until the \
                     annotation {} is \"true\".",
                    terms::SKIP_HOOKS
                );
                Some((Reason::HookTimedOut, message))
            } else {
                reason.map(|reason| (reason, words(&name, reason, &why)))
            };
            let stuck = words
                .as_ref()
                .map(|(reason, _)| *reason)
                .or_else(|| said(instance));
            let told = words.and_then(|(reason, message)| {
                let wish = not_completed(reason, message);
                told(view, instance, &wish, outcome(reason, &why), now)
            });
            Goodbye {
                actions: told.into_iter().chain(actions).collect(),
                stuck: stuck.filter(|reason| *reason != Reason::HookManifestIsNotCompleted),
                wait: Some(WaitOn::Hook(why)),
                recheck_at: earliest(again, end.filter(|_| !is_over)),
            }
        }
    }
}

fn words(name: &str, reason: Reason, why: &str) -> String {
    if reason == Reason::HookManifestIsNotCompleted {
        return format!("hook manifestWork {name} is not completed.");
    }
    format!("hook manifestWork {name} is not completed: {why}.")
}

fn outcome(reason: Reason, why: &str) -> Outcome {
    if reason == Reason::HookManifestIsNotCompleted {
        return Outcome::Running(why.to_owned());
    }
    Outcome::Failed(why.to_owned())
}

/// Returns the status write, if the condition changes. An event is published when its reason changes.
fn told(
    view: &View<'_>,
    instance: &Instance,
    wish: &Wish<'_>,
    outcome: Outcome,
    now: Timestamp,
) -> Option<Action> {
    let before = instance.condition(HOOK_MANIFEST_COMPLETED);
    let is_news = before.is_none_or(|before| *before.reason != wish.reason());
    let wishes: Vec<Wish<'_>> = std::iter::once(wish.clone())
        .chain(ending(wish, &outcome))
        .collect();
    let note = is_news.then(|| Note::Cluster {
        addon: instance.addon.clone(),
        cluster: instance.cluster.clone(),
        phase: Phase::Hook,
        outcome,
    });
    diff::conditions(instance, &ocm::bared(view, wishes), note, now)
}

/// The failure that stands there, while nothing newer is known.
fn said(instance: &Instance) -> Option<Reason> {
    let stated = instance.condition(HOOK_MANIFEST_COMPLETED)?;
    let known = [
        Reason::HookTimedOut,
        Reason::HookFailed,
        Reason::HookUnknown,
        Reason::HookRenderingFailed,
    ];
    known.into_iter().find(|reason| *stated.reason == *reason)
}

/// What an instance says of itself while its hooks run: it is not what was asked for any more.
fn ending<'w>(wish: &Wish<'w>, outcome: &Outcome) -> Vec<Wish<'w>> {
    const SEE: &str = "see the condition HookManifestCompleted";
    // A failure is named where it is read first.
    let message = match outcome {
        Outcome::Failed(_) => wish.message().to_owned(),
        Outcome::Running(_) | Outcome::Succeeded => SEE.to_owned(),
    };
    let say = |kind, status| Wish::new(kind, status, wish.reason(), message.clone());
    let ready = say("Ready", Status::False);
    let settled = Wish::new("Reconciling", Status::False, Reason::Settled, "");
    match outcome {
        Outcome::Succeeded => Vec::new(),
        Outcome::Running(_) => vec![
            ready,
            say("Reconciling", Status::True),
            Wish::new("Stalled", Status::False, Reason::NotStalled, ""),
        ],
        Outcome::Failed(_) => vec![ready, settled, say("Stalled", Status::True)],
    }
}

/// No agent runs anything on a deleted cluster. Works that were meant for it on a hosting cluster go first: no owner
/// takes them away, and the program that made them looks at no cluster that is absent.
fn vanished(view: &View<'_>, instance: &Instance) -> Goodbye {
    let is_released = |one: &str| {
        is_pre_delete(one)
            || one == terms::finalizers::HOSTING_ADDON_PRE_DELETE
            || one == terms::finalizers::HOSTING_MANIFESTS_CLEANUP
            || terms::finalizers::DEPRECATED.contains(&one)
    };
    let held = &instance.farewell.finalizers;
    if !held.iter().any(|one| is_released(one)) {
        return Goodbye::default();
    }
    let hosted = view
        .works(&instance.cluster)
        .filter(|work| work.hosted && !work.meta.deleting);
    let mut actions: Vec<Action> = hosted
        .map(|work| delete(work, "the cluster was deleted"))
        .collect();
    let kept: Vec<Name> = held.iter().filter(|one| !is_released(one)).cloned().collect();
    actions.push(finalizers(instance, &kept, "the cluster was deleted"));
    Goodbye {
        actions,
        ..Goodbye::default()
    }
}

/// What no instance removes.
#[derive(Debug, Default)]
pub(super) struct Remains<'v> {
    /// The writes that see to it.
    pub(super) actions: Vec<Action>,
    /// The clusters on which anything comes to its end.
    pub(super) clusters: Vec<&'v Name>,
}

/// Returns the writes for what no instance removes: hooks that have outlived theirs, and works that wait for an agent
/// whose cluster was deleted.
pub(super) fn remains<'v>(view: &View<'v>) -> Remains<'v> {
    let mut remains = Remains::default();
    for (cluster, work) in view.all_works() {
        let hook = work.hook.as_ref().filter(|hook| !hook.of.is_empty());
        if !work.meta.deleting && hook.is_none() {
            continue;
        }
        remains.clusters.push(cluster);
        if work.meta.deleting {
            remains.actions.extend(forsaken(view, work));
            continue;
        }
        let mut living = view.instance(cluster).into_iter().zip(hook);
        if !living.any(|(instance, hook)| instance.meta.uid == hook.of) {
            remains
                .actions
                .push(delete(work, "the add-on that it ran for was deleted"));
        }
    }
    remains
}

fn forsaken(view: &View<'_>, work: &Work) -> Option<Action> {
    let is_held = work.finalizers.iter().any(|one| **one == *AGENT);
    if !is_held || view.cluster(&work.namespace).is_some() {
        return None;
    }
    let kept: Vec<&str> = work
        .finalizers
        .iter()
        .map(|one| &**one)
        .filter(|one| *one != AGENT)
        .collect();
    Some(Action::Replace {
        object: ObjectKey::new(Kind::Work, work.namespace.clone(), work.name.clone()),
        before: Revision::from(&work.meta),
        patch: json!({"metadata": {"finalizers": kept}}).into(),
        why: "the cluster of its agent was deleted",
    })
}
