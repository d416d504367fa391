//! Parses policy documents: `AddOnPolicy`, for one more release also in its former API group, and Kubernetes' admission policies with
//! their bindings.
//!
//! All specs are checked with the schema of `AddOnPolicy`, which has every field of the others: a misspelt field must not be ignored
//! silently.

use std::fmt;
use std::sync::LazyLock;

use schema::Schema;
use serde_json::{Value, json};

use super::fault::PolicyFault;
use super::native;
use super::salvage::{self, Doubts, schema_of};
use api::names::OWN_GROUP;
use api::v1alpha1::{AddOnPolicySpec, GROUP as FORMER_GROUP, VERSION};
use kubernetes::field::{Path, Segment, nearest, quoted};

const UPSTREAM: &str = "admissionregistration.k8s.io";

/// The origin of a policy. Files take precedence over the hub, so that a user of the hub cannot replace a policy of the operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A file.
    File(String),
    /// The hub.
    Hub,
}

/// A document with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its origin.
    pub origin: Origin,
    /// Its content.
    pub document: Value,
}

/// The supported kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    AddOnPolicy,
    Validating,
    Mutating,
    ValidatingBinding,
    MutatingBinding,
}

/// A policy or a binding as it was written, with its malformed fields.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) origin: Origin,
    pub(super) generation: Option<i64>,
    /// Whether it is written in the former group of our kind.
    pub(super) is_former: bool,
    /// The spec, as far as it can be parsed.
    pub(super) spec: AddOnPolicySpec,
    /// The whole spec of a binding.
    pub(super) binding: Value,
    pub(super) faults: Vec<PolicyFault>,
    /// The parts of the spec that cannot be parsed.
    pub(super) doubts: Doubts,
}

/// The malformed fields of a spec, and the parts that are unknown because of them.
#[derive(Debug, Default)]
struct Form {
    faults: Vec<PolicyFault>,
    doubts: Doubts,
}

impl Form {
    /// Adds a fault of a value that is present or required.
    fn wrong(&mut self, fault: PolicyFault) {
        self.doubts.add(fault.path.clone());
        self.faults.push(fault);
    }

    /// Adds a fault of Kubernetes' own kinds, unless the schema has reported one there.
    fn add(&mut self, fault: PolicyFault) {
        if !self.faults.iter().any(|known| known.path == fault.path) {
            self.faults.push(fault);
        }
    }
}

impl Kind {
    /// Returns the name of the kind.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::AddOnPolicy => "AddOnPolicy",
            Self::Validating => "ValidatingAdmissionPolicy",
            Self::Mutating => "MutatingAdmissionPolicy",
            Self::ValidatingBinding => "ValidatingAdmissionPolicyBinding",
            Self::MutatingBinding => "MutatingAdmissionPolicyBinding",
        }
    }

    fn of(document: &Value) -> Option<Self> {
        let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
        let (group, _) = text("apiVersion").split_once('/')?;
        let all = [
            Self::AddOnPolicy,
            Self::Validating,
            Self::Mutating,
            Self::ValidatingBinding,
            Self::MutatingBinding,
        ];
        all.into_iter().find(|kind| {
            let is_owner = if *kind == Self::AddOnPolicy {
                [OWN_GROUP, FORMER_GROUP].contains(&group)
            } else {
                group == UPSTREAM
            };
            is_owner && kind.name() == text("kind")
        })
    }

    /// Fields of the spec that only `AddOnPolicy` has.
    const fn own_fields() -> [&'static str; 7] {
        [
            "facts",
            "params",
            "paramsSchema",
            "schemas",
            "exceptions",
            "validationActions",
            "matchResources",
        ]
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.write_str(path),
            Self::Hub => f.write_str("the hub"),
        }
    }
}

/// Returns whether a document is a policy or a binding.
pub fn is_policy(document: &Value) -> bool {
    Kind::of(document).is_some()
}

/// Returns whether a document is an `AddOnPolicy` of the former API group, which is supported for one more release.
pub fn is_former(document: &Value) -> bool {
    let version = document.get("apiVersion").and_then(Value::as_str);
    let group = version
        .and_then(|version| version.split_once('/'))
        .map(|(group, _)| group);
    group == Some(FORMER_GROUP) && Kind::of(document) == Some(Kind::AddOnPolicy)
}

/// Parses a document; `None` if it is neither a policy nor a binding.
pub(super) fn read(source: &Source) -> Option<Written> {
    let kind = Kind::of(&source.document)?;
    let meta = |name: &str| source.document.pointer(&format!("/metadata/{name}"));
    let name = meta("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let mut faults = Vec::new();
    // The API server makes a name of a prefix.
    if name.is_empty()
        && meta("generateName")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .is_empty()
    {
        faults.push(PolicyFault::at(Path::parse("metadata.name"), "must not be empty"));
    }
    let mut spec = source.document.get("spec").cloned().unwrap_or(Value::Null);
    if kind != Kind::AddOnPolicy {
        native::without_nulls(&mut spec);
        let version = source.document.get("apiVersion").and_then(Value::as_str);
        native::set_defaults(&mut spec, version.unwrap_or_default());
        faults.extend(native::document_faults(&source.document));
    }
    let mut form = match kind {
        Kind::AddOnPolicy => form(&spec),
        Kind::Validating | Kind::Mutating => upstream_form(kind, &name, &spec),
        Kind::ValidatingBinding | Kind::MutatingBinding => binding_form(kind, &spec),
    };
    let mut read = AddOnPolicySpec::default();
    if matches!(kind, Kind::AddOnPolicy | Kind::Validating | Kind::Mutating) {
        match salvage::read(&spec, &form.doubts, &DEFINITION.definition) {
            Ok(spec) => read = spec,
            Err(_) if !form.faults.is_empty() => form.doubts.add(Path::parse("spec")),
            Err(words) => form.wrong(PolicyFault::at(Path::parse("spec"), words)),
        }
    }
    faults.extend(form.faults);
    if kind == Kind::Mutating {
        // Kubernetes' own mutations overwrite.
        read.mutations
            .iter_mut()
            .for_each(|mutation| mutation.allow_overwrite = true);
    }
    Some(Written {
        kind,
        name,
        origin: source.origin.clone(),
        generation: meta("generation").and_then(Value::as_i64),
        is_former: is_former(&source.document),
        spec: read,
        binding: spec,
        faults,
        doubts: form.doubts,
    })
}

struct Definition {
    definition: Value,
    schema: Schema,
}

static DEFINITION: LazyLock<Definition> = LazyLock::new(|| {
    let crd = api::crds()
        .into_iter()
        .find(|crd| crd.spec.names.kind == Kind::AddOnPolicy.name())
        .expect("our own kind has a definition");
    let version = crd
        .spec
        .versions
        .into_iter()
        .next()
        .expect("a definition has a version");
    let definition = version
        .schema
        .and_then(|schema| schema.open_api_v3_schema)
        .expect("our own versions have a schema");
    let definition = serde_json::to_value(definition).expect("a schema is plain data");
    let schema = Schema::parse(&definition).expect("our own definitions are structural");
    Definition { definition, schema }
});

/// Returns the faults of a spec of Kubernetes, where items of a rule can be repeated.
fn shared_form(spec: &Value) -> Form {
    let mut form = form(spec);
    let is_repeated = |fault: &PolicyFault| {
        let lists = [
            "operations",
            "apiGroups",
            "apiVersions",
            "resources",
            "resourceNames",
        ];
        let mut steps = fault.path.segments().iter();
        let is_in_a_rule =
            steps.any(|step| matches!(step, Segment::Key(name) if lists.contains(&name.as_ref())));
        is_in_a_rule && fault.message.starts_with("Duplicate value")
    };
    form.faults.retain(|fault| !is_repeated(fault));
    form
}

/// Returns the faults of a spec in the schema of `AddOnPolicy`.
fn form(spec: &Value) -> Form {
    let mut object = json!({"apiVersion": format!("{OWN_GROUP}/{VERSION}"), "kind": Kind::AddOnPolicy.name(),
        "metadata": {"name": "x"}, "spec": spec});
    let Definition { definition, schema } = &*DEFINITION;
    let mut form = Form::default();
    for path in schema.prune(&mut object) {
        unknown_field(Path::parse(&path), definition, &mut form);
    }
    for error in schema.validate(&object, None).errors {
        form.wrong(PolicyFault::at(Path::parse(&error.field), error.message));
    }
    form
}

fn unknown_field(path: Path, definition: &Value, form: &mut Form) {
    let meant = path.split_last().and_then(|(parent, last)| {
        let name = match last {
            Segment::Key(name) => name.as_ref(),
            Segment::Entry(name) => name.as_str(),
            Segment::Index(_) => return None,
        };
        let known = schema_of(definition, &parent)?.get("properties")?.as_object()?;
        let near = nearest(name, known.keys().map(String::as_str))?;
        Some((parent.key(near.to_owned()), quoted(near)))
    });
    let words = match meant {
        Some((sibling, near)) => {
            // The value of the suggested field is under the misspelt name, so it is not known.
            form.doubts.add(sibling);
            format!("unknown field; did you mean {near}?")
        }
        None => "unknown field".to_owned(),
    };
    form.faults.push(PolicyFault::at(path, words));
}

/// A policy of Kubernetes has fewer fields than `AddOnPolicy`; Kubernetes drops the others.
fn upstream_form(kind: Kind, name: &str, spec: &Value) -> Form {
    let others = match kind {
        Kind::Validating => ["mutations", "reinvocationPolicy"],
        Kind::Mutating | Kind::AddOnPolicy | Kind::ValidatingBinding | Kind::MutatingBinding => {
            ["validations", "auditAnnotations"]
        }
    };
    let strange = |path: Path| {
        PolicyFault::at(
            path,
            format!("is not a field of a {}; use the kind AddOnPolicy", kind.name()),
        )
    };
    let mut form = shared_form(spec);
    let root = Path::parse("spec");
    for fault in native::policy_faults(kind, name, spec) {
        form.add(fault);
    }
    for name in Kind::own_fields().into_iter().chain(others) {
        if spec.get(name).is_some() {
            form.wrong(strange(root.key(name)));
        }
    }
    for (list, names) in [
        ("validations", &["id", "fieldPath", "suggestion"][..]),
        ("mutations", &["allowOverwrite"][..]),
    ] {
        let items = spec.get(list).and_then(Value::as_array).into_iter().flatten();
        for (index, item) in items.enumerate() {
            for name in names.iter().filter(|name| item.get(**name).is_some()) {
                form.wrong(strange(root.key(list).index(index).key(*name)));
            }
        }
    }
    form
}

fn binding_form(kind: Kind, spec: &Value) -> Form {
    let root = Path::parse("spec");
    let mut read = Form::default();
    if spec
        .get("policyName")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .is_empty()
    {
        read.wrong(PolicyFault::at(root.key("policyName"), "must name a policy"));
    }
    let known = ["policyName", "paramRef", "matchResources", "validationActions"];
    for name in spec.as_object().into_iter().flat_map(|fields| fields.keys()) {
        if !known.contains(&name.as_str()) || (kind == Kind::MutatingBinding && name == "validationActions") {
            read.wrong(PolicyFault::at(root.key(name.clone()), "unknown field"));
        }
    }
    let actions = spec.get("validationActions").and_then(Value::as_array);
    if kind == Kind::ValidatingBinding && actions.is_none_or(Vec::is_empty) {
        read.wrong(PolicyFault::at(
            root.key("validationActions"),
            "must name at least one of \"Deny\", \"Warn\", \"Audit\"",
        ));
    }
    let mut shared = serde_json::Map::new();
    for name in ["matchResources", "validationActions"] {
        shared.extend(spec.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    let shared = shared_form(&Value::Object(shared));
    shared.faults.into_iter().for_each(|fault| read.wrong(fault));
    for fault in native::binding_faults(kind, spec) {
        read.add(fault);
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(api_version: &str, kind: &str, spec: &Value) -> Vec<String> {
        let document =
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec});
        let source = Source {
            origin: Origin::Hub,
            document,
        };
        let written = read(&source).expect("a policy");
        written.faults.iter().map(PolicyFault::one_line).collect()
    }

    #[test]
    fn misspelt_fields_are_faults_with_a_suggestion() {
        assert_eq!(
            faults(
                "addon.open-cluster-management.io/v1alpha1",
                "AddOnPolicy",
                &json!({"validation": [], "validations": [{"expression": "true", "mesage": "x"}]})
            ),
            [
                "spec.validation: unknown field; did you mean \"validations\"?",
                "spec.validations[0].mesage: unknown field; did you mean \"message\"?",
            ]
        );
    }

    #[test]
    fn policies_of_kubernetes_have_no_fields_of_ours() {
        let found = faults(
            "admissionregistration.k8s.io/v1",
            "ValidatingAdmissionPolicy",
            &json!({"facts": ["addon"], "validations": [{"expression": "true", "fieldPath": "spec"}]}),
        );
        assert_eq!(
            found,
            [
                "spec.facts: is not a field of a ValidatingAdmissionPolicy; use the kind AddOnPolicy",
                "spec.validations[0].fieldPath: is not a field of a ValidatingAdmissionPolicy; use the kind AddOnPolicy",
            ]
        );
    }

    #[test]
    fn a_binding_must_name_its_policy_and_what_it_does() {
        let found = faults(
            "admissionregistration.k8s.io/v1",
            "ValidatingAdmissionPolicyBinding",
            &json!({"matchResource": {}, "validationActions": ["Refuse"]}),
        );
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found[0].starts_with("spec.policyName: must name a policy"),
            "{found:?}"
        );
        assert!(
            found[1].starts_with("spec.matchResource: unknown field"),
            "{found:?}"
        );
        assert!(
            found[2].contains("supported values: \"Deny\", \"Warn\", \"Audit\""),
            "{found:?}"
        );
    }

    #[test]
    fn other_kinds_are_no_policies() {
        assert!(!is_policy(&json!({"apiVersion": "v1", "kind": "ConfigMap"})));
        assert!(!is_policy(&json!({"apiVersion": "x/v1", "kind": "AddOnPolicy"})));
    }
}
