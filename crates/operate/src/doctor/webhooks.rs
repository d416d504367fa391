//! The webhook configurations of a hub beside those that Tidegate would register.
//!
//! Decides what of ours is missing, edited or there twice, and which mutating webhooks of others are asked about our kinds. Order and
//! spacing mean nothing. Never decides where the gate is, nor whose certificate is trusted.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::facts::WebhookLists;
use admission::configurations;

/// The end of the names of our webhooks.
const OURS: &str = ".gate.tidegate.io";
/// The webhook that fails closed.
const GUARD: &str = "guard.gate.tidegate.io";
/// Groups whose kinds only our webhooks should change.
const GROUPS: [&str; 3] = [
    api::v1alpha1::GROUP,
    api::names::OWN_GROUP,
    "work.open-cluster-management.io",
];

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookFault {
    /// A webhook of ours is in no configuration.
    Missing {
        /// Its name.
        webhook: String,
        /// The kind of the configuration.
        kind: &'static str,
        /// The configuration that should have it.
        configuration: String,
    },
    /// A field of a webhook of ours is another one.
    Edited {
        /// Its name.
        webhook: String,
        /// The kind of the configuration.
        kind: &'static str,
        /// The configuration that has it.
        configuration: String,
        /// The field.
        field: &'static str,
    },
    /// A webhook of ours asks with another secret in its path than the rest: the gate answers one of them as if it were not there.
    Secret {
        /// Its name.
        webhook: String,
        /// The kind of the configuration.
        kind: &'static str,
        /// The configuration that has it.
        configuration: String,
        /// The webhook that it is held against.
        other: String,
    },
    /// A webhook of ours is there more than once: every object is judged more than once.
    Duplicate {
        /// Its name.
        webhook: String,
        /// The kind of the configuration.
        kind: &'static str,
        /// The second configuration that has it.
        configuration: String,
    },
    /// A configuration of ours has a webhook that is not ours: it is called with whatever its rules name.
    Added {
        /// Its name.
        webhook: String,
        /// The kind of the configuration.
        kind: &'static str,
        /// The configuration that has it.
        configuration: String,
        /// Where it is in the list of the configuration.
        index: usize,
    },
    /// A mutating webhook of another program is asked about our kinds.
    Foreign {
        /// Its name.
        webhook: String,
        /// The configuration that has it.
        configuration: String,
    },
}

impl WebhookFault {
    /// Every word that [`Self::word`] returns.
    pub const WORDS: [&'static str; 5] = ["missing", "edited", "duplicate", "added", "foreign"];

    /// Returns what it is, in one word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "missing",
            Self::Edited { .. } | Self::Secret { .. } => "edited",
            Self::Duplicate { .. } => "duplicate",
            Self::Added { .. } => "added",
            Self::Foreign { .. } => "foreign",
        }
    }

    /// Returns kind and name of the configuration that it is about.
    pub fn configuration(&self) -> (&'static str, &str) {
        match self {
            Self::Missing {
                kind, configuration, ..
            }
            | Self::Edited {
                kind, configuration, ..
            }
            | Self::Secret {
                kind, configuration, ..
            }
            | Self::Duplicate {
                kind, configuration, ..
            }
            | Self::Added {
                kind, configuration, ..
            } => (kind, configuration),
            Self::Foreign { configuration, .. } => (MUTATING, configuration),
        }
    }

    /// Returns it as a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::Missing {
                webhook,
                configuration,
                ..
            } => format!("webhook {webhook} is not registered (it is part of {configuration})"),
            Self::Edited {
                webhook,
                configuration,
                field,
                ..
            } => format!(
                "{field} of webhook {webhook} in {configuration} differs from what Tidegate registers"
            ),
            Self::Secret {
                webhook,
                configuration,
                other,
                ..
            } => format!(
                "the path of webhook {webhook} in {configuration} ends in another secret than the path of {other}: unless the webhook \
                 process has both secrets, it returns 404 for one of them"
            ),
            Self::Duplicate {
                webhook,
                configuration,
                ..
            } => format!("webhook {webhook} is registered a second time, by {configuration}"),
            Self::Added {
                webhook,
                configuration,
                ..
            } => format!(
                "webhook {webhook} was added to {configuration}: Tidegate registers no such webhook, and it receives every object that its rules name"
            ),
            Self::Foreign {
                webhook,
                configuration,
            } => format!("webhook {webhook} of {configuration} may change add-on objects"),
        }
    }

    /// Returns the command that removes an added webhook; `None` for other faults. It fails when the list has changed meanwhile.
    pub fn removal(&self) -> Option<String> {
        let Self::Added {
            webhook,
            kind,
            configuration,
            index,
        } = self
        else {
            return None;
        };
        let patch = json!([
            {"op": "test", "path": format!("/webhooks/{index}/name"), "value": webhook},
            {"op": "remove", "path": format!("/webhooks/{index}")},
        ]);
        let kind = kind.to_lowercase();
        Some(format!(
            "kubectl patch {kind} {configuration} --type=json -p '{patch}'"
        ))
    }
}

pub(crate) const MUTATING: &str = "MutatingWebhookConfiguration";
pub(crate) const VALIDATING: &str = "ValidatingWebhookConfiguration";

/// Where the API server finds the gate, as a webhook says it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// The address, where the webhook has one.
    pub url: Option<String>,
    /// Namespace, name and port of the service, where it has that.
    pub service: Option<(String, String, u16)>,
    /// The authority that is trusted, in base64; empty where there is none.
    pub ca_bundle: String,
}

impl Endpoint {
    /// Returns it in words.
    pub fn text(&self) -> String {
        match (&self.service, &self.url) {
            (Some((namespace, name, port)), _) => format!("service {namespace}/{name}:{port}"),
            (None, Some(url)) => url.clone(),
            (None, None) => "nowhere".to_owned(),
        }
    }

    fn of(webhook: &Value) -> Self {
        let client = webhook.get("clientConfig").cloned().unwrap_or_default();
        let text = |at: &str| client.pointer(at).and_then(Value::as_str).map(str::to_owned);
        let port = client.pointer("/service/port").and_then(Value::as_u64);
        let service = text("/service/name").map(|name| {
            let port = port.and_then(|port| u16::try_from(port).ok()).unwrap_or(443);
            (text("/service/namespace").unwrap_or_default(), name, port)
        });
        // Path and secret do not belong in a report: only where the gate is.
        let url = text("/url").map(|url| {
            let (scheme, rest) = url.split_once("://").unwrap_or(("https", &url));
            let host = rest.split('/').next().unwrap_or_default();
            format!("{scheme}://{host}")
        });
        Self {
            url,
            service,
            ca_bundle: text("/caBundle").unwrap_or_default(),
        }
    }
}

/// Returns where the webhooks of ours find the gate, each place once.
pub fn endpoints(lists: &WebhookLists) -> Vec<Endpoint> {
    let all = hooks(&lists.mutating).into_iter().chain(hooks(&lists.validating));
    let ours = all.filter(|(_, webhook)| is_ours(webhook));
    let places: BTreeSet<Endpoint> = ours.map(|(_, webhook)| Endpoint::of(webhook)).collect();
    places.into_iter().collect()
}

/// Returns the names of the webhooks of ours that are registered.
pub(crate) fn registered_names(lists: &WebhookLists) -> BTreeSet<&str> {
    let all = hooks(&lists.mutating).into_iter().chain(hooks(&lists.validating));
    let ours = all.filter(|(_, webhook)| is_ours(webhook));
    ours.map(|(_, webhook)| text(webhook, "name")).collect()
}

/// Returns the first webhook of ours that has a `caBundle`: its configuration and its position there.
pub(crate) fn with_bundle(configurations: &[Value]) -> Option<(&str, usize)> {
    configurations.iter().find_map(|one| {
        let mut list = one.get("webhooks")?.as_array()?.iter();
        let at = list.position(|webhook| is_ours(webhook) && !Endpoint::of(webhook).ca_bundle.is_empty())?;
        Some((name(one), at))
    })
}

/// Returns whether the path of a webhook of ours ends in a secret.
pub(crate) fn has_secret(lists: &WebhookLists) -> bool {
    let all = hooks(&lists.mutating).into_iter().chain(hooks(&lists.validating));
    all.filter(|(_, webhook)| is_ours(webhook))
        .any(|(_, webhook)| !called_path(webhook).1.is_empty())
}

/// Returns what is not as Tidegate registers it. A hub that drops match conditions has neither them nor the webhook that needs them.
pub fn webhook_faults(lists: &WebhookLists, has_conditions: bool) -> Vec<WebhookFault> {
    let nowhere = admission::Endpoint::Url("https://gate".to_owned());
    let wanted = if !has_conditions {
        admission::configurations_without_conditions(&nowhere, None)
    } else if fails_closed(lists) {
        admission::configurations_that_fail_closed(&nowhere, None)
    } else {
        configurations(&nowhere, None)
    };
    let mut faults = Vec::new();
    for (configuration, (kind, live)) in wanted
        .iter()
        .zip([(MUTATING, &lists.mutating), (VALIDATING, &lists.validating)])
    {
        let home = name(configuration);
        let webhooks = configuration.get("webhooks").and_then(Value::as_array);
        for webhook in webhooks.into_iter().flatten() {
            faults.extend(compared(webhook, kind, home, live));
        }
    }
    if !has_conditions {
        faults.extend(unconditional(&lists.validating));
    }
    faults.extend(secrets(lists));
    faults.extend(added(MUTATING, &lists.mutating));
    faults.extend(added(VALIDATING, &lists.validating));
    faults.extend(foreign(&lists.mutating));
    faults
}

/// Returns the webhooks of ours that fail closed on a hub that drops match conditions: while the gate is unavailable, they block every change.
fn unconditional(validating: &[Value]) -> Vec<WebhookFault> {
    let ours = hooks(validating).into_iter().filter(|(_, webhook)| {
        is_ours(webhook)
            && text(webhook, "failurePolicy") != "Ignore"
            && webhook.get("matchConditions").is_none()
    });
    ours.map(|(configuration, webhook)| WebhookFault::Edited {
        webhook: text(webhook, "name").to_owned(),
        kind: VALIDATING,
        configuration: configuration.to_owned(),
        field: "matchConditions",
    })
    .collect()
}

/// Returns the webhooks in configurations of ours, or with names like ours, that Tidegate registers on no hub.
fn added(kind: &'static str, live: &[Value]) -> Vec<WebhookFault> {
    let nowhere = admission::Endpoint::Url("https://gate".to_owned());
    let ours = configurations(&nowhere, None);
    let is_home = |configuration: &str| ours.iter().any(|one| name(one) == configuration);
    let is_known = |webhook: &str| {
        let all = hooks(&ours);
        all.iter().any(|(_, one)| text(one, "name") == webhook)
    };
    let each = live.iter().flat_map(|one| {
        let list = one.get("webhooks").and_then(Value::as_array);
        let entries = list.into_iter().flatten().enumerate();
        entries.map(move |(index, webhook)| (name(one), index, webhook))
    });
    each.filter(|(configuration, _, webhook)| {
        (is_home(configuration) || is_ours(webhook)) && !is_known(text(webhook, "name"))
    })
    .map(|(configuration, index, webhook)| WebhookFault::Added {
        webhook: text(webhook, "name").to_owned(),
        kind,
        configuration: configuration.to_owned(),
        index,
    })
    .collect()
}

/// Returns whether the administrator has chosen that nothing is stored while no gate answers: the webhook that fails closed is then called
/// for every kind.
fn fails_closed(lists: &WebhookLists) -> bool {
    let kinds = |webhook: &Value| {
        let rules = webhook
            .get("rules")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let resources = rules.filter_map(|rule| rule.get("resources")?.as_array());
        resources.map(Vec::len).sum::<usize>()
    };
    let mut all = hooks(&lists.validating).into_iter().map(|(_, webhook)| webhook);
    all.any(|webhook| text(webhook, "name") == GUARD && kinds(webhook) > 1)
}

/// Returns the webhooks of ours whose path ends in another secret than the first one's, which is the one that `doctor` sends a question
/// through. Which of two is right only the gate knows.
fn secrets(lists: &WebhookLists) -> Vec<WebhookFault> {
    let of = |kind: &'static str, list| {
        let ours = hooks(list).into_iter().filter(|(_, webhook)| is_ours(webhook));
        ours.map(move |(configuration, webhook)| (kind, configuration, webhook))
    };
    let mut all = of(MUTATING, &lists.mutating).chain(of(VALIDATING, &lists.validating));
    let Some((_, _, first)) = all.next() else {
        return Vec::new();
    };
    all.filter(|(_, _, webhook)| called_path(webhook).1 != called_path(first).1)
        .map(|(kind, configuration, webhook)| WebhookFault::Secret {
            webhook: text(webhook, "name").to_owned(),
            kind,
            configuration: configuration.to_owned(),
            other: text(first, "name").to_owned(),
        })
        .collect()
}

fn compared(wanted: &Value, kind: &'static str, home: &str, live: &[Value]) -> Vec<WebhookFault> {
    let webhook = text(wanted, "name").to_owned();
    let mut found: Vec<_> = hooks(live)
        .into_iter()
        .filter(|(_, one)| text(one, "name") == webhook)
        .collect();
    // The one where it belongs is the right one, whichever is listed first.
    found.sort_by_key(|(configuration, _)| *configuration != home);
    let mut found = found.into_iter();
    let Some((configuration, first)) = found.next() else {
        return vec![WebhookFault::Missing {
            webhook,
            kind,
            configuration: home.to_owned(),
        }];
    };
    let mut faults: Vec<WebhookFault> = FIELDS
        .into_iter()
        .filter(|field| plain(field, wanted) != plain(field, first))
        .map(|field| WebhookFault::Edited {
            webhook: webhook.clone(),
            kind,
            configuration: configuration.to_owned(),
            field,
        })
        .collect();
    faults.extend(found.map(|(configuration, _)| WebhookFault::Duplicate {
        webhook: webhook.clone(),
        kind,
        configuration: configuration.to_owned(),
    }));
    faults
}

/// The fields that are compared: all but where the gate is.
const FIELDS: [&str; 11] = [
    "rules",
    "matchConditions",
    "failurePolicy",
    "matchPolicy",
    "namespaceSelector",
    "objectSelector",
    "reinvocationPolicy",
    "sideEffects",
    "timeoutSeconds",
    "admissionReviewVersions",
    "clientConfig.path",
];

/// Returns a field without what means nothing: order, spacing, what the API server fills in, and the secret that may end the path.
fn plain(field: &str, webhook: &Value) -> Value {
    if field == "clientConfig.path" {
        return json!(called_path(webhook).0);
    }
    let default = match field {
        "namespaceSelector" | "objectSelector" => json!({}),
        "matchConditions" => json!([]),
        _ => Value::Null,
    };
    let value = webhook.get(field).cloned().unwrap_or(default);
    sorted(&value)
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(sorted).collect();
            items.sort_by_key(ToString::to_string);
            Value::Array(items)
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(fields.collect())
        }
        Value::String(text) => Value::from(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Returns which of our paths the API server calls, the first part of the path that is one of ours, and what comes behind it: the secret.
fn called_path(webhook: &Value) -> (&'static str, &str) {
    let client = |at: &str| webhook.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let service = client("/clientConfig/service/path");
    let url = client("/clientConfig/url");
    // A host may have the name of a path.
    let behind_host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let of_url = behind_host
        .find('/')
        .and_then(|at| behind_host.get(at..))
        .unwrap_or_default();
    let whole = if service.is_empty() { of_url } else { service };
    let paths = [admission::MUTATE_PATH, admission::VALIDATE_PATH];
    let found = paths.into_iter().filter_map(|path| {
        let (before, after) = whole.split_once(path)?;
        let ends = after.is_empty() || after.starts_with('/');
        ends.then_some((before.len(), path, after.trim_matches('/')))
    });
    let first = found.min_by_key(|(at, ..)| *at);
    first.map_or(("none", ""), |(_, path, secret)| (path, secret))
}

fn foreign(mutating: &[Value]) -> impl Iterator<Item = WebhookFault> {
    let nowhere = admission::Endpoint::Url("https://gate".to_owned());
    let ours = configurations(&nowhere, None).map(|one| name(&one).to_owned());
    let others = hooks(mutating)
        .into_iter()
        .filter(move |(home, one)| !is_ours(one) && !ours.iter().any(|name| name == home));
    let about_us = others.filter(|(_, one)| {
        let rules = one.get("rules").and_then(Value::as_array);
        rules.into_iter().flatten().any(is_about_us)
    });
    about_us.map(|(configuration, one)| WebhookFault::Foreign {
        webhook: text(one, "name").to_owned(),
        configuration: configuration.to_owned(),
    })
}

fn is_about_us(rule: &Value) -> bool {
    let has = |field: &str, accepts: &dyn Fn(&str) -> bool| {
        let list = rule.get(field).and_then(Value::as_array);
        let mut words = list.into_iter().flatten().filter_map(Value::as_str);
        words.any(accepts)
    };
    let writes = |word: &str| ["*", "CREATE", "UPDATE"].contains(&word);
    // A rule for subresources alone, such as a status, does not count: only the objects themselves do.
    let objects = |word: &str| !word.contains('/') || word == "*/*";
    has("apiGroups", &|word| word == "*" || GROUPS.contains(&word))
        && has("resources", &objects)
        && has("operations", &writes)
}

fn is_ours(webhook: &Value) -> bool {
    text(webhook, "name").ends_with(OURS)
}

/// Returns the webhooks of some configurations, each with the name of its own.
fn hooks(configurations: &[Value]) -> Vec<(&str, &Value)> {
    configurations
        .iter()
        .flat_map(|one| {
            let list = one.get("webhooks").and_then(Value::as_array);
            list.into_iter()
                .flatten()
                .map(move |webhook| (name(one), webhook))
        })
        .collect()
}

fn name(configuration: &Value) -> &str {
    let name = configuration.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default()
}

fn text<'a>(of: &'a Value, field: &str) -> &'a str {
    of.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The configurations as an installation behind a service registers them.
    pub(crate) fn registered() -> WebhookLists {
        let service = admission::Endpoint::Service {
            namespace: "tidegate".to_owned(),
            name: "tidegate".to_owned(),
            port: 443,
        };
        let [mutating, validating] = configurations(&service, Some("pem"));
        WebhookLists {
            mutating: vec![mutating],
            validating: vec![validating],
        }
    }

    fn words(lists: &WebhookLists) -> Vec<String> {
        webhook_faults(lists, true)
            .iter()
            .map(WebhookFault::sentence)
            .collect()
    }

    #[test]
    fn what_is_registered_as_printed_has_no_fault_whatever_its_order() {
        let mut lists = registered();
        assert_eq!(words(&lists), Vec::<String>::new());
        let rules = &mut lists.validating[0]["webhooks"][1]["rules"];
        rules.as_array_mut().expect("rules").reverse();
        // A secret may end the path, and is the same in all of them.
        for webhook in webhooks_of(&mut lists) {
            let path = &mut webhook["clientConfig"]["service"]["path"];
            *path = json!(format!("{}/abc", path.as_str().expect("a path")));
        }
        assert_eq!(words(&lists), Vec::<String>::new());
        assert_eq!(endpoints(&lists).len(), 1);
        assert_eq!(endpoints(&lists)[0].text(), "service tidegate/tidegate:443");
    }

    #[test]
    fn webhooks_that_fail_closed_have_no_fault_and_half_of_it_is_one() {
        let nowhere = admission::Endpoint::Url("https://gate".to_owned());
        let [mutating, validating] = admission::configurations_that_fail_closed(&nowhere, Some("pem"));
        let mut lists = WebhookLists {
            mutating: vec![mutating],
            validating: vec![validating],
        };
        assert_eq!(words(&lists), Vec::<String>::new());
        lists.validating[0]["webhooks"][0]["failurePolicy"] = json!("Ignore");
        assert_eq!(words(&lists).len(), 1);
        let mut lists = registered();
        lists.validating[0]["webhooks"][0]["matchConditions"] = json!([]);
        assert_eq!(words(&lists).len(), 1, "for one kind only it is an edit");
    }

    fn webhooks_of(lists: &mut WebhookLists) -> impl Iterator<Item = &mut Value> {
        let all = lists.mutating.iter_mut().chain(&mut lists.validating);
        all.flat_map(|one| one["webhooks"].as_array_mut().expect("webhooks"))
    }

    /// The gate has one secret: of two that differ, one is answered 404, and what ignores failures ignores that.
    #[test]
    fn a_webhook_with_another_secret_than_the_rest_is_reported() {
        let count = webhooks_of(&mut registered()).count();
        assert_eq!(count, 3);
        for odd in 0..count {
            let mut lists = registered();
            let webhook = webhooks_of(&mut lists).nth(odd).expect("a webhook");
            let path = &mut webhook["clientConfig"]["service"]["path"];
            *path = json!(format!("{}/abc", path.as_str().expect("a path")));
            let faults = webhook_faults(&lists, true);
            // Where the first is the odd one, all others differ from it.
            assert_eq!(faults.len(), if odd == 0 { 2 } else { 1 }, "{faults:?}");
            assert!(faults.iter().all(|fault| fault.word() == "edited"), "{faults:?}");
            let told = words(&lists).concat();
            assert!(
                told.contains("another secret than the path of mutate.gate.tidegate.io"),
                "{told}"
            );
            assert!(!told.contains("abc"), "{told}");
        }
    }

    /// An entry beside ours sends every object that its rules name to another program: Secrets, too.
    #[test]
    fn a_foreign_webhook_in_a_configuration_of_ours_is_reported_with_the_command_that_removes_it() {
        let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "operations": ["CREATE"]}]);
        for webhook in ["x.attacker.example", "x.gate.tidegate.io"] {
            let mut lists = registered();
            for one in lists.mutating.iter_mut().chain(&mut lists.validating) {
                let all = one["webhooks"].as_array_mut().expect("webhooks");
                all.insert(0, json!({"name": webhook, "rules": rules}));
            }
            let faults = webhook_faults(&lists, true);
            let added: Vec<_> = faults.iter().filter(|fault| fault.word() == "added").collect();
            assert_eq!(added.len(), 2, "{faults:#?}");
            let kinds: Vec<_> = added.iter().map(|fault| fault.configuration()).collect();
            assert_eq!(
                kinds,
                [(MUTATING, "tidegate-mutate"), (VALIDATING, "tidegate-guard")]
            );
            assert_eq!(
                added[0].removal(),
                Some(format!(
                    "kubectl patch mutatingwebhookconfiguration tidegate-mutate --type=json -p '[{{\"op\":\"test\",\"path\":\"/webhooks/0/name\",\"value\":\"{webhook}\"}},{{\"op\":\"remove\",\"path\":\"/webhooks/0\"}}]'"
                ))
            );
        }
        // One with a name like ours elsewhere; and one of another program, which is foreign.
        let mut lists = registered();
        lists
            .mutating
            .push(json!({"metadata": {"name": "other"}, "webhooks": [
            {"name": "y.gate.tidegate.io", "rules": rules}, {"name": "z.other", "rules": rules}]}));
        assert_eq!(
            words(&lists),
            [
                "webhook y.gate.tidegate.io was added to other: Tidegate registers no such webhook, and it receives every object that its rules name"
            ]
        );
    }

    /// On a hub that keeps no match conditions the webhook that needs them is ours all the same.
    #[test]
    fn a_webhook_of_ours_that_this_hub_should_not_have_is_not_called_an_attack() {
        let lists = registered();
        let faults = webhook_faults(&lists, false);
        assert!(faults.iter().all(|fault| fault.word() != "added"), "{faults:#?}");
    }

    #[test]
    fn paths_are_found_in_addresses_too() {
        let of = |url: &str| json!({"clientConfig": {"url": url}});
        for (url, expected) in [
            ("https://gate/mutate", (admission::MUTATE_PATH, "")),
            ("https://mutate/validate/s", (admission::VALIDATE_PATH, "s")),
            ("https://gate/behind/validate/", (admission::VALIDATE_PATH, "")),
            ("https://gate/validated", ("none", "")),
            ("https://gate", ("none", "")),
        ] {
            assert_eq!(called_path(&of(url)), expected, "{url}");
        }
    }

    #[test]
    fn each_edited_field_is_reported() {
        for field in FIELDS {
            let mut lists = registered();
            let webhook = &mut lists.mutating[0]["webhooks"][0];
            match field {
                "clientConfig.path" => webhook["clientConfig"]["service"]["path"] = json!("/other"),
                "namespaceSelector" | "objectSelector" => {
                    webhook[field] = json!({"matchLabels": {"a": "b"}});
                }
                "rules" => webhook["rules"][0]["operations"] = json!(["CREATE"]),
                "matchConditions" => {
                    webhook["matchConditions"].as_array_mut().expect("a list").pop();
                }
                "timeoutSeconds" => webhook[field] = json!(30),
                _ => webhook[field] = json!("Other"),
            }
            let expected = format!(
                "{field} of webhook mutate.gate.tidegate.io in tidegate-mutate differs from what Tidegate registers"
            );
            assert_eq!(words(&lists), [expected]);
        }
    }

    #[test]
    fn missing_duplicate_and_foreign_webhooks_are_reported() {
        let mut lists = registered();
        let copy = lists.mutating[0].clone();
        lists.validating[0]["webhooks"]
            .as_array_mut()
            .expect("a list")
            .remove(0);
        let mut second = copy;
        second["metadata"]["name"] = json!("again");
        lists.mutating.insert(0, second);
        lists.mutating.push(json!({"metadata": {"name": "mesh"}, "webhooks": [
            {"name": "inject.mesh.example", "rules": [{"apiGroups": ["*"], "resources": ["*"], "operations": ["*"]}]},
            {"name": "pods.mesh.example", "rules": [{"apiGroups": [""], "resources": ["pods"], "operations": ["CREATE"]}]},
            {"name": "status.mesh.example", "rules": [{"apiGroups": [GROUPS[0]], "resources": ["*/status"], "operations": ["*"]}]}]}));
        let faults = webhook_faults(&lists, true);
        let told: Vec<&str> = faults.iter().map(WebhookFault::word).collect();
        assert_eq!(told, ["duplicate", "missing", "foreign"]);
        assert!(
            faults[0].sentence().ends_with("a second time, by again"),
            "{}",
            faults[0].sentence()
        );
        assert_eq!(faults[1].configuration(), (VALIDATING, "tidegate-guard"));
        assert_eq!(faults[2].configuration(), (MUTATING, "mesh"));
        assert!(faults[2].sentence().contains("inject.mesh.example"));
        assert!(faults.iter().all(|one| WebhookFault::WORDS.contains(&one.word())));
    }

    #[test]
    fn a_hub_that_drops_conditions_is_compared_with_what_is_printed_for_it() {
        let url = admission::Endpoint::Url("https://gate.example:9443".to_owned());
        let [mutating, validating] = admission::configurations_without_conditions(&url, None);
        let lists = WebhookLists {
            mutating: vec![mutating],
            validating: vec![validating],
        };
        assert!(webhook_faults(&lists, false).is_empty());
        assert!(!webhook_faults(&lists, true).is_empty());
        // The form with conditions, as such a hub stores it: the webhook that fails closed is called for every change.
        let mut armed = registered();
        for webhook in webhooks_of(&mut armed) {
            webhook
                .as_object_mut()
                .expect("a webhook")
                .remove("matchConditions");
        }
        let faults: Vec<_> = webhook_faults(&armed, false)
            .iter()
            .map(WebhookFault::sentence)
            .collect();
        assert_eq!(
            faults,
            [
                "matchConditions of webhook guard.gate.tidegate.io in tidegate-guard differs from what Tidegate registers"
            ]
        );
        let place = &endpoints(&lists)[0];
        assert_eq!(
            (place.text().as_str(), place.ca_bundle.as_str()),
            ("https://gate.example:9443", "")
        );
    }
}
