//! Who owns what of a `ManagedClusterAddOn`: what the API server and the tools that apply objects record about it.
//!
//! Decides which other managers count as owners, and of what; the table is in decision 0007. Never says what follows from it.
//!
//! ```text
//! applies  an entry with the operation Apply; kubectl's record of what it applied last; the mark of a tool with an inventory
//!          ─► the fields are theirs, and so is the object: it is adopted
//! edits    an entry with the operation Update
//!          ─► the fields are theirs, the object is not
//! ```

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::names::Names;
use crate::record::Claims;
use crate::terms;
use api::names::annotations::INSTALL_NAMESPACE;

/// Annotation in which `kubectl apply`, and Argo CD like it, keep what they have applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The name for the writer of [`LAST_APPLIED`] where no entry names the manager.
const CLIENT_SIDE: &str = "kubectl apply";
/// What the API server calls the owner of fields that are older than its records: which manager that was is not known.
const UNRECORDED: &str = "before-first-apply";
/// OCM's add-on manager. What it has copied from a cluster is what we go on with.
const PREDECESSOR: &str = "addon";
/// Marks of tools that keep an inventory and write without a record of what they applied.
const INVENTORIES: [(&str, &str); 3] = [
    ("argocd.argoproj.io/tracking-id", "Argo CD"),
    ("meta.helm.sh/release-name", "Helm"),
    ("config.k8s.io/owning-inventory", "an inventory"),
];
/// Our own marks: an edit of one is an instruction to the controllers, and does not make the editor its owner.
const MARKS: [&str; 4] = [
    terms::INSTALLED_BY,
    terms::DESELECTED_AT,
    terms::COPIED_ANNOTATIONS,
    terms::GIVEN_VERSION,
];
const VERSION: &str = "desiredVersion";
const NAMESPACE: &str = "installNamespace";

/// How a manager has come to own something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Applies,
    Edits,
}

/// What one of the others owns, as far as plans ask.
#[derive(Debug)]
struct Share {
    way: Way,
    manager: String,
    version: bool,
    namespace: bool,
    annotations: BTreeSet<String>,
}

/// Returns what others own of an instance.
pub(crate) fn claims(object: &Value, names: &mut Names) -> Claims {
    let metadata = object.get("metadata").and_then(Value::as_object);
    let mut shares = metadata.map(shares).unwrap_or_default();
    let omits_namespace =
        shares.iter().any(|share| share.way == Way::Applies) && !shares.iter().any(|share| share.namespace);
    let marks = metadata.and_then(|metadata| metadata.get("annotations"));
    shares.extend(INVENTORIES.iter().filter_map(|(mark, tool)| {
        let share = || Share::empty(Way::Applies, tool);
        marks?.get(mark).map(|_| share())
    }));
    let applies = |share: &&Share| share.way == Way::Applies;
    let adopter = shares.iter().find(applies).map_or("", |share| &share.manager);
    // A manager that edits the record of what was given hands the version over.
    let edits = |share: &&Share| share.way == Way::Edits;
    let is_handed_over = shares
        .iter()
        .filter(edits)
        .any(|share| share.annotations.contains(terms::GIVEN_VERSION));
    let version = |share: &Share| share.version && (share.way == Way::Applies || !is_handed_over);
    let keys: BTreeSet<&str> = shares.iter().flat_map(Share::theirs).collect();
    Claims {
        adopter: names.share(adopter),
        version: shares.iter().any(version),
        omits_namespace,
        annotations: keys.into_iter().map(|key| names.share(key)).collect(),
    }
}

/// Takes from an instance what its records of owners say beyond what plans ask; mostly that is everything.
pub fn trim_owners(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let shares = shares(metadata);
    metadata.remove("managedFields");
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
    if !shares.is_empty() {
        let entries = shares.iter().map(Share::entry).collect();
        metadata.insert("managedFields".to_owned(), entries);
    }
}

/// Returns what each of the others owns, those that apply the object first.
fn shares(metadata: &Map<String, Value>) -> Vec<Share> {
    let entries = metadata.get("managedFields").and_then(Value::as_array);
    let entries = entries.map(Vec::as_slice).unwrap_or_default();
    let mut shares: Vec<Share> = entries.iter().filter_map(of_entry).collect();
    shares.extend(of_last_applied(metadata, entries));
    let is_applied = shares.iter().any(|share| share.way == Way::Applies);
    let counts =
        |share: &Share| share.version || (share.namespace && is_applied) || !share.annotations.is_empty();
    shares.retain(|share| share.way == Way::Applies || counts(share));
    shares.sort_by(|one, other| (one.way, &one.manager).cmp(&(other.way, &other.manager)));
    shares
}

fn of_entry(entry: &Value) -> Option<Share> {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
    let manager = text("manager");
    if !text("subresource").is_empty() || manager == terms::FIELD_MANAGER {
        return None;
    }
    let fields = entry.get("fieldsV1").and_then(Value::as_object);
    let metadata = below(fields, "f:metadata");
    let way = match text("operation") {
        "Apply" if is_of_the_object(fields, metadata) => Way::Applies,
        "Apply" => return None,
        _ => Way::Edits,
    };
    let mut share = Share::empty(way, manager);
    share.version = below(fields, "f:spec").is_some_and(|spec| spec.contains_key("f:desiredVersion"));
    let notes = below(metadata, "f:annotations");
    // In v1beta1 the namespace is an annotation. A client-side apply owns every default of the object that it creates: what it
    // gave is in its own record.
    let owns = |fields: Option<&Map<String, Value>>, key: &str| {
        fields.is_some_and(|fields| fields.contains_key(key))
    };
    share.namespace = (owns(below(fields, "f:spec"), "f:installNamespace")
        || owns(notes, &format!("f:{INSTALL_NAMESPACE}")))
        && !owns(notes, &format!("f:{LAST_APPLIED}"));
    if manager == UNRECORDED {
        share.version = false;
        return Some(share);
    }
    let annotations = notes.into_iter().flat_map(Map::keys);
    share.note(annotations.filter_map(|key| key.strip_prefix("f:")));
    Some(share)
}

fn below<'a>(fields: Option<&'a Map<String, Value>>, key: &str) -> Option<&'a Map<String, Value>> {
    fields?.get(key)?.as_object()
}

/// Whether an apply makes the object its manager's: one of nothing but finalizers, owners or a status only holds it.
fn is_of_the_object(fields: Option<&Map<String, Value>>, metadata: Option<&Map<String, Value>>) -> bool {
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else {
        return true;
    };
    let written = ["f:labels", "f:annotations"];
    let has_words =
        metadata.is_some_and(|metadata| written.iter().any(|field| metadata.contains_key(*field)));
    fields.contains_key("f:spec") || has_words
}

/// A client-side apply that changes nothing owns nothing in the entries: its own record tells what it wants.
fn of_last_applied(metadata: &Map<String, Value>, entries: &[Value]) -> Option<Share> {
    let text = metadata.get("annotations")?.get(LAST_APPLIED)?.as_str()?;
    let manifest: Value = serde_json::from_str(text).unwrap_or_default();
    let is_writer = |entry: &&Value| {
        let annotations = entry.pointer("/fieldsV1/f:metadata/f:annotations");
        annotations.is_some_and(|all| all.get(format!("f:{LAST_APPLIED}")).is_some())
    };
    let writer = entries
        .iter()
        .find(is_writer)
        .and_then(|entry| entry.get("manager"));
    let mut share = Share::empty(
        Way::Applies,
        writer.and_then(Value::as_str).unwrap_or(CLIENT_SIDE),
    );
    let says = |field| manifest.get("spec").and_then(|spec| spec.get(field)).is_some();
    let annotations = manifest
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    share.version = says(VERSION);
    // A record that cannot be read may have given it.
    share.namespace = says(NAMESPACE)
        || annotations.is_some_and(|all| all.contains_key(INSTALL_NAMESPACE))
        || !manifest.is_object();
    share.note(annotations.into_iter().flat_map(Map::keys).map(String::as_str));
    Some(share)
}

impl Share {
    fn empty(way: Way, manager: &str) -> Self {
        Self {
            way,
            manager: manager.to_owned(),
            version: false,
            namespace: false,
            annotations: BTreeSet::new(),
        }
    }

    /// Notes the annotations among `keys` that plans might write.
    fn note<'k>(&mut self, keys: impl Iterator<Item = &'k str>) {
        let counts = |key: &&str| key.starts_with(terms::COPIED_PREFIX) || MARKS.contains(key);
        self.annotations.extend(keys.filter(counts).map(str::to_owned));
    }

    /// Returns the annotations that are this manager's: plans leave them alone.
    fn theirs(&self) -> impl Iterator<Item = &str> {
        let is_theirs = |key: &&String| match self.way {
            Way::Applies => true,
            Way::Edits => self.manager != PREDECESSOR && !MARKS.contains(&key.as_str()),
        };
        self.annotations.iter().filter(is_theirs).map(String::as_str)
    }

    /// Returns the share in the form in which API servers record it.
    fn entry(&self) -> Value {
        let operation = match self.way {
            Way::Applies => "Apply",
            Way::Edits => "Update",
        };
        let mut fields = Map::new();
        let spec = [
            ("f:desiredVersion", self.version),
            ("f:installNamespace", self.namespace),
        ];
        let spec = spec.into_iter().filter(|(_, is_theirs)| *is_theirs);
        let spec: Map<String, Value> = spec.map(|(field, _)| (field.to_owned(), json!({}))).collect();
        if !spec.is_empty() {
            fields.insert("f:spec".to_owned(), Value::Object(spec));
        }
        if !self.annotations.is_empty() {
            let keys = self.annotations.iter().map(|key| (format!("f:{key}"), json!({})));
            let keys: Map<String, Value> = keys.collect();
            fields.insert("f:metadata".to_owned(), json!({"f:annotations": keys}));
        }
        json!({"manager": self.manager, "operation": operation, "fieldsV1": fields})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: &str = "addon.open-cluster-management.io/values";

    /// An entry of `manager`, with the fields that are written `spec.x`, `label`, `note`, `values`, and our marks.
    fn entry(manager: &str, operation: &str, subresource: &str, fields: &[&str]) -> Value {
        let mut all = json!({});
        for field in fields {
            match *field {
                "spec" => all["f:spec"] = json!({}),
                "spec.configs" => all["f:spec"]["f:configs"] = json!({}),
                "spec.desiredVersion" => all["f:spec"]["f:desiredVersion"] = json!({}),
                "spec.installNamespace" => all["f:spec"]["f:installNamespace"] = json!({}),
                "label" => all["f:metadata"]["f:labels"]["f:team"] = json!({}),
                "note" => all["f:metadata"]["f:annotations"]["f:note"] = json!({}),
                "values" => all["f:metadata"]["f:annotations"][format!("f:{VALUES}")] = json!({}),
                "finalizers" => all["f:metadata"]["f:finalizers"] = json!({"v:\"x\"": {}}),
                "owners" => all["f:metadata"]["f:ownerReferences"] = json!({"k:{\"uid\":\"x\"}": {}}),
                "status" => all["f:status"] = json!({"f:conditions": {}}),
                mark => all["f:metadata"]["f:annotations"][format!("f:{mark}")] = json!({}),
            }
        }
        json!({"manager": manager, "operation": operation, "subresource": subresource,
            "apiVersion": "addon.open-cluster-management.io/v1alpha1", "time": "2030-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": all})
    }

    fn object(entries: &[Value], annotations: &Value) -> Value {
        json!({"kind": "ManagedClusterAddOn", "metadata": {"managedFields": entries, "annotations": annotations}})
    }

    /// Who adopts it, and whether the version, and which annotations, are another manager's.
    fn told(object: &Value) -> String {
        let claims = claims(object, &mut Names::default());
        let version = if claims.version { " version" } else { "" };
        let keys: Vec<&str> = claims.annotations.iter().map(|key| &**key).collect();
        let keys = keys.join(" ").replace(VALUES, "values");
        format!("{}|{version} {keys}", claims.adopter)
            .replace("  ", " ")
            .trim_end()
            .to_owned()
    }

    fn check(object: &Value, expected: &str, why: &str) {
        assert_eq!(told(object), expected, "{why}");
        let mut trimmed = object.clone();
        trim_owners(&mut trimmed);
        assert_eq!(
            told(&trimmed),
            expected,
            "{why}: what is kept of the records says the same"
        );
        let omits = |object: &Value| claims(object, &mut Names::default()).omits_namespace;
        assert_eq!(omits(&trimmed), omits(object), "{why}");
        assert!(
            !trimmed.to_string().contains("last-applied") && !trimmed.to_string().contains("time"),
            "{why}"
        );
    }

    /// Manager, operation, subresource, fields, and what they are worth.
    const ROWS: [(&str, &str, &str, &[&str], &str); 20] = [
        (
            "tidegate",
            "Update",
            "",
            &["spec.desiredVersion", "values", terms::INSTALLED_BY],
            "|",
        ),
        ("tidegate", "Apply", "", &["spec.desiredVersion"], "|"),
        ("registration", "Update", "status", &["status"], "|"),
        ("klusterlet-agent", "Apply", "status", &["status", "note"], "|"),
        (
            "kube-controller-manager",
            "Update",
            "",
            &["finalizers", "owners"],
            "|",
        ),
        (
            "addon-framework",
            "Update",
            "",
            &["finalizers", "note", "label"],
            "|",
        ),
        ("some-operator", "Apply", "", &["finalizers", "owners"], "|"),
        ("old-agent", "Update", "", &["status"], "|"),
        (
            "before-first-apply",
            "Update",
            "",
            &["spec.desiredVersion", "values"],
            "|",
        ),
        ("flux", "Apply", "", &["spec"], "flux|"),
        ("flux", "Apply", "", &["label"], "flux|"),
        ("flux", "Apply", "", &["note"], "flux|"),
        ("flux", "Apply", "", &[], "flux|"),
        (
            "flux",
            "Apply",
            "",
            &["spec.desiredVersion", "values"],
            "flux| version values",
        ),
        (
            "flux",
            "Apply",
            "",
            &["spec", terms::INSTALLED_BY],
            "flux| tidegate.io/installed-by",
        ),
        (
            "kubectl-edit",
            "Update",
            "",
            &["spec.desiredVersion"],
            "| version",
        ),
        ("kubectl-edit", "Update", "", &["spec.configs", "label"], "|"),
        ("kubectl-annotate", "Update", "", &["values", "note"], "| values"),
        ("kubectl-annotate", "Update", "", &[terms::INSTALLED_BY], "|"),
        ("addon", "Update", "", &["values"], "|"),
    ];

    #[test]
    fn who_applies_an_object_adopts_it_and_who_edits_it_owns_fields() {
        for (manager, operation, subresource, fields, expected) in ROWS {
            let entries = [entry(manager, operation, subresource, fields)];
            let why = format!("{manager} {operation} {subresource} {fields:?}");
            check(&object(&entries, &json!({})), expected, &why);
        }
    }

    #[test]
    fn a_manager_that_writes_the_version_record_hands_it_over() {
        let hand = entry("kubectl-annotate", "Update", "", &[terms::GIVEN_VERSION]);
        let edit = entry("kubectl-edit", "Update", "", &["spec.desiredVersion"]);
        check(&object(&[hand.clone(), edit], &json!({})), "|", "both by hand");
        let applied = entry("flux", "Apply", "", &["spec.desiredVersion"]);
        check(
            &object(&[hand, applied], &json!({})),
            "flux| version",
            "an applier would put it back",
        );
    }

    #[test]
    fn the_record_of_a_client_side_apply_tells_what_its_entry_cannot() {
        let manifest = json!({"metadata": {"annotations": {VALUES: "{}"}}, "spec": {"desiredVersion": "v1"}});
        let annotations = json!({LAST_APPLIED: manifest.to_string()});
        check(
            &object(&[], &annotations),
            "kubectl apply| version values",
            "no entry",
        );
        let argo = entry("argocd-controller", "Update", "", &[LAST_APPLIED]);
        check(
            &object(&[argo], &annotations),
            "argocd-controller| version values",
            "who wrote the record",
        );
        check(
            &object(&[], &json!({LAST_APPLIED: "garbage"})),
            "kubectl apply|",
            "one that cannot be read",
        );
    }

    #[test]
    fn an_applier_that_gives_no_install_namespace_leaves_it_open() {
        let flux = |fields: &[&str]| entry("flux", "Apply", "", fields);
        let update = |manager: &str, fields: &[&str]| entry(manager, "Update", "", fields);
        let created = || {
            update(
                "kubectl-client-side-apply",
                &["spec.installNamespace", LAST_APPLIED],
            )
        };
        let manifest = |manifest: Value| json!({LAST_APPLIED: manifest.to_string()});
        let silent = || manifest(json!({"spec": {}}));
        let none = || json!({});
        let namespace = "spec.installNamespace";
        let rows = [
            (vec![flux(&["spec"])], none(), true, "server-side apply"),
            (
                vec![flux(&[namespace])],
                none(),
                false,
                "server-side apply with a namespace",
            ),
            (
                vec![flux(&[INSTALL_NAMESPACE])],
                none(),
                false,
                "the same in v1beta1",
            ),
            (
                vec![created()],
                silent(),
                true,
                "client-side apply owns the default that it created",
            ),
            (vec![], silent(), true, "client-side apply without an entry"),
            (
                vec![created()],
                manifest(json!({"spec": {"installNamespace": "x"}})),
                false,
                "client-side apply with a namespace",
            ),
            (
                vec![],
                manifest(json!({"metadata": {"annotations": {INSTALL_NAMESPACE: "x"}}})),
                false,
                "the same in v1beta1",
            ),
            (
                vec![],
                json!({LAST_APPLIED: "garbage"}),
                false,
                "a record that cannot be read",
            ),
            (
                vec![update("kubectl-create", &[namespace])],
                none(),
                false,
                "a plain create",
            ),
            (vec![], none(), false, "no record at all"),
            (
                vec![],
                json!({INVENTORIES[0].0: "x"}),
                false,
                "a mark without a record",
            ),
            (
                vec![update("kubectl-create", &[namespace]), flux(&["spec"])],
                none(),
                false,
                "a plain create that is applied later",
            ),
            (
                vec![update("kubectl-edit", &[namespace]), created()],
                silent(),
                false,
                "an edit after a client-side apply",
            ),
            (
                vec![update("addon", &[namespace]), flux(&["spec"])],
                none(),
                false,
                "created by OCM's install strategy",
            ),
            (
                vec![update(UNRECORDED, &[namespace]), flux(&["spec"])],
                none(),
                false,
                "older than the records",
            ),
            (
                vec![update("tidegate", &[namespace]), flux(&["spec"])],
                none(),
                true,
                "created by the planner",
            ),
        ];
        for (entries, annotations, expected, why) in rows {
            omits_namespace(object(&entries, &annotations), expected, why);
        }
    }

    /// The managed fields that are left after reading say the same.
    fn omits_namespace(mut object: Value, expected: bool, why: &str) {
        for _ in 0..2 {
            let claims = claims(&object, &mut Names::default());
            assert_eq!(claims.omits_namespace, expected, "{why}");
            trim_owners(&mut object);
        }
    }

    #[test]
    fn the_mark_of_an_inventory_adopts() {
        for (mark, tool) in INVENTORIES {
            check(&object(&[], &json!({mark: "x"})), &format!("{tool}|"), mark);
        }
    }

    #[test]
    fn what_an_ordinary_instance_records_is_not_kept() {
        let entries = [
            entry("tidegate", "Update", "", &["spec.configs", terms::INSTALLED_BY]),
            entry("registration", "Update", "status", &["status"]),
        ];
        let mut object = object(&entries, &json!({}));
        trim_owners(&mut object);
        assert_eq!(object.pointer("/metadata/managedFields"), None);
    }
}
