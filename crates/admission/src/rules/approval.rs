//! Rules about approvals of changes: the annotations that ask for them and give them. Page: `tests/rules/approval.md`.
//!
//! Decides which have no meaning, by the parser that the planner uses as well, and which are about nothing. Never decides who may approve:
//! that is a right on the ClusterManagementAddOn, and a matter of policies.

use crate::body::Node;
use crate::rules::install_strategy::place_of;
use crate::subject::{Addon, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path, listed_of, nearest, quoted};
use model::{ApprovalBefore, Approvals, rule};
use store::terms;

const TARGET: &str = "rollout/approval-target";

rules! { pub(crate) ON_ADDONS of Addon {
    refuses rule::ROLLOUT_APPROVAL, CreateAndUpdate, meaning =>
        "The annotations for approvals are valid.\n\n\
         `tidegate.io/approval-before` lists the decision groups that need an approval as `<namespace>/<placement>=<group>`, \
         with a group name, an index or `*` for all, or as `*=<group>` for every placement. `tidegate.io/approved` lists \
         approvals as `<namespace>/<placement>/<group>=<hash>`, with the whole hash of 32 digits that the waiting clusters \
         and `tidegate rollout status` show. Any other value would block every change, or approve nothing. Refused.";
    warns TARGET, CreateAndUpdate, target =>
        "The placement and decision group of an approval exist.\n\n\
         If the add-on does not use the placement, or the placement does not have the decision group, no cluster waits for \
         the approval: the intended clusters are updated without it. Warns, with the closest name or the groups that exist. \
         While a placement has no complete decision, its groups are not checked.";
} }

fn text<'a>(subject: &Subject<'a, Addon>, key: &str) -> Option<&'a str> {
    let text = subject.body.annotations.as_ref()?.text(key)?;
    subject.effort.read(text).then_some(text)
}

fn annotation(subject: &Subject<'_, Addon>, key: &str) -> Option<Path> {
    let annotations: &Node<'_> = subject.body.annotations.as_ref()?;
    Some(annotations.path.entry(key))
}

fn meaning(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let before = |text: &str| ApprovalBefore::parse(text).err();
    let given = |text: &str| Approvals::parse(text).err();
    let both = [
        (
            terms::APPROVAL_BEFORE,
            text(subject, terms::APPROVAL_BEFORE).and_then(before),
        ),
        (terms::APPROVED, text(subject, terms::APPROVED).and_then(given)),
    ];
    for (key, faults) in both {
        let Some(path) = annotation(subject, key) else {
            return;
        };
        for fault in faults.into_iter().flatten() {
            findings.deny(fault.at(path.clone(), rule::ROLLOUT_APPROVAL));
        }
    }
}

fn target(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let before = text(subject, terms::APPROVAL_BEFORE).and_then(|text| ApprovalBefore::parse(text).ok());
    let given = text(subject, terms::APPROVED).map(Approvals::read);
    let asks = before.iter().flat_map(ApprovalBefore::entries);
    let gives = given.iter().flat_map(Approvals::iter);
    let gives = gives.map(|one| (Some(one.place.as_str()), one.group.as_str()));
    let all = asks
        .map(|entry| (terms::APPROVAL_BEFORE, entry))
        .chain(gives.map(|entry| (terms::APPROVED, entry)));
    let places = places(subject);
    for (key, (place, group)) in all.take_while(|_| subject.effort.spend(1)) {
        let fault = match place {
            Some(place) if !places.iter().any(|known| known == place) => {
                Some(unplaced(subject, &places, place))
            }
            Some(place) => ungrouped(subject, place, group),
            None => None,
        };
        if let Some((fault, path)) = fault.zip(annotation(subject, key)) {
            findings.warn(fault.at(path, TARGET));
        }
    }
}

/// The placements of an add-on, as annotations name them.
fn places(subject: &Subject<'_, Addon>) -> Vec<String> {
    let all = subject.body.placements.each(subject.effort);
    all.filter_map(place_of)
        .map(|(namespace, name)| format!("{namespace}/{name}"))
        .collect()
}

fn unplaced(subject: &Subject<'_, Addon>, places: &[String], place: &str) -> Fault {
    let near = subject
        .effort
        .hint(|| nearest(place, places.iter().map(String::as_str)));
    let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
    let detail = "has no effect: must be <namespace>/<name> of a placement of this add-on";
    Fault::of_text(Class::NotFound, place, detail).hint_if(hint)
}

/// Returns what is wrong with a decision group that no decision of the placement carries.
fn ungrouped(subject: &Subject<'_, Addon>, place: &str, group: &str) -> Option<Fault> {
    let (namespace, name) = place.split_once('/')?;
    let facts = subject.facts.placement(namespace, name)?;
    let is_known = facts.decided && !facts.groups.is_empty() && group != "*";
    if !is_known || !subject.effort.spend(facts.groups.len()) {
        return None;
    }
    let is_it = |name: &str, index: u32| name == group || group.parse() == Ok(index);
    if facts.groups.iter().any(|one| is_it(&one.name, one.index)) {
        return None;
    }
    let names: Vec<&str> = facts
        .groups
        .iter()
        .map(|one| &*one.name)
        .filter(|name| !name.is_empty())
        .collect();
    let detail = if names.is_empty() {
        format!("is not a decision group of placement {place}, whose groups have no names")
    } else {
        let listed = listed_of(names.iter().copied(), names.len());
        format!("is not a decision group of placement {place}; its groups are {listed}")
    };
    let near = subject.effort.hint(|| nearest(group, names.iter().copied()));
    let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
    Some(Fault::of_text(Class::NotFound, group, detail).hint_if(hint))
}
