//! On which nodes pods run: the node selector and the tolerations of a deployment configuration.
//!
//! Each replaces the template's own independently of the other, and only when the configuration gives it; an empty one removes it.

use serde_json::Value;

use super::pod::Object;
use crate::size_budget::{SizeBudget, size};
use store::NodePlacement;

/// Applies the placement to a pod.
pub(super) fn place(pod: &mut Object, nodes: &NodePlacement, budget: &SizeBudget) {
    match &nodes.selector {
        None => {}
        // An empty selector is a word: any node will do.
        Some(selector) if selector.is_empty() => {
            pod.remove("nodeSelector");
        }
        Some(selector) => {
            let size = selector
                .iter()
                .map(|(key, value)| key.len().saturating_add(size(value)));
            if budget.take(size.fold(0, usize::saturating_add)) {
                pod.insert("nodeSelector".to_owned(), Value::Object(selector.clone()));
            }
        }
    }
    match &nodes.tolerations {
        None => {}
        // Likewise: the pods tolerate nothing.
        Some(tolerations) if tolerations.is_empty() => {
            pod.remove("tolerations");
        }
        Some(tolerations) => {
            let size = tolerations.iter().map(size).fold(0, usize::saturating_add);
            if budget.take(size) {
                pod.insert("tolerations".to_owned(), Value::Array(tolerations.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selector_and_tolerations_are_independent() {
        let toleration = |key: &str| json!([{"key": key, "operator": "Exists"}]);
        let own = json!({"nodeSelector": {"own": ""}, "tolerations": toleration("own")});
        let rows = [
            (json!(null), json!(null), own.clone()),
            (
                json!({"given": "1"}),
                json!(null),
                json!({"nodeSelector": {"given": "1"}, "tolerations": toleration("own")}),
            ),
            (
                json!(null),
                toleration("given"),
                json!({"nodeSelector": {"own": ""}, "tolerations": toleration("given")}),
            ),
            (json!({}), json!(null), json!({"tolerations": toleration("own")})),
            (json!(null), json!([]), json!({"nodeSelector": {"own": ""}})),
            (json!({}), json!([]), json!({})),
        ];
        for (selector, tolerations, expected) in rows {
            let nodes = NodePlacement {
                selector: selector.as_object().cloned(),
                tolerations: tolerations.as_array().cloned(),
            };
            let mut pod = own.as_object().unwrap().clone();
            place(&mut pod, &nodes, &SizeBudget::default());
            assert_eq!(Value::Object(pod), expected, "{selector} {tolerations}");
        }
    }
}
