//! `tidegate policy lint`: what is wrong with policies, and what is probably not meant.
//!
//! Decides nothing about policies; knows the definitions that fields are held against.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::LintArgs;
use super::files::read_all;
use super::said::{CommandOutput, DOES_NOT_COMPILE, FOUND, faults};
use crate::cli::CliError;
use field::{Shown, counted, one_line};

pub(super) fn run(args: &LintArgs) -> Result<CommandOutput, CliError> {
    let folder = read_all(&args.paths)?;
    let loaded = folder.load();
    let definitions = definitions();
    let schemas =
        |group: &str, resource: &str| definitions.get(&(group.to_owned(), resource.to_owned())).cloned();
    let (notes, native) = policy::lint(&loaded.set, &schemas, Some(Timestamp::now()));
    let broken = faults(&loaded.reports);
    let mut text = broken.clone().unwrap_or_default();
    for note in &notes {
        text.push_str(&one_line(&note.policy));
        text.push_str(": ");
        text.push_str(&note.fault.to_string());
        text.push('\n');
    }
    let native = if native.is_empty() {
        "none".to_owned()
    } else {
        one_line(&native.join(", "))
    };
    let count = loaded.set.len();
    let summary = [
        format!(
            "{} {}, {}",
            if count == 1 {
                "1 policy".to_owned()
            } else {
                format!("{count} policies")
            },
            if count == 1 { "compiles" } else { "compile" },
            counted(notes.len(), "note")
        ),
        format!("with a native form: {native}\n"),
    ];
    text.push_str(&summary.join("; "));
    Ok(CommandOutput {
        page: Shown::page(&text),
        status: match (&broken, notes.is_empty()) {
            (Some(_), _) => DOES_NOT_COMPILE,
            (None, false) => FOUND,
            (None, true) => 0,
        },
    })
}

/// Returns the schemas of our kinds, by group and plural name.
fn definitions() -> BTreeMap<(String, String), Value> {
    let mut found = BTreeMap::new();
    for crd in api::crds() {
        let versions = crd.spec.versions.iter().filter(|version| version.storage);
        for version in versions {
            let schema = version
                .schema
                .as_ref()
                .and_then(|schema| schema.open_api_v3_schema.as_ref());
            if let Some(schema) = schema.and_then(|schema| serde_json::to_value(schema).ok()) {
                let key = (crd.spec.group.clone(), crd.spec.names.plural.clone());
                found.insert(key, schema);
            }
        }
    }
    found
}
