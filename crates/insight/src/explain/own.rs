//! Ids that stand in messages and in no table: rules of users' own policies, and what is said about policies and reports.
//!
//! Decides how such an id is read. What a policy wants, only the policy can tell.

/// An explanation: what it is, and more about it.
pub(super) struct Words {
    pub(super) summary: String,
    pub(super) text: String,
}

/// Returns the explanation of an id; nothing when it is none of these.
pub(super) fn words(id: &str) -> Option<Words> {
    let fixed = |summary: &str, text: &str| {
        Some(Words {
            summary: summary.to_owned(),
            text: text.to_owned(),
        })
    };
    match id {
        "policy/compile" => fixed(
            "A policy among the checked files compiles.",
            "`tidegate check` compiles every AddOnPolicy in the files as the hub does, and checks the other files with those that \
             compile. A policy of Kubernetes' own kinds may use functions of a newer API server: then results that depend on it are \
             unknown. `tidegate policy lint` shows the position in the expression.",
        ),
        "policy/lint" => fixed(
            "A policy has no probable mistake.",
            "`tidegate policy lint` reports for a policy that compiles: unused names, fields that the definitions lack, parts without an \
             id, a field or a message, deep loops, and expired exceptions. The policy is enforced nevertheless.",
        ),
        "policy/former-group" => fixed(
            "A policy uses the current API group of its kind.",
            "AddOnPolicy was a kind of addon.open-cluster-management.io and is now one of tidegate.io. The former group is read for one \
             more release; a policy of the same name in the current group replaces it as soon as it compiles. docs/policies.md describes \
             the migration.",
        ),
        "audit/left-out" => fixed(
            "A report lists at most 200 findings.",
            "The most severe findings are listed, at most 20 per object; the summary counts all of them, and this line shows how many \
             are not listed.",
        ),
        _ => of_policy(id),
    }
}

fn of_policy(id: &str) -> Option<Words> {
    // Names of policies have no slash.
    let (policy, part) = id.strip_prefix("policy/")?.split_once('/')?;
    if policy.is_empty() || part.is_empty() || part.contains('/') {
        return None;
    }
    let what = if part == "match" {
        "the policy as a whole: a condition, a selector or params could not be evaluated".to_owned()
    } else {
        format!(
            "its part {part:?}: the id of a validation, schema or mutation, or its number when it has none"
        )
    };
    Some(Words {
        summary: format!("A rule of the policy {policy:?}, which is not part of this program."),
        text: format!(
            "The rule is {what}. Show it with `kubectl get addonpolicy {policy} -o yaml`, or in the folder that --policies names. \
             `validationActions` of the policy and the operator's enforcement file set what its findings do \
             ({{rule: \"policy/{policy}/*\", action: Warn}}); `exceptions` of the policy exempt single objects."
        ),
    })
}
