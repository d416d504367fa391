//! Certificate signing requests of agents: which are approved, which are signed, and which are left alone.
//!
//! A request is granted only to the cluster's own agent, for exactly the subject that the instance's registration names.
//! What does not pass is neither denied nor touched; a condition of the instance says why. Never signs: that needs a key.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::identity::TOKEN;
use crate::plan::types::{Action, Revision};
use crate::snapshot::{
    AgentIdentity, Asked, Instance, Kind, Name, ObjectKey, Registered, Registration, Request, Stage,
    agent_groups, agent_user, agent_user_prefix,
};

/// An answer to a certificate signing request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Approve it: the merge patch for its approval.
    Approve(Value),
    /// Sign it.
    Sign(Box<Signing>),
}

/// What is needed to sign a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signing {
    /// The request.
    pub asked: Arc<Asked>,
    /// What the key may be used for.
    pub usages: Vec<Name>,
    /// For how many seconds, when the request says so.
    pub seconds: Option<i64>,
    /// Namespace of the secret that signs, "" when the controllers' own counts.
    pub ca_namespace: Name,
    /// Name of the secret that signs.
    pub ca_name: Name,
}

/// Why a request is left alone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The reason of the condition.
    pub reason: &'static str,
    /// What is wrong.
    pub why: String,
}

fn refusal(reason: &'static str, why: impl Into<String>) -> Refusal {
    Refusal {
        reason,
        why: why.into(),
    }
}

/// Returns the answer to a request; `None` when it only has to wait for another signer.
pub(super) fn answer(
    request: &Request,
    instance: &Instance,
    registrations: &[Registered],
    asked_for: &[Registration],
    now: Timestamp,
) -> Result<Option<Action>, Refusal> {
    let mut matching = registrations
        .iter()
        .filter(|one| one.signer == request.signer)
        .peekable();
    let Some(first) = matching.peek().copied() else {
        let why = format!(
            "no registration of the add-on names the signer {}",
            request.signer
        );
        return Err(refusal("SignerNotRegistered", why));
    };
    let for_hub = first.is_kube_client();
    if for_hub && request.stage != Stage::Pending {
        return Ok(None);
    }
    if for_hub && *instance.driver == *TOKEN {
        return Err(refusal("SignerNotRegistered", "the agent registers with tokens"));
    }
    let asked = match &request.asked {
        Some(Ok(asked)) => asked,
        Some(Err(why)) => return Err(refusal("RequestMalformed", &**why)),
        None => return Ok(None),
    };
    check_requester(&request.requester, &instance.cluster)?;
    check_any(asked, instance, matching)?;
    check_usages(&request.usages, for_hub)?;
    if !for_hub {
        check_names(asked, instance)?;
    }
    let answer = match request.stage {
        Stage::Settled => return Ok(None),
        Stage::Pending => Answer::Approve(approval(request, now)),
        Stage::Approved => Answer::Sign(Box::new(signing(request, asked, asked_for)?)),
    };
    Ok(Some(Action::Certify {
        object: key(request),
        before: Revision::from(&request.meta),
        answer,
    }))
}

/// Returns the key of a request.
pub(super) fn key(request: &Request) -> ObjectKey {
    ObjectKey::new(Kind::SigningRequest, "", request.name.clone())
}

/// The cluster's own agent is `system:open-cluster-management:<cluster>` or that with its own name behind a colon. Agents
/// of add-ons have longer names of the same beginning, and cluster `a` is not cluster `ab`.
fn check_requester(requester: &str, cluster: &str) -> Result<(), Refusal> {
    let rest = requester
        .strip_prefix("system:open-cluster-management:")
        .and_then(|rest| rest.strip_prefix(cluster));
    let is_own = match rest {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix(':')
            .is_some_and(|agent| !agent.is_empty() && !agent.contains(':')),
        None => false,
    };
    if is_own {
        return Ok(());
    }
    let why = format!("{:?} is not the agent of cluster {cluster}", shortened(requester));
    Err(refusal("RequesterNotAllowed", why))
}

fn check_any<'r>(
    asked: &Asked,
    instance: &Instance,
    matching: impl Iterator<Item = &'r Registered>,
) -> Result<(), Refusal> {
    let mut last = Ok(());
    for one in matching {
        last = check_subject(asked, instance, one);
        if last.is_ok() {
            break;
        }
    }
    last
}

/// The subject must be the registered one, no less and no more.
fn check_subject(asked: &Asked, instance: &Instance, registered: &Registered) -> Result<(), Refusal> {
    let wrong = |why: String| Err(refusal("SubjectNotAllowed", why));
    let [user] = asked.users.as_slice() else {
        return wrong(format!("the subject has {} common names", asked.users.len()));
    };
    if let Some(other) = asked.others.first() {
        return wrong(format!("the subject has an attribute {other}"));
    }
    let Instance { cluster, addon, .. } = instance;
    let prefix = agent_user_prefix(cluster, addon);
    let (expected, groups, units) = match &registered.identity {
        AgentIdentity::Agent => (
            agent_user(cluster, addon),
            agent_groups(cluster, addon).into(),
            BTreeSet::new(),
        ),
        AgentIdentity::Open => (String::new(), BTreeSet::new(), BTreeSet::new()),
        AgentIdentity::Stated(subject) => (
            subject.user.to_string(),
            texts(&subject.groups),
            texts(&subject.units),
        ),
    };
    let is_agent = || user.strip_prefix(&prefix).is_some_and(|agent| !agent.is_empty());
    if expected.is_empty() && !is_agent() {
        return wrong(format!(
            "the common name {:?} does not begin with {prefix:?}",
            shortened(user)
        ));
    }
    if !expected.is_empty() && *user != expected {
        return wrong(format!(
            "the common name is {:?} and not {expected:?}",
            shortened(user)
        ));
    }
    let mut organizations = asked.groups.clone();
    if registered.is_kube_client() && !groups.contains(EVERYBODY) {
        // Agents of older releases ask for the group to which everybody belongs anyway.
        organizations.remove(EVERYBODY);
    }
    if organizations != groups {
        return wrong(format!(
            "the organizations are {:?} and not {groups:?}",
            some(&asked.groups)
        ));
    }
    if asked.units != units {
        return wrong(format!(
            "the organizational units are {:?} and not {units:?}",
            some(&asked.units)
        ));
    }
    Ok(())
}

const EVERYBODY: &str = "system:authenticated";

fn texts(names: &[Name]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

/// A certificate of an agent proves who it is; it never signs others.
fn check_usages(usages: &[Name], for_hub: bool) -> Result<(), Refusal> {
    const CLIENT: [&str; 3] = ["client auth", "digital signature", "key encipherment"];
    const ALSO: [&str; 2] = ["server auth", "key agreement"];
    let allowed = |usage: &str| CLIENT.contains(&usage) || (!for_hub && ALSO.contains(&usage));
    if let Some(other) = usages.iter().find(|usage| !allowed(usage)) {
        let why = format!("usage {:?} is not one of an agent's", shortened(other));
        return Err(refusal("UsagesNotAllowed", why));
    }
    let proves = |usage: &Name| &**usage == "client auth" || (!for_hub && &**usage == "server auth");
    if usages.iter().any(proves) {
        return Ok(());
    }
    Err(refusal("UsagesNotAllowed", "the usage \"client auth\" is absent"))
}

/// Alternative names would let an agent serve as somebody else.
fn check_names(asked: &Asked, instance: &Instance) -> Result<(), Refusal> {
    let own = format!("DNS:{}.addon.open-cluster-management.io", instance.addon);
    match asked.names.iter().find(|name| **name != own) {
        None => Ok(()),
        Some(other) => {
            let why = format!("the alternative name {:?} is not {own:?}", shortened(other));
            Err(refusal("NamesNotAllowed", why))
        }
    }
}

fn approval(request: &Request, now: Timestamp) -> Value {
    let now = now.to_string();
    let approved = json!({
        "type": "Approved",
        "status": "True",
        "reason": "AutoApprovedByHubCSRApprovingController",
        "message": "Auto approving addon agent certificate.",
        "lastUpdateTime": now,
        "lastTransitionTime": now,
    });
    let all: Vec<&Value> = request.conditions.iter().chain([&approved]).collect();
    json!({"status": {"conditions": all}})
}

fn signing(request: &Request, asked: &Arc<Asked>, asked_for: &[Registration]) -> Result<Signing, Refusal> {
    let secret = asked_for.iter().find_map(|one| match one {
        Registration::CustomSigner {
            signer,
            ca_namespace,
            ca_name,
            ..
        } if *signer == request.signer => Some((ca_namespace, ca_name)),
        Registration::CustomSigner { .. } | Registration::KubeClient(_) | Registration::Faulty(_) => None,
    });
    let Some((ca_namespace, ca_name)) = secret else {
        let why = "the template that names the signer's secret is not the assigned one any more";
        return Err(refusal("SignerNotRegistered", why));
    };
    Ok(Signing {
        asked: Arc::clone(asked),
        usages: request.usages.clone(),
        seconds: request.seconds,
        ca_namespace: ca_namespace.clone(),
        ca_name: ca_name.clone(),
    })
}

/// What somebody else wrote is told, but not at any length.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 120;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain("…".chars()).collect()
}

fn some(texts: &BTreeSet<String>) -> Vec<String> {
    texts.iter().take(4).map(|text| shortened(text)).collect()
}

#[cfg(test)]
#[path = "certificates_tests.rs"]
mod tests;
