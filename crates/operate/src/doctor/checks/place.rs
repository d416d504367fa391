//! Where the installation is, so that a command can be copied as it stands.
//!
//! Decides the namespace that commands name, and how the webhooks are registered again where they are now: for the service or the address that
//! they have. Without a hub that says it, commands are those of an installation in the namespace `tidegate`.

use serde_json::Value;

use crate::doctor::facts::{HubFacts, Reading, WebhookLists};
use crate::doctor::finding::Finding;
use crate::doctor::webhooks::{Endpoint, endpoints, has_secret, with_bundle};
use crate::kit::MatchConditions;
use api::conversion::CONVERT_SERVED_PATH;

/// What is typed where nothing else is known.
pub(super) const REGISTER: &str = "tidegate reference webhooks | kubectl apply -f -";

/// The same for a hub that drops match conditions. It replaces the objects: `apply` keeps the webhook that another field manager owns, such
/// as one of a server-side apply.
pub(super) const REGISTER_WITHOUT_CONDITIONS: &str =
    "tidegate reference webhooks --without-conditions | kubectl replace -f -";

const INJECTED: &str = "cert-manager.io/inject-ca-from";

/// Puts the place of the installation into commands.
pub(super) fn put(findings: &mut [Finding], facts: &HubFacts) {
    let register = |conditions| match &facts.webhooks {
        Reading::Seen(lists) => registration(lists, conditions).or_else(|| at_converter(facts, conditions)),
        Reading::NotAsked | Reading::Refused(_) => None,
    };
    let namespace = namespace(facts);
    for finding in findings {
        if finding.command == REGISTER {
            finding.command = register(MatchConditions::With).unwrap_or_else(|| REGISTER.to_owned());
        } else if finding.command == REGISTER_WITHOUT_CONDITIONS {
            let register = register(MatchConditions::Without);
            finding.command = register.unwrap_or_else(|| REGISTER_WITHOUT_CONDITIONS.to_owned());
        } else if let Some(namespace) = &namespace {
            finding.command = finding.command.replace("-n tidegate", &format!("-n {namespace}"));
        }
    }
}

/// The namespace of the service that the webhooks name, else that of the Lease.
fn namespace(facts: &HubFacts) -> Option<String> {
    if let Reading::Seen(lists) = &facts.webhooks
        && let Some(Endpoint {
            service: Some((namespace, ..)),
            ..
        }) = endpoints(lists).into_iter().next()
    {
        return Some(namespace);
    }
    match &facts.election {
        Reading::Seen(election) => Some(election.place.split_once('/')?.0.to_owned()),
        Reading::NotAsked | Reading::Refused(_) => None,
    }
}

/// How the webhooks of a hub are registered again; `None` where none is left that says it.
fn registration(lists: &WebhookLists, conditions: MatchConditions) -> Option<String> {
    let (of_kit, of_reference, verb) = match conditions {
        MatchConditions::With => ("", "", "apply"),
        MatchConditions::Without => (" --match-conditions without", " --without-conditions", "replace"),
    };
    let place = endpoints(lists).into_iter().next()?;
    // The administrator who types the command has the file; the secret itself does not belong in a report.
    let secret = if has_secret(lists) {
        " --path-secret FILE"
    } else {
        ""
    };
    if let Some((namespace, ..)) = &place.service
        && secret.is_empty()
    {
        let all = lists.mutating.iter().chain(&lists.validating);
        let is_injected = all
            .filter_map(|one| one.pointer("/metadata/annotations"))
            .any(|annotations| annotations.get(INJECTED).is_some_and(Value::is_string));
        let by = if is_injected {
            " --certificates cert-manager"
        } else {
            ""
        };
        return Some(format!(
            "tidegate install --print --namespace {namespace} --webhooks only{by}{of_kit} | kubectl {verb} -f -"
        ));
    }
    // What is already trusted stays: it is in no file that is printed.
    let moved = match &place.service {
        Some((namespace, ..)) if namespace != "tidegate" => {
            format!(" | sed 's/namespace: tidegate/namespace: {namespace}/'")
        }
        Some(_) | None => String::new(),
    };
    let authority = authority(lists).filter(|_| place.url.is_some());
    let url = place.url.map_or_else(String::new, |url| format!(" --url {url}"));
    let (read, bundle) = with_authority(authority.as_deref());
    Some(format!(
        "{read}tidegate reference webhooks{of_reference}{url}{bundle}{secret}{moved} | kubectl {verb} -f -"
    ))
}

/// Returns the command before, and the flag, that put the CA of a stored object into the printed configurations.
fn with_authority(source: Option<&str>) -> (String, &'static str) {
    source.map_or_else(
        || (String::new(), ""),
        |source| {
            let read = format!("kubectl get {source} | base64 -d | ");
            (read, " --ca-bundle /dev/stdin")
        },
    )
}

/// Returns where a webhook of ours has a `caBundle`.
fn authority(lists: &WebhookLists) -> Option<String> {
    let kinds = [
        ("mutatingwebhookconfiguration", &lists.mutating),
        ("validatingwebhookconfiguration", &lists.validating),
    ];
    kinds.into_iter().find_map(|(kind, list)| {
        let (configuration, index) = with_bundle(list)?;
        Some(format!(
            "{kind} {configuration} -o jsonpath='{{.webhooks[{index}].clientConfig.caBundle}}'"
        ))
    })
}

/// How all webhooks are registered again after both configurations were deleted: at the address to which the definitions still refer for
/// conversions.
fn at_converter(facts: &HubFacts, conditions: MatchConditions) -> Option<String> {
    let Reading::Seen(definitions) = &facts.definitions else {
        return None;
    };
    let (name, client, url) = definitions.iter().find_map(|(name, definition)| {
        let client = definition.pointer("/spec/conversion/webhook/clientConfig")?;
        let url = client.get("url")?.as_str()?.strip_suffix(CONVERT_SERVED_PATH)?;
        Some((name, client, url))
    })?;
    let (without, verb) = match conditions {
        MatchConditions::With => ("", "apply"),
        MatchConditions::Without => (" --without-conditions", "create"),
    };
    let has_authority = client.get("caBundle").is_some_and(Value::is_string);
    let source = format!("crd {name} -o jsonpath='{{.spec.conversion.webhook.clientConfig.caBundle}}'");
    let (read, bundle) = with_authority(has_authority.then_some(&*source));
    Some(format!(
        "{read}tidegate reference webhooks{without} --url {url}{bundle} | kubectl {verb} -f -"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::Election;
    use crate::doctor::webhooks::tests::registered;
    use serde_json::json;

    /// What the commands of an installation become whose webhooks were changed so.
    fn typed(change: impl Fn(&mut Value)) -> [String; 2] {
        let mut lists = registered();
        for one in lists.mutating.iter_mut().chain(&mut lists.validating) {
            change(one);
        }
        let facts = HubFacts {
            webhooks: Reading::Seen(lists),
            ..HubFacts::default()
        };
        let of = |command: &str| Finding::note("a/b", "seen").command(command);
        let mut findings = [of(REGISTER), of("kubectl get leases -n tidegate -o yaml")];
        put(&mut findings, &facts);
        findings.map(|finding| finding.command)
    }

    #[test]
    fn a_form_without_match_conditions_replaces_what_is_registered() {
        let typed = |lists: WebhookLists| {
            let facts = HubFacts {
                webhooks: Reading::Seen(lists),
                ..HubFacts::default()
            };
            let mut findings = [Finding::note("a/b", "seen").command(REGISTER_WITHOUT_CONDITIONS)];
            put(&mut findings, &facts);
            findings[0].command.clone()
        };
        assert_eq!(
            typed(registered()),
            "tidegate install --print --namespace tidegate --webhooks only --match-conditions without | kubectl replace -f -"
        );
        let mut lists = registered();
        for one in lists.mutating.iter_mut().chain(&mut lists.validating) {
            each(one, |client| {
                *client = json!({"url": "https://gate.example:9443/mutate"});
            });
        }
        assert_eq!(
            typed(lists),
            "tidegate reference webhooks --without-conditions --url https://gate.example:9443 | kubectl replace -f -"
        );
    }

    fn each(one: &mut Value, change: impl Fn(&mut Value)) {
        let webhooks = one["webhooks"].as_array_mut().expect("webhooks");
        for webhook in webhooks {
            change(&mut webhook["clientConfig"]);
        }
    }

    #[test]
    fn commands_leave_the_webhooks_where_they_are() {
        let [register, look] = typed(|_| {});
        assert_eq!(
            register,
            "tidegate install --print --namespace tidegate --webhooks only | kubectl apply -f -"
        );
        assert_eq!(look, "kubectl get leases -n tidegate -o yaml");
        let blue = |client: &mut Value| client["service"]["namespace"] = json!("blue");
        let [register, look] = typed(|one| each(one, blue));
        assert_eq!(
            register,
            "tidegate install --print --namespace blue --webhooks only | kubectl apply -f -"
        );
        assert_eq!(look, "kubectl get leases -n blue -o yaml");
        let [register, _] = typed(|one| {
            one["metadata"]["annotations"] = json!({INJECTED: "tidegate/tidegate"});
        });
        assert!(register.contains("--certificates cert-manager"), "{register}");
        let [register, _] = typed(|one| {
            each(one, |client| {
                let path = client["service"]["path"].as_str().expect("a path").to_owned();
                *client = json!({"url": format!("https://gate.example:9443{path}")});
            });
        });
        assert_eq!(
            register,
            "tidegate reference webhooks --url https://gate.example:9443 | kubectl apply -f -"
        );
        let [register, _] = typed(|one| {
            each(
                one,
                |client| *client = json!({"url": "https://gate.example:9443/mutate", "caBundle": "UEVN"}),
            );
        });
        assert_eq!(
            register,
            "kubectl get mutatingwebhookconfiguration tidegate-mutate -o jsonpath='{.webhooks[0].clientConfig.caBundle}' | base64 -d | \
             tidegate reference webhooks --url https://gate.example:9443 --ca-bundle /dev/stdin | kubectl apply -f -"
        );
        let [register, _] = typed(|one| {
            each(one, |client| {
                let path = client["service"]["path"].as_str().expect("a path");
                client["service"]["path"] = json!(format!("{path}/hidden"));
                blue(client);
            });
        });
        assert_eq!(
            register,
            "tidegate reference webhooks --path-secret FILE | sed 's/namespace: tidegate/namespace: blue/' | kubectl apply -f -"
        );
    }

    #[test]
    fn without_webhooks_the_definitions_contain_the_address_of_a_development_hub() {
        let command = |path: &str| {
            let client = json!({"url": format!("https://127.0.0.1:9443{path}"), "caBundle": "UEVN"});
            let definition =
                json!({"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client}}}});
            let facts = HubFacts {
                webhooks: Reading::Seen(WebhookLists::default()),
                definitions: Reading::Seen([("a.example.com".to_owned(), definition)].into()),
                ..HubFacts::default()
            };
            let mut findings = [Finding::note("a/b", "seen").command(REGISTER)];
            put(&mut findings, &facts);
            findings[0].command.clone()
        };
        assert_eq!(
            command(CONVERT_SERVED_PATH),
            "kubectl get crd a.example.com -o jsonpath='{.spec.conversion.webhook.clientConfig.caBundle}' | base64 -d | tidegate reference \
             webhooks --url https://127.0.0.1:9443 --ca-bundle /dev/stdin | kubectl apply -f -"
        );
        assert_eq!(command("/another"), REGISTER);
    }

    #[test]
    fn without_webhooks_the_lease_says_where() {
        let facts = HubFacts {
            election: Reading::Seen(Election {
                place: "blue/leader".to_owned(),
                ..Election::default()
            }),
            ..HubFacts::default()
        };
        let mut findings =
            [Finding::note("a/b", "seen").command("kubectl logs -n tidegate deployment/tidegate-gate")];
        put(&mut findings, &facts);
        assert_eq!(
            findings[0].command,
            "kubectl logs -n blue deployment/tidegate-gate"
        );
    }
}
