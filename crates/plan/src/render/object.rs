//! Reading manifests: their place in the template, their identity, and the plural name of their kind.
//!
//! Decides which manifests are Kubernetes objects at all, and which only run before a deletion.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fault::RenderFault;
use store::{Identity, terms};

/// Returns the text at a pointer, "" when there is none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns how a manifest is called in faults: its index and, as far as it has them, its kind and its name.
pub(super) fn place(index: usize, manifest: &Value) -> String {
    let identity = Identity::of(manifest).to_string();
    match identity.trim() {
        "" => format!("manifest {index}"),
        known => format!("manifest {index} ({known})"),
    }
}

/// Checks that a manifest has what every Kubernetes object has.
pub(super) fn check(manifest: &Value, place: &str) -> Result<(), RenderFault> {
    let fields = [
        ("/apiVersion", "apiVersion"),
        ("/kind", "kind"),
        ("/metadata/name", "metadata.name"),
    ];
    let absent = fields
        .iter()
        .find(|(pointer, _)| text(manifest, pointer).is_empty());
    absent.map_or(Ok(()), |(_, field)| {
        Err(RenderFault::NotAnObject(place.to_owned(), field))
    })
}

/// Jobs and pods that run before deletion must not run at the installation.
pub(crate) fn is_hook(manifest: &Value) -> bool {
    matches!(text(manifest, "/kind"), "Job" | "Pod")
        && (is_marked(manifest, "/metadata/annotations", terms::PRE_DELETE)
            || is_marked(manifest, "/metadata/labels", terms::PRE_DELETE))
}

/// Returns whether a manifest has a label or an annotation, whatever its value is.
pub(super) fn is_marked(manifest: &Value, pointer: &str, key: &str) -> bool {
    manifest
        .pointer(pointer)
        .is_some_and(|keys| keys.get(key).is_some())
}

/// Names one object as works do: group, plural, namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identifier {
    pub group: String,
    pub resource: String,
    pub namespace: String,
    pub name: String,
}

impl Identifier {
    /// Reads the form that works carry.
    pub(super) fn read(value: &Value) -> Self {
        let text = |pointer| text(value, pointer).to_owned();
        Self {
            group: text("/group"),
            resource: text("/resource"),
            namespace: text("/namespace"),
            name: text("/name"),
        }
    }

    /// Returns the form that works carry.
    pub(super) fn render(&self) -> Value {
        json!({"group": self.group, "resource": self.resource, "namespace": self.namespace, "name": self.name})
    }
}

/// The plural names of kinds, as far as the template itself defines them.
#[derive(Debug, Default)]
pub(super) struct Plurals(BTreeMap<(String, String), String>);

impl Plurals {
    /// Collects the definitions among the manifests.
    pub(super) fn of<'a>(manifests: impl Iterator<Item = &'a Value>) -> Self {
        let definitions = manifests.filter(|one| text(one, "/kind") == "CustomResourceDefinition");
        let pair = |one: &Value| {
            let own = |pointer| text(one, pointer).to_owned();
            (
                (own("/spec/group"), own("/spec/names/kind")),
                own("/spec/names/plural"),
            )
        };
        Self(
            definitions
                .map(pair)
                .filter(|(_, plural)| !plural.is_empty())
                .collect(),
        )
    }

    /// Returns how works name the object. A kind that the template does not define gets the usual English plural.
    pub(super) fn identify(&self, of: &Identity) -> Identifier {
        let known = self.0.get(&(of.group.clone(), of.kind.clone()));
        Identifier {
            group: of.group.clone(),
            resource: known.cloned().unwrap_or_else(|| plural(&of.kind)),
            namespace: of.namespace.clone(),
            name: of.name.clone(),
        }
    }
}

fn plural(kind: &str) -> String {
    let lower = kind.to_ascii_lowercase();
    let hisses = ["s", "x", "z", "ch", "sh"];
    let vowels = ["ay", "ey", "oy", "uy"];
    match lower.strip_suffix('y') {
        _ if lower == "endpoints" => lower,
        Some(stem) if !vowels.iter().any(|end| lower.ends_with(end)) => format!("{stem}ies"),
        None if hisses.iter().any(|end| lower.ends_with(end)) => format!("{lower}es"),
        Some(_) | None => format!("{lower}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_are_the_usual_ones() {
        let rows = [
            ("Deployment", "deployments"),
            ("NetworkPolicy", "networkpolicies"),
            ("Gateway", "gateways"),
            ("Ingress", "ingresses"),
            ("Endpoints", "endpoints"),
            ("StorageClass", "storageclasses"),
            ("Mesh", "meshes"),
        ];
        for (kind, expected) in rows {
            assert_eq!(plural(kind), expected, "{kind}");
        }
    }

    #[test]
    fn a_definition_in_the_template_knows_the_plural_of_its_kind() {
        let definition = json!({"kind": "CustomResourceDefinition",
            "spec": {"group": "example.com", "names": {"kind": "Sheep", "plural": "sheep"}}});
        let object = json!({"apiVersion": "example.com/v1", "kind": "Sheep", "metadata": {"name": "dolly"}});
        let identity = Identity::of(&object);
        let identify = |plurals: Plurals| plurals.identify(&identity).resource;
        assert_eq!(identify(Plurals::of([&definition].into_iter())), "sheep");
        assert_eq!(identify(Plurals::default()), "sheeps");
    }

    #[test]
    fn only_jobs_and_pods_are_hooks() {
        let marked =
            |kind: &str| json!({"kind": kind, "metadata": {"annotations": {(terms::PRE_DELETE): ""}}});
        assert!(is_hook(&marked("Job")));
        assert!(is_hook(&marked("Pod")));
        assert!(!is_hook(&marked("Deployment")));
        assert!(is_hook(
            &json!({"kind": "Job", "metadata": {"labels": {(terms::PRE_DELETE): "x"}}})
        ));
        assert!(!is_hook(&json!({"kind": "Job", "metadata": {}})));
    }

    #[test]
    fn a_place_says_as_much_as_is_known() {
        let manifest = json!({"kind": "ConfigMap", "metadata": {"name": "x", "namespace": "n"}});
        assert_eq!(place(3, &manifest), "manifest 3 (ConfigMap n/x)");
        assert_eq!(place(3, &json!({})), "manifest 3");
        assert_eq!(place(3, &json!([1])), "manifest 3");
    }
}
