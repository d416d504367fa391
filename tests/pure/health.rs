//! The health checks of `manifests/gitops`: Argo CD's Lua and Flux' CEL give the same results for the same objects, and those
//! in `tests/data/health/`.
//!
//! Lua runs in Lua 5.4 with the functions of Argo CD's sandbox; CEL in Tidegate's engine.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cel_engine::Program;
use mlua::{Lua, LuaOptions, StdLib, Table};
use serde::Deserialize;
use serde_json::Value;

use crate::kit::manifests::{documents, repository};
use crate::pure::kstatus::{Health, kstatus};

/// The kinds that have a check, in the order of the patch; the group of ours is that of its definition.
const KINDS: [(&str, &str); 6] = [
    ("ClusterManagementAddOn", "addon.open-cluster-management.io"),
    ("ManagedClusterAddOn", "addon.open-cluster-management.io"),
    ("AddOnPolicy", ""),
    ("ManifestWork", "work.open-cluster-management.io"),
    ("Placement", "cluster.open-cluster-management.io"),
    ("ManagedClustersUpgrade", ""),
];
const PATCH: &str = "manifests/gitops/argocd/argocd-cm.yaml";
const CHECKS: &str = "manifests/gitops/flux/health-checks.yaml";

/// An object, and what it is to be taken for.
#[derive(Debug, Deserialize)]
struct Case {
    title: String,
    /// Argo CD's word.
    health: String,
    object: Value,
}

/// The checks of Flux for one kind.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Exprs {
    api_version: String,
    kind: String,
    in_progress: Option<String>,
    failed: Option<String>,
    current: String,
}

fn cases() -> Vec<Case> {
    let all = KINDS.iter().flat_map(|(kind, _)| {
        let file = format!("tests/data/health/{kind}.yaml");
        let of_kind = documents(&file).into_iter().flat_map(|list| {
            let mut list: Vec<Case> = serde_json::from_value(list).expect("a list of cases");
            for case in &mut list {
                case.object["kind"] = Value::from(*kind);
            }
            list
        });
        of_kind.collect::<Vec<_>>()
    });
    all.collect()
}

fn script(kind: &str) -> String {
    let file = repository(&format!("manifests/gitops/argocd/health/{kind}.lua"));
    std::fs::read_to_string(file).expect("a health check")
}

/// Writes a value as a Lua expression.
fn expression(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => {
            let bytes = text.bytes().map(|byte| format!("\\{byte:03}"));
            format!("\"{}\"", bytes.collect::<String>())
        }
        Value::Array(items) => format!(
            "{{{}}}",
            items.iter().map(expression).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                format!(
                    "[{}] = {}",
                    expression(&Value::from(name.as_str())),
                    expression(value)
                )
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns a Lua with what Argo CD has in its sandbox: nothing reads files or starts programs.
fn sandbox() -> Lua {
    let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::UTF8 | StdLib::COROUTINE;
    let lua = Lua::new_with(libraries, LuaOptions::default()).expect("a Lua");
    for outside in ["os", "io", "require", "dofile", "loadfile"] {
        lua.globals().raw_remove(outside).expect("a global is removed");
    }
    lua
}

/// Runs the checks of Argo CD; returns the health of each object, followed by the message.
fn argo(cases: &[Case]) -> Vec<(String, String)> {
    let lua = sandbox();
    let run = |case: &Case| {
        let object = format!("obj = {}", expression(&case.object));
        lua.load(object).exec()?;
        let kind = case.object["kind"].as_str().expect("a kind");
        let health: Table = lua.load(script(kind)).eval()?;
        let message: Option<String> = health.get("message")?;
        Ok((health.get("status")?, message.unwrap_or_default()))
    };
    let judged = cases
        .iter()
        .map(|case| run(case).map_err(|fault: mlua::Error| format!("{}: {fault}", case.title)));
    judged.collect::<Result<_, _>>().expect("the checks run")
}

/// Returns Flux' health of an object: the generation first, then three expressions in order. If one fails, the health is unknown,
/// for which Flux waits.
fn flux(exprs: &Exprs, object: &Value) -> Health {
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
    let generations = number("/metadata/generation").zip(number("/status/observedGeneration"));
    if generations.is_some_and(|(written, observed)| written != observed) {
        return Health::InProgress;
    }
    let order = [
        (exprs.in_progress.as_ref(), Health::InProgress),
        (exprs.failed.as_ref(), Health::Failed),
        (Some(&exprs.current), Health::Current),
    ];
    let fields: Vec<(&str, &Value)> = object
        .as_object()
        .expect("an object")
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    for (expression, health) in order {
        let Some(expression) = expression else { continue };
        let program = Program::compile(expression).expect(expression);
        match program.eval(&fields) {
            Ok(answer) => {
                if answer.as_bool().expect(expression) {
                    return health;
                }
            }
            Err(fault) => {
                assert!(
                    object.get("status").is_none(),
                    "{fault}: {expression}\n{object:#}"
                );
                return Health::InProgress;
            }
        }
    }
    Health::InProgress
}

/// Flux' name for a health of Argo CD; it has none for Suspended.
fn called(health: &str) -> Health {
    match health {
        "Healthy" => Health::Current,
        "Progressing" | "Suspended" => Health::InProgress,
        "Degraded" => Health::Failed,
        other => {
            assert_eq!(other, "", "Argo CD knows no such word");
            Health::InProgress
        }
    }
}

fn checks() -> BTreeMap<String, Exprs> {
    let list = documents(CHECKS).remove(0);
    let list: Vec<Exprs> = serde_json::from_value(list).expect("a list of checks");
    list.into_iter()
        .map(|exprs| (exprs.kind.clone(), exprs))
        .collect()
}

#[test]
fn argo_cd_and_flux_take_an_object_for_the_same() {
    let (cases, checks) = (cases(), checks());
    let mut wrong = String::new();
    for (case, (status, message)) in cases.iter().zip(argo(&cases)) {
        let kind = case.object["kind"].as_str().expect("a kind");
        if status != case.health || message.is_empty() {
            writeln!(
                wrong,
                "Argo CD: {kind}: {}: {status} ({message}), not {}",
                case.title, case.health
            )
            .expect("text");
        }
        let given = flux(&checks[kind], &case.object);
        if given != called(&case.health) {
            writeln!(
                wrong,
                "Flux: {kind}: {}: {given:?}, not {}",
                case.title, case.health
            )
            .expect("text");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    for (kind, _) in KINDS {
        for health in ["Healthy", "Progressing", "Degraded"] {
            let mut of_kind = cases.iter().filter(|case| case.object["kind"] == kind);
            assert!(
                of_kind.any(|case| case.health == health),
                "{kind} is never {health}"
            );
        }
    }
}

/// Where Tidegate's own conditions stand, a reader of kstatus comes to the same end.
#[test]
fn kstatus_agrees_wherever_our_conditions_stand() {
    let mut agreed = 0;
    for case in cases() {
        let conditions = case
            .object
            .pointer("/status/conditions")
            .and_then(Value::as_array);
        let is_ours = conditions.is_some_and(|all| all.iter().any(|one| one["type"] == "Reconciling"));
        if is_ours {
            assert_eq!(kstatus(&case.object), called(&case.health), "{}", case.title);
            agreed += 1;
        }
    }
    assert!(agreed > 8, "{agreed} cases");
}

/// Returns the group of a kind.
fn group(kind: &str, known: &str) -> String {
    let ours = api::crds().into_iter().find(|crd| crd.spec.names.kind == kind);
    ours.map_or_else(|| known.to_owned(), |crd| crd.spec.group)
}

#[test]
fn the_patch_of_argo_cd_has_the_checks_as_they_are() {
    let mut text = "# Generated from manifests/gitops/argocd/health; change the files there. How it is used: docs/gitops.md.\n\
                    apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\n  namespace: argocd\n  labels:\n    \
                    app.kubernetes.io/part-of: argocd\ndata:\n"
        .to_owned();
    for (kind, known) in KINDS {
        writeln!(
            text,
            "  resource.customizations.health.{}_{kind}: |",
            group(kind, known)
        )
        .expect("text");
        for line in script(kind).lines() {
            let line = if line.is_empty() {
                String::new()
            } else {
                format!("    {line}")
            };
            writeln!(text, "{line}").expect("text");
        }
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(repository(PATCH), &text).expect("the patch is written");
    }
    let stored = std::fs::read_to_string(repository(PATCH)).unwrap_or_default();
    assert_eq!(stored, text, "UPDATE_EXPECT=1 writes it again");
    let patch = documents(PATCH).remove(0);
    for (kind, known) in KINDS {
        let key = format!("resource.customizations.health.{}_{kind}", group(kind, known));
        assert_eq!(patch["data"][&key], script(kind), "it survives YAML");
    }
}

/// Returns the health of each object in both tools, with the names of Argo CD and of Flux.
pub(crate) fn judged(objects: Vec<Value>) -> Vec<(String, Health)> {
    let cases: Vec<Case> = objects
        .into_iter()
        .map(|object| Case {
            title: String::new(),
            health: String::new(),
            object,
        })
        .collect();
    let checks = checks();
    let each = argo(&cases).into_iter().zip(&cases);
    let judged = each.map(|((status, _), case)| {
        let kind = case.object["kind"].as_str().expect("a kind");
        (status, flux(&checks[kind], &case.object))
    });
    judged.collect()
}

#[test]
fn the_example_of_flux_has_the_checks_as_they_are() {
    let example = documents("manifests/gitops/flux/kustomization.yaml").remove(0);
    assert_eq!(example["spec"]["healthCheckExprs"], documents(CHECKS).remove(0));
}

#[test]
fn the_checks_of_flux_are_about_the_kinds_as_they_are_served() {
    let checks = checks();
    let names: Vec<&str> = checks.keys().map(String::as_str).collect();
    assert_eq!(names.len(), KINDS.len(), "{names:?}");
    for crd in api::crds() {
        let Some(exprs) = checks.get(&crd.spec.names.kind) else {
            continue;
        };
        let mut versions = crd.spec.versions.iter();
        let is_served =
            versions.any(|one| one.served && exprs.api_version == format!("{}/{}", crd.spec.group, one.name));
        assert!(is_served, "{} {}", exprs.api_version, exprs.kind);
    }
}
