//! The objects that hold rollouts back: freezes, approvals, checks and profiles.
//!
//! The columns are those of their definitions, as `kubectl get` prints them, and who set a freeze.

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition;
use kubernetes::json_path::JsonPath;
use serde_json::Value;

use super::addon::set_by_text;
use super::line::{Line, Tone, between, padded};
use store::{Kind, freeze_set_by};

/// The kinds, in the order of the page.
pub const OBJECT_KINDS: [Kind; 4] = [Kind::Freeze, Kind::Approval, Kind::Check, Kind::Profile];

/// Returns a table for each kind; an object that is wider than the page has a line for itself and one for its fields.
pub fn object_tables<'v>(
    objects: impl Iterator<Item = (Kind, &'v Value)>,
    width: usize,
    now: Timestamp,
) -> Vec<Line> {
    let all: Vec<(Kind, &Value)> = objects.filter(|(kind, _)| OBJECT_KINDS.contains(kind)).collect();
    let mut page = Vec::new();
    for kind in OBJECT_KINDS {
        let mut of_kind = all.iter().filter(|(other, _)| *other == kind).peekable();
        let title = format!("{}s", kind.address().kind);
        if of_kind.peek().is_none() {
            page.push(Line::of(Tone::Strong, title).and(Tone::Faint, "  none"));
            continue;
        }
        page.push(Line::of(Tone::Strong, title));
        let columns = columns(kind);
        let mut rows: Vec<Vec<String>> = of_kind
            .map(|(_, object)| {
                let cells = columns.iter().map(|column| cell(object, column, now));
                let set_by = freeze_set_by(object).filter(|_| kind == Kind::Freeze);
                let set_by = set_by.as_ref().map(set_by_text).unwrap_or_default();
                let cells = std::iter::once(name(object)).chain(cells);
                cells.chain([set_by]).collect()
            })
            .collect();
        let titles = columns.iter().map(|column| column.name.to_uppercase());
        let titles = std::iter::once("NAME".to_owned()).chain(titles);
        let mut titles: Vec<String> = titles.chain(["SET BY".to_owned()]).collect();
        drop_empty(&mut titles, &mut rows);
        page.extend(table(&titles, &rows, width));
    }
    page
}

/// Returns the printer columns of a kind.
fn columns(kind: Kind) -> Vec<CustomResourceColumnDefinition> {
    let address = kind.address();
    let of_kind = api::crds()
        .into_iter()
        .find(|crd| crd.spec.group == address.group && crd.spec.names.plural == address.resource);
    let versions = of_kind.map(|crd| crd.spec.versions).unwrap_or_default();
    let version = versions
        .into_iter()
        .find(|version| version.name == address.version);
    version
        .and_then(|version| version.additional_printer_columns)
        .unwrap_or_default()
}

fn name(object: &Value) -> String {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

fn cell(object: &Value, column: &CustomResourceColumnDefinition, now: Timestamp) -> String {
    let path = JsonPath::parse(&column.json_path);
    let found = path.as_ref().ok().and_then(|path| path.find(object).ok());
    let texts = found.into_iter().flatten().filter_map(|value| match value {
        Value::Null => None,
        Value::String(text) if column.type_ == "date" => {
            let at: Timestamp = text.parse().ok()?;
            Some(between(at, now))
        }
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(value.to_string()),
    });
    texts.collect::<Vec<_>>().join(",")
}

/// Removes columns in which no object has a value.
fn drop_empty(titles: &mut Vec<String>, rows: &mut [Vec<String>]) {
    let kept: Vec<bool> = (0..titles.len())
        .map(|at| {
            rows.iter()
                .any(|row| row.get(at).is_some_and(|cell| !cell.is_empty()))
        })
        .collect();
    let keep = |cells: &mut Vec<String>| {
        let mut kept = kept.iter();
        cells.retain(|_| kept.next().copied().unwrap_or(true));
    };
    keep(titles);
    rows.iter_mut().for_each(keep);
}

fn table(titles: &[String], rows: &[Vec<String>], width: usize) -> Vec<Line> {
    let widest = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).chain(titles.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..titles.len()).map(widest).collect();
    let in_columns = |cells: &[String]| {
        let each = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| padded(cell, *width));
        format!("  {}", each.collect::<Vec<_>>().join("  "))
    };
    let all = widths
        .iter()
        .fold(0usize, |all, one| all.saturating_add(*one).saturating_add(2));
    if all <= width {
        let lines = rows.iter().map(|row| Line::plain(in_columns(row).trim_end()));
        return std::iter::once(Line::of(Tone::Faint, in_columns(titles).trim_end()))
            .chain(lines)
            .collect();
    }
    let each = rows.iter().flat_map(|row| {
        let mut fields = titles.iter().zip(row);
        let name = fields.next().map_or("", |(_, name)| name.as_str());
        let told = fields.filter(|(_, cell)| !cell.is_empty());
        let told: Vec<String> = told.map(|(title, cell)| format!("{title}: {cell}")).collect();
        [
            Line::plain(format!("  {name}")),
            Line::of(Tone::Faint, format!("      {}", told.join("  "))),
        ]
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page(width: usize) -> String {
        let freeze = json!({"metadata": {"name": "holidays", "creationTimestamp": "2030-01-01T00:00:00Z",
            "annotations": {"tidegate.io/set-by": "* 2030-01-01T00:00:00Z alice"}},
            "spec": {"from": "2030-01-02T00:00:00Z", "reason": "year end"}});
        let approval = json!({"metadata": {"name": "hello-1", "creationTimestamp": "2030-01-01T00:00:00Z"},
            "spec": {"addon": "hello", "placement": "default/all", "group": "prod"},
            "status": {"state": "Waiting", "clusters": 9}});
        let now: Timestamp = "2030-01-01T00:05:00Z".parse().expect("a time");
        let all = [(Kind::Approval, &approval), (Kind::Freeze, &freeze)];
        let lines = object_tables(all.into_iter(), width, now);
        lines.iter().map(|line| line.text() + "\n").collect()
    }

    #[test]
    fn every_kind_has_a_table_with_the_columns_of_kubectl() {
        let expected = "RolloutFreezes\n  NAME      FROM                  REASON    AGE  SET BY\n\
            \u{20} holidays  2030-01-02T00:00:00Z  year end  5m   alice at 2030-01-01 00:00:00Z\nRolloutApprovals\n\
            \u{20} NAME     ADD-ON  PLACEMENT    GROUP  STATE    CLUSTERS  AGE\n\
            \u{20} hello-1  hello   default/all  prod   Waiting  9         5m\nRolloutChecks  none\nRolloutProfiles  none\n";
        assert_eq!(page(80), expected);
    }

    #[test]
    fn an_object_that_is_wider_than_the_page_has_a_line_for_its_fields() {
        let narrow = page(50);
        assert!(
            narrow.contains(
                "  hello-1\n      ADD-ON: hello  PLACEMENT: default/all  GROUP: prod  STATE: Waiting"
            ),
            "{narrow}"
        );
        assert!(!narrow.contains('…'), "{narrow}");
    }
}
