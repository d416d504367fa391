//! Whether the shipped accounts have more rights than they need, and could take over the hub with them.
//!
//! Decides which left-over rights are an error. What each account needs is in the table of calls.

use serde_json::Value;

use crate::doctor::calls::Account;
use crate::doctor::facts::{Confinement, HubFacts, Reading};
use crate::doctor::finding::{Finding, several};
use crate::doctor::rights::Right;

const SEPARATED: &str = "rights/separated";
const IN_CLUSTERS: &str = "rights/in-clusters";

/// The policy of `registration-everywhere-policy.yaml`, and its binding.
const POLICY: &str = "tidegate-stays-in-clusters";
const APPLY_POLICY: &str = "kubectl apply -f manifests/rbac/registration-everywhere-policy.yaml";
const UNBIND: &str = "kubectl delete clusterrolebinding tidegate-cluster";

fn user(confinement: &Confinement, account: Account) -> String {
    format!(
        "system:serviceaccount:{}:{}",
        confinement.namespace,
        account.name()
    )
}

/// Returns which accounts may change the webhooks, or have the webhook's certificate, and need not.
pub(super) fn separated(facts: &HubFacts) -> Vec<Finding> {
    let found = match &facts.confinement {
        Reading::NotAsked => return Vec::new(),
        Reading::Refused(why) => {
            let seen = format!("the permissions of Tidegate's accounts cannot be read: {why}");
            return vec![Finding::unknown(SEPARATED, seen)];
        }
        Reading::Seen(found) => found,
    };
    let mut findings = Vec::new();
    for account in Account::ALL {
        let rights = found.excess.iter().filter(|(of, _)| *of == account);
        let rights: Vec<&Right> = rights.map(|(_, right)| right).collect();
        let Some(first) = rights.first() else { continue };
        let words: Vec<String> = rights.iter().map(|right| right.words()).collect();
        let named = several(&words, usize::MAX);
        let user = user(found, account);
        findings.push(if account == Account::Controllers && found.is_one_process {
            let seen = format!(
                "one process has the permissions of the webhook, the controllers and the certificate process; {user} has permission to: \
                 {named}"
            );
            Finding::note(SEPARATED, seen).fix(
                "no action is necessary for a small hub; for separate accounts install two workloads, or use cert-manager for the \
                 certificate",
            )
        } else {
            let seen = format!("{user} has permissions that it does not require: {named}");
            Finding::error(SEPARATED, seen)
                .fix("apply the manifests of this version again, then delete the binding that still grants the permission: with it, \
                       the account can get every other permission on the hub")
                .command(format!("kubectl auth can-i {} --as={user}", first.words()))
        });
    }
    if findings.is_empty() {
        let seen = "only the account of the certificate process may change the webhook configurations and write their certificate";
        findings.push(Finding::ok(SEPARATED, seen));
    }
    findings
}

/// Returns whether the controllers are confined to namespaces of clusters.
pub(super) fn in_clusters(facts: &HubFacts) -> Option<Finding> {
    let Reading::Seen(found) = &facts.confinement else {
        return None;
    };
    let user = user(found, Account::Controllers);
    if !found.is_bound_everywhere {
        let seen = "the controllers write Roles, RoleBindings and ServiceAccounts only in namespaces that have a RoleBinding for them";
        return Some(Finding::ok(IN_CLUSTERS, seen));
    }
    let (Some(policy), Some(binding)) = (&found.policy, &found.policy_binding) else {
        let seen = format!(
            "{user} has a ClusterRoleBinding, and no policy {POLICY} limits the account: it can create a token of any service account"
        );
        return Some(
            Finding::error(IN_CLUSTERS, seen)
                .fix("delete the binding, and bind tidegate-cluster in the namespace of each cluster; or, with Kubernetes 1.30 or \
                       newer, apply the policy")
                .command(UNBIND),
        );
    };
    let flaws = flaws(policy, binding, &user);
    Some(if flaws.is_empty() {
        let seen = format!(
            "{user} has a ClusterRoleBinding, and the policy {POLICY} limits it to cluster namespaces"
        );
        Finding::ok(IN_CLUSTERS, seen)
    } else {
        let seen = format!("the policy {POLICY} does not limit {user}: {}", flaws.join("; "));
        Finding::error(IN_CLUSTERS, seen)
            .fix("apply the policy of this version again, with the namespace of this installation")
            .command(APPLY_POLICY)
    })
}

/// Returns the fields by which the policy does not limit the account.
fn flaws(policy: &Value, binding: &Value, user: &str) -> Vec<String> {
    let text = |of: &Value, at: &str| {
        of.pointer(at)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let list = |of: &Value, at: &str| {
        of.pointer(at)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let mut flaws = Vec::new();
    if text(policy, "/spec/failurePolicy") == "Ignore" {
        flaws.push("spec.failurePolicy is Ignore".to_owned());
    }
    if !list(binding, "/spec/validationActions").contains(&Value::from("Deny")) {
        flaws.push("spec.validationActions of its binding has no Deny".to_owned());
    }
    if binding.pointer("/spec/matchResources").is_some() {
        flaws.push("its binding has spec.matchResources, which excludes objects".to_owned());
    }
    let conditions = list(policy, "/spec/matchConditions");
    let names_user = |condition: &Value| text(condition, "/expression").contains(&format!("'{user}'"));
    if !conditions.iter().all(names_user) {
        flaws.push("spec.matchConditions names another account".to_owned());
    }
    let rules = list(policy, "/spec/matchConstraints/resourceRules");
    let covers = |resource: &str, operation: &str| {
        let is_in = |rule: &Value, at: &str, word: &str| {
            let words = list(rule, at);
            words.contains(&Value::from(word)) || words.contains(&Value::from("*"))
        };
        let mut rules = rules.iter();
        rules.any(|rule| is_in(rule, "/resources", resource) && is_in(rule, "/operations", operation))
    };
    let asked = ["serviceaccounts", "roles", "rolebindings"];
    let asked = asked.into_iter().flat_map(|resource| {
        let operations = ["CREATE", "UPDATE", "DELETE"].into_iter();
        operations.map(move |operation| (resource, operation))
    });
    let left_out: Vec<String> = asked
        .chain([("serviceaccounts/token", "CREATE")])
        .filter(|(resource, operation)| !covers(resource, operation))
        .map(|(resource, operation)| format!("{operation} of {resource}"))
        .collect();
    if !left_out.is_empty() {
        flaws.push(format!("it does not match {}", left_out.join(", ")));
    }
    if list(policy, "/spec/validations").is_empty() {
        flaws.push("it has no spec.validations".to_owned());
    }
    flaws
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;
    use serde_json::json;

    fn facts(confinement: Confinement) -> HubFacts {
        HubFacts {
            confinement: Reading::Seen(Confinement {
                namespace: "tidegate".to_owned(),
                ..confinement
            }),
            ..HubFacts::default()
        }
    }

    fn left_over() -> Confinement {
        let rights = Account::Controllers.must_not_have().into_iter();
        Confinement {
            excess: rights.map(|right| (Account::Controllers, right)).collect(),
            ..Confinement::default()
        }
    }

    #[test]
    fn a_right_over_webhooks_that_is_left_over_is_an_error_and_in_one_process_a_note() {
        let sound = separated(&facts(Confinement::default()));
        assert_eq!(sound[0].severity, Severity::Ok);
        let found = separated(&facts(left_over()));
        assert_eq!((found.len(), found[0].severity), (1, Severity::Error));
        let user = "system:serviceaccount:tidegate:tidegate-controllers";
        assert!(
            found[0]
                .seen
                .starts_with(&format!("{user} has permissions that it does not require: ")),
            "{}",
            found[0].seen
        );
        assert!(
            found[0].seen.contains("patch mutatingwebhookconfigurations"),
            "{}",
            found[0].seen
        );
        assert!(
            found[0].command.ends_with(&format!("--as={user}")),
            "{}",
            found[0].command
        );
        let one = Confinement {
            is_one_process: true,
            ..left_over()
        };
        assert_eq!(separated(&facts(one))[0].severity, Severity::Note);
        let hidden = HubFacts {
            confinement: Reading::Refused("forbidden".to_owned()),
            ..HubFacts::default()
        };
        assert_eq!(separated(&hidden)[0].severity, Severity::Unknown);
        assert!(separated(&HubFacts::default()).is_empty());
    }

    fn shipped() -> [Value; 2] {
        let text = include_str!("../../../../../manifests/rbac/registration-everywhere-policy.yaml");
        let all: Vec<Value> = serde_saphyr::from_multiple(text).expect("YAML");
        let [policy, binding] = all.try_into().expect("two objects");
        [policy, binding]
    }

    fn bound(policy: Option<Value>, binding: Option<Value>) -> Finding {
        in_clusters(&facts(Confinement {
            is_bound_everywhere: true,
            policy,
            policy_binding: binding,
            ..Confinement::default()
        }))
        .expect("a finding")
    }

    #[test]
    fn a_cluster_role_binding_needs_the_policy() {
        let confined = in_clusters(&facts(Confinement::default())).expect("a finding");
        assert_eq!(confined.severity, Severity::Ok);
        let [policy, binding] = shipped();
        let sound = bound(Some(policy.clone()), Some(binding.clone()));
        assert_eq!(sound.severity, Severity::Ok, "{}", sound.seen);
        for (policy, binding) in [(None, None), (Some(policy), None), (None, Some(binding))] {
            let open = bound(policy, binding);
            assert_eq!(open.severity, Severity::Error);
            assert!(
                open.seen.contains("a token of any service account"),
                "{}",
                open.seen
            );
            assert_eq!(open.command, UNBIND);
        }
    }

    #[test]
    fn a_policy_that_does_not_limit_the_account_is_reported_field_by_field() {
        let [policy, binding] = shipped();
        let changes: [(&str, Value, &str); 4] = [
            ("/spec/failurePolicy", json!("Ignore"), "failurePolicy is Ignore"),
            (
                "/spec/matchConditions/0/expression",
                json!("request.userInfo.username == 'system:serviceaccount:other:tidegate-controllers'"),
                "another account",
            ),
            (
                "/spec/matchConstraints/resourceRules/0/operations",
                json!(["CREATE", "UPDATE"]),
                "DELETE of roles, DELETE of rolebindings",
            ),
            ("/spec/validations", json!([]), "no spec.validations"),
        ];
        for (at, value, words) in changes {
            let mut edited = policy.clone();
            *edited.pointer_mut(at).expect(at) = value;
            let found = bound(Some(edited), Some(binding.clone()));
            assert_eq!(found.severity, Severity::Error, "{at}");
            assert!(found.seen.contains(words), "{at}: {}", found.seen);
        }
        let mut audited = binding;
        audited["spec"]["validationActions"] = json!(["Audit"]);
        audited["spec"]["matchResources"] = json!({"namespaceSelector": {}});
        let found = bound(Some(policy), Some(audited));
        assert!(
            found
                .seen
                .contains("no Deny; its binding has spec.matchResources"),
            "{}",
            found.seen
        );
    }
}
