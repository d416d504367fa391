//! The finalizers of pre-delete hooks while an add-on is alive: there as long as its template has hooks.
//!
//! Decides from the content that the cluster was assigned. Changes nothing while that content is not known, and never touches
//! the finalizers of an add-on that another program deploys.

use serde_json::{Value, json};

use super::config::is_template;
use super::render::is_hook;
use super::rollout::Member;
use super::types::{Action, Revision};
use store::{Content, Instance, Kind, Name, ObjectKey, Reference, Template, View, terms};

/// Keeps the finalizers of one instance after the other; neighbours mostly share their references.
#[derive(Debug)]
pub(super) struct Finalizers<'v, 'm> {
    view: &'m View<'v>,
    last: Option<(&'m [Reference], Option<bool>)>,
}

impl<'v, 'm> Finalizers<'v, 'm> {
    pub(super) fn new(view: &'m View<'v>) -> Self {
        Self { view, last: None }
    }

    /// Returns the write that puts the finalizer on or takes it off, if any is due.
    pub(super) fn keep(&mut self, member: &'m Member<'v>) -> Option<Action> {
        let instance = member.instance;
        let is_ours = member.effective.deployed && instance.hosting_cluster.is_empty();
        if instance.meta.deleting || !is_ours {
            return None;
        }
        let wanted = self.has_hooks(&member.assigned)?;
        let held = &instance.farewell.finalizers;
        let stands = held
            .iter()
            .any(|one| **one == *terms::finalizers::ADDON_PRE_DELETE);
        match (wanted, stands) {
            (true, false) => Some(write(instance, true, "the template has pre-delete hooks")),
            (false, _) if held.iter().any(|one| is_pre_delete(one)) => {
                Some(write(instance, false, "the template has no pre-delete hooks"))
            }
            (true, true) | (false, _) => None,
        }
    }

    fn has_hooks(&mut self, assigned: &'m [Reference]) -> Option<bool> {
        if let Some((last, has_hooks)) = self.last
            && std::ptr::eq(last, assigned)
        {
            return has_hooks;
        }
        let template = assigned.iter().find(|one| is_template(&one.config.of));
        let found = template.and_then(|one| self.view.last_content(&one.config, &one.desired));
        let own = found.filter(|found| found.addon == self.view.addon.name);
        let has_hooks = own.map(|found| match &*found.content {
            Content::Template(template) => has_hooks(template),
            Content::Deployment(_) | Content::Hub => false,
        });
        self.last = Some((assigned, has_hooks));
        has_hooks
    }
}

/// Returns whether a template has pre-delete hooks.
pub(super) fn has_hooks(template: &Template) -> bool {
    let manifests = template.agent.pointer("/workload/manifests");
    let mut manifests = manifests.and_then(Value::as_array).into_iter().flatten();
    manifests.any(is_hook)
}

/// Returns whether a finalizer waits for hooks, in whatever spelling.
pub(super) fn is_pre_delete(finalizer: &str) -> bool {
    finalizer == terms::finalizers::ADDON_PRE_DELETE
        || terms::finalizers::DEPRECATED
            .iter()
            .any(|old| *old == finalizer && old.ends_with("/addon-pre-delete"))
}

fn write(instance: &Instance, wanted: bool, why: &'static str) -> Action {
    let kept = instance.farewell.finalizers.iter();
    let kept = kept.filter(|one| !is_pre_delete(one) && !is_deprecated(one));
    let ours = wanted.then(|| Name::from(terms::finalizers::ADDON_PRE_DELETE));
    let list: Vec<Name> = kept.cloned().chain(ours).collect();
    finalizers(instance, &list, why)
}

fn is_deprecated(finalizer: &str) -> bool {
    terms::finalizers::DEPRECATED.contains(&finalizer)
}

/// Returns the write of an instance's finalizers.
pub(super) fn finalizers(instance: &Instance, list: &[Name], why: &'static str) -> Action {
    let list: Vec<&str> = list.iter().map(|name| &**name).collect();
    Action::Replace {
        object: ObjectKey::new(Kind::Instance, instance.cluster.clone(), instance.addon.clone()),
        before: Revision::from(&instance.meta),
        patch: json!({"metadata": {"finalizers": list}}).into(),
        why,
    }
}
