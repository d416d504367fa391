//! Which rights are asked about, and the questions.
//!
//! Decides which roles of the table of calls belong to what runs. Never decides what a missing right means.

use futures::StreamExt as _;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReview,
    SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use operate::doctor::calls::{Account, Role};
use operate::doctor::{Judged, Reading, Right};

use super::ask::{within, words};
use crate::cli::{ControllersMode, Only};

/// The Lease that the shipped role names.
const SHIPPED: (&str, &str) = ("tidegate", "leader");

/// How many questions are asked at the same time.
const AT_ONCE: usize = 16;

/// What of Tidegate runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runs {
    /// What the controllers do.
    pub(super) controllers: ControllersMode,
    /// The half that runs; both without.
    pub(super) only: Option<Only>,
    /// Whether the web page is served.
    pub(super) web_page: bool,
}

/// Returns the rights that what runs needs; the Leases are those by which it elects.
pub(super) fn needed(runs: Runs, elect: Option<(&str, &str)>) -> Vec<Right> {
    let Runs {
        controllers, only, ..
    } = runs;
    let gate = matches!(only, None | Some(Only::Gate));
    let driving = matches!(only, None | Some(Only::Controllers));
    let mut roles = Vec::new();
    if gate {
        roles.extend([Role::Gate, Role::RecordKeys]);
    }
    if only == Some(Only::Certificates) {
        roles.extend([Role::Certificates, Role::CertificatesWritten]);
    }
    // The roles that are bound in single namespaces are left out: whether they are bound everywhere means nothing.
    match controllers {
        ControllersMode::On if driving => {
            roles.extend([
                Role::Controllers,
                Role::Election,
                Role::Registration,
                Role::RecordKeysRead,
            ]);
        }
        ControllersMode::Observe if driving => roles.push(Role::Observer),
        ControllersMode::Off | ControllersMode::Observe | ControllersMode::On => {}
    }
    // The gate alone serves no page.
    if runs.web_page && driving {
        roles.push(Role::WebPage);
    }
    let mut rights: Vec<Right> = roles.into_iter().flat_map(Role::rights).collect();
    rights.sort();
    rights.dedup();
    rights.retain(|right| elect.is_some() || right.namespace != SHIPPED.0);
    if let Some((namespace, name)) = elect {
        for right in rights.iter_mut().filter(|right| right.namespace == SHIPPED.0) {
            namespace.clone_into(&mut right.namespace);
            right.name = right.name.replacen(SHIPPED.1, name, 1);
        }
    }
    rights
}

/// Asks for each right whether the account of the client has it.
pub(super) async fn judged(client: &Client, rights: Vec<Right>) -> Reading<Vec<Judged>> {
    let questions = rights.into_iter().map(|right| async {
        let allowed = allowed(client, &right).await;
        Judged { right, allowed }
    });
    let mut all: Vec<Judged> = futures::stream::iter(questions)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    all.sort_by(|one, other| one.right.cmp(&other.right));
    // What is true of all is told once.
    let first = all.first().and_then(|one| one.allowed.as_ref().err().cloned());
    match first.filter(|_| all.iter().all(|one| one.allowed.is_err())) {
        Some(why) => Reading::Refused(why),
        None => Reading::Seen(all),
    }
}

fn attributes(right: &Right) -> ResourceAttributes {
    let text = |part: &str| (!part.is_empty()).then(|| part.to_owned());
    ResourceAttributes {
        group: Some(right.group.clone()),
        resource: Some(right.resource.clone()),
        subresource: text(&right.subresource),
        verb: Some(right.verb.clone()),
        namespace: text(&right.namespace),
        name: text(&right.name),
        ..ResourceAttributes::default()
    }
}

async fn allowed(client: &Client, right: &Right) -> Result<bool, String> {
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes(right)),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let params = PostParams::default();
    let answer = within(api.create(&params, &review)).await?;
    let status = answer
        .and_then(|review| review.status)
        .ok_or("the hub has no access reviews")?;
    Ok(status.allowed)
}

/// Returns whether an account of this namespace has a right, as seen by another account.
pub(super) async fn has(
    client: &Client,
    namespace: &str,
    account: Account,
    right: &Right,
) -> Result<bool, String> {
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(format!("system:serviceaccount:{namespace}:{}", account.name())),
            groups: Some(vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".to_owned(),
            ]),
            resource_attributes: Some(attributes(right)),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let api: Api<SubjectAccessReview> = Api::all(client.clone());
    let answer = within(api.create(&PostParams::default(), &review)).await?;
    let status = answer.and_then(|review| review.status);
    Ok(status.ok_or("the hub has no access reviews")?.allowed)
}

/// Returns the name by which the hub knows the account of a client.
pub(super) async fn whoami(client: &Client) -> String {
    use k8s_openapi::api::authentication::v1::SelfSubjectReview;
    let api: Api<SelfSubjectReview> = Api::all(client.clone());
    let answer = api
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await;
    let name = answer
        .map_err(|error| words(&error))
        .ok()
        .and_then(|review| review.status?.user_info?.username);
    name.unwrap_or_else(|| "this account".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(
        controllers: ControllersMode,
        only: Option<Only>,
        elect: Option<(&str, &str)>,
    ) -> Vec<String> {
        let runs = Runs {
            controllers,
            only,
            web_page: false,
        };
        needed(runs, elect).iter().map(Right::words).collect()
    }

    #[test]
    fn the_page_asks_about_tokens_and_rights_where_it_is_served() {
        let asks = |only: Option<Only>, web_page: bool| {
            let runs = Runs {
                controllers: ControllersMode::On,
                only,
                web_page,
            };
            let words = needed(runs, None).iter().map(Right::words).collect::<Vec<_>>();
            words.contains(&"create tokenreviews.authentication.k8s.io -A".to_owned())
        };
        assert!(asks(None, true));
        assert!(asks(Some(Only::Controllers), true));
        assert!(!asks(Some(Only::Gate), true));
        assert!(!asks(None, false));
    }

    #[test]
    fn each_half_needs_what_its_role_gives() {
        let gate = words_of(ControllersMode::On, Some(Only::Gate), None);
        assert!(
            gate.contains(&"list clustermanagementaddons.addon.open-cluster-management.io -A".to_owned()),
            "{gate:#?}"
        );
        assert!(
            !gate.iter().any(|one| one.starts_with("delete ")),
            "the gate deletes nothing"
        );
        let both = words_of(ControllersMode::On, None, Some(("here", "mine")));
        for right in [
            "update leases.coordination.k8s.io/mine -n here",
            "update leases.coordination.k8s.io/mine-next -n here",
            "create leases.coordination.k8s.io -n here",
            "delete manifestworks.work.open-cluster-management.io -A",
            "approve signers.certificates.k8s.io/kubernetes.io/kube-apiserver-client -A",
        ] {
            assert!(both.contains(&right.to_owned()), "{right} in {both:#?}");
        }
        assert!(
            !both.iter().any(|one| one.contains("create serviceaccounts")),
            "only in namespaces of clusters"
        );
        let alone = words_of(ControllersMode::On, Some(Only::Controllers), None);
        assert!(
            !alone.iter().any(|one| one.contains("update leases")),
            "nobody elects"
        );
        let certificates = words_of(
            ControllersMode::On,
            Some(Only::Certificates),
            Some(("here", "mine")),
        );
        for right in [
            "patch mutatingwebhookconfigurations.admissionregistration.k8s.io/tidegate-mutate -A",
            "update secrets/tidegate-tls -n here",
        ] {
            assert!(
                certificates.contains(&right.to_owned()),
                "{right} in {certificates:#?}"
            );
            assert!(!both.contains(&right.to_owned()), "{right} in {both:#?}");
        }
        let watching = words_of(ControllersMode::Observe, Some(Only::Controllers), None);
        assert!(
            !watching.iter().any(|one| one.starts_with("patch ")),
            "nothing is written"
        );
    }
}
