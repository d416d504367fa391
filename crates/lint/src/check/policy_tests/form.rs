//! How an object of a file is addressed, and the question that the gate is asked about it.
//!
//! Decides the plural of a kind where it is not given: ours by their definitions, others by their looks. Never reads files.

use std::sync::LazyLock;

use serde_json::Value;

use admission::{Operation, Request, RequestContext, Webhook};

/// How an object is addressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectForm {
    group: String,
    version: String,
    kind: String,
    resource: String,
    namespace: String,
    name: String,
}

impl ObjectForm {
    /// Reads how an object is addressed; `plural` is the resource, where it is given.
    pub fn of(object: &Value, plural: Option<&str>) -> Self {
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (group, version) = text("/apiVersion")
            .split_once('/')
            .unwrap_or_else(|| ("", text("/apiVersion")));
        let kind = text("/kind");
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            resource: plural.map_or_else(|| resource(group, kind), ToOwned::to_owned),
            namespace: text("/metadata/namespace").to_owned(),
            name: text("/metadata/name").to_owned(),
        }
    }

    /// Returns the question about an object of this form, without the object.
    pub fn request<'a>(&'a self, operation: Operation, circumstances: RequestContext<'a>) -> Request<'a> {
        Request {
            webhook: Webhook::Mutate,
            operation,
            group: &self.group,
            version: &self.version,
            resource: &self.resource,
            kind: &self.kind,
            subresource: "",
            namespace: &self.namespace,
            name: &self.name,
            object: None,
            old: None,
            dry_run: false,
            circumstances,
        }
    }
}

/// Returns the plural name of a kind.
fn resource(group: &str, kind: &str) -> String {
    static OURS: LazyLock<Vec<(String, String, String)>> = LazyLock::new(|| {
        let definitions = api::crds().into_iter();
        definitions
            .map(|crd| (crd.spec.group, crd.spec.names.kind, crd.spec.names.plural))
            .collect()
    });
    let ours = OURS
        .iter()
        .find(|(known, name, _)| known == group && name == kind);
    if let Some((_, _, plural)) = ours {
        return plural.clone();
    }
    let lower = kind.to_lowercase();
    match lower.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if lower.ends_with(['s', 'x']) => format!("{lower}es"),
        _ => format!("{lower}s"),
    }
}
