//! How far the shipped accounts are confined: which rights they have that they do not need, and whether a policy holds where a role is
//! bound everywhere.
//!
//! Decides which questions are sent. Never decides what a left-over right means.

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::{Api, Client};
use operate::doctor::calls::Account;
use operate::doctor::{Confinement, HubFacts, KeySecret, Reading, Right, endpoints};
use serde_json::Value;

use super::ask::{Of, within};
use super::rights::has;
use crate::controllers::secret_keys;

pub(super) const POLICIES: Of = Of(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
);
pub(super) const POLICY_BINDINGS: Of = Of(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
);
const POLICY: &str = "tidegate-stays-in-clusters";

/// The namespace of the shipped roles.
const SHIPPED: &str = "tidegate";

/// The Secret of the keys of records.
const RECORD_KEYS: &str = "tidegate-record-keys";

/// How many questions are sent at the same time.
const AT_ONCE: usize = 16;

/// Reads how far the accounts are confined; the Lease is in their namespace, unless the webhooks name another one.
pub(super) async fn confinement(client: &Client, lease_namespace: &str, facts: &mut HubFacts) {
    let namespace = match &facts.webhooks {
        Reading::Seen(lists) => endpoints(lists).into_iter().find_map(|place| place.service),
        Reading::NotAsked | Reading::Refused(_) => None,
    };
    let namespace = namespace.map_or_else(|| lease_namespace.to_owned(), |(namespace, ..)| namespace);
    facts.confinement = match read(client, namespace.clone()).await {
        Ok(Some(found)) => Reading::Seen(found),
        Ok(None) => Reading::NotAsked,
        Err(why) => Reading::Refused(why),
    };
    if !matches!(facts.confinement, Reading::NotAsked) {
        facts.record_keys = match record_keys(client, &namespace).await {
            Ok(found) => Reading::Seen(found),
            Err(why) => Reading::Refused(format!("Secret {namespace}/{RECORD_KEYS}: {why}")),
        };
    }
}

async fn record_keys(client: &Client, namespace: &str) -> Result<KeySecret, String> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let found = within(api.get(RECORD_KEYS)).await?;
    Ok(KeySecret {
        place: format!("{namespace}/{RECORD_KEYS}"),
        keys: found.map(|secret| secret_keys(&secret).map(|keys| keys.len())),
    })
}

/// Returns the accounts of the kit that the hub has: none where Tidegate runs outside of it, as another account.
async fn installed(client: &Client, namespace: &str) -> Result<Vec<Account>, String> {
    let api: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let mut found = Vec::new();
    for account in Account::ALL {
        if within(api.get(account.name())).await?.is_some() {
            found.push(account);
        }
    }
    Ok(found)
}

async fn read(client: &Client, namespace: String) -> Result<Option<Confinement>, String> {
    let accounts = installed(client, &namespace).await?;
    if accounts.is_empty() {
        return Ok(None);
    }
    let wanted = accounts.iter().flat_map(|account| {
        let rights = account.must_not_have().into_iter();
        rights.map(|right| (*account, right))
    });
    let questions = wanted.map(|(account, mut right)| {
        let namespace = &namespace;
        async move {
            if right.namespace == SHIPPED {
                right.namespace.clone_from(namespace);
            }
            let is_given = has(client, namespace, account, &right).await?;
            Ok::<_, String>(is_given.then_some((account, right)))
        }
    });
    let answers: Vec<Option<(Account, Right)>> = futures::stream::iter(questions)
        .buffered(AT_ONCE)
        .try_collect()
        .await?;
    let token = Right {
        group: String::new(),
        resource: "serviceaccounts".to_owned(),
        subresource: "token".to_owned(),
        verb: "create".to_owned(),
        namespace: "kube-system".to_owned(),
        name: String::new(),
    };
    let is_bound_everywhere = accounts.contains(&Account::Controllers)
        && has(client, &namespace, Account::Controllers, &token).await?;
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    Ok(Some(Confinement {
        excess: answers.into_iter().flatten().collect(),
        is_one_process: within(bindings.get("tidegate-one-process")).await?.is_some(),
        is_bound_everywhere,
        policy: object(client, POLICIES).await?,
        policy_binding: object(client, POLICY_BINDINGS).await?,
        namespace,
    }))
}

async fn object(client: &Client, of: Of) -> Result<Option<Value>, String> {
    let found = within(of.all(client).get(POLICY)).await?;
    found.map(|found| of.whole(found)).transpose()
}
