//! Checks of alternatives: `allOf`, `anyOf`, `oneOf`, `not`.
//!
//! Decides which alternative's faults are worth telling: of those that failed, the first with the most checks.

use super::value::Checked;
use crate::fault;
use crate::node::{Junctors, Node};
use crate::path::Path;
use serde_json::Value;

/// Where and against what the alternatives are tried.
struct Place<'a> {
    value: &'a Value,
    old: Option<&'a Value>,
    path: &'a Path<'a>,
}

/// Checks all alternatives of a node.
pub(super) fn check(
    junctors: &Junctors,
    value: &Value,
    old: Option<&Value>,
    path: &Path<'_>,
    out: &mut Checked,
) {
    let place = Place { value, old, path };
    any_of(&junctors.any_of, &place, out);
    one_of(&junctors.one_of, &place, out);
    all_of(&junctors.all_of, &place, out);
    if let Some(not) = junctors.not.as_deref()
        && try_branch(not, &place, out).faults.is_empty()
    {
        report(&place, "must not validate the schema (not)", out);
    }
    out.matches += 1;
}

fn try_branch(node: &Node, place: &Place<'_>, out: &Checked) -> Checked {
    let mut branch = out.branch();
    super::value::check(node, place.value, place.old, place.path, &mut branch);
    branch
}

/// Reports a fault that is in the text with its field, but not in the field itself.
fn report(place: &Place<'_>, words: &str, out: &mut Checked) {
    let detail = format!("{} {words}", kubernetes::print::quote(&place.path.name()));
    let fault = fault::invalid_printed(&place.path.base(), "\"\"", &detail);
    out.push(fault);
}

fn better(best: Option<Checked>, branch: Checked) -> Checked {
    match best {
        Some(best) if best.matches >= branch.matches => best,
        Some(_) | None => branch,
    }
}

fn any_of(alternatives: &[Node], place: &Place<'_>, out: &mut Checked) {
    let mut best = None;
    for node in alternatives {
        let branch = try_branch(node, place, out);
        if branch.faults.is_empty() {
            out.merge(branch);
            return;
        }
        best = Some(better(best, branch));
    }
    if let Some(best) = best {
        report(place, "must validate at least one schema (anyOf)", out);
        out.merge(best);
    }
}

fn one_of(alternatives: &[Node], place: &Place<'_>, out: &mut Checked) {
    if alternatives.is_empty() {
        return;
    }
    let mut best = None;
    let mut good = Vec::new();
    for node in alternatives {
        let branch = try_branch(node, place, out);
        if branch.faults.is_empty() {
            good.push(branch);
        } else if good.is_empty() {
            best = Some(better(best, branch));
        }
    }
    let count = good.len();
    match (count, good.pop(), best) {
        (1, Some(only), _) => out.merge(only),
        (0, _, best) => {
            report(
                place,
                "must validate one and only one schema (oneOf). Found none valid",
                out,
            );
            if let Some(best) = best {
                out.merge(best);
            }
        }
        (_, _, _) => {
            let words =
                format!("must validate one and only one schema (oneOf). Found {count} valid alternatives");
            report(place, &words, out);
        }
    }
}

fn all_of(parts: &[Node], place: &Place<'_>, out: &mut Checked) {
    let mut good = 0;
    for node in parts {
        let branch = try_branch(node, place, out);
        good += usize::from(branch.faults.is_empty());
        out.merge(branch);
    }
    if good == parts.len() {
        return;
    }
    let words = if good == 0 {
        "must validate all the schemas (allOf). None validated"
    } else {
        "must validate all the schemas (allOf)"
    };
    report(place, words, out);
}
