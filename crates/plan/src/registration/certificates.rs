//! Certificate signing requests of agents: which are approved, which are signed, and which are left alone.
//!
//! A request is granted only to the cluster's own agent, for exactly the subject that is derived from the content of its
//! template. What does not pass is neither denied nor touched; a condition of the instance says why. Never reads a status, and
//! never signs: that needs a key.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::entitled::{Bearer, Certificate, Entitled};
use crate::types::{Action, Revision};
use api::reason::Reason;
use store::{CertificateRequest, Kind, Name, ObjectKey, Request, Stage};

/// An answer to a certificate signing request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateDecision {
    /// Approve it: the merge patch for its approval; and for an add-on's own signer the one whose secret has to say first that it
    /// signs for the add-on. A template may name any signer, and a signer of another owner may sign whatever is approved.
    Approve(Value, Option<Signer>),
    /// Sign it.
    Sign(Box<Signing>),
}

/// What is needed to sign a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signing {
    /// The request.
    pub asked: Arc<CertificateRequest>,
    /// Who the certificate may say its bearer is: what is signed is compared with this.
    pub bearer: CertificateRequest,
    /// What the key may be used for.
    pub usages: Vec<Name>,
    /// For how many seconds, when the request says so.
    pub seconds: Option<i64>,
    /// What signs.
    pub signer: Signer,
}

/// The secret of an add-on's own signer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// Namespace of the secret, "" when the controllers' own counts.
    pub namespace: Name,
    /// Name of the secret.
    pub name: Name,
    /// The add-on: a secret signs only for those that it names.
    pub addon: Name,
}

/// Why a request is left alone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The reason of the condition.
    pub reason: Reason,
    /// What is wrong.
    pub why: String,
}

fn refusal(reason: Reason, why: impl Into<String>) -> Refusal {
    Refusal {
        reason,
        why: why.into(),
    }
}

/// Returns the answer to a request; `None` when it only has to wait for another signer.
pub(super) fn answer(
    request: &Request,
    entitled: &Entitled<'_>,
    grpc_server: &str,
    now: Timestamp,
) -> Result<Option<Action>, Refusal> {
    let mut certificates = entitled.certificates(&request.signer).peekable();
    let Some(first) = certificates.peek().copied() else {
        let why = entitled.lack(&request.signer);
        let why = format!(
            "no certificate is issued by the signer {}: {why}",
            shortened(&request.signer)
        );
        return Err(refusal(Reason::SignerNotRegistered, why));
    };
    let for_hub = first.is_of_the_hub();
    if for_hub && request.stage != Stage::Pending {
        return Ok(None);
    }
    let asked = match &request.asked {
        Some(Ok(asked)) => asked,
        Some(Err(why)) => return Err(refusal(Reason::RequestMalformed, &**why)),
        None => return Ok(None),
    };
    let agent = check_requester(requester(request, grpc_server), entitled.cluster())?;
    let (certificate, bearer) = check_any(asked, entitled, certificates, agent)?;
    check_usages(&request.usages, for_hub)?;
    check_names(asked, entitled.addon())?;
    let answer = match (request.stage, certificate) {
        (Stage::Settled, _) | (Stage::Approved, Certificate::OfTheHub) => return Ok(None),
        (Stage::Pending, Certificate::OfTheHub) => CertificateDecision::Approve(approval(request, now), None),
        (
            stage,
            Certificate::OfOwnSigner {
                ca_namespace,
                ca_name,
                ..
            },
        ) => {
            let signer = Signer {
                namespace: ca_namespace.clone(),
                name: ca_name.clone(),
                addon: entitled.addon().clone(),
            };
            if stage == Stage::Pending {
                CertificateDecision::Approve(approval(request, now), Some(signer))
            } else {
                CertificateDecision::Sign(Box::new(Signing {
                    asked: Arc::clone(asked),
                    bearer: expected(&bearer, entitled.addon()),
                    usages: request.usages.clone(),
                    seconds: request.seconds,
                    signer,
                }))
            }
        }
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

/// The hub's gRPC server asks for agents that have no connection of their own: the annotation that names the
/// agent counts from the server's account alone. (OCM's approver reads the annotation of exactly this account.)
fn requester<'r>(request: &'r Request, grpc_server: &str) -> &'r str {
    let behalf = request.on_behalf_of.as_deref();
    behalf
        .filter(|_| *request.requester == *grpc_server)
        .unwrap_or(&request.requester)
}

/// The cluster's own agent is `system:open-cluster-management:<cluster>` or that with its own name behind a colon. Agents
/// of add-ons have longer names of the same beginning, and cluster `a` is not cluster `ab`. Returns its own name, "" for none.
fn check_requester<'r>(requester: &'r str, cluster: &str) -> Result<&'r str, Refusal> {
    let rest = requester
        .strip_prefix("system:open-cluster-management:")
        .and_then(|rest| rest.strip_prefix(cluster));
    let agent = match rest {
        Some("") => Some(""),
        Some(rest) => rest
            .strip_prefix(':')
            .filter(|agent| !agent.is_empty() && !agent.contains(':')),
        None => None,
    };
    agent.ok_or_else(|| {
        let why = format!("{:?} is not the agent of cluster {cluster}", shortened(requester));
        refusal(Reason::RequesterNotAllowed, why)
    })
}

/// Returns the certificate whose subject is asked for: the one that signs is the one that was compared.
fn check_any<'v>(
    asked: &CertificateRequest,
    entitled: &Entitled<'v>,
    certificates: impl Iterator<Item = Certificate<'v>>,
    agent: &str,
) -> Result<(Certificate<'v>, Bearer), Refusal> {
    let mut last = refusal(Reason::SubjectNotAllowed, "no subject is registered");
    for one in certificates {
        let bearer = entitled.bearer(one, agent);
        match check_subject(asked, &bearer, one) {
            Ok(()) => return Ok((one, bearer)),
            Err(refusal) => last = refusal,
        }
    }
    Err(last)
}

/// The subject must be the derived one, no less and no more.
fn check_subject(
    asked: &CertificateRequest,
    bearer: &Bearer,
    certificate: Certificate<'_>,
) -> Result<(), Refusal> {
    let wrong = |why: String| Err(refusal(Reason::SubjectNotAllowed, why));
    let [user] = asked.users.as_slice() else {
        return wrong(format!("the subject has {} common names", asked.users.len()));
    };
    if let Some(other) = asked.others.first() {
        return wrong(format!("the subject has an attribute {other}"));
    }
    if *user != bearer.user {
        return wrong(format!(
            "the common name is {:?} and not {:?}",
            shortened(user),
            bearer.user
        ));
    }
    let groups: BTreeSet<String> = bearer.groups.iter().cloned().collect();
    let mut organizations = asked.groups.clone();
    if certificate.is_of_the_hub() {
        // Agents of older releases ask for the group to which every authenticated client belongs anyway.
        organizations.remove(AUTHENTICATED);
    }
    if organizations != groups {
        return wrong(format!(
            "the organizations are {:?} and not {groups:?}",
            some(&asked.groups)
        ));
    }
    let units: BTreeSet<String> = bearer.units.iter().cloned().collect();
    if asked.units != units {
        return wrong(format!(
            "the organizational units are {:?} and not {units:?}",
            some(&asked.units)
        ));
    }
    Ok(())
}

/// Returns what a request may say at most, for the comparison when it is signed.
fn expected(bearer: &Bearer, addon: &str) -> CertificateRequest {
    CertificateRequest {
        users: vec![bearer.user.clone()],
        groups: bearer.groups.iter().cloned().collect(),
        units: bearer.units.iter().cloned().collect(),
        others: Vec::new(),
        names: BTreeSet::from([own_name(addon)]),
        der: Vec::new(),
    }
}

const AUTHENTICATED: &str = "system:authenticated";

/// A certificate of an agent proves who it is; it never signs others.
fn check_usages(usages: &[Name], for_hub: bool) -> Result<(), Refusal> {
    const CLIENT: [&str; 3] = ["client auth", "digital signature", "key encipherment"];
    const ALSO: [&str; 2] = ["server auth", "key agreement"];
    let allowed = |usage: &str| CLIENT.contains(&usage) || (!for_hub && ALSO.contains(&usage));
    if let Some(other) = usages.iter().find(|usage| !allowed(usage)) {
        let why = format!("usage {:?} is not allowed for an agent", shortened(other));
        return Err(refusal(Reason::UsagesNotAllowed, why));
    }
    let proves = |usage: &Name| &**usage == "client auth" || (!for_hub && &**usage == "server auth");
    if usages.iter().any(proves) {
        return Ok(());
    }
    Err(refusal(
        Reason::UsagesNotAllowed,
        "the usage \"client auth\" is absent",
    ))
}

/// Alternative names would let an agent serve under the name of another. The hub's own signer puts them into the
/// certificate as well, and a program that trusts the hub's clients would take the agent for the one they name; the
/// add-on's own is what OCM's agents ask for.
fn check_names(asked: &CertificateRequest, addon: &str) -> Result<(), Refusal> {
    let own = own_name(addon);
    match asked.names.iter().find(|name| **name != own) {
        None => Ok(()),
        Some(other) => {
            let why = format!("the alternative name {:?} is not {own:?}", shortened(other));
            Err(refusal(Reason::NamesNotAllowed, why))
        }
    }
}

fn own_name(addon: &str) -> String {
    format!("DNS:{addon}.addon.open-cluster-management.io")
}

fn approval(request: &Request, now: Timestamp) -> Value {
    let now = now.to_string();
    let approved = json!({
        "type": "Approved",
        "status": "True",
        "reason": Reason::AutoApprovedByHubCSRApprovingController.as_str(),
        "message": "Auto approving addon agent certificate.",
        "lastUpdateTime": now,
        "lastTransitionTime": now,
    });
    let all: Vec<&Value> = request.conditions.iter().chain([&approved]).collect();
    json!({"status": {"conditions": all}})
}

/// The text of another client is shown, with a limited length.
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
