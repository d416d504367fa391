//! Which object a manifest is: group, version, kind, plural, namespace, name. Plurals of unknown kinds are guessed as
//! English makes them, which holds for every kind that ships with Kubernetes.

use serde_json::Value;

use super::ObjectKey;
use crate::wire::ResourceMeta;

/// Returns what names the manifest, as far as it can be told.
pub(super) fn resource_meta(ordinal: usize, manifest: &Value) -> ResourceMeta {
    let text = |pointer: &str| {
        manifest
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let api_version = text("/apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let kind = text("/kind");
    ResourceMeta {
        ordinal: i32::try_from(ordinal).unwrap_or(i32::MAX),
        group: group.to_owned(),
        version: version.to_owned(),
        resource: plural(&kind),
        kind,
        name: text("/metadata/name"),
        namespace: text("/metadata/namespace"),
    }
}

/// Returns the key of the object in the virtual store, or what the manifest lacks.
pub(super) fn object_key(meta: &ResourceMeta) -> Result<ObjectKey, &'static str> {
    match (
        meta.version.is_empty(),
        meta.kind.is_empty(),
        meta.name.is_empty(),
    ) {
        (true, _, _) => Err("apiVersion is missing"),
        (_, true, _) => Err("kind is missing"),
        (_, _, true) => Err("metadata.name is missing"),
        (false, false, false) => Ok(ObjectKey {
            group: meta.group.clone(),
            resource: meta.resource.clone(),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
        }),
    }
}

fn plural(kind: &str) -> String {
    let singular = kind.to_ascii_lowercase();
    let Some(last) = singular.chars().next_back() else {
        return singular;
    };
    let before = singular.chars().rev().nth(1).unwrap_or_default();
    match (before, last) {
        _ if singular == "endpoints" => singular,
        ('a' | 'e' | 'o' | 'u', 'y') => format!("{singular}s"),
        (_, 'y') => format!("{}ies", singular.trim_end_matches('y')),
        (_, 's' | 'x' | 'z') | ('c' | 's', 'h') => format!("{singular}es"),
        _ => format!("{singular}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::plural;

    #[test]
    fn plurals_are_as_kubernetes_makes_them() {
        for (kind, wanted) in [
            ("Deployment", "deployments"),
            ("NetworkPolicy", "networkpolicies"),
            ("Ingress", "ingresses"),
            ("Endpoints", "endpoints"),
            ("EndpointSlice", "endpointslices"),
            ("StorageClass", "storageclasses"),
            ("Gateway", "gateways"),
            ("PodDisruptionBudget", "poddisruptionbudgets"),
            ("", ""),
        ] {
            assert_eq!(plural(kind), wanted);
        }
    }
}
