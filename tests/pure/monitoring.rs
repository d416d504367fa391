//! The shipped monitoring: every metric and label in it exists, every alert has a paragraph, and the rules work as documented.
//!
//! `promtool` of Debian's package `prometheus` runs the rules; without it that test is skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use regex::Regex;
use serde_json::Value;

use crate::kit::manifests::{documents, repository};
use crate::kit::programs::Program;

const PROMTOOL: Program = Program::new("promtool", "apt-get install prometheus");

const RULES: &str = "manifests/monitoring/rules.yaml";
const BOARDS: [&str; 3] = ["gate", "rollouts", "health"];

fn read(path: &str) -> String {
    std::fs::read_to_string(repository(path)).expect(path)
}

/// The metrics of docs/metrics.md, each with its labels.
fn page() -> BTreeMap<String, BTreeSet<String>> {
    let name = Regex::new(r"`([a-z][a-z0-9_]+)`").expect("it is right");
    // Text in parentheses is a list of values.
    let values = Regex::new(r"\([^)]*\)").expect("it is right");
    let mut metrics = BTreeMap::new();
    for line in read("docs/metrics.md")
        .lines()
        .filter(|line| line.starts_with("| `"))
    {
        let mut cells = line.split('|').skip(1);
        let (named, labelled) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        let labelled = values.replace_all(labelled, "");
        let labels: BTreeSet<String> = name
            .captures_iter(&labelled)
            .map(|found| found[1].to_owned())
            .collect();
        for found in name.captures_iter(named) {
            metrics.insert(found[1].to_owned(), labels.clone());
        }
    }
    metrics
}

/// The metrics that the program registers, as its text names them.
fn registered() -> BTreeSet<String> {
    let call = Regex::new(
        r#"(?s)\.(register|register_with_unit)\(\s*"([a-z_]+)",\s*"[^"]*",\s*(Unit::Seconds,)?\s*([^;]*?)\);"#,
    );
    let call = call.expect("it is right");
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(repository("src/telemetry")).expect("the folder") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("text");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
        for found in call.captures_iter(&text) {
            names.insert(found[2].to_owned());
        }
    }
    names
}

/// A name without what its type and unit add to it, and without our prefix.
fn bare(name: &str) -> &str {
    let name = name.strip_prefix("tidegate_").unwrap_or(name);
    ["_seconds_total", "_total", "_info", "_seconds", "_bytes"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name)
}

#[test]
fn every_metric_of_the_program_is_on_the_page_and_the_other_way_round() {
    let page: BTreeSet<String> = page().keys().map(|name| bare(name).to_owned()).collect();
    let registered = registered();
    assert!(registered.len() > 40, "they are found: {registered:?}");
    let missing: Vec<&String> = registered.difference(&page).collect();
    assert!(missing.is_empty(), "docs/metrics.md does not have {missing:?}");
    let text = tidegate::telemetry::Metrics::default().text();
    let told: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .map(bare)
        .collect();
    let made_up: Vec<&String> = page
        .iter()
        .filter(|name| !registered.contains(*name) && !told.contains(name.as_str()))
        .collect();
    assert!(made_up.is_empty(), "nothing tells {made_up:?} of docs/metrics.md");
    let unknown: Vec<&&str> = told.iter().filter(|name| !page.contains(**name)).collect();
    assert!(unknown.is_empty(), "docs/metrics.md does not have {unknown:?}");
}

/// What an expression names: metrics, and the labels that stand with each in braces.
fn named(expression: &str) -> Vec<(String, Vec<String>)> {
    let metric =
        Regex::new(r"\b((?:tidegate|workqueue|process)_[a-z0-9_]+)(?:\{([^}]*)\})?").expect("it is right");
    let label = Regex::new(r"([a-z_]+)\s*(?:=~|!~|!=|=)").expect("it is right");
    metric
        .captures_iter(expression)
        .map(|found| {
            let inner = found.get(2).map_or("", |inner| inner.as_str());
            let labels = label.captures_iter(inner).map(|one| one[1].to_owned());
            (found[1].to_owned(), labels.collect())
        })
        .collect()
}

/// What is wrong with the metrics and labels of an expression.
fn faults(place: &str, expression: &str, page: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let grouping = Regex::new(r"\bby \(([^)]*)\)").expect("it is right");
    let scraped = ["instance", "job", "le", "namespace", "pod"];
    let mut known: BTreeSet<&str> = scraped.into_iter().collect();
    let mut faults = Vec::new();
    for (name, labels) in named(expression) {
        let series = name.trim_end_matches("_bucket");
        let Some(its) = page.get(series) else {
            faults.push(format!("{place}: no metric {name}"));
            continue;
        };
        known.extend(its.iter().map(String::as_str));
        let odd = labels.iter().filter(|label| !its.contains(*label));
        faults.extend(odd.map(|label| format!("{place}: {name} has no label {label}")));
    }
    for found in grouping.captures_iter(expression) {
        let odd = found[1].split(", ").filter(|label| !known.contains(label));
        faults.extend(odd.map(|label| format!("{place}: nothing has the label {label}")));
    }
    faults
}

#[test]
fn dashboards_and_rules_name_metrics_and_labels_that_exist() {
    let page = page();
    let mut all = Vec::new();
    let mut count = 0;
    for board in BOARDS {
        let path = format!("manifests/monitoring/dashboard-{board}.json");
        let board: Value = serde_json::from_str(&read(&path)).expect("JSON");
        for panel in board["panels"].as_array().expect("panels") {
            for target in panel["targets"].as_array().expect("targets") {
                count += 1;
                let place = format!("{path}, {}", panel["title"]);
                all.extend(faults(
                    &place,
                    target["expr"].as_str().expect("an expression"),
                    &page,
                ));
            }
        }
    }
    for rule in rules() {
        count += 1;
        let place = format!("{}{}", rule["alert"], rule["record"]);
        all.extend(faults(
            &place,
            rule["expr"].as_str().expect("an expression"),
            &page,
        ));
    }
    assert!(count > 80, "they are read: {count}");
    assert!(all.is_empty(), "{}", all.join("\n"));
    let wrong = faults(
        "x",
        "sum by (nope) (tidegate_writes_total{kind=\"a\"}) + tidegate_made_up",
        &page,
    );
    assert_eq!(wrong.len(), 3, "each is found: {wrong:?}");
}

fn rules() -> Vec<Value> {
    let text = documents(RULES).remove(0);
    let groups = text["groups"].as_array().expect("groups").clone();
    groups
        .iter()
        .flat_map(|group| group["rules"].as_array().expect("rules").clone())
        .collect()
}

#[test]
fn every_alert_has_a_paragraph_and_every_paragraph_an_alert() {
    let page = read("docs/operate/observe.md");
    let headings: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("### Tidegate"))
        .map(|rest| format!("Tidegate{rest}"))
        .collect();
    let mut alerts = BTreeSet::new();
    for rule in rules() {
        let Some(name) = rule["alert"].as_str() else {
            continue;
        };
        let place = format!("docs/operate/observe.md#{}", name.to_lowercase());
        assert_eq!(rule["annotations"]["runbook"], place, "{name}");
        alerts.insert(name.to_owned());
    }
    assert_eq!(alerts, headings);
}

#[test]
fn the_operators_object_has_the_same_rules() {
    let rules = read(RULES);
    let head = read("manifests/monitoring/prometheusrule.yaml");
    let object = documents("manifests/monitoring/prometheusrule.yaml").remove(0);
    assert_eq!(
        object["spec"]["groups"],
        documents(RULES).remove(0)["groups"],
        "{}",
        head.len()
    );
    assert!(rules.starts_with("# Recording and alert rules"));
}

#[test]
fn the_rules_do_what_they_say() {
    if PROMTOOL.is_missing() {
        return;
    }
    let folder = repository("manifests/monitoring");
    let tested = Command::new("promtool")
        .args(["test", "rules", "rules_test.yaml"])
        .current_dir(folder)
        .output()
        .expect("promtool runs");
    let said = String::from_utf8_lossy(&tested.stderr).into_owned();
    assert!(
        tested.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&tested.stdout)
    );
    let names: BTreeSet<String> = documents("manifests/monitoring/rules_test.yaml").remove(0)["tests"]
        .as_array()
        .expect("tests")
        .iter()
        .filter_map(|test| test["name"].as_str().map(str::to_owned))
        .collect();
    let untested: Vec<Value> = rules()
        .into_iter()
        .filter(|rule| rule["alert"].as_str().is_some_and(|name| !names.contains(name)))
        .collect();
    assert!(untested.is_empty(), "{untested:?}");
}

/// The schema of a kind in a version, from the definitions that stand in the repository.
fn schema(of: &Value) -> Value {
    defined(of).expect("a definition of the kind")
}

fn defined(of: &Value) -> Option<Value> {
    let folders = ["manifests/crds/ours", "manifests/crds/hub-without-ocm"];
    for folder in folders {
        for entry in std::fs::read_dir(repository(folder)).expect(folder) {
            let name = entry.expect("a file").file_name().to_string_lossy().into_owned();
            for definition in documents(&format!("{folder}/{name}")) {
                let spec = &definition["spec"];
                if spec["group"] != of["group"] || spec["names"]["kind"] != of["kind"] {
                    continue;
                }
                let versions = spec["versions"].as_array()?;
                let version = versions.iter().find(|version| version["name"] == of["version"]);
                return Some(version?["schema"]["openAPIV3Schema"].clone());
            }
        }
    }
    None
}

/// Follows a path of kube-state-metrics in a schema.
fn follow<'s>(schema: &'s Value, path: &Value) -> Result<&'s Value, String> {
    let mut at = schema;
    for step in path.as_array().into_iter().flatten().filter_map(Value::as_str) {
        if let Some(pair) = step.strip_prefix('[') {
            at = &at["items"];
            let key = pair.split('=').next().unwrap_or_default();
            if at["properties"].get(key).is_none() {
                return Err(format!("no {key} in the items of {path}"));
            }
            continue;
        }
        at = at["properties"]
            .get(step)
            .ok_or_else(|| format!("no {step} in {path}"))?;
    }
    Ok(at)
}

#[test]
fn kube_state_metrics_configuration_uses_existing_fields() {
    let config = documents("manifests/monitoring/kube-state-metrics.yaml").remove(0);
    let mut wrong = Vec::new();
    let mut count = 0;
    for resource in config["spec"]["resources"].as_array().expect("resources") {
        let schema = schema(&resource["groupVersionKind"]);
        let mut check = |schema: &Value, path: &Value| {
            // The API server gives every object its metadata.
            if path[0] == "metadata" {
                return;
            }
            count += 1;
            wrong.extend(follow(schema, path).err());
        };
        for metric in resource["metrics"].as_array().expect("metrics") {
            let each = &metric["each"];
            let form = match each["type"].as_str() {
                Some("Gauge") => &each["gauge"],
                Some("Info") => &each["info"],
                Some("StateSet") => &each["stateSet"],
                other => panic!("{other:?} is no type of metric"),
            };
            check(&schema, &form["path"]);
            let inner = follow(&schema, &form["path"]).ok();
            let inner = inner.map_or(&schema, |inner| inner.get("items").unwrap_or(inner));
            for path in form["labelsFromPath"].as_object().into_iter().flatten() {
                check(inner, path.1);
            }
            check(inner, &form["valueFrom"]);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 30, "{count}");
}
