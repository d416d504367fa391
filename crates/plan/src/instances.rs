//! From instance to instance: the writes for each, what it waits for, and how it counts.
//!
//! Decides the order of the writes of one instance. Never decides about the add-on as a whole.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::census::InstanceTally;
use super::config::Configs;
use super::rollout::Member;
use super::settled::{Heard, Quiet};
use super::types::{Plan, Wait, earliest};
use super::{diff, hook, hook_body, progress, registration, render_cache, uninstall};
use store::{Name, View};

/// Goes round the instances of an add-on.
#[derive(Debug)]
pub(super) struct Rounds<'v> {
    view: &'v View<'v>,
    now: Timestamp,
    reporter: progress::Reporter<'v>,
    renderer: render_cache::Renderer<'v, 'v>,
    finalizers: hook::Finalizers<'v, 'v>,
    registrar: registration::Registrar<'v>,
    recipes: hook_body::Recipes,
    plan: Plan,
    heard: Heard,
    /// Whether any instance has just arrived.
    pub(super) arrives: bool,
}

impl<'v> Rounds<'v> {
    pub(super) fn new(
        view: &'v View<'v>,
        configs: &'v Configs,
        kept: &'v BTreeSet<Name>,
        now: Timestamp,
    ) -> Self {
        let remains = uninstall::remains(view);
        let mut heard = Heard::default();
        for cluster in remains.clusters {
            heard.note_loud(cluster);
        }
        Self {
            view,
            now,
            reporter: progress::Reporter::new(view, configs, kept, now),
            renderer: render_cache::Renderer::new(view),
            finalizers: hook::Finalizers::new(view),
            registrar: registration::Registrar::new(view),
            recipes: hook_body::Recipes::default(),
            plan: Plan {
                actions: remains.actions,
                ..Plan::default()
            },
            heard,
            arrives: false,
        }
    }

    /// Sees to one instance; returns how it counts, if it does.
    pub(super) fn see_to(&mut self, member: &'v Member<'v>) -> Option<InstanceTally> {
        let before = (self.plan.actions.len(), self.plan.waits.len());
        let standing = if member.instance.meta.deleting {
            self.registrar.part(member.instance);
            Some(self.see_off(member))
        } else if member.is_leaving {
            None
        } else {
            Some(self.look_after(member))
        };
        let is_same = before == (self.plan.actions.len(), self.plan.waits.len());
        let done = member.done.filter(|_| is_same);
        let cluster = &member.instance.cluster;
        match done
            .zip(standing)
            .and_then(|(done, standing)| Quiet::of(done, standing))
        {
            Some(quiet) => self.heard.quiet.push((cluster.clone(), quiet)),
            None => self.heard.note_loud(cluster),
        }
        standing
    }

    /// An instance that is being deleted gets no changes, and is done when it is deleted.
    fn see_off(&mut self, member: &Member<'v>) -> InstanceTally {
        let instance = member.instance;
        let goodbye = uninstall::instance(self.view, &mut self.recipes, instance, self.now);
        self.plan.actions.extend(goodbye.actions);
        let wait = goodbye.wait.map(|on| Wait::cluster(&instance.cluster, on));
        self.plan.waits.extend(wait);
        self.plan.recheck_at = earliest(self.plan.recheck_at, goodbye.recheck_at);
        let cluster = self.view.cluster(&instance.cluster);
        match goodbye.stuck {
            Some(reason) => InstanceTally::Stalled(reason),
            None => InstanceTally::Leaving {
                reachable: cluster.is_some_and(|found| found.unknown.is_none()),
            },
        }
    }

    fn look_after(&mut self, member: &'v Member<'v>) -> InstanceTally {
        let actions = &mut self.plan.actions;
        // Before the works: what they put on a cluster must not go without its hooks.
        actions.extend(self.finalizers.keep(member));
        let rendering = self.renderer.rendering(member);
        let mut report = self.reporter.report(member, &rendering);
        self.arrives |= report.arrives;
        self.registrar.amend(&mut report, member, &rendering, self.now);
        // Status first: a crash in between leaves an assignment without a work, which the next plan completes.
        actions.extend(diff::instance(&report));
        actions.extend(diff::works(member.works, &report, &rendering));
        let cluster = &report.instance.cluster;
        let waits = report.waits.into_iter().map(|on| Wait::cluster(cluster, on));
        self.plan.waits.extend(waits);
        self.plan.recheck_at = earliest(self.plan.recheck_at, report.recheck_at);
        report.standing
    }

    /// Returns the writes and waits for all instances, and what was found out about them.
    pub(super) fn finish(mut self) -> (Plan, Heard) {
        let (actions, open) = self.registrar.finish();
        self.plan.actions.extend(actions);
        for cluster in open {
            self.heard.note_loud(cluster);
        }
        (self.plan, self.heard)
    }
}
