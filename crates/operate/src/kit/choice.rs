//! What an installation may choose.
//!
//! Decides which folders it is put together from, and what another namespace or image changes in them.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::error::KitError;
use super::kustomization::add;

/// The namespace of the folder.
const NAMESPACE: &str = "tidegate";

/// How the certificate of the webhook is provided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificates {
    /// cert-manager.
    CertManager,
    /// Tidegate: a workload with an account of its own, or the one workload that there is.
    SelfManaged,
    /// An administrator, or a tool, that puts it into the Secret `tidegate-tls`, signed by this authority (PEM).
    Secret {
        /// The authority, for the webhook configurations; they are given none when absent.
        authority: Option<String>,
    },
}

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workloads {
    /// The gate and the controllers, with an account each.
    Two,
    /// Both in one, for a small hub.
    One,
    /// The gate alone.
    Gate,
}

/// What an installation may have beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extra {
    /// Three gates, spread strictly.
    HighAvailability,
    /// Who may speak with whom.
    NetworkPolicy,
    /// Resources for Prometheus' operator, and a Grafana dashboard.
    Monitoring,
    /// Pods whose user and group OpenShift assigns.
    OpenShift,
    /// The web page, which the controllers serve.
    WebPage,
}

/// Whether the webhook configurations are part of the installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Webhooks {
    /// With all the rest.
    With,
    /// Not yet.
    Without,
    /// That and nothing else: the last step.
    Only,
}

/// Whether the definitions of Tidegate's kinds come with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definitions {
    /// They do.
    With,
    /// They are not changed: a downgrade of the program must not remove fields of stored objects.
    Without,
}

/// What is stored of that which the gate has not judged, because it does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhileUnavailable {
    /// Everything that the backstop and the webhook `guard` do not refuse.
    Admit,
    /// No new and no changed spec.
    Refuse,
}

/// The policies that the API server evaluates itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backstop {
    /// All of them but those with these names.
    Except(BTreeSet<String>),
    /// None: the hub does not serve their kind.
    Without,
}

/// Whether the webhooks have match conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchConditions {
    /// They have.
    With,
    /// The hub drops them: the webhooks have none, and the one that fails closed is omitted.
    Without,
}

/// Whose the namespace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Tidegate's: it comes and goes with it.
    Own,
    /// Not Tidegate's: it is there before, and stays with what is in it.
    Existing,
}

/// An installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Where it goes.
    pub namespace: String,
    /// Whose that is.
    pub place: Place,
    /// What it runs.
    pub image: String,
    /// Who makes its certificate.
    pub certificates: Certificates,
    /// What runs.
    pub workloads: Workloads,
    /// What else it has.
    pub extras: BTreeSet<Extra>,
    /// Whether the webhook configurations are part of it.
    pub webhooks: Webhooks,
    /// Whether the definitions come with it.
    pub definitions: Definitions,
    /// What is stored while no gate answers.
    pub while_unavailable: WhileUnavailable,
    /// Whether the webhooks have match conditions.
    pub match_conditions: MatchConditions,
    /// The policies that the API server evaluates itself.
    pub backstop: Backstop,
}

/// Returns the objects of an installation, in the order in which they are applied.
pub fn objects(choice: &Choice) -> Result<Vec<Value>, KitError> {
    if choice.workloads == Workloads::Gate && choice.extras.contains(&Extra::WebPage) {
        return Err(KitError::NoControllersForWebPage);
    }
    if choice.match_conditions == MatchConditions::Without
        && choice.while_unavailable == WhileUnavailable::Refuse
        && choice.webhooks != Webhooks::Without
    {
        return Err(KitError::NoConditionsForFailClosed);
    }
    let mut objects = Vec::new();
    if choice.webhooks != Webhooks::Only {
        for folder in folders(choice) {
            add(folder, &mut objects)?;
        }
    }
    if choice.definitions == Definitions::Without {
        objects.retain(|object| kind(object) != Some("CustomResourceDefinition"));
    }
    if choice.webhooks != Webhooks::Without {
        let mut webhooks = Vec::new();
        match &choice.certificates {
            Certificates::CertManager => add("webhooks", &mut webhooks)?,
            Certificates::SelfManaged => add("webhooks/base", &mut webhooks)?,
            Certificates::Secret { authority } => {
                add("webhooks/base", &mut webhooks)?;
                trust(&mut webhooks, authority.as_deref());
            }
        }
        if choice.while_unavailable == WhileUnavailable::Refuse {
            add("components/fail-closed", &mut webhooks)?;
        }
        if choice.match_conditions == MatchConditions::Without {
            webhooks.iter_mut().for_each(admission::drop_conditions);
        }
        match &choice.backstop {
            Backstop::Without => add("components/without-backstop", &mut webhooks)?,
            Backstop::Except(names) => webhooks.retain(|object| {
                let name = object.pointer("/metadata/name").and_then(Value::as_str);
                name.is_none_or(|name| !names.contains(name))
            }),
        }
        objects.extend(webhooks);
    }
    for object in &mut objects {
        set_image(object, &choice.image);
        if choice.namespace != NAMESPACE {
            move_to(&choice.namespace, object);
        }
    }
    Ok(objects)
}

fn folders(choice: &Choice) -> Vec<&'static str> {
    let mut folders = vec!["gate"];
    match choice.workloads {
        Workloads::Two | Workloads::One => folders.push("controllers"),
        Workloads::Gate => {}
    }
    match choice.certificates {
        Certificates::CertManager => folders.push("components/cert-manager"),
        Certificates::SelfManaged => folders.push("components/self-managed"),
        Certificates::Secret { .. } => {}
    }
    if choice.workloads == Workloads::One {
        folders.push("components/one-workload");
    }
    if choice.place == Place::Existing {
        folders.push("components/existing-namespace");
    }
    folders.extend(choice.extras.iter().map(|extra| match extra {
        Extra::HighAvailability => "components/high-availability",
        Extra::NetworkPolicy => "components/network-policy",
        Extra::Monitoring => "components/monitoring",
        Extra::OpenShift => "components/openshift",
        Extra::WebPage if choice.workloads == Workloads::One => "components/web-page-one-workload",
        Extra::WebPage => "components/web-page",
    }));
    folders
}

fn kind(object: &Value) -> Option<&str> {
    object.get("kind").and_then(Value::as_str)
}

fn trust(webhooks: &mut [Value], authority: Option<&str>) {
    let Some(authority) = authority else { return };
    let configurations = webhooks.iter_mut();
    let all = configurations.filter_map(|object| object.get_mut("webhooks")?.as_array_mut());
    for client in all
        .flatten()
        .filter_map(|webhook| webhook.get_mut("clientConfig")?.as_object_mut())
    {
        client.insert("caBundle".to_owned(), json!(STANDARD.encode(authority)));
    }
}

fn set_image(object: &mut Value, image: &str) {
    let containers = object.pointer_mut("/spec/template/spec/containers");
    for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(place) = container.get_mut("image") {
            *place = json!(image);
        }
    }
}

/// Changes the namespace of an object, and its references to other objects in that namespace.
fn move_to(namespace: &str, object: &mut Value) {
    let is = |wanted: &str| kind(object) == Some(wanted);
    // A definition is in no namespace, and only tells of namespaces.
    if is("CustomResourceDefinition") {
        return;
    }
    if is("Namespace")
        && let Some(name) = object.pointer_mut("/metadata/name")
    {
        *name = json!(namespace);
    }
    rename(namespace, "", object);
}

fn rename(namespace: &str, key: &str, value: &mut Value) {
    match value {
        Value::String(text) if key == "namespace" && text == NAMESPACE => namespace.clone_into(text),
        Value::String(text) => {
            let service = text.replace("tidegate.tidegate.svc", &format!("tidegate.{namespace}.svc"));
            // Places are written `namespace/name`, alone or behind a flag.
            let place = service.replace("=tidegate/", &format!("={namespace}/"));
            *text = match place.strip_prefix("tidegate/") {
                Some(name) if key == "cert-manager.io/inject-ca-from" => format!("{namespace}/{name}"),
                Some(_) | None => place,
            };
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(namespace, key, item)),
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                rename(namespace, key, value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice() -> Choice {
        Choice {
            namespace: NAMESPACE.to_owned(),
            place: Place::Own,
            image: "example.com/tidegate:1".to_owned(),
            certificates: Certificates::SelfManaged,
            workloads: Workloads::Two,
            extras: BTreeSet::new(),
            webhooks: Webhooks::With,
            definitions: Definitions::With,
            while_unavailable: WhileUnavailable::Admit,
            match_conditions: MatchConditions::With,
            backstop: Backstop::Without,
        }
    }

    #[test]
    fn nothing_of_the_old_namespace_is_left_in_another() {
        for certificates in [Certificates::SelfManaged, Certificates::CertManager] {
            let moved = Choice {
                namespace: "elsewhere".to_owned(),
                certificates,
                extras: BTreeSet::from([Extra::NetworkPolicy, Extra::Monitoring, Extra::WebPage]),
                ..choice()
            };
            for object in objects(&moved).expect("an installation") {
                if object["kind"] == "CustomResourceDefinition" {
                    continue;
                }
                let text = object.to_string();
                for trace in [
                    "\"namespace\":\"tidegate\"",
                    "tidegate.tidegate",
                    "=tidegate/",
                    "\"tidegate/",
                ] {
                    assert!(!text.contains(trace), "{trace} in {text}");
                }
            }
        }
    }

    #[test]
    fn webhooks_come_last_or_alone_and_trust_the_given_authority() {
        let all = objects(&choice()).expect("an installation");
        let last: Vec<&Value> = all.iter().rev().take(2).map(|object| &object["kind"]).collect();
        assert_eq!(
            last,
            ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]
        );
        assert_eq!(all[0]["kind"], "Namespace");
        let guest = Choice {
            place: Place::Existing,
            namespace: "theirs".to_owned(),
            ..choice()
        };
        let guests = objects(&guest).expect("an installation");
        assert_eq!(guests.len(), all.len() - 1);
        assert!(guests.iter().all(|object| object["kind"] != "Namespace"));
        let only = Choice {
            webhooks: Webhooks::Only,
            certificates: Certificates::Secret {
                authority: Some("PEM".to_owned()),
            },
            ..choice()
        };
        let only = objects(&only).expect("webhooks");
        assert_eq!(only.len(), 2);
        for webhook in only
            .iter()
            .flat_map(|object| object["webhooks"].as_array().expect("webhooks"))
        {
            assert_eq!(webhook["clientConfig"]["caBundle"], "UEVN");
        }
    }

    #[test]
    fn what_the_gate_alone_cannot_do_is_refused() {
        let without_page = Choice {
            workloads: Workloads::Gate,
            extras: BTreeSet::from([Extra::WebPage]),
            ..choice()
        };
        let error = objects(&without_page).expect_err("no workload serves the page");
        assert!(matches!(error, KitError::NoControllersForWebPage), "{error}");
        let closed = Choice {
            match_conditions: MatchConditions::Without,
            while_unavailable: WhileUnavailable::Refuse,
            ..choice()
        };
        let error = objects(&closed).expect_err("every change of an add-on would need the webhook");
        assert!(matches!(error, KitError::NoConditionsForFailClosed), "{error}");
    }

    #[test]
    fn without_match_conditions_no_webhook_fails_closed() {
        let webhooks = Choice {
            webhooks: Webhooks::Only,
            match_conditions: MatchConditions::Without,
            backstop: Backstop::Except(BTreeSet::new()),
            ..choice()
        };
        let all = objects(&webhooks).expect("webhooks");
        let found: Vec<_> = all
            .iter()
            .filter_map(|object| object["webhooks"].as_array())
            .collect();
        assert_eq!(found.len(), 2);
        for webhook in found.into_iter().flatten() {
            assert_eq!(webhook["failurePolicy"], "Ignore", "{webhook}");
            assert!(webhook.get("matchConditions").is_none(), "{webhook}");
        }
        let policies = all
            .iter()
            .filter(|object| object["kind"] == "ValidatingAdmissionPolicy");
        for policy in policies {
            assert!(policy["spec"]["matchConditions"].is_array(), "{policy}");
        }
    }
}
