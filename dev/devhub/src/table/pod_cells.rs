//! Cells of pods.
//!
//! Decides in one word what the containers of a pod are doing, as the API server puts it.

use jiff::Timestamp;
use serde_json::Value;

use super::age::age;
use super::values::{list, number, size, text};
use super::workload_cells::{condition, or};

/// What the containers of a pod are doing.
pub(super) struct Doing {
    /// How many are ready.
    pub(super) ready: usize,
    /// In one word.
    pub(super) reason: String,
    restarts: i64,
    last: String,
}

/// Returns what the containers of a pod are doing.
pub(super) fn pod(pod: &Value) -> Doing {
    let phase = text(pod, "/status/phase");
    let mut doing = Doing {
        ready: 0,
        reason: or(text(pod, "/status/reason"), phase),
        restarts: 0,
        last: String::new(),
    };
    if !starting(pod, &mut doing) {
        running(pod, &mut doing);
    }
    let deleted = pod.pointer("/metadata/deletionTimestamp").is_some();
    if deleted && !matches!(phase, "Succeeded" | "Failed") {
        let lost = text(pod, "/status/reason") == "NodeLost";
        let word = if lost { "Unknown" } else { "Terminating" };
        word.clone_into(&mut doing.reason);
    }
    doing
}

fn ended(state: &Value) -> String {
    match (text(state, "/reason"), number(state, "/signal")) {
        ("", 0) => format!("ExitCode:{}", number(state, "/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// Looks at the containers that come first; tells whether one of them has not ended well yet.
fn starting(pod: &Value, doing: &mut Doing) -> bool {
    for (index, status) in list(pod, "/status/initContainerStatuses").iter().enumerate() {
        doing.restarts += number(status, "/restartCount");
        let stopped = status.pointer("/state/terminated");
        if let Some(state) = stopped {
            if number(state, "/exitCode") == 0 {
                continue;
            }
            doing.reason = format!("Init:{}", ended(state));
            return true;
        }
        let container = list(pod, "/spec/initContainers").get(index);
        let stays = container.is_some_and(|container| text(container, "/restartPolicy") == "Always");
        if stays && status.get("started") == Some(&Value::Bool(true)) {
            doing.ready += usize::from(status.get("ready") == Some(&Value::Bool(true)));
            continue;
        }
        let waits = text(status, "/state/waiting/reason");
        doing.reason = match waits {
            "" | "PodInitializing" => format!("Init:{index}/{}", size(pod, "/spec/initContainers")),
            reason => format!("Init:{reason}"),
        };
        return true;
    }
    false
}

fn running(pod: &Value, doing: &mut Doing) {
    let mut runs = false;
    doing.restarts = 0;
    for status in list(pod, "/status/containerStatuses").iter().rev() {
        doing.restarts += number(status, "/restartCount");
        let last = text(status, "/lastState/terminated/finishedAt");
        if *last > *doing.last {
            last.clone_into(&mut doing.last);
        }
        let waits = text(status, "/state/waiting/reason");
        if !waits.is_empty() {
            waits.clone_into(&mut doing.reason);
        } else if let Some(state) = status.pointer("/state/terminated") {
            doing.reason = ended(state);
        } else if status.get("ready") == Some(&Value::Bool(true))
            && status.pointer("/state/running").is_some()
        {
            runs = true;
            doing.ready += 1;
        }
    }
    if doing.reason == "Completed" && runs {
        let ready = condition(pod, "Ready") == "True";
        let word = if ready { "Running" } else { "NotReady" };
        word.clone_into(&mut doing.reason);
    }
}

/// Returns how often containers were started again, and how long ago the last one ended.
pub(super) fn restarts(object: &Value, now: Timestamp) -> String {
    let doing = pod(object);
    match age(&doing.last, now).filter(|_| doing.restarts > 0) {
        Some(ago) => format!("{} ({ago} ago)", doing.restarts),
        None => doing.restarts.to_string(),
    }
}

/// Returns how many of the further conditions of a pod hold.
pub(super) fn gates(pod: &Value) -> String {
    let gates = list(pod, "/spec/readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let holds = gates
        .iter()
        .filter(|gate| condition(pod, text(gate, "/conditionType")) == "True");
    format!("{}/{}", holds.count(), gates.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_say_in_one_word_what_they_do() {
        let waiting = json!({"state": {"waiting": {"reason": "ImagePullBackOff"}}});
        for (status, reason) in [
            (json!({"phase": "Pending"}), "Pending"),
            (
                json!({"phase": "Pending", "containerStatuses": [waiting]}),
                "ImagePullBackOff",
            ),
            (
                json!({"phase": "Pending", "initContainerStatuses": [{"state": {"running": {}}}]}),
                "Init:0/1",
            ),
            (
                json!({"phase": "Pending", "initContainerStatuses": [waiting]}),
                "Init:ImagePullBackOff",
            ),
            (json!({"phase": "Failed", "reason": "Evicted"}), "Evicted"),
            (
                json!({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]}),
                "ExitCode:3",
            ),
        ] {
            let object = json!({"spec": {"initContainers": [{}], "containers": [{}]}, "status": status});
            assert_eq!(pod(&object).reason, reason, "{status}");
        }
        let now = "2020-01-01T00:01:00Z".parse().expect("a time");
        let again = json!({"status": {"containerStatuses": [{"restartCount": 2, "lastState": {"terminated": {"finishedAt": "2020-01-01T00:00:00Z"}}}]}});
        assert_eq!(restarts(&again, now), "2 (60s ago)");
    }
}
