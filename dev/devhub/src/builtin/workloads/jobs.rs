//! Jobs and cron jobs.
//!
//! Decides what is filled in, which selector a job gets, what is refused and what cannot be changed; no clock rings here.

use schema::FieldError;
use serde_json::{Value, json};

use super::checks::{choice, not_negative};
use super::controllers::immutable;
use super::pods;
use crate::builtin::faults::{invalid, required, text};
use crate::builtin::members::{self, at, fill};

const CONTROLLER: &str = "batch.kubernetes.io/controller-uid";
const NAME: &str = "batch.kubernetes.io/job-name";

/// Fills in a job.
pub(super) fn fill_job(job: &mut Value) {
    if let Some(spec) = at(job, "/spec") {
        if spec.get("completions").is_none() && spec.get("parallelism").is_none() {
            fill(spec, "completions", json!(1));
        }
        fill(spec, "parallelism", json!(1));
        let limit = if spec.contains_key("backoffLimitPerIndex") {
            i32::MAX
        } else {
            6
        };
        fill(spec, "backoffLimit", json!(limit));
        fill(spec, "completionMode", json!("NonIndexed"));
        fill(spec, "suspend", json!(false));
        fill(spec, "manualSelector", json!(false));
        let replaces = if spec.contains_key("podFailurePolicy") {
            "Failed"
        } else {
            "TerminatingOrFailed"
        };
        fill(spec, "podReplacementPolicy", json!(replaces));
        fill_template(spec.get_mut("template"));
    }
    label_like_pods(job);
}

fn fill_template(template: Option<&mut Value>) {
    if let Some(pod) = template.and_then(|template| at(template, "/spec")) {
        pods::fill_spec(pod);
    }
}

/// A job without labels has those of its pods.
fn label_like_pods(job: &mut Value) {
    let labels = job.pointer("/spec/template/metadata/labels").cloned();
    if let (Some(labels), Some(metadata)) = (labels, at(job, "/metadata"))
        && metadata
            .get("labels")
            .is_none_or(|own| own.as_object().is_none_or(serde_json::Map::is_empty))
    {
        metadata.insert("labels".to_owned(), labels);
    }
}

/// Lets a new job select the pods that carry its uid.
pub(super) fn select(job: &mut Value) {
    if job.pointer("/spec/manualSelector") == Some(&json!(true)) {
        return;
    }
    let (uid, name) = (
        text(job, "/metadata/uid").to_owned(),
        text(job, "/metadata/name").to_owned(),
    );
    if let Some(template) = at(job, "/spec/template") {
        let metadata = template.entry("metadata").or_insert_with(|| json!({}));
        if let Value::Object(metadata) = metadata
            && let Value::Object(labels) = metadata.entry("labels").or_insert_with(|| json!({}))
        {
            for (label, value) in [
                (NAME, &name),
                ("job-name", &name),
                (CONTROLLER, &uid),
                ("controller-uid", &uid),
            ] {
                fill(labels, label, json!(value));
            }
        }
    }
    if let Some(spec) = at(job, "/spec") {
        fill(spec, "selector", json!({}));
        if let Some(Value::Object(selector)) = spec.get_mut("selector")
            && let Value::Object(labels) = selector.entry("matchLabels").or_insert_with(|| json!({}))
        {
            fill(labels, CONTROLLER, json!(uid));
        }
    }
    label_like_pods(job);
}

/// Fills in a cron job.
pub(super) fn fill_cron_job(cron: &mut Value) {
    let Some(spec) = at(cron, "/spec") else { return };
    fill(spec, "concurrencyPolicy", json!("Allow"));
    fill(spec, "suspend", json!(false));
    fill(spec, "successfulJobsHistoryLimit", json!(3));
    fill(spec, "failedJobsHistoryLimit", json!(1));
    fill_template(
        spec.get_mut("jobTemplate")
            .and_then(|job| job.pointer_mut("/spec/template")),
    );
}

/// Returns the faults of a job.
pub(super) fn validate_job(job: &Value) -> Vec<FieldError> {
    validate_spec(job.get("spec").unwrap_or(&Value::Null), "spec")
}

fn validate_spec(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for member in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
    ] {
        errors.extend(not_negative(spec, field, member));
    }
    errors.extend(choice(spec, field, "completionMode", &["NonIndexed", "Indexed"]));
    let template = spec.get("template").unwrap_or(&Value::Null);
    errors.extend(pods::validate_template(template, &format!("{field}.template")));
    if !matches!(text(template, "/spec/restartPolicy"), "OnFailure" | "Never") {
        errors.push(required(
            &format!("{field}.template.spec.restartPolicy"),
            "valid values: \"OnFailure\", \"Never\"",
        ));
    }
    errors
}

/// Returns the faults of a cron job.
pub(super) fn validate_cron_job(cron: &Value) -> Vec<FieldError> {
    let spec = cron.get("spec").unwrap_or(&Value::Null);
    let mut errors = Vec::new();
    let name = text(cron, "/metadata/name");
    if name.len() > 52 {
        errors.push(invalid(
            "metadata.name",
            name,
            "must be no more than 52 characters",
        ));
    }
    match text(spec, "/schedule") {
        "" => errors.push(required("spec.schedule", "")),
        schedule => {
            errors.extend(schedule_fault(schedule).map(|fault| invalid("spec.schedule", schedule, &fault)));
        }
    }
    errors.extend(choice(
        spec,
        "spec",
        "concurrencyPolicy",
        &["Allow", "Forbid", "Replace"],
    ));
    for member in [
        "startingDeadlineSeconds",
        "successfulJobsHistoryLimit",
        "failedJobsHistoryLimit",
    ] {
        errors.extend(not_negative(spec, "spec", member));
    }
    let job = spec.pointer("/jobTemplate/spec").unwrap_or(&Value::Null);
    errors.extend(validate_spec(job, "spec.jobTemplate.spec"));
    errors
}

/// Returns what is wrong with a schedule, as far as its form is concerned.
fn schedule_fault(schedule: &str) -> Option<String> {
    if let Some(word) = schedule.strip_prefix('@') {
        let known = [
            "yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly",
        ];
        let legal = known.contains(&word) || word.starts_with("every ");
        return (!legal).then(|| format!("unrecognized descriptor: {schedule}"));
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != 5 {
        return Some(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    let bad = |field: &&str| {
        !field
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "*/,-?#L".contains(letter))
    };
    fields.iter().copied().find(|field| bad(field)).map(|field| {
        format!("failed to parse int from {field}: strconv.Atoi: parsing \"{field}\": invalid syntax")
    })
}

/// Returns the faults of a change of a job.
pub(super) fn validate_change(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut before = old.clone();
    let suspended =
        old.pointer("/spec/suspend") == Some(&json!(true)) && old.pointer("/status/startTime").is_none();
    if suspended {
        // Where pods may run can be decided until the first one is made.
        for part in [
            "/spec/template/metadata/labels",
            "/spec/template/metadata/annotations",
        ] {
            let (parent, member) = part.rsplit_once('/').unwrap_or_default();
            carry(&mut before, new, parent, member);
        }
        for member in ["nodeSelector", "affinity", "tolerations", "schedulingGates"] {
            carry(&mut before, new, "/spec/template/spec", member);
        }
    }
    let mut fixed = vec![
        "/spec/selector",
        "/spec/template",
        "/spec/completionMode",
        "/spec/podFailurePolicy",
    ];
    if new.pointer("/spec/completionMode") != Some(&json!("Indexed")) {
        fixed.push("/spec/completions");
    }
    fixed.push("/spec/backoffLimitPerIndex");
    let faults = fixed
        .into_iter()
        .filter_map(|pointer| immutable(new, &before, pointer));
    faults.collect()
}

fn carry(object: &mut Value, from: &Value, parent: &str, member: &str) {
    if let (Some(object), Some(from)) = (object.pointer_mut(parent), from.pointer(parent)) {
        members::carry(object, from, member);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    fn job() -> Value {
        let mut job = json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}});
        fill_job(&mut job);
        select(&mut job);
        job
    }

    #[test]
    fn a_job_selects_the_pods_that_carry_its_uid() {
        let job = job();
        assert_eq!(job["spec"]["selector"], json!({"matchLabels": {CONTROLLER: "u"}}));
        let labels = json!({CONTROLLER: "u", "controller-uid": "u", NAME: "j", "job-name": "j"});
        assert_eq!(
            (
                &job["spec"]["template"]["metadata"]["labels"],
                &job["metadata"]["labels"]
            ),
            (&labels, &labels)
        );
        assert_eq!(validate_job(&job), []);
    }

    #[test]
    fn faults_read_as_the_server_writes_them() {
        let mut always = job();
        always["spec"]["template"]["spec"]["restartPolicy"] = json!("Always");
        assert_eq!(
            texts(&validate_job(&always)),
            ["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""]
        );
        for (schedule, faults) in [
            ("* * * *", 1),
            ("*/5 * * * *", 0),
            ("@daily", 0),
            ("@often", 1),
            ("", 1),
        ] {
            let cron = json!({"metadata": {"name": "c"}, "spec": {"schedule": schedule, "jobTemplate": {"spec": job()["spec"]}}});
            assert_eq!(validate_cron_job(&cron).len(), faults, "{schedule}");
        }
    }

    #[test]
    fn the_template_of_a_job_changes_only_before_it_starts() {
        let mut new = job();
        new["spec"]["template"]["spec"]["nodeSelector"] = json!({"a": "b"});
        assert_eq!(validate_change(&new, &job()).len(), 1);
        let mut waiting = job();
        waiting["spec"]["suspend"] = json!(true);
        assert_eq!(validate_change(&new, &waiting), []);
    }
}
