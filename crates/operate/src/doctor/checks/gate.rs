//! The webhooks: whether they are registered as they should be, and whether a question reaches the gate.
//!
//! Decides what an answer through the API server shows. Never decides what is compared; `webhooks` does.

use std::collections::BTreeSet;

use crate::doctor::facts::{Answered, HubFacts, Reading, Stage, WebhookLists};
use crate::doctor::finding::Finding;
use crate::doctor::webhooks::{WebhookFault, webhook_faults};
use kubernetes::field::counted;

use super::hub::keeps_conditions;
use super::place::REGISTER;

const REGISTERED: &str = "webhooks/registered";
const EDITED: &str = "webhooks/as-registered";
const CONDITIONS: &str = "webhooks/match-conditions";
const ADDED: &str = "webhooks/added";
const FOREIGN: &str = "webhooks/foreign";
const ANSWERS: &str = "webhooks/answers";
const PASSES: &str = "webhooks/passes";

/// The webhook that is asked first, and about everything.
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
    if !dropped.is_empty() {
        findings.push(
            Finding::error(CONDITIONS, sentences(&dropped))
                .cure("register them again: without its conditions the webhook that fails closed holds up every add-on while the gate is away")
                .command(REGISTER),
        );
    } else if conditions && missing.is_empty() {
        findings.push(Finding::ok(
            CONDITIONS,
            "the hub keeps the match conditions of every webhook",
        ));
    }
    if !edited.is_empty() {
        findings.push(
            Finding::error(EDITED, sentences(&edited))
                .cure("register them again with the flags of the first time (--url, --path-secret), and ask who edits them")
                .command(REGISTER),
        );
    } else if missing.is_empty() && twice.is_empty() {
        findings.push(Finding::ok(
            EDITED,
            "every webhook is as this program registers it",
        ));
    }
    findings.extend(of_twice(&twice));
    findings.extend(of_added(&added));
    let finding = if others.is_empty() {
        Finding::ok(FOREIGN, "no mutating webhook of others is asked about add-ons")
    } else {
        Finding::warning(FOREIGN, sentences(&others))
            .cure("exclude the groups of add-ons in the rules of that webhook: what it changes, Tidegate and GitOps tools take for somebody's wish")
            .command("kubectl get mutatingwebhookconfigurations")
    };
    findings.push(finding);
    findings
}

/// One finding for each: each is removed by a command of its own, the last of a list first.
fn of_added(added: &[&WebhookFault]) -> Vec<Finding> {
    let each = added.iter().rev().map(|fault| {
        Finding::error(ADDED, fault.sentence())
            .cure("remove it, and find out in the audit log of the API server who added it: it may have read or changed what was written meanwhile")
            .command(fault.removal().unwrap_or_default())
    });
    each.collect()
}

fn of_twice(twice: &[&WebhookFault]) -> Option<Finding> {
    let (kind, configuration) = twice.first()?.configuration();
    Some(
        Finding::error(EDITED, sentences(twice))
            .cure("take the second registration away: every object is judged more than once, and by a gate that may be another one")
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
            let seen = format!("the webhooks name {}: {texts}", counted(count, "place"));
            Finding::error(REGISTERED, seen)
                .cure("let all webhooks name one gate")
                .command(REGISTER)
        } else if trusted.len() > 1 {
            let seen = format!("the webhooks name {texts}, and caBundle is not the same in all of them");
            Finding::error(REGISTERED, seen)
                .cure("put the authority of the gate's certificate into caBundle of every webhook (certs/README.md); one that Tidegate keeps is there a moment later")
                .command("kubectl get mutatingwebhookconfiguration/tidegate-mutate validatingwebhookconfiguration/tidegate-guard -o jsonpath='{range .items[*].webhooks[*]}{.name} {.clientConfig.caBundle}{\"\\n\"}{end}'")
        } else {
            Finding::ok(REGISTERED, format!("the hub asks the gate at {texts}"))
        };
    }
    let seen = sentences(missing);
    match stage {
        Stage::BeforeStart => Finding::note(REGISTERED, seen)
            .cure("register them when the gate answers")
            .command(REGISTER),
        Stage::Running => Finding::error(REGISTERED, seen)
            .cure("register them: the hub does not ask the gate, and stores whatever it is given")
            .command(REGISTER),
    }
}

fn sentences(faults: &[&WebhookFault]) -> String {
    let all: Vec<String> = faults.iter().map(|fault| fault.sentence()).collect();
    all.join("; ")
}

/// What the API server says of a webhook that it cannot call, the reason, and the cure.
const CAUSES: [(&[&str], &str, &str); 6] = [
    (
        &["x509", "certificate", "tls:"],
        "put the authority of the gate's certificate into caBundle of the webhooks (certs/README.md)",
        "kubectl get validatingwebhookconfiguration tidegate-guard -o jsonpath='{.webhooks[0].clientConfig.caBundle}'",
    ),
    (
        &["no endpoints", "no service", "service \""],
        "start the gate, and let its Service select its pods",
        "kubectl get endpointslices -n tidegate",
    ),
    (
        &["connection refused", "connect:", "tcp connect error", "Connect"],
        "start the gate at the address that the webhooks name",
        "kubectl get validatingwebhookconfiguration tidegate-guard -o jsonpath='{.webhooks[0].clientConfig}'",
    ),
    (
        &["deadline", "timeout", "timed out", "Timeout"],
        "let the API server reach the gate: NetworkPolicy, firewall and routes of the control plane to pods",
        "kubectl get networkpolicies -n tidegate",
    ),
    (
        &["no such host", "lookup"],
        "let the API server resolve the name that the webhooks have",
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
        "let path and client certificate of the webhooks be those that the gate asks for (--path-secret, --client-ca)",
        "kubectl logs -n tidegate deployment/tidegate-gate",
    ),
];

pub(super) fn answers(facts: &HubFacts) -> Option<Finding> {
    let (code, words) = match &facts.answer {
        Reading::NotAsked => return None,
        Reading::Refused(why) => {
            return Some(
                Finding::unknown(ANSWERS, format!("nobody could ask the gate through the hub: {why}"))
                    .cure("run doctor as somebody who may create ClusterManagementAddOns: the object is sent with dryRun=All and never stored"),
            );
        }
        Reading::Seen(Answered::Stored) => {
            return Some(
                Finding::error(
                    ANSWERS,
                    "the hub would have stored a faulty ClusterManagementAddOn: it does not ask the gate",
                )
                .cure("register the webhooks, and do not run doctor as a member of tidegate:break-glass")
                .command(REGISTER),
            );
        }
        Reading::Seen(Answered::Refused(code, words)) => (code, words),
    };
    if words.contains("[rollout/min-success-time]") {
        let hook = between(words, "admission webhook \"", "\"").unwrap_or("a webhook");
        let seen = format!(
            "a faulty object (dryRun=All) came back refused by {hook} with [rollout/min-success-time]"
        );
        // The guard comes later, and refuses only what would stop OCM's add-on manager: nothing else was judged.
        return Some(if hook == FIRST {
            Finding::ok(ANSWERS, seen)
        } else {
            Finding::error(ANSWERS, format!("{seen}, and not by {FIRST}: all that {hook} is not asked about is stored unseen"))
                .cure("let path, address and caBundle of that webhook be those of the gate")
                .command("kubectl get mutatingwebhookconfiguration tidegate-mutate -o jsonpath='{.webhooks[0].clientConfig}'")
        });
    }
    let unreached = words.contains("failed calling webhook") || words.contains("failed to call webhook");
    if unreached {
        let seen = format!("the API server cannot reach the gate: {words}");
        let cause = CAUSES
            .into_iter()
            .find(|(marks, ..)| marks.iter().any(|mark| words.contains(mark)));
        let finding = Finding::error(ANSWERS, seen);
        return Some(match cause {
            Some((_, cure, command)) => finding.cure(cure).command(command),
            None => finding
                .cure("read the gate's log")
                .command("kubectl logs -n tidegate deployment/tidegate-gate"),
        });
    }
    let seen = format!("a faulty object was refused with {code}, and not in the gate's words: {words}");
    Some(
        Finding::error(ANSWERS, seen)
            .cure("find out who refused it: another webhook or policy comes before the gate, or what answers is no gate of Tidegate")
            .command("kubectl get validatingwebhookconfigurations,validatingadmissionpolicies"),
    )
}

/// Whether what is right may be stored: others may stand behind the gate, and refuse everything.
pub(super) fn passes(facts: &HubFacts) -> Option<Finding> {
    let (code, words) = match &facts.passage {
        Reading::NotAsked => return None,
        Reading::Refused(why) => {
            return Some(Finding::unknown(
                PASSES,
                format!("nobody could send a sound object: {why}"),
            ));
        }
        Reading::Seen(Answered::Stored) => {
            return Some(Finding::ok(PASSES, "a sound object (dryRun=All) may be stored"));
        }
        Reading::Seen(Answered::Refused(code, words)) => (code, words),
    };
    if between(words, "admission webhook \"", "\" denied")
        .is_some_and(|hook| hook.ends_with(".gate.tidegate.io"))
    {
        let seen = format!("the gate refuses even a bare ClusterManagementAddOn: {words}");
        return Some(Finding::note(PASSES, seen).cure("nothing, where a policy of this hub asks for more"));
    }
    let seen =
        format!("a ClusterManagementAddOn with which nothing is wrong cannot be stored ({code}): {words}");
    Some(
        Finding::error(PASSES, seen)
            .cure("fix or take away what refuses it: a webhook that cannot be reached and fails closed, or a policy of the API server")
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
    fn webhooks_that_are_gone_edited_or_foreign_are_told() {
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
        assert!(told.seen.contains("caBundle is not the same"), "{}", told.seen);
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

    /// Asserts what is said of an answer: how bad it is, words of it, and words of the cure.
    fn says(answer: Reading<Answered>, severity: Severity, words: &str, cure: &str) {
        let facts = HubFacts {
            answer,
            ..HubFacts::default()
        };
        let found = answers(&facts).expect("said");
        assert_eq!(found.severity, severity, "{}", found.seen);
        assert!(found.seen.contains(words), "{}", found.seen);
        assert!(found.cure.contains(cure), "{}: {}", found.seen, found.cure);
    }

    fn refused(words: &str) -> Reading<Answered> {
        Reading::Seen(Answered::Refused(500, words.to_owned()))
    }

    #[test]
    fn what_comes_back_says_whether_the_gate_was_asked() {
        let denied = "admission webhook \"mutate.gate.tidegate.io\" denied the request: spec: … [rollout/min-success-time]";
        says(
            refused(denied),
            Severity::Ok,
            "refused by mutate.gate.tidegate.io",
            "",
        );
        let late = denied.replace("mutate.gate", "guard.gate");
        says(
            refused(&late),
            Severity::Error,
            "not by mutate.gate.tidegate.io",
            "caBundle of that webhook",
        );
        let stored = Reading::Seen(Answered::Stored);
        says(stored, Severity::Error, "would have stored", "register");
        let other = refused("denied by another-policy");
        says(
            other,
            Severity::Error,
            "not in the gate's words",
            "who refused it",
        );
        let hidden = Reading::Refused("forbidden".to_owned());
        says(hidden, Severity::Unknown, "nobody could ask", "dryRun=All");
        assert_eq!(answers(&HubFacts::default()), None);
    }

    #[test]
    fn whoever_refuses_what_is_right_is_told() {
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
    fn why_the_gate_is_not_reached_decides_the_cure() {
        let call = "Internal error occurred: failed calling webhook \"guard.gate.tidegate.io\": failed to call webhook: Post \"https://x\": ";
        for (why, cure) in [
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
                "start the gate at",
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
                cure,
            );
        }
    }
}
