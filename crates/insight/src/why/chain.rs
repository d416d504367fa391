//! The chain of one cluster: add-on, placement, configurations, instance, works, workloads.
//!
//! Decides where it stops. The first link that cannot pass on what the one before it says is the one to open. A wait that ends by itself
//! stops nothing.

use super::answer::{Cause, Chain, Grade, Link};
use super::causes;
use super::conditions::PlannedCondition;
use super::context::{Context, away};
use super::links::{cluster_link, config_name};
use super::stage::{deadline, under_way_since};
use super::{command, ending, wait, work};
use api::names::conditions;
use api::reason::Reason;
use plan::{Wait, WaitOn};
use store::{Condition, Instance, Kind, Status, Work};

impl Context<'_> {
    /// Returns the chain of one cluster.
    pub(super) fn chain(&self, cluster: &str) -> (Chain, Option<Cause>) {
        let mut links = vec![self.addon()];
        links.extend(self.placement_links(cluster));
        let instance = self.view.instance(cluster);
        for reference in instance
            .into_iter()
            .flat_map(|instance| instance.references.iter())
        {
            links.push(self.config(reference, cluster, instance));
        }
        let cause = self.follow(cluster, instance, &mut links);
        settle_stops(&mut links, cause.as_ref());
        let addon = &*self.view.addon.name;
        let chain = Chain {
            cluster: cluster.to_owned(),
            links,
            cause: cause.as_ref().map(|cause| cause.doc.id),
            grade: cause.as_ref().map(|cause| cause.grade),
            command: cause
                .as_ref()
                .map(|cause| command::of(cause, addon, Some(cluster)))
                .unwrap_or_default(),
            detail: cause
                .as_ref()
                .map(|cause| cause.detail.clone())
                .unwrap_or_default(),
            since: instance.and_then(|instance| {
                let grade = cause.as_ref().map(|cause| cause.grade);
                self.since(instance, matches!(grade, None | Some(Grade::Meant)))
            }),
        };
        (chain, cause)
    }

    fn follow(&self, cluster: &str, instance: Option<&Instance>, links: &mut Vec<Link>) -> Option<Cause> {
        let mine = self
            .waits
            .iter()
            .filter(|wait| wait.cluster.as_deref() == Some(cluster));
        let held = wait::heaviest(mine);
        let known = self.view.cluster(cluster);
        let Some(instance) = instance else {
            return Some(self.without_instance(cluster, held, links));
        };
        links.push(self.instance_link(instance));
        if let Some(cause) = self.leaving(cluster, held, instance) {
            if let Some(addon) = links.first_mut() {
                addon.stops = true;
            }
            self.works(cluster, links);
            return Some(cause);
        }
        if instance.meta.deleting {
            // An add-on that is wanted again waits for this end, too; what holds the end says more.
            let own = self
                .waits
                .iter()
                .filter(|wait| wait.cluster.as_deref() == Some(cluster));
            let hook = own.into_iter().find(|wait| matches!(wait.on, WaitOn::Hook(_)));
            return Some(self.held_instance(instance, hook.or(held), links));
        }
        let mut note = None;
        if let Some(wait) = held.filter(|wait| !wait::is_about_the_agent(&wait.on)) {
            let cause = self.held(instance, wait);
            if let Some(failure) = self.failure_behind(&cause, instance) {
                self.works(cluster, links);
                return Some(failure);
            }
            if cause.grade != Grade::Meant {
                mark(links, &self.view.addon.name, wait);
                self.works(cluster, links);
                return Some(cause);
            }
            note = Some(cause);
        }
        if let Some(cause) = away(known) {
            links.push(cluster_link(cluster, known).stopping());
            return Some(cause);
        }
        if self.view.addon.meta.deleting {
            self.works(cluster, links);
            return Some(self.left_over(instance));
        }
        self.below(instance, held.filter(|_| note.is_none()), note.is_some(), links)
            .or(note)
            .or_else(|| self.undone(cluster))
    }

    /// Returns what an administrator must fix on a waiting cluster: its update alone does not make it healthy.
    fn failure_behind(&self, wait: &Cause, instance: &Instance) -> Option<Cause> {
        let words = self.conditions.words(instance);
        let is_stalled =
            |word: &PlannedCondition| word.kind == conditions::STALLED && word.status == Status::True;
        if !matches!(wait.grade, Grade::WaitsForUser | Grade::Waits(_)) || !words.iter().any(is_stalled) {
            return None;
        }
        let mut links = Vec::new();
        let found = self.below(instance, None, false, &mut links)?;
        (found.grade == Grade::Fault).then_some(found)
    }

    /// Why a healthy cluster does not run the configuration of the specs. The add-on's conditions name the failed clusters.
    fn undone(&self, cluster: &str) -> Option<Cause> {
        let home = self.home(cluster)?;
        let mut told = self.view.addon.progressions.iter().flatten();
        let found = told.find(|one| one.namespace == home.namespace && one.name == home.name)?;
        found.undone()?;
        let detail = format!(
            "the rollout of placement {}/{} was rolled back to the last known good configuration",
            home.namespace, home.name
        );
        let command = format!("tidegate rollout history {}", self.view.addon.name);
        let cause = Cause::new(causes::UNDONE, detail).typing(command);
        Some(cause.graded(Grade::Meant))
    }

    /// What the objects below an instance report whose configuration is applied.
    fn below(
        &self,
        instance: &Instance,
        held: Option<&Wait>,
        is_meant: bool,
        links: &mut Vec<Link>,
    ) -> Option<Cause> {
        let words = self.conditions.words(instance);
        let stalled = words
            .iter()
            .find(|word| word.kind == conditions::STALLED && word.status == Status::True);
        if let Some(stalled) = stalled.filter(|stalled| *stalled.reason == Reason::RenderingFailed) {
            // `Stalled` refers to the condition that has the sentence.
            let whole = words.iter().find(|word| word.kind == conditions::PROGRESSING);
            let message = &whole.unwrap_or(stalled).message;
            let cause = Self::rendering(instance, message, links);
            self.works(&instance.cluster, links);
            return Some(cause);
        }
        let found = self
            .works(&instance.cluster, links)
            .or_else(|| held.map(wait::cause));
        let is_late = stalled.is_some_and(|stalled| *stalled.reason == Reason::ProgressDeadlineExceeded);
        let Some(found) = found else {
            let meant = is_meant.then_some(conditions::CONFIGURED);
            return self.conditions.wrong(instance, self.view.addon.managed, meant);
        };
        let is_silent = found.doc == causes::NOT_REPORTED || found.doc == causes::AGENT;
        if is_late {
            let doc = if is_silent { causes::DEADLINE } else { found.doc };
            let detail = format!("{}; the progressDeadline of the rollout has passed", found.detail);
            return Some(Cause { doc, detail, ..found });
        }
        if !is_silent {
            return Some(found);
        }
        // An agent that has just received a change needs a moment to report it.
        let begun = under_way_since(&words);
        let late = begun.and_then(|begun| deadline(&self.view, self.home(&instance.cluster)?, begun));
        let end = self.patience(begun).into_iter().chain(late).min();
        Some(found.within(end, self.now))
    }

    /// A template that cannot be rendered is fixed on the hub.
    fn rendering(instance: &Instance, message: &str, links: &mut [Link]) -> Cause {
        let mut references = instance.references.iter();
        let template = references.find(|one| &*one.config.of.resource == "addontemplates");
        let Some(template) = template else {
            return Cause::new(causes::RENDERING, message);
        };
        let object = config_name(&template.config);
        if let Some(link) = links.iter_mut().find(|link| link.object == object) {
            link.stops = true;
        }
        let detail = format!("AddOnTemplate {}: {message}", template.config.name);
        let values = instance.references.iter().find(|one| {
            Kind::of_config(&one.config.of.group, &one.config.of.resource) == Some(Kind::DeploymentConfig)
        });
        let is_unset = message.contains("unknown variable");
        let Some(values) = values.filter(|_| is_unset) else {
            let look = command::get("addontemplate", "", &template.config.name);
            return Cause::new(causes::RENDERING, detail).typing(look);
        };
        let object = config_name(&values.config);
        let edit = format!(
            "kubectl edit addondeploymentconfig {} -n {}",
            command::quoted(&values.config.name),
            command::quoted(&values.config.namespace)
        );
        Cause::new(
            causes::RENDERING,
            format!("{detail}; define it in spec.customizedVariables of {object}"),
        )
        .typing(edit)
    }

    fn without_instance(&self, cluster: &str, held: Option<&Wait>, links: &mut Vec<Link>) -> Cause {
        if self.view.addon.meta.deleting {
            return self
                .held_works(cluster, links)
                .unwrap_or_else(ending::nothing_left);
        }
        links.push(cluster_link(cluster, self.view.cluster(cluster)).stopping());
        match held {
            Some(wait) if matches!(wait.on, WaitOn::OptedOut) => self.opted_out(cluster),
            Some(wait) => self.cause_of(wait),
            None => self.absent(cluster),
        }
    }

    /// What blocks an instance before its agent has a change to apply.
    fn held(&self, instance: &Instance, wait: &Wait) -> Cause {
        let WaitOn::Rollout(turn) = &wait.on else {
            return self.cause_of(wait);
        };
        let groups = self.decided.of_cluster(&instance.cluster).to_vec();
        let key = (turn.clone(), groups);
        if let Some(known) = self.turns.borrow().get(&key) {
            return known.clone();
        }
        let cause = self.turn(&instance.cluster, turn);
        self.turns.borrow_mut().insert(key, cause.clone());
        cause
    }

    /// Returns the cause of a wait. A placement that may select a cluster has no complete decision or does not exist.
    fn cause_of(&self, wait: &Wait) -> Cause {
        let cause = wait::cause(wait);
        if let WaitOn::MaySelect(namespace, name) = &wait.on
            && self.view.placement(namespace, name).is_none()
        {
            return Cause {
                doc: causes::PLACEMENT_MISSING,
                command: Some(command::list_placements(namespace)),
                detail: format!("{}; the placement does not exist", cause.detail),
                ..cause
            };
        }
        cause
    }

    /// Why an instance is still there that goes as soon as it may. What holds it is known to the controllers, and read from the
    /// conditions that they write: a plan that is made here has the budget of a minute in which nothing went.
    fn leaving(&self, cluster: &str, held: Option<&Wait>, instance: &Instance) -> Option<Cause> {
        let waits_for_budget = held.is_some_and(|wait| matches!(wait.on, WaitOn::RemovalBudget(..)));
        let goes = self.going.contains(cluster) && !instance.meta.deleting;
        if !goes && !waits_for_budget {
            return None;
        }
        if let Some(told) = self.stated().find_map(|one| self.held_by(one)) {
            return Some(told);
        }
        // What takes a cluster away says more than that its add-on goes.
        let known = self.view.cluster(cluster);
        let stays = known.is_some_and(|cluster| !cluster.meta.deleting);
        (goes && stays).then(|| {
            let detail = "nothing keeps the add-on on the cluster; the controllers remove it next";
            Cause::new(causes::GRACE, detail).graded(Grade::Waits(None))
        })
    }

    fn works(&self, cluster: &str, links: &mut Vec<Link>) -> Option<Cause> {
        let stopped = links.iter().any(|link| link.stops);
        let before = links.len();
        let host = self
            .view
            .instance(cluster)
            .map(|instance| &instance.hosting_cluster);
        // What is left on an earlier hosting cluster says nothing about the agent.
        let is_here = |work: &&Work| !work.hosted || host.is_none_or(|host| *host == work.namespace);
        let cause = work::follow(self.hub, self.view.works(cluster).filter(is_here), links);
        if stopped {
            links.iter_mut().skip(before).for_each(|link| link.stops = false);
        }
        cause
    }

    /// What the controllers state about the add-on: where OCM's definition keeps no conditions, the AddOnRollout has them.
    pub(super) fn stated(&self) -> impl Iterator<Item = &Condition> {
        let roll_up = self.view.roll_up().into_iter();
        let stated = roll_up.flat_map(|roll_up| &roll_up.conditions);
        self.view.addon.conditions.iter().chain(stated)
    }

    /// What the conditions say about blocked removals.
    fn held_by(&self, condition: &Condition) -> Option<Cause> {
        if &*condition.kind != conditions::STALLED || condition.status != Status::True {
            return None;
        }
        self.held_cause(Reason::of(&condition.reason), &condition.message)
    }

    /// Returns the cause of what the controllers hold because they cannot confirm it.
    pub(super) fn held_cause(&self, reason: Option<Reason>, message: &str) -> Option<Cause> {
        let cause = |doc| Some(Cause::new(doc, message));
        match reason {
            Some(Reason::RemovalHeld | Reason::ClustersAbsent) => {
                cause(causes::REMOVAL_HELD).map(|cause| cause.typing(self.let_removals_go()))
            }
            Some(Reason::RemovalUnconfirmed) => cause(causes::REMOVAL_UNCONFIRMED),
            Some(Reason::ReadFailed) => cause(causes::READ_FAILED),
            Some(_) | None => None,
        }
    }
}

/// A chain whose cause is a fault or an absence stops at a link: at the last one where none is marked. No other chain stops.
fn settle_stops(links: &mut [Link], cause: Option<&Cause>) {
    let is_stopped = cause.is_some_and(|cause| matches!(cause.grade, Grade::Fault | Grade::Absent));
    if !is_stopped {
        for link in links {
            link.stops = false;
        }
        return;
    }
    if !links.iter().any(|link| link.stops)
        && let Some(last) = links.last_mut()
    {
        last.stops = true;
    }
}

/// A wait that is about an object stops the chain at that object.
fn mark(links: &mut [Link], addon: &str, wait: &Wait) {
    let object = wait::object(addon, &wait.on);
    let position = links
        .iter()
        .position(|link| object.as_deref() == Some(&*link.object))
        .unwrap_or_else(|| links.len().saturating_sub(1));
    if let Some(link) = links.get_mut(position) {
        link.stops = true;
    }
}
