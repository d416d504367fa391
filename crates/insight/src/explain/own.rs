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
            "`tidegate check` holds every AddOnPolicy of the files to what the hub would say of it, and judges the other files by those \
             that compile. A policy of Kubernetes' own kinds may be right for an API server that can do more: then what hangs \
             on it is unknown. `tidegate policy lint` shows the place in the expression.",
        ),
        "policy/lint" => fixed(
            "A policy says what is probably meant.",
            "`tidegate policy lint` tells of a policy that compiles: names that nobody reads, fields that the definitions lack, parts without an id, \
             a field or a message, deep loops, and exceptions that have ended. The policy is in force all the same.",
        ),
        "policy/former-group" => fixed(
            "A policy is written in the group that its kind has now.",
            "AddOnPolicy was a kind of addon.open-cluster-management.io and is one of tidegate.io. The former group is read for one release \
             more; a policy of the same name in the present group takes its place as soon as it compiles. docs/policies.md says how to move.",
        ),
        "audit/left-out" => fixed(
            "A report lists at most 200 findings.",
            "The worst are listed, at most 20 of one object; the summary counts them all, and this line says how many more there are.",
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
            "It is about {what}. Read it with `kubectl get addonpolicy {policy} -o yaml`, or in the folder that --policies names. \
             What its findings do is said by `validationActions` of the policy, and by the operator's enforcement file \
             ({{rule: \"policy/{policy}/*\", action: Warn}}); `exceptions` of the policy excuse single objects."
        ),
    })
}
