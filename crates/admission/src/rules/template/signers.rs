//! Rules about the certificates that a template requests.
//!
//! The planner does not act on refused signers and subjects either, even if they are stored.

use crate::body::Node;
use crate::subject::{Subject, Template, rules};
use kubernetes::field::{Class, Findings};
use model::{OwnSigner, check_certificate_name, rule};

rules! { pub(in crate::rules) RULES of Template {
    refuses rule::SIGNER, CreateAndUpdate, signers =>
        "A custom signer is not reserved for another component.\n\n\
         A certificate from a signer of Kubernetes (`kubernetes.io/…`, `k8s.io/…`) authenticates its owner to the hub, or as a node, with the user name that the template sets. Some signers are reserved because a component of the hub signs their certificates: `open-cluster-management.io/proxy-agent-signer` for the add-on `cluster-proxy`, \
         `open-cluster-management.io/observability-signer` for `observability-controller`, \
         `open-cluster-management.io/globalhub-signer` for `multicluster-global-hub-controller`, \
         `open-cluster-management.io/grpc`, which no add-on may use, and the signers of `--reserved-signers`. An add-on \
         may use any other name in the domain `open-cluster-management.io`. A reserved signer and a name that is not a \
         domain and one name are refused; the controllers never approve or sign such a certificate. Use \
         `type: KubeClient` for access to the hub, and a signer name of your own for everything else.";
    refuses rule::SIGNER_SUBJECT, CreateAndUpdate, subjects =>
        "A certificate of a custom signer names no user or group that the hub trusts.\n\n\
         If the hub trusts the signer's certificate, now or later, such a name gives access to the hub. Users, groups \
         and organizational units that start with `system:`, `kubeadm:` or `tidegate:` are reserved for the hub, and \
         those that start with `open-cluster-management:` for clusters and other add-ons, except \
         `open-cluster-management:<add-on>`. Refused; the controllers never approve or sign such a certificate.";
} }

/// Returns the custom signers of a template.
fn custom<'s, 'a: 's>(subject: &'s Subject<'a, Template>) -> impl Iterator<Item = Node<'a>> + 's {
    let registrations = subject.body.registration.each(subject.effort);
    let is_custom = |one: &&Node<'a>| one.text("type") == Some("CustomSigner");
    registrations
        .filter(is_custom)
        .filter_map(|one| one.key("customSigner"))
}

fn signers(subject: &Subject<'_, Template>, findings: &mut Findings) {
    for signer in custom(subject) {
        let Some(name) = signer.text("signerName") else {
            continue;
        };
        match OwnSigner::parse(name, subject.body.addon, subject.reserved_signers) {
            // The schema reports a malformed name; this rule does not report it again.
            Err(fault) if fault.class() == Class::Forbidden || is_of_form(name) => {
                findings.deny(fault.at(signer.path.key("signerName"), rule::SIGNER));
            }
            Err(_) | Ok(_) => {}
        }
    }
}

fn is_of_form(name: &str) -> bool {
    let is_plain = |text: &str| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
        !text.is_empty() && text.bytes().all(plain)
    };
    name.split_once('/')
        .is_some_and(|(domain, rest)| domain.contains('.') && is_plain(domain) && is_plain(rest))
}

fn subjects(subject: &Subject<'_, Template>, findings: &mut Findings) {
    let addon = subject.body.addon;
    for signer in custom(subject) {
        let Some(stated) = signer.key("subject") else {
            continue;
        };
        if let Some(Err(fault)) = stated
            .text("user")
            .map(|user| check_certificate_name(user, addon))
        {
            findings.deny(fault.at(stated.path.key("user"), rule::SIGNER_SUBJECT));
        }
        let [groups, units] = ["groups", "organizationUnit"].map(|list| stated.list(list));
        for group in groups.each(subject.effort).chain(units.each(subject.effort)) {
            let checked = group
                .value
                .as_str()
                .map(|name| check_certificate_name(name, addon));
            if let Some(Err(fault)) = checked {
                findings.deny(fault.at(group.path.clone(), rule::SIGNER_SUBJECT));
            }
        }
    }
}
