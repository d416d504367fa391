//! Decoding what an agent says about a work of pre-delete hooks.
//!
//! Decides when a hook has run: a job is complete, a pod has succeeded. Looks at every manifest: one without feedback hides none.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::decode::read::annotation;
use crate::names::Names;
use crate::record::HookReport;
use crate::terms;
use api::work::ManifestCondition;

/// How one hook is.
enum Run {
    Running,
    Completed,
    Failed(String),
}

/// Returns the report if the work is one of hooks.
pub(crate) fn hook(
    object: &Value,
    addon: &str,
    metadata: &ObjectMeta,
    reported: &[&ManifestCondition],
    names: &mut Names,
) -> Option<Box<HookReport>> {
    if metadata.name.as_deref() != Some(&*terms::hook_work(addon)) {
        return None;
    }
    let manifests = object
        .pointer("/spec/workload/manifests")
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    let mut report = HookReport {
        of: names.share(annotation(metadata, terms::HOOK_OF).map_or("", String::as_str)),
        manifests,
        completed: 0,
        failure: names.share(""),
    };
    for manifest in reported {
        match run(manifest) {
            Run::Running => {}
            Run::Completed => report.completed = report.completed.saturating_add(1),
            Run::Failed(_) if !report.failure.is_empty() => {}
            Run::Failed(why) => report.failure = names.share(&why),
        }
    }
    Some(Box::new(report))
}

fn run(manifest: &ManifestCondition) -> Run {
    let place = &manifest.resource_meta;
    let values = manifest
        .status_feedback
        .iter()
        .flat_map(|feedback| &feedback.values);
    let said = |name: &str| {
        let value = values.clone().find(|value| value.name == name)?;
        value.field_value.string.as_deref()
    };
    let at = if place.namespace.is_empty() {
        place.name.clone()
    } else {
        format!("{}/{}", place.namespace, place.name)
    };
    match (place.group.as_str(), place.resource.as_str()) {
        ("batch", "jobs") if said("JobComplete") == Some("True") => Run::Completed,
        ("batch", "jobs") if said("JobFailed") == Some("True") => {
            let why = said("JobFailedMessage").unwrap_or("no reason is reported");
            Run::Failed(format!("job {at} has failed: {why}"))
        }
        ("", "pods") if said("PodPhase") == Some("Succeeded") => Run::Completed,
        ("", "pods") if said("PodPhase") == Some("Failed") => Run::Failed(format!("pod {at} has failed")),
        ("batch", "jobs") | ("", "pods") => Run::Running,
        // An object of another kind among the hooks does not run: it has no end to wait for.
        _ => Run::Completed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn decode(name: &str, statuses: &[Value]) -> Option<HookReport> {
        let manifests: Vec<Value> = statuses.iter().map(|_| json!({})).collect();
        let object = json!({"spec": {"workload": {"manifests": manifests}}});
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        };
        let parsed: Vec<ManifestCondition> = statuses
            .iter()
            .map(|status| serde_json::from_value(status.clone()).expect("a status"))
            .collect();
        let reported: Vec<&ManifestCondition> = parsed.iter().collect();
        hook(&object, "hello", &metadata, &reported, &mut Names::default()).map(|report| *report)
    }

    fn status(group: &str, resource: &str, values: &[(&str, &str)]) -> Value {
        let values: Vec<Value> = values
            .iter()
            .map(|(name, text)| json!({"name": name, "fieldValue": {"type": "String", "string": text}}))
            .collect();
        json!({"resourceMeta": {"group": group, "resource": resource, "namespace": "ns", "name": "bye"},
            "statusFeedback": {"values": values}, "conditions": []})
    }

    #[test]
    fn a_hook_has_run_when_its_job_is_complete_or_its_pod_has_succeeded() {
        for (group, resource, name, text, completed, failure) in [
            ("batch", "jobs", "JobComplete", "True", 1, ""),
            ("batch", "jobs", "JobComplete", "False", 0, ""),
            ("batch", "jobs", "JobSucceeded", "True", 0, ""),
            (
                "batch",
                "jobs",
                "JobFailed",
                "True",
                0,
                "job ns/bye has failed: no reason is reported",
            ),
            ("", "pods", "PodPhase", "Succeeded", 1, ""),
            ("", "pods", "PodPhase", "Running", 0, ""),
            ("", "pods", "PodPhase", "Failed", 0, "pod ns/bye has failed"),
        ] {
            let report = decode(
                "addon-hello-pre-delete",
                &[status(group, resource, &[(name, text)])],
            );
            let report = report.expect("a report");
            assert_eq!(
                (report.manifests, report.completed),
                (1, completed),
                "{name}={text}"
            );
            assert_eq!(&*report.failure, failure, "{name}={text}");
        }
    }

    #[test]
    fn a_manifest_without_feedback_hides_none_of_the_others() {
        let done = [("JobComplete", "True")];
        let report = decode(
            "addon-hello-pre-delete",
            &[status("batch", "jobs", &[]), status("batch", "jobs", &done)],
        );
        assert_eq!(
            report.map(|report| (report.manifests, report.completed)),
            Some((2, 1))
        );
    }

    #[test]
    fn other_works_have_no_hooks() {
        assert_eq!(decode("addon-hello-deploy-0", &[]), None);
        assert_eq!(decode("addon-hello-pre-delete-hosting-c1", &[]), None);
        assert_eq!(decode("addon-other-pre-delete", &[]), None);
    }
}
