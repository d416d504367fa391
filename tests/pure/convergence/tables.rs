//! The table of conditions: plans are compared with it, the page contains it, and contradictions are found.

use plan::Action;
use serde_json::{Value, json};
use store::Kind;

use crate::kit::status_table::{ADDON, INSTANCE, PROGRESSION, Table, addon, instance};

/// A status that a plan writes is one of those that there are.
pub(crate) fn contradiction(action: &Action) -> Result<(), String> {
    let Action::Status { object, patch, .. } = action else {
        return Ok(());
    };
    let patch = patch.value();
    let wrong = match object.kind {
        Kind::Instance => instance(&patch["status"]),
        Kind::AddOn => addon(&patch["status"]),
        _ => None,
    };
    wrong.map_or(Ok(()), |wrong| Err(format!("status: {object}: {wrong}")))
}

/// Returns the table as a page has it.
fn page(table: &Table) -> String {
    let kinds = table.kinds.iter().map(|kind| format!("`{kind}`"));
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head = std::iter::once(format!("`{}`", table.of)).chain(kinds).collect();
    let rule = vec!["---".to_owned(); table.kinds.len() + 1];
    let rows = table.rows.iter().map(|(meaning, cells)| {
        let cells = cells.iter().map(|cell| (*cell).to_owned());
        line(std::iter::once((*meaning).to_owned()).chain(cells).collect())
    });
    [line(head), format!("|{}|\n", rule.join("|"))]
        .into_iter()
        .chain(rows)
        .collect()
}

fn conditions(each: &[(&str, &str, &str, &str)]) -> Value {
    let each = each.iter().map(|(kind, status, reason, message)| {
        json!({"type": kind, "status": status, "reason": reason, "message": message})
    });
    each.collect()
}

#[test]
fn contradictions_are_found() {
    let sound = [
        ("Ready", "False", "Upgrading", "see the condition Progressing"),
        (
            "Reconciling",
            "True",
            "Upgrading",
            "see the condition Progressing",
        ),
        ("Stalled", "False", "NotStalled", ""),
        ("Progressing", "True", "Upgrading", "upgrading… work is not ready"),
        (
            "Configured",
            "True",
            "ConfigurationsConfigured",
            "Configurations configured",
        ),
    ];
    let told = |change: (usize, (&'static str, &'static str, &'static str, &'static str))| {
        let mut each = sound;
        each[change.0] = change.1;
        instance(&json!({"conditions": conditions(&each)}))
    };
    assert_eq!(told((0, sound[0])), None);
    for (at, wrong) in [
        (2, ("Stalled", "True", "UpgradeFailed", "x")),
        (0, ("Ready", "True", "Ready", "x")),
        (0, ("Ready", "False", "Installing", "x")),
        (0, ("Ready", "False", "Upgrading", "upgrading… work is not ready")),
    ] {
        assert!(told((at, wrong)).is_some(), "{wrong:?}");
    }
    let ready = conditions(&[
        ("Ready", "True", "Ready", ""),
        ("Reconciling", "False", "Settled", ""),
        ("Stalled", "False", "NotStalled", ""),
    ]);
    let stopped = conditions(&[
        ("Progressing", "True", "Progressing", ""),
        ("Stalled", "True", "TooManyFailures", ""),
    ]);
    let beside = |progression: &Value| {
        addon(&json!({"conditions": ready, "installProgressions": [{"conditions": progression}]}))
    };
    assert!(beside(&stopped).is_some());
    let done = conditions(&[("Progressing", "False", "Completed", "")]);
    assert_eq!(beside(&done), None);
}

#[test]
fn the_page_has_the_tables() {
    let stored = include_str!("../../../docs/controllers.md");
    for table in [INSTANCE, PROGRESSION, ADDON] {
        assert!(
            stored.contains(&page(&table)),
            "docs/controllers.md lacks:\n{}",
            page(&table)
        );
    }
}
