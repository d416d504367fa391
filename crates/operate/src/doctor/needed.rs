//! The rights that a process needs, by what of Tidegate runs in it.

use super::calls::Role;
use super::rights::Right;

/// The Lease that the shipped role names.
const SHIPPED: (&str, &str) = ("tidegate", "leader");

/// A part of the program that runs alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The webhook.
    Gate,
    /// The controllers.
    Controllers,
    /// The keeper of the webhook's certificate.
    Certificates,
}

/// What the controllers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controllers {
    /// They do not run.
    Off,
    /// They write nothing.
    Observe,
    /// They write.
    On,
}

/// What of Tidegate runs in a process.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// What the controllers do.
    pub controllers: Controllers,
    /// The part that runs alone; the webhook and the controllers without.
    pub only: Option<Part>,
    /// Whether the web page is served.
    pub web_page: bool,
}

/// Returns the rights that a process needs; the Leases are those by which it elects.
pub fn needed(runs: Runs, elect: Option<(&str, &str)>) -> Vec<Right> {
    let Runs {
        controllers, only, ..
    } = runs;
    let gate = matches!(only, None | Some(Part::Gate));
    let driving = matches!(only, None | Some(Part::Controllers));
    let mut roles = Vec::new();
    if gate {
        roles.extend([Role::Gate, Role::RecordKeys]);
    }
    if only == Some(Part::Certificates) {
        roles.extend([Role::Certificates, Role::CertificatesWritten]);
    }
    // The roles that are bound in single namespaces are left out: whether they are bound everywhere means nothing.
    match controllers {
        Controllers::On if driving => {
            roles.extend([
                Role::Controllers,
                Role::Election,
                Role::Registration,
                Role::RecordKeysRead,
            ]);
        }
        Controllers::Observe if driving => roles.push(Role::Observer),
        Controllers::Off | Controllers::Observe | Controllers::On => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(controllers: Controllers, only: Option<Part>, elect: Option<(&str, &str)>) -> Vec<String> {
        let runs = Runs {
            controllers,
            only,
            web_page: false,
        };
        needed(runs, elect).iter().map(Right::words).collect()
    }

    #[test]
    fn the_page_asks_about_tokens_and_rights_where_it_is_served() {
        let asks = |only: Option<Part>, web_page: bool| {
            let runs = Runs {
                controllers: Controllers::On,
                only,
                web_page,
            };
            let words = needed(runs, None).iter().map(Right::words).collect::<Vec<_>>();
            words.contains(&"create tokenreviews.authentication.k8s.io -A".to_owned())
        };
        assert!(asks(None, true));
        assert!(asks(Some(Part::Controllers), true));
        assert!(!asks(Some(Part::Gate), true));
        assert!(!asks(None, false));
    }

    #[test]
    fn each_half_needs_what_its_role_gives() {
        let gate = words_of(Controllers::On, Some(Part::Gate), None);
        assert!(
            gate.contains(&"list clustermanagementaddons.addon.open-cluster-management.io -A".to_owned()),
            "{gate:#?}"
        );
        assert!(
            !gate.iter().any(|one| one.starts_with("delete ")),
            "the gate deletes nothing"
        );
        let both = words_of(Controllers::On, None, Some(("here", "mine")));
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
        let alone = words_of(Controllers::On, Some(Part::Controllers), None);
        assert!(
            !alone.iter().any(|one| one.contains("update leases")),
            "no leader election"
        );
        let certificates = words_of(Controllers::On, Some(Part::Certificates), Some(("here", "mine")));
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
        let watching = words_of(Controllers::Observe, Some(Part::Controllers), None);
        assert!(
            !watching.iter().any(|one| one.starts_with("patch ")),
            "nothing is written"
        );
    }
}
