//! How plans for definitions read, for people and for programs.
//!
//! Decides only words.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::difference::Difference;
use super::hazard::{Conversion, Hazard, OperatorWill};
use super::patch::{Addition, DefinitionPlan, Presence, Reversal};
use crate::output::OutputDocument;
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

/// What Tidegate's fields would add to the definitions of a hub, for programs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DefinitionPlan")]
pub struct DefinitionPlans<'a> {
    /// The definitions.
    pub definitions: Vec<PlannedDefinition<'a>>,
    /// Names of definitions that the hub does not have.
    pub absent: &'a [String],
}

impl OutputDocument for DefinitionPlans<'_> {
    const KIND: &'static str = "DefinitionPlan";
}

/// The plan for one definition.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlannedDefinition<'a> {
    /// Its name.
    pub name: &'a str,
    /// Fields and columns of Tidegate.
    pub additions: Vec<PlannedAddition<'a>>,
    /// Where the hub's definition differs from Tidegate's; not changed.
    pub differences: Vec<DefinitionDifference<'a>>,
    /// What OCM's operator does with the additions.
    pub operator: OperatorEffect<'a>,
    /// What the conversion between versions does with the additions.
    pub conversion: ConversionEffect<'a>,
    /// Why the definition would not be changed.
    pub refusals: Vec<Refusal>,
    /// The JSON Patch.
    #[schemars(schema_with = "crate::output::objects")]
    pub patch: &'a [Value],
}

/// A field or a column of Tidegate.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlannedAddition<'a> {
    /// Its path.
    pub path: &'a str,
    /// `field` or `column`.
    pub kind: &'static str,
    /// `new`, `outdated` or `present`.
    pub standing: &'static str,
}

/// A difference that is not changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DefinitionDifference<'a> {
    /// Its path.
    pub path: &'a str,
    /// The key that differs.
    pub key: &'a str,
    /// The value of the hub, or null.
    pub hub: &'a Option<Value>,
    /// The value of Tidegate, or null.
    pub tidegate: &'a Option<Value>,
}

/// What OCM's operator does.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OperatorEffect<'a> {
    /// `nothing`, `leaves-alone`, `overwrites` or `unknown`.
    pub does: &'static str,
    /// The version in the annotation of the definition; absent if the operator is not installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotation: Option<&'a str>,
    /// The version of the operator; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'a str>,
}

/// What the conversion between versions does.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConversionEffect<'a> {
    /// `nothing`, `keeps`, `erases` or `unknown`.
    pub does: &'static str,
    /// The other versions that are served.
    pub versions: &'a [String],
    /// The `clientConfig` of the conversion webhook that erases the fields; absent if no webhook converts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub converter: Option<&'a Value>,
    /// Why it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'a str>,
}

/// Why a definition would not be changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Refusal {
    /// The reason.
    pub reason: &'static str,
    /// Its message.
    pub message: String,
    /// What to do, or "".
    pub fix: String,
}

/// Returns plans for programs.
pub fn definition_plans<'a>(plans: &'a [DefinitionPlan], absent: &'a [String]) -> DefinitionPlans<'a> {
    DefinitionPlans {
        definitions: plans.iter().map(planned).collect(),
        absent,
    }
}

fn planned(plan: &DefinitionPlan) -> PlannedDefinition<'_> {
    let additions = plan.additions.iter().map(|one| PlannedAddition {
        path: &one.path,
        kind: if one.is_column { "column" } else { "field" },
        standing: match one.standing {
            Presence::New => "new",
            Presence::Outdated => "outdated",
            Presence::Present => "present",
        },
    });
    let differences = plan.differences.iter().map(|one| DefinitionDifference {
        path: &one.path,
        key: &one.key,
        hub: &one.live,
        tidegate: &one.ours,
    });
    let refusals = plan.hazards.iter().map(|one| Refusal {
        reason: reason(one),
        message: one.to_string(),
        fix: one.cure(),
    });
    PlannedDefinition {
        name: &plan.name,
        additions: additions.collect(),
        differences: differences.collect(),
        operator: operator(&plan.operator),
        conversion: conversion(&plan.conversion),
        refusals: refusals.collect(),
        patch: &plan.patch,
    }
}

fn operator(will: &OperatorWill) -> OperatorEffect<'_> {
    let effect = |does, annotation, version| OperatorEffect {
        does,
        annotation,
        version,
    };
    match will {
        OperatorWill::Nothing => effect("nothing", None, None),
        OperatorWill::LeaveAlone { marked, own } => effect("leaves-alone", Some(marked), Some(own)),
        OperatorWill::Overwrite { marked, own } => effect("overwrites", marked.as_deref(), own.as_deref()),
        OperatorWill::Unknown { marked } => effect("unknown", Some(marked), None),
    }
}

fn conversion(conversion: &Conversion) -> ConversionEffect<'_> {
    let effect = |does, versions| ConversionEffect {
        does,
        versions,
        converter: None,
        why: None,
    };
    match conversion {
        Conversion::NoOther => effect("nothing", &[]),
        Conversion::NothingToLose { others } => effect("nothing", others),
        Conversion::Lossless { others } => effect("keeps", others),
        Conversion::Erases { others, converter } => ConversionEffect {
            converter: converter.as_ref(),
            ..effect("erases", others)
        },
        Conversion::Unproven { others, why } => ConversionEffect {
            why: Some(why),
            ..effect("unknown", others)
        },
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
