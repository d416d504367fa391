//! Checks whether the webhooks are registered correctly, and whether requests reach them.
//!
//! The comparison of the configurations is in `webhooks`.

use std::collections::BTreeSet;

use admission::CONDITIONS_SINCE_MINOR;

use crate::doctor::facts::{Answered, HubFacts, Reading, Stage, WebhookLists};
use crate::doctor::finding::Finding;
use crate::doctor::webhooks::{WebhookFault, registered_names, webhook_faults};

use super::hub::keeps_conditions;
use super::place::{REGISTER, REGISTER_WITHOUT_CONDITIONS};

const REGISTERED: &str = "webhooks/registered";
const EDITED: &str = "webhooks/as-registered";
const CONDITIONS: &str = "webhooks/match-conditions";
const ADDED: &str = "webhooks/added";
const FOREIGN: &str = "webhooks/foreign";
const ANSWERS: &str = "webhooks/answers";
const PASSES: &str = "webhooks/passes";

/// The webhook that is called first, for all kinds.
const FIRST: &str = "mutate.gate.tidegate.io";

pub(super) fn registered(facts: &HubFacts) -> Vec<Finding> {
    let lists = match &facts.webhooks {
        Reading::NotAsked => return Vec::new(),
        Reading::Refused(why) => {
            let seen = format!("webhook configurations cannot be read: {why}");
            return vec![Finding::unknown(REGISTERED, seen)];
        }
        Reading::Seen(lists) => lists,
    };
    let conditions = keeps_conditions(&facts.kubernetes);
    let faults = webhook_faults(lists, conditions);
    let (mut missing, mut edited, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
    let (mut twice, mut added, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for fault in &faults {
        match fault {
            WebhookFault::Missing { .. } => missing.push(fault),
            WebhookFault::Edited {
                field: "matchConditions",
                ..
            } => dropped.push(fault),
            WebhookFault::Duplicate { .. } => twice.push(fault),
            WebhookFault::Edited { .. } | WebhookFault::Secret { .. } => edited.push(fault),
            WebhookFault::Added { .. } => added.push(fault),
            WebhookFault::Foreign { .. } => others.push(fault),
        }
    }
    let mut findings = vec![of_missing(&missing, facts.stage, lists)];
    if !dropped.is_empty() && !conditions {
        let seen = format!(
            "the hub drops match conditions of webhooks (Kubernetes before 1.{CONDITIONS_SINCE_MINOR}): {}",
            sentences(&dropped)
        );
        findings.push(
            Finding::error(CONDITIONS, seen)
                .fix("replace them by the form without match conditions: the webhook that fails closed blocks every change of an add-on \
                       while it is unavailable")
                .command(REGISTER_WITHOUT_CONDITIONS),
        );
    } else if !dropped.is_empty() {
        findings.push(
            Finding::error(CONDITIONS, sentences(&dropped))
                .fix("register them again: without match conditions the webhook that fails closed blocks all add-ons while it is \
                       unavailable")
                .command(REGISTER),
        );
    } else if conditions && missing.is_empty() {
        findings.push(Finding::ok(
            CONDITIONS,
            "the hub keeps the match conditions of every webhook",
        ));
    } else if missing.is_empty() {
        findings.push(Finding::note(
            CONDITIONS,
            "the hub drops match conditions, and the webhooks are registered in the form without them",
        ));
    }
    if !edited.is_empty() {
        findings.push(
            Finding::error(EDITED, sentences(&edited))
                .fix("register them again with the original flags (--url, --path-secret), and find out who edits them")
                .command(REGISTER),
        );
    } else if missing.is_empty() && twice.is_empty() {
        findings.push(Finding::ok(
            EDITED,
            "every webhook is registered as this program registers it",
        ));
    }
    findings.extend(of_twice(&twice));
    findings.extend(of_added(&added));
    let finding = if others.is_empty() {
        Finding::ok(FOREIGN, "no mutating webhook of another program matches add-ons")
    } else {
        Finding::warning(FOREIGN, sentences(&others))
            .fix("exclude the API groups of add-ons in the rules of that webhook: Tidegate and GitOps tools cannot distinguish its \
                   changes from those of a user")
            .command("kubectl get mutatingwebhookconfigurations")
    };
    findings.push(finding);
    findings
}

/// One finding for each: each is removed by a command of its own, the last of a list first.
fn of_added(added: &[&WebhookFault]) -> Vec<Finding> {
    let each = added.iter().rev().map(|fault| {
        Finding::error(ADDED, fault.sentence())
            .fix("remove it, and find out in the audit log of the API server who added it: it may have read or changed objects in the \
                   meantime")
            .command(fault.removal().unwrap_or_default())
    });
    each.collect()
}

fn of_twice(twice: &[&WebhookFault]) -> Option<Finding> {
    let (kind, configuration) = twice.first()?.configuration();
    Some(
        Finding::error(EDITED, sentences(twice))
            .fix("delete the second registration: every object is checked more than once, possibly by another webhook")
            .command(format!("kubectl delete {} {configuration}", kind.to_lowercase())),
    )
}

fn of_missing(missing: &[&WebhookFault], stage: Stage, lists: &WebhookLists) -> Finding {
    if missing.is_empty() {
        let places = crate::doctor::webhooks::endpoints(lists);
        let trusted: BTreeSet<&str> = places.iter().map(|place| place.ca_bundle.as_str()).collect();
        let texts: BTreeSet<String> = places
            .iter()
            .map(crate::doctor::webhooks::Endpoint::text)
            .collect();
        let count = texts.len();
        let texts = texts.into_iter().collect::<Vec<_>>().join(", ");
        return if count > 1 {
            let seen = format!("the webhooks have {count} addresses: {texts}");
            Finding::error(REGISTERED, seen)
                .fix("register all webhooks with the same address")
                .command(REGISTER)
        } else if trusted.len() > 1 {
            let seen = format!("the webhooks have the address {texts}, but different caBundles");
            Finding::error(REGISTERED, seen)
                .fix("put the CA of the webhook's certificate into caBundle of every webhook (docs/operate/certificates.md); if Tidegate maintains \
                       it, wait a moment")
                .command("kubectl get mutatingwebhookconfiguration/tidegate-mutate validatingwebhookconfiguration/tidegate-guard -o jsonpath='{range .items[*].webhooks[*]}{.name} {.clientConfig.caBundle}{\"\\n\"}{end}'")
        } else {
            Finding::ok(REGISTERED, format!("the hub calls the webhook at {texts}"))
        };
    }
    let seen = sentences(missing);
    match stage {
        Stage::BeforeStart => Finding::note(REGISTERED, seen)
            .fix("register them when the webhook is running")
            .command(REGISTER),
        Stage::Running => {
            let left: Vec<&str> = registered_names(lists).into_iter().collect();
            let effect = if left.is_empty() {
                "the hub does not call the webhook, and stores every object unchecked".to_owned()
            } else {
                format!("the hub calls only {}", left.join(" and "))
            };
            Finding::error(REGISTERED, seen)
                .fix(format!("register them: {effect}"))
                .command(REGISTER)
        }
    }
}

fn sentences(faults: &[&WebhookFault]) -> String {
    let all: Vec<String> = faults.iter().map(|fault| fault.sentence()).collect();
    all.join("; ")
}

/// Text in the API server's error for a webhook that it cannot call, the fix, and the command.
const CAUSES: [(&[&str], &str, &str); 6] = [
    (
        &["x509", "certificate", "tls:"],
        "put the CA of the webhook's certificate into caBundle of the webhooks (docs/operate/certificates.md)",
        "kubectl get validatingwebhookconfiguration tidegate-guard -o jsonpath='{.webhooks[0].clientConfig.caBundle}'",
    ),
    (
        &["no endpoints", "no service", "service \""],
        "start the webhook, and make its Service select its pods",
        "kubectl get endpointslices -n tidegate",
    ),
    (
        &["connection refused", "connect:", "tcp connect error", "Connect"],
        "start the webhook at the address in the webhook configurations",
        "kubectl get validatingwebhookconfiguration tidegate-guard -o jsonpath='{.webhooks[0].clientConfig}'",
    ),
    (
        &["deadline", "timeout", "timed out", "Timeout"],
        "allow connections from the API server to the webhook: NetworkPolicy, firewall, and routes from the control plane to pods",
        "kubectl get networkpolicies -n tidegate",
    ),
    (
        &["no such host", "lookup"],
        "make sure that the API server can resolve the name in the webhook configurations",
        "kubectl get validatingwebhookconfiguration tidegate-guard -o jsonpath='{.webhooks[0].clientConfig.url}'",
    ),
    (
        &[
            "unexpected response",
            "could not find the requested resource",
            "rejected our request",
            "Unauthorized",
            "orbidden",
        ],
        "set path and client certificate of the webhook configurations to those that the webhook requires (--path-secret, --client-ca)",
        "kubectl logs -n tidegate deployment/tidegate-gate",
    ),
];

pub(super) fn answers(facts: &HubFacts) -> Option<Finding> {
    let (code, words) = match &facts.answer {
        Reading::NotAsked => return None,
        Reading::Refused(why) => {
            return Some(
                Finding::unknown(ANSWERS, format!("the webhook could not be called through the hub: {why}"))
                    .fix("run doctor as a user who may create ClusterManagementAddOns: the object is sent with dryRun=All and never \
                           stored"),
            );
        }
        Reading::Seen(Answered::Stored) => {
            return Some(
                Finding::error(
                    ANSWERS,
                    "the hub would have stored an invalid ClusterManagementAddOn: it does not call the webhook",
                )
                .fix("register the webhooks, and do not run doctor as a member of tidegate:break-glass")
                .command(REGISTER),
            );
        }
        Reading::Seen(Answered::Refused(code, words)) => (code, words),
    };
    if words.contains("[rollout/min-success-time]") {
        let hook = between(words, "admission webhook \"", "\"").unwrap_or("a webhook");
        let seen =
            format!("an invalid object (dryRun=All) was rejected by {hook} with [rollout/min-success-time]");
        // The guard comes later, and refuses only what would stop OCM's add-on manager: nothing else was judged.
        return Some(if hook == FIRST {
            Finding::ok(ANSWERS, seen)
        } else {
            Finding::error(ANSWERS, format!("{seen}, and not by {FIRST}: objects for which {hook} is not called are stored unchecked"))
                .fix(format!("set path, address and caBundle of {FIRST} to those of the gate"))
                .command("kubectl get mutatingwebhookconfiguration tidegate-mutate -o jsonpath='{.webhooks[0].clientConfig}'")
        });
    }
    let unreached = words.contains("failed calling webhook") || words.contains("failed to call webhook");
    if unreached {
        let seen = format!("the API server cannot reach the webhook: {words}");
        let cause = CAUSES
            .into_iter()
            .find(|(marks, ..)| marks.iter().any(|mark| words.contains(mark)));
        let finding = Finding::error(ANSWERS, seen);
        return Some(match cause {
            Some((_, fix, command)) => finding.fix(fix).command(command),
            None => finding
                .fix("check the log of the webhook")
                .command("kubectl logs -n tidegate deployment/tidegate-gate"),
        });
    }
    let seen = format!("an invalid object was rejected with status {code}, but not by Tidegate: {words}");
    Some(
        Finding::error(ANSWERS, seen)
            .fix("find out who rejected it: another webhook or policy is called before Tidegate's, or another program answers at its \
                   address")
            .command("kubectl get validatingwebhookconfigurations,validatingadmissionpolicies"),
    )
}

/// Whether a valid object can be stored: a webhook or policy of another program may reject every object.
pub(super) fn passes(facts: &HubFacts) -> Option<Finding> {
    let (code, words) = match &facts.passage {
        Reading::NotAsked => return None,
        Reading::Refused(why) => {
            return Some(Finding::unknown(
                PASSES,
                format!("a valid object could not be sent: {why}"),
            ));
        }
        // What is stored unchecked says nothing about the webhook.
        Reading::Seen(Answered::Stored) if facts.answer == Reading::Seen(Answered::Stored) => return None,
        Reading::Seen(Answered::Stored) => {
            return Some(Finding::ok(PASSES, "a valid object (dryRun=All) is admitted"));
        }
        Reading::Seen(Answered::Refused(code, words)) => (code, words),
    };
    if between(words, "admission webhook \"", "\" denied")
        .is_some_and(|hook| hook.ends_with(".gate.tidegate.io"))
    {
        let seen = format!("the webhook rejects a minimal ClusterManagementAddOn: {words}");
        return Some(
            Finding::note(PASSES, seen)
                .fix("no action is necessary if a policy of this hub requires more fields"),
        );
    }
    let seen = format!("a valid ClusterManagementAddOn cannot be stored (status {code}): {words}");
    Some(
        Finding::error(PASSES, seen)
            .fix("fix or remove the webhook or policy that rejects it, such as a webhook that fails closed and cannot be reached")
            .command("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies"),
    )
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;
    use crate::doctor::webhooks::tests::registered as as_printed;
    use serde_json::json;

    fn with(lists: WebhookLists, stage: Stage) -> HubFacts {
        HubFacts {
            stage,
            webhooks: Reading::Seen(lists),
            ..HubFacts::default()
        }
    }

    fn severities(facts: &HubFacts) -> Vec<(&'static str, Severity)> {
        registered(facts)
            .iter()
            .map(|one| (one.id, one.severity))
            .collect()
    }

    #[test]
    fn missing_edited_and_foreign_webhooks_are_reported() {
        use Severity::{Error, Note, Ok, Warning};
        let sound = as_printed();
        assert_eq!(
            severities(&with(sound.clone(), Stage::Running)),
            [(REGISTERED, Ok), (CONDITIONS, Ok), (EDITED, Ok), (FOREIGN, Ok)]
        );
        let none = WebhookLists::default();
        assert_eq!(
            severities(&with(none.clone(), Stage::Running)),
            [(REGISTERED, Error), (FOREIGN, Ok)]
        );
        assert_eq!(severities(&with(none, Stage::BeforeStart))[0], (REGISTERED, Note));
        let mut dropped = sound.clone();
        dropped.validating[0]["webhooks"][0]["matchConditions"] = json!([]);
        assert_eq!(severities(&with(dropped, Stage::Running))[1], (CONDITIONS, Error));
        let mut edited = sound.clone();
        edited.mutating[0]["webhooks"][0]["failurePolicy"] = json!("Fail");
        assert_eq!(severities(&with(edited, Stage::Running))[2], (EDITED, Error));
        let mut apart = sound.clone();
        apart.mutating[0]["webhooks"][0]["clientConfig"]["service"]["name"] = json!("other");
        assert_eq!(severities(&with(apart, Stage::Running))[0], (REGISTERED, Error));
        let mut distrusted = sound.clone();
        distrusted.validating[0]["webhooks"][1]["clientConfig"]["caBundle"] = json!("b3RoZXI=");
        let told = registered(&with(distrusted, Stage::Running)).remove(0);
        assert_eq!(told.severity, Error);
        assert!(told.seen.contains("different caBundles"), "{}", told.seen);
        let mut half = sound.clone();
        half.validating.clear();
        let told = registered(&with(half, Stage::Running)).remove(0);
        assert_eq!(
            told.fix,
            "register them: the hub calls only mutate.gate.tidegate.io"
        );
        let mut foreign = sound;
        foreign.mutating.push(
            json!({"metadata": {"name": "mesh"}, "webhooks": [{"name": "a.mesh",
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "operations": ["*"]}]}]}),
        );
        assert_eq!(severities(&with(foreign, Stage::Running))[3], (FOREIGN, Warning));
        let hidden = HubFacts {
            webhooks: Reading::Refused("forbidden".to_owned()),
            ..HubFacts::default()
        };
        assert_eq!(severities(&hidden), [(REGISTERED, Severity::Unknown)]);
    }

    /// Asserts the severity of an answer, words of its message, and words of its fix.
    fn says(answer: Reading<Answered>, severity: Severity, words: &str, fix: &str) {
        let facts = HubFacts {
            answer,
            ..HubFacts::default()
        };
        let found = answers(&facts).expect("said");
        assert_eq!(found.severity, severity, "{}", found.seen);
        assert!(found.seen.contains(words), "{}", found.seen);
        assert!(found.fix.contains(fix), "{}: {}", found.seen, found.fix);
    }

    fn refused(words: &str) -> Reading<Answered> {
        Reading::Seen(Answered::Refused(500, words.to_owned()))
    }

    #[test]
    fn the_response_shows_whether_the_webhook_was_called() {
        let denied = "admission webhook \"mutate.gate.tidegate.io\" denied the request: spec: … [rollout/min-success-time]";
        says(
            refused(denied),
            Severity::Ok,
            "rejected by mutate.gate.tidegate.io",
            "",
        );
        let late = denied.replace("mutate.gate", "guard.gate");
        says(
            refused(&late),
            Severity::Error,
            "not by mutate.gate.tidegate.io",
            "caBundle of mutate.gate.tidegate.io",
        );
        let stored = Reading::Seen(Answered::Stored);
        says(stored, Severity::Error, "would have stored", "register");
        let other = refused("denied by another-policy");
        says(other, Severity::Error, "not by Tidegate", "who rejected it");
        let hidden = Reading::Refused("forbidden".to_owned());
        says(hidden, Severity::Unknown, "could not be called", "dryRun=All");
        assert_eq!(answers(&HubFacts::default()), None);
    }

    #[test]
    fn a_rejection_of_a_valid_object_is_reported() {
        let said = |passage: Reading<Answered>| {
            let facts = HubFacts {
                passage,
                ..HubFacts::default()
            };
            passes(&facts).map(|found| (found.severity, found.seen))
        };
        assert_eq!(said(Reading::NotAsked), None);
        let sound = said(Reading::Seen(Answered::Stored)).expect("said");
        assert_eq!(sound.0, Severity::Ok);
        let hidden = said(Reading::Refused("forbidden".to_owned())).expect("said");
        assert_eq!(hidden.0, Severity::Unknown);
        let policy = "admission webhook \"mutate.gate.tidegate.io\" denied the request: metadata.labels: Required value [team]";
        assert_eq!(said(refused(policy)).expect("said").0, Severity::Note);
        for other in [
            "Internal error occurred: failed calling webhook \"a.example\": failed to call webhook: connection refused",
            "admission webhook \"a.example\" denied the request: no",
            "ValidatingAdmissionPolicy 'x' with binding 'x' denied request: never",
            "Internal error occurred: failed calling webhook \"guard.gate.tidegate.io\": failed to call webhook: x509: unknown authority",
        ] {
            let (severity, seen) = said(refused(other)).expect("said");
            assert_eq!(severity, Severity::Error, "{seen}");
            assert!(seen.contains(other), "{seen}");
        }
    }

    #[test]
    fn a_hub_that_does_not_call_the_webhook_admits_nothing_by_it() {
        let stored = Reading::Seen(Answered::Stored);
        let facts = HubFacts {
            answer: stored.clone(),
            passage: stored,
            ..HubFacts::default()
        };
        assert_eq!(passes(&facts), None);
    }

    #[test]
    fn the_fix_depends_on_why_the_webhook_is_not_reached() {
        let call = "Internal error occurred: failed calling webhook \"guard.gate.tidegate.io\": failed to call webhook: Post \"https://x\": ";
        for (why, fix) in [
            (
                "tls: failed to verify certificate: x509: certificate signed by unknown authority",
                "caBundle",
            ),
            (
                "no endpoints available for service \"tidegate\"",
                "select its pods",
            ),
            (
                "dial tcp 10.0.0.1:443: connect: connection refused",
                "start the webhook at",
            ),
            ("context deadline exceeded", "NetworkPolicy"),
            ("dial tcp: lookup gate.example: no such host", "resolve the name"),
            (
                "the server could not find the requested resource",
                "--path-secret",
            ),
            ("something else", "log"),
        ] {
            says(
                refused(&format!("{call}{why}")),
                Severity::Error,
                "cannot reach",
                fix,
            );
        }
    }
}
