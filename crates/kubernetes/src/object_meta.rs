//! `metadata` of an object, of any kind: names, labels, annotations, owners and finalizers.
//!
//! Decides which faults the metadata of one object has, in the words of Kubernetes. Never compares it with an older version.

use serde_json::Value;

use crate::error_class::ErrorClass;
use crate::names::{
    Named, Unit, dns1035_label_faults, dns1123_label_faults, dns1123_subdomain_faults, label_value_faults,
    qualified_name_faults,
};
use crate::print::quote;

/// Bytes that all annotations of an object may have together, keys included.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// Syntax that the names of a kind follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// RFC 1123 subdomain, the usual rule.
    Subdomain,
    /// RFC 1123 label.
    Label,
    /// RFC 1035 label, which begins with a letter.
    OldLabel,
    /// Anything that can stand between two slashes of a path.
    PathSegment,
}

impl NameRule {
    /// Returns the faults of `name`.
    pub fn faults(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain => dns1123_subdomain_faults(name, Unit::Characters),
            Self::Label => dns1123_label_faults(name, Unit::Characters),
            Self::OldLabel => dns1035_label_faults(name, Unit::Characters),
            Self::PathSegment if matches!(name, "." | "..") => vec![format!("may not be '{name}'")],
            Self::PathSegment => segment_faults(name),
        }
    }

    /// Returns the faults of `prefix` as a `generateName`, which may end in a dash.
    pub fn prefix_faults(self, prefix: &str) -> Vec<String> {
        match (self, prefix.strip_suffix('-')) {
            (Self::Subdomain | Self::Label | Self::OldLabel, Some(rest)) if !rest.is_empty() => {
                self.faults(rest)
            }
            (Self::Subdomain | Self::Label | Self::OldLabel, _) => self.faults(prefix),
            (Self::PathSegment, _) => segment_faults(prefix),
        }
    }
}

fn segment_faults(name: &str) -> Vec<String> {
    ['/', '%']
        .into_iter()
        .filter(|letter| name.contains(*letter))
        .map(|letter| format!("may not contain '{letter}'"))
        .collect()
}

/// Whether an object is in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespacing {
    /// It must name one.
    Required,
    /// It must name none.
    Forbidden,
    /// It is not known: what it names must be the name of a namespace.
    Any,
}

/// One fault of the metadata of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaFault {
    /// The field below `metadata`, such as `labels` or `ownerReferences.uid`.
    pub field: &'static str,
    /// The key of the label or annotation that is at fault.
    pub key: Option<String>,
    /// The class of the fault.
    pub class: ErrorClass,
    /// The wrong value as messages show it.
    pub value: Option<String>,
    /// What would be right.
    pub detail: String,
}

impl MetaFault {
    fn invalid(field: &'static str, value: &str, detail: impl Into<String>) -> Self {
        Self {
            value: Some(quote(value)),
            ..Self::bare(field, ErrorClass::Invalid, detail)
        }
    }

    fn bare(field: &'static str, class: ErrorClass, detail: impl Into<String>) -> Self {
        Self {
            field,
            key: None,
            class,
            value: None,
            detail: detail.into(),
        }
    }

    fn of_key(self, key: &str) -> Self {
        Self {
            key: Some(key.to_owned()),
            ..self
        }
    }

    /// Returns everything after `field: `.
    pub fn message(&self) -> String {
        let mut message = self.class.title().to_owned();
        for part in self
            .value
            .iter()
            .chain([&self.detail])
            .filter(|part| !part.is_empty())
        {
            message.push_str(": ");
            message.push_str(part);
        }
        message
    }
}

/// Returns the faults of `metadata`; `names` is the syntax of the kind's names. An object without a name is at fault.
pub fn faults(metadata: &Value, names: NameRule, namespacing: Namespacing) -> Vec<MetaFault> {
    let (name, prefix) = (text(metadata, "name"), text(metadata, "generateName"));
    let mut found = prefix_faults(prefix, names);
    if name.is_empty() {
        let detail = "name or generateName is required";
        found.push(MetaFault::bare("name", ErrorClass::Required, detail));
    } else {
        let faults = names.faults(name).into_iter();
        found.extend(faults.map(|fault| MetaFault::invalid("name", name, fault)));
    }
    let namespace = text(metadata, "namespace");
    match (namespacing, namespace.is_empty()) {
        (Namespacing::Required, true) => {
            found.push(MetaFault::bare("namespace", ErrorClass::Required, ""));
        }
        (Namespacing::Forbidden, false) => {
            let detail = "not allowed on this type";
            found.push(MetaFault::bare("namespace", ErrorClass::Forbidden, detail));
        }
        (Namespacing::Required | Namespacing::Any, false) => {
            let faults = NameRule::Label.faults(namespace).into_iter();
            found.extend(faults.map(|fault| MetaFault::invalid("namespace", namespace, fault)));
        }
        (Namespacing::Forbidden | Namespacing::Any, true) => {}
    }
    let generation = metadata.get("generation").and_then(Value::as_i64);
    if let Some(generation) = generation.filter(|generation| *generation < 0) {
        let detail = "must be greater than or equal to 0";
        let mut fault = MetaFault::bare("generation", ErrorClass::Invalid, detail);
        fault.value = Some(generation.to_string());
        found.push(fault);
    }
    found.extend(content_faults(metadata));
    found
}

/// Returns the faults of a `generateName`; an empty one is none.
pub fn prefix_faults(prefix: &str, names: NameRule) -> Vec<MetaFault> {
    let faults = match prefix {
        "" => Vec::new(),
        prefix => names.prefix_faults(prefix),
    };
    let faults = faults.into_iter();
    faults
        .map(|fault| MetaFault::invalid("generateName", prefix, fault))
        .collect()
}

/// Returns the faults of labels, annotations, owners and finalizers.
pub fn content_faults(metadata: &Value) -> Vec<MetaFault> {
    let mut found = label_faults(metadata.get("labels"));
    found.extend(annotation_faults(metadata.get("annotations")));
    found.extend(owner_faults(metadata.get("ownerReferences")));
    found.extend(finalizer_faults(items(metadata.get("finalizers"))));
    found
}

/// Returns the faults of a map of labels.
pub fn label_faults(labels: Option<&Value>) -> Vec<MetaFault> {
    let mut found = Vec::new();
    for (key, value) in labels.and_then(Value::as_object).into_iter().flatten() {
        let faults = qualified_name_faults(key, Named::LabelKey).into_iter();
        found.extend(faults.map(|fault| MetaFault::invalid("labels", key, fault).of_key(key)));
        let value = value.as_str().unwrap_or_default();
        let faults = label_value_faults(value).into_iter();
        found.extend(faults.map(|fault| MetaFault::invalid("labels", value, fault).of_key(key)));
    }
    found
}

/// Returns the faults of a map of annotations.
pub fn annotation_faults(annotations: Option<&Value>) -> Vec<MetaFault> {
    let mut found = Vec::new();
    let mut size = 0_usize;
    for (key, value) in annotations.and_then(Value::as_object).into_iter().flatten() {
        let faults = qualified_name_faults(&key.to_lowercase(), Named::LabelKey).into_iter();
        found.extend(faults.map(|fault| MetaFault::invalid("annotations", key, fault).of_key(key)));
        let length = value.as_str().map_or(0, str::len);
        size = size.saturating_add(key.len()).saturating_add(length);
    }
    if size > MAX_ANNOTATIONS {
        let detail = format!("may not be more than {MAX_ANNOTATIONS} bytes");
        found.push(MetaFault::bare("annotations", ErrorClass::TooLong, detail));
    }
    found
}

fn finalizer_faults(finalizers: &[Value]) -> Vec<MetaFault> {
    let mut found = Vec::new();
    for finalizer in finalizers.iter().filter_map(Value::as_str) {
        let faults = qualified_name_faults(finalizer, Named::QualifiedName).into_iter();
        found.extend(faults.map(|fault| MetaFault::invalid("finalizers", finalizer, fault)));
    }
    let has = |wanted: &str| finalizers.iter().any(|finalizer| finalizer == wanted);
    if has("orphan") && has("foregroundDeletion") {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        let mut fault = MetaFault::bare("finalizers", ErrorClass::Invalid, detail);
        fault.value = Some(Value::Array(finalizers.to_vec()).to_string());
        found.push(fault);
    }
    found
}

const OWNERS: &str = "ownerReferences";
/// Most references of an object whose second and further controllers are each reported: a report shows all references.
const MOST_SHOWN: usize = 16;

fn owner_faults(references: Option<&Value>) -> Vec<MetaFault> {
    let references = items(references);
    let mut found = Vec::new();
    let mut controller: Option<&Value> = None;
    let mut is_reported = false;
    for reference in references {
        found.extend(faults_of_owner(reference));
        if reference.get("controller") != Some(&Value::Bool(true)) {
            continue;
        }
        let Some(first) = controller else {
            controller = Some(reference);
            continue;
        };
        if is_reported && references.len() > MOST_SHOWN {
            continue;
        }
        is_reported = true;
        let detail = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {}/{} and {}/{}",
            text(first, "kind"),
            text(first, "name"),
            text(reference, "kind"),
            text(reference, "name"),
        );
        let all: Vec<String> = references.iter().map(printed).collect();
        let mut fault = MetaFault::bare(OWNERS, ErrorClass::Invalid, detail);
        fault.value = Some(format!("[{}]", all.join(",")));
        found.push(fault);
    }
    found
}

fn faults_of_owner(reference: &Value) -> Vec<MetaFault> {
    let mut found = Vec::new();
    let version = text(reference, "apiVersion");
    let parts: Vec<&str> = version.split('/').collect();
    let (group, name) = match parts.as_slice() {
        [name] => ("", *name),
        [group, name] => (*group, *name),
        _ => ("", ""),
    };
    if name.is_empty() {
        let detail = "version must not be empty";
        found.push(MetaFault::invalid("ownerReferences.apiVersion", version, detail));
    }
    let members = [
        ("kind", "ownerReferences.kind"),
        ("name", "ownerReferences.name"),
        ("uid", "ownerReferences.uid"),
    ];
    for (member, field) in members {
        if text(reference, member).is_empty() {
            found.push(MetaFault::invalid(field, "", "must not be empty"));
        }
    }
    if (group, name, text(reference, "kind")) == ("", "v1", "Event") {
        let detail = "/v1, Kind=Event is disallowed from being an owner";
        let mut fault = MetaFault::bare(OWNERS, ErrorClass::Invalid, detail);
        fault.value = Some(printed(reference));
        found.push(fault);
    }
    found
}

/// Prints a reference with its members in the order of the Go type.
fn printed(reference: &Value) -> String {
    let mut out = String::from("{");
    for member in [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ] {
        let plain = matches!(member, "controller" | "blockOwnerDeletion");
        let value = match reference.get(member) {
            Some(value) => value.clone(),
            None if plain => continue,
            None => Value::String(String::new()),
        };
        let comma = if out.len() > 1 { "," } else { "" };
        out.extend([comma, "\"", member, "\":", &value.to_string()]);
    }
    out.push('}');
    out
}

fn items(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
}

fn text<'v>(object: &'v Value, member: &str) -> &'v str {
    object.get(member).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(metadata: &Value, namespacing: Namespacing) -> Vec<String> {
        faults(metadata, NameRule::Subdomain, namespacing)
            .iter()
            .map(|fault| format!("{}: {}", fault.field, fault.message()))
            .collect()
    }

    #[test]
    fn names_follow_the_rule_of_their_kind() {
        use NameRule::{Label, OldLabel, PathSegment, Subdomain};
        for (rule, name, count) in [
            (Subdomain, "ok.dotted.name", 0),
            (Subdomain, "Upper", 1),
            (Subdomain, "under_score", 1),
            (Subdomain, "-dash", 1),
            (Subdomain, "dot.", 1),
            (Subdomain, "with space", 1),
            (Label, "a-b", 0),
            (Label, "a.b", 1),
            (OldLabel, "web-1", 0),
            (OldLabel, "1-web", 1),
            (PathSegment, "system:node", 0),
            (PathSegment, "a/b%c", 2),
            (PathSegment, "..", 1),
        ] {
            assert_eq!(rule.faults(name).len(), count, "{name}");
        }
        assert_eq!(
            Subdomain.faults(&"a".repeat(254)),
            ["must be no more than 253 characters"]
        );
        assert_eq!(Subdomain.prefix_faults("web-"), [""; 0]);
        assert_eq!(Subdomain.prefix_faults("-").len(), 1);
        assert_eq!(
            PathSegment.prefix_faults("..").len(),
            0,
            "a prefix is not a whole name"
        );
    }

    #[test]
    fn a_namespace_is_checked_as_far_as_the_scope_is_known() {
        let rows = [
            (
                Namespacing::Required,
                json!({"name": "a"}),
                &["namespace: Required value"][..],
            ),
            (Namespacing::Forbidden, json!({"name": "a"}), &[]),
            (Namespacing::Any, json!({"name": "a"}), &[]),
            (
                Namespacing::Forbidden,
                json!({"name": "a", "namespace": "b"}),
                &["namespace: Forbidden: not allowed on this type"],
            ),
            (Namespacing::Any, json!({"name": "a", "namespace": "b"}), &[]),
        ];
        for (namespacing, metadata, expected) in rows {
            assert_eq!(told(&metadata, namespacing), expected, "{metadata}");
        }
        let strange = json!({"name": "a", "namespace": "{{INSTALL_NAMESPACE}}"});
        let found = told(&strange, Namespacing::Any);
        assert_eq!(found.len(), 1, "{found:?}");
        let begin = "namespace: Invalid value: \"{{INSTALL_NAMESPACE}}\": a lowercase RFC 1123 label must";
        assert!(found.iter().all(|one| one.starts_with(begin)), "{found:?}");
    }

    fn owner(name: &str, more: &Value) -> Value {
        let mut reference = json!({"apiVersion": "dev.example.io/v1", "kind": "Widget", "name": name, "uid": format!("uid-{name}")});
        for (member, value) in more.as_object().into_iter().flatten() {
            reference[member] = value.clone();
        }
        reference
    }

    #[test]
    fn faults_of_owners_read_as_recorded() {
        for (references, expected) in [
            (
                json!([
                    owner("o", &json!({"controller": true, "blockOwnerDeletion": true})),
                    owner("p", &json!({}))
                ]),
                vec![],
            ),
            (
                json!([
                    owner("o", &json!({"controller": true})),
                    owner("p", &json!({"controller": true}))
                ]),
                vec![
                    "metadata.ownerReferences: Invalid value: [{\"apiVersion\":\"dev.example.io/v1\",\"kind\":\"Widget\",\"name\":\"o\",\"uid\":\"uid-o\",\"controller\":true},{\"apiVersion\":\"dev.example.io/v1\",\"kind\":\"Widget\",\"name\":\"p\",\"uid\":\"uid-p\",\"controller\":true}]: Only one reference can have Controller set to true. Found \"true\" in references for Widget/o and Widget/p",
                ],
            ),
            (
                json!([owner("o", &json!({"kind": "", "name": ""}))]),
                vec![
                    "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty",
                    "metadata.ownerReferences.name: Invalid value: \"\": must not be empty",
                ],
            ),
            (
                json!([owner("o", &json!({"apiVersion": "a/b/c"}))]),
                vec![
                    "metadata.ownerReferences.apiVersion: Invalid value: \"a/b/c\": version must not be empty",
                ],
            ),
            (
                json!([owner("o", &json!({"apiVersion": "v1", "kind": "Event"}))]),
                vec![
                    "metadata.ownerReferences: Invalid value: {\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"o\",\"uid\":\"uid-o\"}: /v1, Kind=Event is disallowed from being an owner",
                ],
            ),
        ] {
            let texts: Vec<String> = owner_faults(Some(&references))
                .iter()
                .map(|fault| format!("metadata.{}: {}", fault.field, fault.message()))
                .collect();
            assert_eq!(texts, expected);
        }
    }

    #[test]
    fn an_owner_is_complete() {
        let owner =
            json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o"}]});
        assert_eq!(
            told(&owner, Namespacing::Any),
            ["ownerReferences.uid: Invalid value: \"\": must not be empty"]
        );
    }
}
