//! What an evaluation of a check says, as the status of the RolloutCheck.
//!
//! Decides how many failures in a row make a result `Failed`. Whatever could not be evaluated is `Unknown`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use kubernetes::field::cut;
use model::{CheckDoubt, PrometheusCheck};
use serde_json::{Value, json};
use store::{CheckRecord, Kind, Name};

use crate::controllers::resource;
use crate::controllers::runtime::raw::Raw;

/// Name under which the API server records our writes.
const FIELD_MANAGER: &str = "tidegate";
/// The longest message, in bytes.
const LONGEST: usize = 1024;
/// A result counts for so many intervals.
const COUNTS_FOR: i32 = 3;

/// Whether the expression is true, with the values; or why it is not known.
pub(super) type Evaluation = Result<(bool, BTreeMap<String, f64>), String>;

/// `Passed`, `Failed` or `Unknown`, and the whole status.
pub(super) type Found = (&'static str, Value);

/// Returns what an evaluation that began now says.
pub(super) fn found(
    record: &CheckRecord,
    check: &PrometheusCheck,
    evaluation: &Evaluation,
    now: Timestamp,
) -> Found {
    let before = match &record.result {
        Err(CheckDoubt::OtherSpec) => 0,
        Ok(_) | Err(_) => record.failures,
    };
    let (limit, expression) = (check.failure_limit, &check.expression);
    let (result, failures, message) = match evaluation {
        Ok((true, _)) => ("Passed", 0, "the expression is true".to_owned()),
        Ok((false, _)) => match before.saturating_add(1) {
            failures if failures >= limit => (
                "Failed",
                failures,
                format!("the expression is false: {expression}"),
            ),
            failures => {
                let message = format!(
                    "the expression is false for the {failures}. time of {limit} in a row: {expression}"
                );
                ("Unknown", failures, message)
            }
        },
        Err(why) => ("Unknown", before, why.clone()),
    };
    let lasts = SignedDuration::try_from(check.interval).unwrap_or(SignedDuration::MAX);
    let expires = now
        .saturating_add(lasts.saturating_mul(COUNTS_FOR))
        .unwrap_or(now);
    let values = evaluation.as_ref().map(|(_, values)| values).ok();
    let values: BTreeMap<&String, String> = values
        .into_iter()
        .flatten()
        .map(|(name, value)| (name, value.to_string()))
        .collect();
    let status = json!({
        "result": result,
        "message": cut(&message, LONGEST),
        "reportedAt": seconds(now),
        "expiresAt": seconds(expires),
        "observedGeneration": record.meta.generation,
        "failures": failures,
        "values": values,
    });
    (result, status)
}

fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Writes what was found; the API server refuses it for another object of the same name.
pub(super) async fn apply_status(
    client: &Client,
    name: &Name,
    record: &CheckRecord,
    status: &Value,
) -> kube::Result<()> {
    let api: Api<Raw> = Api::all_with(client.clone(), &resource(Kind::Check));
    let object = json!({
        "apiVersion": Kind::Check.api_version(),
        "kind": Kind::Check.address().kind,
        "metadata": {"name": &**name, "uid": &*record.meta.uid},
        "status": status,
    });
    let params = PatchParams::apply(FIELD_MANAGER).force();
    api.patch_status(name, &params, &Patch::Apply(object))
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::RolloutCheck;
    use std::time::Duration;

    fn said(limit: i64, before: i64, evaluation: &Evaluation) -> Value {
        let check = PrometheusCheck {
            endpoint: "main".to_owned(),
            queries: Vec::new(),
            expression: "errors < 0.01".to_owned(),
            interval: Duration::from_secs(10),
            timeout: Duration::from_secs(5),
            failure_limit: limit,
        };
        let record = CheckRecord {
            meta: store::Meta {
                uid: "u".into(),
                version: "1".into(),
                generation: 7,
                deleting: false,
            },
            check: Ok(RolloutCheck::External),
            result: Err(CheckDoubt::NoResult),
            failures: before,
        };
        found(
            &record,
            &check,
            evaluation,
            "2026-01-01T00:00:00.9Z".parse().expect("a time"),
        )
        .1
    }

    #[test]
    fn so_many_failures_in_a_row_make_a_result_failed() {
        let values = |value| BTreeMap::from([("errors".to_owned(), value)]);
        let (good, bad, unknown) = (
            Ok((true, values(0.0))),
            Ok((false, values(0.5))),
            Err("no response".to_owned()),
        );
        for (limit, before, evaluation, expected) in [
            (1, 0, &bad, ("Failed", 1)),
            (2, 0, &bad, ("Unknown", 1)),
            (2, 1, &bad, ("Failed", 2)),
            (2, 1, &unknown, ("Unknown", 1)),
            (2, 1, &good, ("Passed", 0)),
        ] {
            let status = said(limit, before, evaluation);
            assert_eq!(
                (&status["result"], &status["failures"]),
                (&json!(expected.0), &json!(expected.1))
            );
        }
        let status = said(1, 0, &bad);
        assert_eq!(status["reportedAt"], "2026-01-01T00:00:00Z");
        assert_eq!(status["expiresAt"], "2026-01-01T00:00:30Z");
        assert_eq!(status["message"], "the expression is false: errors < 0.01");
        assert_eq!(
            (&status["values"], &status["observedGeneration"]),
            (&json!({"errors": "0.5"}), &json!(7))
        );
    }
}
