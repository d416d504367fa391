//! How a hub is asked whether its conversion loses anything, without writing to it.
//!
//! Decides the question and what answers count. The question is an add-on in `v1beta1` that is created with `dryRun=All`: the API
//! server converts it to what it stores and back before it answers. It keeps a field that only `v1alpha1` has in the annotation
//! that Tidegate's conversion reads and writes. A converter that carries it there and back writes the annotation again, in its own
//! form; one that does not know it returns the text as it was. Never asks by itself.

use serde_json::{Value, json};

use super::live::annotations;
use crate::conversion::{PROBE, Version};

/// The same as below but for one blank, which no conversion of ours writes.
const ASKED: &str = r#"{ "fields":[[["spec","addOnConfiguration"],{"crName":"tidegate-conversion-probe"}]]}"#;
const ANSWERED: &str =
    r#"{"fields":[[["spec","addOnConfiguration"],{"crName":"tidegate-conversion-probe"}]]}"#;

/// Returns the object to create with `dryRun=All`.
pub fn probe() -> Value {
    json!({
        "apiVersion": Version::V1beta1.api_version(),
        "kind": "ClusterManagementAddOn",
        "metadata": {
            "name": PROBE,
            "annotations": {Version::V1alpha1.kept_in(): ASKED},
        },
        "spec": {"installStrategy": {"type": "Manual"}},
    })
}

/// Tells from the answer whether what only `v1alpha1` has came through.
pub fn is_answered_by_tidegate(answer: &Value) -> bool {
    let kept = annotations(answer).and_then(|all| all.get(Version::V1alpha1.kept_in())?.as_str());
    // A hub's conversion signs what it writes.
    kept.is_some_and(|text| text.ends_with(ANSWERED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversion::{Extensions, convert};

    #[test]
    fn only_a_conversion_that_carries_the_field_answers_right() {
        let through = convert(
            convert(probe(), Version::V1alpha1, Extensions::Kept),
            Version::V1beta1,
            Extensions::Kept,
        );
        assert!(is_answered_by_tidegate(&through), "{through}");
        assert!(
            !is_answered_by_tidegate(&probe()),
            "a conversion that passes annotations on"
        );
        assert!(!is_answered_by_tidegate(&json!({"metadata": {}})));
        assert!(!is_answered_by_tidegate(&json!(null)));
        // A hub whose definition has no such field.
        let mut stored = convert(probe(), Version::V1alpha1, Extensions::Kept);
        let spec = stored.get_mut("spec").and_then(Value::as_object_mut);
        spec.expect("a spec").remove("addOnConfiguration");
        assert!(!is_answered_by_tidegate(&convert(
            stored,
            Version::V1beta1,
            Extensions::Kept
        )));
    }
}
