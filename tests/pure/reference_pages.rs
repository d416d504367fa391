//! The pages of `docs/reference/` that are made of the code, and written with `UPDATE_EXPECT=1`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use admission::CONDITIONS_SINCE_MINOR;
use api::reason::Reason;
use operate::doctor::calls::CALLS;
use operate::versions::{KUBERNETES_FEATURES, OLDEST_MINOR};
use regex::Regex;
use serde_json::{Map, Value};

use crate::kit::manifests::repository;

/// Compares a page with what the code gives, or writes it.
fn check(page: &str, wanted: &str) {
    let path = repository(&format!("docs/reference/{page}.md"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
        std::fs::write(&path, wanted).expect("the page");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/reference/{page}.md is out of date; UPDATE_EXPECT=1 writes it"
    );
}

/// Text for a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
        .replace('<', "&lt;")
}

/// Text for a cell; what is in backquotes stays as it is.
fn prose(text: &str) -> String {
    let pieces = text.split('`').enumerate();
    let escaped = pieces.map(|(at, piece)| match at % 2 {
        0 => piece.replace('<', "&lt;"),
        _ => piece.to_owned(),
    });
    let text = escaped.collect::<Vec<_>>().join("`");
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

const GENERATED: &str = "<!-- generated: KUBERNETES_FEATURES of crates/operate/src/versions.rs -->\n";
const END: &str = "<!-- end of generated -->";

#[test]
fn the_table_of_kubernetes_versions_is_current() {
    let mut table = String::from(
        "\n| API, field or feature gate | used for | since | on an older hub |\n|---|---|---|---|\n",
    );
    let mut features = KUBERNETES_FEATURES.to_vec();
    features.sort_by_key(|feature| std::cmp::Reverse(feature.since));
    for feature in features {
        assert_eq!(
            feature.otherwise.is_empty(),
            feature.since <= OLDEST_MINOR && feature.since != CONDITIONS_SINCE_MINOR,
            "{}",
            feature.name
        );
        let since = feature.since;
        writeln!(
            table,
            "| {} | {} | 1.{since} | {} |",
            feature.name, feature.used_for, feature.otherwise
        )
        .expect("text");
    }
    table.push('\n');
    let path = repository("docs/kubernetes-versions.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once(GENERATED).expect("the beginning of the table");
    let (found, after) = rest.split_once(END).expect("the end of the table");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, format!("{before}{GENERATED}{table}{END}{after}")).expect("the page");
    } else {
        assert_eq!(
            found, table,
            "docs/kubernetes-versions.md is out of date; UPDATE_EXPECT=1 writes it"
        );
    }
    assert!(
        before.contains(&format!("**1.{OLDEST_MINOR} or newer**")),
        "{before}"
    );
}

/// Every API group of Kubernetes that the program calls, or an object of the installation has, is in the table; and README, chart and table
/// give the same version.
#[test]
fn the_table_of_kubernetes_versions_has_every_api() {
    let table: String = KUBERNETES_FEATURES.iter().map(|feature| feature.name).collect();
    let is_theirs = |group: &str| {
        group.ends_with(".k8s.io") || ["apps", "batch", "policy", "autoscaling"].contains(&group)
    };
    let called = CALLS.iter().map(|call| call.group.to_owned());
    let mut installed = Vec::new();
    for folder in [
        "manifests/deploy",
        "manifests/rbac",
        "manifests/webhook",
        "charts/tidegate/templates",
    ] {
        for file in files_below(&repository(folder)) {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let versions = text.lines().filter_map(|line| line.strip_prefix("apiVersion: "));
            installed.extend(versions.filter_map(|version| Some(version.split_once('/')?.0.to_owned())));
        }
    }
    assert!(installed.len() > 50, "{installed:?}");
    for group in called.chain(installed).filter(|group| is_theirs(group)) {
        assert!(
            table.contains(&format!("`{group}/")) || group == "kustomize.config.k8s.io",
            "{group} is not in KUBERNETES_FEATURES"
        );
    }
    let read = |path: &str| std::fs::read_to_string(repository(path)).expect("a file");
    let chart = read("charts/tidegate/Chart.yaml");
    assert!(
        chart.contains(&format!("kubeVersion: \">=1.{OLDEST_MINOR}.0-0\"")),
        "{chart}"
    );
    assert!(read("README.md").contains(&format!("Kubernetes 1.{OLDEST_MINOR} or later")));
    assert!(read("docs/operate/install.md").contains(&format!("Kubernetes 1.{OLDEST_MINOR} or later")));
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn every_reason_is_on_the_page_of_conditions() {
    let mut page = String::from(
        "# Reasons of conditions and events\n\n\
         Every reason that Tidegate writes into a condition or an event, or reads of Open Cluster Management. A reason that belongs to\n\
         one condition names it first. `tidegate explain REASON` prints the same in a terminal; [why](../why.md) applies it to one add-on.\n\n\
         | reason | meaning | what to do |\n|---|---|---|\n",
    );
    let mut reasons = Reason::ALL.to_vec();
    reasons.sort();
    for reason in &reasons {
        let next = match reason.next_step() {
            Some((_, fix, "")) => prose(fix),
            Some((_, fix, command)) => format!("{}: `{}`", prose(fix), command.replace('|', "\\|")),
            None => String::new(),
        };
        let _ = writeln!(page, "| `{reason}` | {} | {next} |", prose(reason.says()));
    }
    assert!(reasons.len() > 100, "the reasons are listed");
    check("conditions", &page);
}

/// Returns the constants of a source file that are names of annotations or labels, each with its comment.
fn marks(path: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(repository(path)).expect(path);
    let constant =
        Regex::new(r#"^\s*pub const \w+: &str = "([a-z0-9.-]+/[a-z0-9.-]*)";"#).expect("it is right");
    let link = Regex::new(r"\[`([A-Z_]+)`\]").expect("it is right");
    let value = |name: &str| {
        let found = Regex::new(&format!(r#"const {name}: &str = "([^"]+)";"#)).expect("it is right");
        found
            .captures(&text)
            .map_or_else(|| name.to_owned(), |found| found[1].to_owned())
    };
    let (mut comment, mut module) = (String::new(), "");
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("pub mod ") {
            module = name.trim_end_matches(" {");
        }
        if let Some(more) = line.trim().strip_prefix("///") {
            comment.push_str(more);
            continue;
        }
        if let Some(name) = constant.captures(line) {
            let comment = link.replace_all(&comment, |linked: &regex::Captures<'_>| {
                format!("`{}`", value(&linked[1]))
            });
            let comment = match module {
                "labels" => format!("Label. {}", comment.trim()),
                "annotations" => format!("Annotation. {}", comment.trim()),
                _ => comment.trim().to_owned(),
            };
            found.push((name[1].to_owned(), comment));
        }
        comment.clear();
    }
    found
}

#[test]
fn every_annotation_and_label_is_on_its_page() {
    let mut page = String::from(
        "# Annotations and labels\n\n\
         Every annotation and label that Tidegate reads or writes, beside those that only Kubernetes' own controllers use. Set them with\n\
         a field manager of your own: `kubectl annotate --field-manager=ops …`.\n\n\
         | name | meaning |\n|---|---|\n",
    );
    let mut rows = marks("crates/store/src/terms.rs");
    rows.extend(marks("crates/store/src/upgrade/marks.rs"));
    rows.extend(marks("crates/api/src/names.rs"));
    rows.retain(|(_, comment)| comment.contains("nnotation") || comment.contains("abel"));
    rows.sort();
    rows.dedup_by(|one, other| one.0 == other.0);
    for (name, comment) in &rows {
        let _ = writeln!(page, "| `{name}` | {} |", prose(comment));
    }
    assert!(rows.len() > 30, "the annotations are listed: {}", rows.len());
    check("annotations", &page);
}

/// Adds a row for each field below a schema.
fn fields(page: &mut String, at: &str, schema: &Value) {
    let empty = Map::new();
    let object = |name: &str| schema.get(name).and_then(Value::as_object).unwrap_or(&empty);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, field) in object("properties") {
        let path = format!("{at}.{name}");
        let path = path.trim_start_matches('.');
        let _ = writeln!(
            page,
            "| `{path}` | {} | {} | {} |",
            type_of(field),
            prose(
                field
                    .get("description")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            ),
            constraints(field, required.contains(&name.as_str())),
        );
        fields(page, path, field);
    }
    if let Some(items) = schema.get("items") {
        fields(page, &format!("{at}[]"), items);
    }
    if let Some(values) = schema.get("additionalProperties").filter(|more| more.is_object()) {
        fields(page, &format!("{at}.*"), values);
    }
}

/// Returns the type of a field in one word.
fn type_of(field: &Value) -> String {
    let word = |of: &Value| match of.get("type").and_then(Value::as_str) {
        Some(name) => name.to_owned(),
        None if of.get("x-kubernetes-int-or-string").is_some() => "integer or string".to_owned(),
        None => "any".to_owned(),
    };
    match field.get("items") {
        Some(items) => format!("list of {}", word(items)),
        None => word(field),
    }
}

/// Returns what the definition demands of a field.
fn constraints(field: &Value, required: bool) -> String {
    let mut found = Vec::new();
    if required {
        found.push("required".to_owned());
    }
    if let Some(default) = field.get("default") {
        found.push(format!("default `{default}`"));
    }
    if let Some(values) = field.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        found.push(format!("one of {}", values.join(", ")));
    }
    for name in [
        "format",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    ] {
        if let Some(value) = field.get(name) {
            found.push(format!("{name} `{}`", cell(&value.to_string())));
        }
    }
    let rules = field.get("x-kubernetes-validations").and_then(Value::as_array);
    for rule in rules.into_iter().flatten() {
        if let Some(message) = rule.get("message").and_then(Value::as_str) {
            found.push(prose(message));
        }
    }
    found.join("; ")
}

#[test]
fn every_field_of_our_kinds_is_on_the_page_of_resources() {
    let mut page = String::from(
        "# Resources\n\n\
         The fields of the kinds that Tidegate defines, from their CustomResourceDefinitions (`tidegate crds`); `kubectl explain` prints the\n\
         same. Fields that it adds to OCM's kinds are in [added fields](../ocm/definitions.md).\n",
    );
    let mut kinds = 0;
    for crd in api::crds().iter().filter(|crd| api::is_ours(crd)) {
        let crd = serde_json::to_value(crd).expect("JSON");
        let text = |path: &str| {
            crd.pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        for version in crd["spec"]["versions"].as_array().expect("versions") {
            let schema = &version["schema"]["openAPIV3Schema"];
            let _ = write!(
                page,
                "\n## {}\n\n`{}/{}`, {}: {}\n\n| field | type | meaning | validation |\n|---|---|---|---|\n",
                text("/spec/names/kind"),
                text("/spec/group"),
                version["name"].as_str().expect("a name"),
                text("/spec/scope").to_lowercase(),
                prose(schema["description"].as_str().unwrap_or_default()),
            );
            for part in ["spec", "status"] {
                let part_schema = &schema["properties"][part];
                fields(&mut page, part, part_schema);
            }
            kinds += 1;
        }
    }
    assert!(kinds >= 4, "our kinds are listed");
    check("resources", &page);
}
