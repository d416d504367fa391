//! How plans for definitions read, for people and for programs.
//!
//! Decides only words.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::difference::Difference;
use super::hazard::{Conversion, Hazard, OperatorWill};
use super::patch::{Addition, DefinitionPlan, Presence, Reversal};
use kubernetes::field::counted;

/// Returns what would be done about a definition.
pub fn plan_text(plan: &DefinitionPlan) -> String {
    let mut page = format!("{}\n", plan.name);
    for (mark, is_column, standing) in [
        ("adds", false, Presence::New),
        ("columns", true, Presence::New),
        ("renews", false, Presence::Outdated),
        ("renews", true, Presence::Outdated),
    ] {
        let chosen = plan.additions.iter().filter(|one| one.standing == standing);
        let chosen: Vec<&str> = chosen
            .filter(|one| one.is_column == is_column)
            .map(|one| one.path.as_str())
            .collect();
        if is_column && !chosen.is_empty() {
            row(&mut page, mark, &chosen.join(", "));
        } else {
            for path in chosen {
                row(&mut page, mark, path);
            }
        }
    }
    let present = plan.additions.len() - plan.pending().count();
    if present > 0 {
        row(
            &mut page,
            "has",
            &format!(
                "{} of Tidegate are already there",
                amount(&plan.additions, Presence::Present)
            ),
        );
    }
    for difference in &plan.differences {
        row(&mut page, "differs", &difference_text(difference));
    }
    if plan.additions.is_empty() && plan.hazards.is_empty() {
        row(&mut page, "adds", "nothing");
        return page;
    }
    row(&mut page, "operator", &operator_text(&plan.operator));
    row(&mut page, "versions", &conversion_text(&plan.conversion));
    hazards(&mut page, &plan.hazards);
    page
}

/// Returns what was done about a definition; `done` is such as "added".
pub fn applied_text(plan: &DefinitionPlan, done: &str) -> String {
    let mut pieces = Vec::new();
    for standing in [Presence::New, Presence::Outdated] {
        if plan.additions.iter().any(|one| one.standing == standing) {
            let renewed = if standing == Presence::New { "" } else { " renewed" };
            pieces.push(format!("{}{renewed}", amount(&plan.additions, standing)));
        }
    }
    if pieces.is_empty() {
        return format!("{}: nothing to do\n", plan.name);
    }
    format!("{}: {done} {}\n", plan.name, pieces.join(", "))
}

/// Returns what was taken out of a definition; `done` is such as "took out".
pub fn revert_text(reversal: &Reversal, done: &str) -> String {
    let mut page = String::new();
    if !reversal.removed.is_empty() {
        let removed = reversal.removed.join(", ");
        writeln!(page, "{}: {done} {removed}", reversal.name).unwrap_or_default();
    }
    if !reversal.stays.is_empty() {
        let stays = reversal.stays.join(", ");
        writeln!(
            page,
            "{}: {stays}: changed by another client since it was added, so it is kept",
            reversal.name
        )
        .unwrap_or_default();
    }
    if let Some(hazard) = &reversal.hazard {
        writeln!(page, "{}: {}", reversal.name, with_cure(hazard)).unwrap_or_default();
    }
    if page.is_empty() && !reversal.patch.is_empty() {
        return format!(
            "{}: {done} only the record: none of the fields in it exist any more\n",
            reversal.name
        );
    }
    if page.is_empty() {
        return format!(
            "{}: nothing to do: the annotation tidegate.io/added-fields does not list any added fields\n",
            reversal.name
        );
    }
    page
}

/// Returns plans for programs.
pub fn json(plans: &[DefinitionPlan], absent: &[String]) -> Value {
    let plans: Vec<Value> = plans.iter().map(plan_json).collect();
    json!({"definitions": plans, "absent": absent})
}

fn plan_json(plan: &DefinitionPlan) -> Value {
    let additions = plan.additions.iter().map(|one| {
        let standing = match one.standing {
            Presence::New => "new",
            Presence::Outdated => "outdated",
            Presence::Present => "present",
        };
        let kind = if one.is_column { "column" } else { "field" };
        json!({"path": one.path, "kind": kind, "standing": standing})
    });
    let differences = plan
        .differences
        .iter()
        .map(|one| json!({"path": one.path, "key": one.key, "hub": one.live, "tidegate": one.ours}));
    let hazards = plan
        .hazards
        .iter()
        .map(|one| json!({"reason": reason(one), "message": one.to_string(), "fix": one.cure()}));
    json!({
        "name": plan.name,
        "additions": additions.collect::<Vec<_>>(),
        "differences": differences.collect::<Vec<_>>(),
        "operator": operator_json(&plan.operator),
        "conversion": conversion_json(&plan.conversion),
        "refusals": hazards.collect::<Vec<_>>(),
        "patch": plan.patch,
    })
}

fn operator_json(will: &OperatorWill) -> Value {
    match will {
        OperatorWill::Nothing => json!({"does": "nothing"}),
        OperatorWill::LeaveAlone { marked, own } => {
            json!({"does": "leaves-alone", "annotation": marked, "version": own})
        }
        OperatorWill::Overwrite { marked, own } => {
            json!({"does": "overwrites", "annotation": marked, "version": own})
        }
        OperatorWill::Unknown { marked } => json!({"does": "unknown", "annotation": marked}),
    }
}

fn conversion_json(conversion: &Conversion) -> Value {
    match conversion {
        Conversion::NoOther => json!({"does": "nothing", "versions": []}),
        Conversion::NothingToLose { others } => json!({"does": "nothing", "versions": others}),
        Conversion::Lossless { others } => json!({"does": "keeps", "versions": others}),
        Conversion::Erases { others, converter } => {
            json!({"does": "erases", "versions": others, "converter": converter})
        }
        Conversion::Unproven { others, why } => json!({"does": "unknown", "versions": others, "why": why}),
    }
}

fn reason(hazard: &Hazard) -> &'static str {
    match hazard {
        Hazard::Unfit(_) => "unfit",
        Hazard::UnreadableRecord => "unreadable-record",
        Hazard::Overwritten { .. } => "overwritten",
        Hazard::Erased { .. } => "erased",
        Hazard::Unproven { .. } => "unproven",
    }
}

fn hazards(page: &mut String, hazards: &[Hazard]) {
    for hazard in hazards {
        row(page, "REFUSED", &hazard.to_string());
        let cure = hazard.cure();
        if !cure.is_empty() {
            row(page, "fix", &cure);
        }
    }
}

fn with_cure(hazard: &Hazard) -> String {
    match hazard.cure() {
        cure if cure.is_empty() => hazard.to_string(),
        cure => format!("{hazard}; {cure}"),
    }
}

fn row(page: &mut String, mark: &str, text: &str) {
    // Writing to a text cannot fail.
    writeln!(page, "  {mark:<10}{text}").unwrap_or_default();
}

fn amount(additions: &[Addition], standing: Presence) -> String {
    let all = || additions.iter().filter(|one| one.standing == standing);
    let columns = all().filter(|one| one.is_column).count();
    match (all().count() - columns, columns) {
        (0, columns) => counted(columns, "column"),
        (fields, 0) => counted(fields, "field"),
        (fields, columns) => format!("{} and {}", counted(fields, "field"), counted(columns, "column")),
    }
}

fn difference_text(difference: &Difference) -> String {
    let said = |value: &Option<Value>| {
        let text = value.as_ref().map(Value::to_string);
        text.unwrap_or_else(|| "absent".to_owned())
    };
    format!(
        "{}: {} is {}, but {} in Tidegate's definition; not changed",
        difference.path,
        difference.key,
        said(&difference.live),
        said(&difference.ours)
    )
}

fn operator_text(will: &OperatorWill) -> String {
    match will {
        OperatorWill::Nothing => {
            "none on this hub; applying OCM's definition again removes the additions".to_owned()
        }
        OperatorWill::LeaveAlone { marked, own } => format!(
            "leaves the definition alone: it has version {marked}, which is higher than the operator's {own}; you have to update the CA \
             bundle of its conversion webhook and new fields (docs/ocm/definitions.md)"
        ),
        OperatorWill::Overwrite { .. } => "overwrites the definition within three minutes".to_owned(),
        OperatorWill::Unknown { marked } => format!(
            "unknown: the definition has version {marked}, and the operator's own is not known; if that is not lower, it overwrites \
             the definition within three minutes"
        ),
    }
}

fn conversion_text(conversion: &Conversion) -> String {
    match conversion {
        Conversion::NoOther => "v1alpha1 alone".to_owned(),
        Conversion::NothingToLose { others } => {
            format!("v1alpha1 and {}; columns are not converted", others.join(", "))
        }
        Conversion::Lossless { others } => {
            format!(
                "v1alpha1 and {}, converted without loss by Tidegate",
                others.join(", ")
            )
        }
        Conversion::Erases { others, .. } => {
            format!(
                "v1alpha1 and {}, whose writes erase the fields",
                others.join(", ")
            )
        }
        Conversion::Unproven { others, .. } => format!(
            "v1alpha1 and {}, and it is not known whether their writes erase the fields",
            others.join(", ")
        ),
    }
}
