//! What the status of an instance remembers: `currentVersion` and `lastVersion`.
//!
//! Decides both by the rules of the add-on lifecycle: unknown while the version changes and while an invalid one is asked
//! for; the last one is what was asked for before. A change of configuration that keeps the version changes neither.
//! Writes nothing for an add-on that has no versions.

use super::choice::BadVersion;
use super::direction::{is_same, version_of};
use crate::conditions::state::Phase;
use crate::rollout::Member;
use api::names::UNKNOWN_VERSION;
use store::{Instance, Kind, Name, Reference, View};

/// `currentVersion` and `lastVersion`, "" when absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Memory {
    /// What is installed.
    pub current: Name,
    /// What was asked for before.
    pub last: Name,
}

/// The version that is assigned to an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Assigned<'a> {
    /// Nothing that could have one.
    Nothing,
    /// The assigned content is not on the hub any more: its version is not known.
    Unreadable,
    /// Something without a version.
    Without,
    /// This one.
    Is(&'a Name),
    /// One that no template offers.
    Bad(&'a BadVersion),
}

/// Reads the versions that are assigned to one instance after the other; neighbours mostly share their references.
#[derive(Debug)]
pub(crate) struct Reader<'v> {
    view: &'v View<'v>,
    last: Option<(&'v [Reference], Assigned<'v>)>,
}

impl<'v> Reader<'v> {
    pub(crate) fn new(view: &'v View<'v>) -> Self {
        Self { view, last: None }
    }

    /// Returns the version that is assigned to an instance.
    pub(crate) fn assigned(&mut self, member: &'v Member<'v>) -> Assigned<'v> {
        let references: &[Reference] = &member.assigned;
        if let Some((last, assigned)) = self.last
            && std::ptr::eq(last, references)
            && invalid(member).is_none()
        {
            return assigned;
        }
        let assigned = assigned(self.view, member);
        // That no template offers a version is not told by references alone.
        self.last = (!matches!(assigned, Assigned::Bad(_))).then_some((references, assigned));
        assigned
    }
}

/// Returns the version that is assigned to an instance although no template offers it.
pub(crate) fn invalid<'m>(member: &'m Member<'_>) -> Option<&'m BadVersion> {
    let bad = member.effective.bad_version.as_ref()?;
    let reference = of_kind(&member.assigned, Kind::Template)?;
    (reference.desired.is_empty() && reference.config.name == bad.asked).then_some(bad)
}

/// Returns the target version of an instance.
pub(crate) fn moving_to<'a>(assigned: Assigned<'a>, instance: &Instance) -> Option<&'a Name> {
    match assigned {
        Assigned::Is(version) => (!is_same(version, &instance.current_version)).then_some(version),
        Assigned::Nothing | Assigned::Unreadable | Assigned::Without | Assigned::Bad(_) => None,
    }
}

/// Returns what the status should remember; `done` tells whether everything assigned is applied.
pub(crate) fn memory(view: &View<'_>, member: &Member<'_>, assigned: Assigned<'_>, done: bool) -> Memory {
    let instance = member.instance;
    let stored = Memory {
        current: instance.current_version.clone(),
        last: instance.last_version.clone(),
    };
    let (target, current) = match assigned {
        Assigned::Nothing | Assigned::Unreadable => return stored,
        Assigned::Bad(bad) if is_same(&bad.asked, &stored.current) => return stored,
        Assigned::Without if stored.current.is_empty() => return stored,
        Assigned::Without => (None, Name::from("")),
        Assigned::Bad(_) => (None, Name::from(UNKNOWN_VERSION)),
        Assigned::Is(version) if done || is_same(version, &stored.current) => {
            (Some(version), version.clone())
        }
        Assigned::Is(version) => (Some(version), Name::from(UNKNOWN_VERSION)),
    };
    let last = if changes(member, target) {
        before(view, member)
    } else {
        stored.last
    };
    Memory { current, last }
}

/// Returns the version that works made from these references carry, "" when their template has none.
pub(crate) fn carried_version(view: &View<'_>, assigned: &[Reference]) -> Name {
    let template = of_kind(assigned, Kind::Template);
    let version = template.and_then(|one| view.content(&one.config, &one.desired)?.readable_version());
    version.map_or_else(|| Name::from(""), Name::clone)
}

/// Returns whether a version that no template offers is the one that the instance runs with.
pub(crate) fn is_present(member: &Member<'_>, bad: &BadVersion) -> bool {
    is_same(&bad.asked, &member.instance.current_version)
}

/// Returns the words for a version that no template offers.
pub(crate) fn refusal(phase: Phase, member: &Member<'_>, bad: &BadVersion) -> String {
    let version = &bad.asked;
    if is_present(member, bad) {
        return format!(
            "version {version} no longer has an AddOnTemplate; its ManifestWorks are not changed"
        );
    }
    let verb = match phase {
        Phase::Install => "install",
        Phase::Upgrade => "upgrade to",
        Phase::Rollback => "rollback to",
        Phase::Upkeep => "keep",
        Phase::Hook => "remove",
    };
    format!("could not {verb} invalid version {version}")
}

/// Returns the version that is assigned to an instance.
pub(super) fn assigned<'a>(view: &View<'a>, member: &'a Member<'_>) -> Assigned<'a> {
    if let Some(bad) = invalid(member) {
        return Assigned::Bad(bad);
    }
    let Some(reference) = carrier(&member.assigned) else {
        return Assigned::Nothing;
    };
    match view.content(&reference.config, &reference.desired) {
        None => Assigned::Unreadable,
        Some(found) => match found.readable_version() {
            Some(version) => Assigned::Is(version),
            None => Assigned::Without,
        },
    }
}

/// The reference that carries the version: the template, and where another program deploys, the `AddOnHubConfig`.
pub(super) fn carrier(references: &[Reference]) -> Option<&Reference> {
    of_kind(references, Kind::Template).or_else(|| of_kind(references, Kind::HubConfig))
}

fn of_kind(references: &[Reference], kind: Kind) -> Option<&Reference> {
    references.iter().find(|reference| {
        let of = &reference.config.of;
        Kind::of_config(&of.group, &of.resource) == Some(kind)
    })
}

/// Returns whether another version is asked for than before. While it is changing, only the reference can tell.
fn changes(member: &Member<'_>, target: Option<&Name>) -> bool {
    let instance = member.instance;
    let current = &instance.current_version;
    if is_known(current) {
        return target.is_none_or(|target| !is_same(target, current));
    }
    let (old, new) = (carrier(&instance.references), carrier(&member.assigned));
    let (Some(old), Some(new)) = (old, new) else {
        return false;
    };
    // An invalid version is in the status by its own name: a template for it may come later.
    let came_true = old.desired.is_empty() && target.is_some_and(|target| is_same(target, &old.config.name));
    old.config != new.config && !came_true
}

/// The version that was asked for before.
fn before(view: &View<'_>, member: &Member<'_>) -> Name {
    let instance = member.instance;
    if is_known(&instance.current_version) {
        return instance.current_version.clone();
    }
    let old = carrier(&instance.references);
    let label = old.and_then(|old| version_of(view, &old.config));
    match label {
        Some(label) => label.clone(),
        None => instance.current_version.clone(),
    }
}

fn is_known(version: &str) -> bool {
    !version.is_empty() && version != UNKNOWN_VERSION
}
