//! Signers of an add-on's own, and the names that their certificates may carry.
//!
//! Decides which signers are Kubernetes' or another component's and not an add-on's, and which users and groups mean
//! something to the hub itself. Never knows whose key a signer has: a name that the hub would believe is refused for all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kubernetes::names::is_dns1123_label;

use kubernetes::field::{Class, Fault};

/// Longest name of a signer, as the API of certificate requests has it.
const LONGEST: usize = 571;
/// Domains whose signers are Kubernetes' own.
const KUBERNETES: [&str; 2] = ["kubernetes.io", "k8s.io"];
/// Signers that components of Open Cluster Management and Red Hat Advanced Cluster Management sign by themselves, each with the
/// add-on that it serves. All other names of the domain `open-cluster-management.io` are free: add-ons of these projects name their
/// own signers so.
const RESERVED: [(&str, Option<&str>); 4] = [
    // open-cluster-management-io/api, operator/v1 `GRPCAuthSigner`: the hub's registration signs it for clusters that connect by
    // gRPC (open-cluster-management-io/ocm, pkg/registration/register/grpc). No add-on has it.
    ("open-cluster-management.io/grpc", None),
    // open-cluster-management-io/cluster-proxy, pkg/proxyagent/agent/agent.go `ProxyAgentSignerName`.
    (
        "open-cluster-management.io/proxy-agent-signer",
        Some("cluster-proxy"),
    ),
    // stolostron/multicluster-observability-operator, operators/multiclusterobservability/pkg/certificates/cert_agent.go.
    (
        "open-cluster-management.io/observability-signer",
        Some("observability-controller"),
    ),
    // stolostron/multicluster-global-hub, operator/pkg/controllers/agent/certificates `SignerName`.
    (
        "open-cluster-management.io/globalhub-signer",
        Some("multicluster-global-hub-controller"),
    ),
];

/// The signers that are reserved for add-ons, or for no add-on: those of known components, and what the operator adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservedSigners(Arc<BTreeMap<Box<str>, BTreeSet<Box<str>>>>);

/// One signer that the operator reserves, with the add-on that may have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservedSigner {
    name: Box<str>,
    owner: Option<Box<str>>,
}

impl ReservedSigner {
    /// Reads `<signer>=<add-on>`; without an add-on no add-on may have the signer.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, owner) = text.split_once('=').unwrap_or((text, ""));
        if is_kubernetes(name) {
            return Err(
                "the signers of kubernetes.io and k8s.io are reserved and cannot be used by an add-on"
                    .to_owned(),
            );
        }
        if !is_well_formed(name) {
            return Err("write <domain>/<name>=<add-on>, for instance example.com/hello=hello".to_owned());
        }
        Ok(Self {
            name: name.into(),
            owner: Some(owner).filter(|owner| !owner.is_empty()).map(Box::from),
        })
    }
}

impl Default for ReservedSigners {
    fn default() -> Self {
        Self::with([])
    }
}

impl ReservedSigners {
    /// Returns the signers of known components and these. An entry for a signer that has an owner already adds an owner.
    pub fn with<'a>(more: impl IntoIterator<Item = &'a ReservedSigner>) -> Self {
        let known = RESERVED.iter().map(|(name, owner)| (*name, *owner));
        let more = more.into_iter().map(|one| (&*one.name, one.owner.as_deref()));
        let mut all: BTreeMap<Box<str>, BTreeSet<Box<str>>> = BTreeMap::new();
        for (name, owner) in known.chain(more) {
            all.entry(name.into()).or_default().extend(owner.map(Box::from));
        }
        Self(Arc::new(all))
    }

    fn check(&self, name: &str, addon: &str) -> Result<(), String> {
        let Some(owners) = self.0.get(name).filter(|owners| !owners.contains(addon)) else {
            return Ok(());
        };
        let owners: Vec<String> = owners.iter().map(|owner| format!("\"{owner}\"")).collect();
        Err(if owners.is_empty() {
            "this signer is reserved: no add-on may use it".to_owned()
        } else {
            format!("this signer is reserved for the add-on {}", owners.join(" or "))
        })
    }
}

/// The name of a signer that an add-on may have certificates from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSigner(String);

impl OwnSigner {
    /// Reads `<domain>/<name>`. Signers of Kubernetes' domains sign for the hub itself and are refused; a reserved one is refused
    /// unless it is reserved for this add-on.
    pub fn parse(text: &str, addon: &str, reserved: &ReservedSigners) -> Result<Self, Fault> {
        if text.chars().count() > LONGEST {
            let detail = format!("must have at most {LONGEST} characters");
            return Err(Fault::of_text(Class::TooLong, text, detail));
        }
        if is_kubernetes(text) {
            let fault = Fault::of_text(
                Class::Forbidden,
                text,
                "the signers of this domain are reserved for Kubernetes",
            );
            return Err(fault.hint(cure(text, addon)));
        }
        // A reserved name in another spelling is malformed.
        if !is_well_formed(text) {
            let detail =
                "must be a domain with at least one dot, followed by \"/\" and one name, all in lower case";
            return Err(Fault::of_text(Class::Invalid, text, detail).hint(own_domain(addon)));
        }
        match reserved.check(text, addon) {
            Ok(()) => Ok(Self(text.to_owned())),
            Err(detail) => Err(Fault::of_text(Class::Forbidden, text, detail).hint(own_domain(addon))),
        }
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Checks a user or a group of a certificate that an add-on's own signer signs: the hub must not take its bearer for one of
/// its own, even where a server of the hub trusts the signer.
pub fn check_certificate_name(text: &str, addon: &str) -> Result<(), Fault> {
    const AGENTS: &str = "open-cluster-management:";
    let plain = text.trim().to_lowercase();
    if let Some(prefix) = ["system:", "kubeadm:", "tidegate:"]
        .iter()
        .find(|prefix| plain.starts_with(*prefix))
    {
        let detail = format!("names that begin with \"{prefix}\" are reserved for the hub");
        let hint = "use a user or group of the add-on, or remove the entry";
        return Err(Fault::of_text(Class::Forbidden, text, detail).hint(hint));
    }
    let Some(owner) = plain.strip_prefix(AGENTS) else {
        return Ok(());
    };
    let rest = owner.strip_prefix(addon).filter(|_| !addon.is_empty());
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':')) {
        return Ok(());
    }
    let detail = format!("names that begin with \"{AGENTS}\" are reserved for clusters and other add-ons");
    let hint = format!("write \"{AGENTS}{addon}\", or another name of the add-on");
    Err(Fault::of_text(Class::Forbidden, text, detail).hint(hint))
}

fn cure(text: &str, addon: &str) -> String {
    if text.to_lowercase().contains("kube-apiserver-client") {
        return "for access to the hub, use \"type: KubeClient\"".to_owned();
    }
    own_domain(addon)
}

fn own_domain(addon: &str) -> String {
    let addon = if addon.is_empty() { "my-addon" } else { addon };
    format!("use your own domain, such as \"example.com/{addon}\"")
}

/// Tells whether a signer is of a domain of Kubernetes, however the domain is spelled.
fn is_kubernetes(text: &str) -> bool {
    let domain = text.trim().split('/').next().unwrap_or_default();
    let domain = domain.trim_end_matches('.').to_lowercase();
    KUBERNETES.iter().any(|of| is_within(&domain, of))
}

fn is_within(domain: &str, of: &str) -> bool {
    domain
        .strip_suffix(of)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn is_well_formed(text: &str) -> bool {
    let mut parts = text.split('/');
    let (Some(domain), Some(name), None) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let labels = |text: &str| text.split('.').all(is_dns1123_label);
    domain.contains('.') && labels(domain) && labels(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer(text: &str, addon: &str) -> String {
        signer_of(text, addon, &ReservedSigners::default())
    }

    fn signer_of(text: &str, addon: &str, reserved: &ReservedSigners) -> String {
        match OwnSigner::parse(text, addon, reserved) {
            Ok(signer) => format!("own {}", signer.as_str()),
            Err(fault) => fault.to_string(),
        }
    }

    #[test]
    fn a_signer_of_the_add_ons_own_is_a_domain_and_a_name() {
        for text in [
            "example.com/hello",
            "a.b/c",
            "signers.example.com/hello.v1",
            "notkubernetes.io/x",
            "1.2/3",
        ] {
            assert_eq!(signer(text, "hello"), format!("own {text}"));
        }
        let long = format!("example.com/{}", "a".repeat(64));
        for text in [
            "",
            "/",
            "example.com",
            "example.com/",
            "/hello",
            "example/hello",
            "example.com/hello/x",
            "Example.com/hello",
            "example.com/hello ",
            "example..com/x",
            "example.com/x\n",
            "exämple.com/x",
            &long,
        ] {
            assert!(signer(text, "hello").contains("must be a domain"), "{text:?}");
        }
        assert!(signer(&"a".repeat(572), "hello").contains("at most 571"));
    }

    #[test]
    fn no_add_on_signs_for_kubernetes_however_it_is_spelt() {
        for text in [
            "kubernetes.io/kube-apiserver-client",
            "kubernetes.io/kube-apiserver-client-kubelet",
            "kubernetes.io/kubelet-serving",
            "kubernetes.io/legacy-unknown",
            "kubernetes.io/kube-apiserver-client/",
            "kubernetes.io/kube-apiserver-client/x",
            "Kubernetes.IO/kube-apiserver-client",
            " kubernetes.io/kube-apiserver-client",
            "kubernetes.io./kube-apiserver-client",
            "kubernetes.io",
            "certificates.kubernetes.io/x",
            "k8s.io/x",
            "certificates.k8s.io/x",
        ] {
            assert!(
                signer(text, "hello").contains("reserved for Kubernetes"),
                "{text:?}"
            );
        }
        let told = signer("kubernetes.io/kube-apiserver-client", "hello");
        assert!(
            told.ends_with("hint: for access to the hub, use \"type: KubeClient\""),
            "{told}"
        );
    }

    #[test]
    fn a_reserved_signer_is_for_its_owner_alone() {
        for (name, owner) in RESERVED {
            let refused = signer(name, "hello");
            match owner {
                Some(owner) => {
                    assert_eq!(signer(name, owner), format!("own {name}"));
                    let expected = format!("reserved for the add-on \"{owner}\"");
                    assert!(refused.contains(&expected), "{refused}");
                }
                None => assert!(refused.contains("no add-on may use it"), "{refused}"),
            }
            // Another spelling of a reserved name is no name at all.
            for text in [
                format!("{name}/x"),
                format!(" {name}"),
                name.to_uppercase(),
                name.replace('/', "./"),
            ] {
                assert!(signer(&text, "hello").contains("must be a domain"), "{text:?}");
            }
        }
    }

    #[test]
    fn the_other_names_of_the_domain_belong_to_add_ons() {
        for text in [
            "open-cluster-management.io/argocd-agent-addon",
            "open-cluster-management.io/hello",
            "open-cluster-management.io/proxy-agent-signer-2",
            "addon.open-cluster-management.io/proxy-agent-signer",
        ] {
            assert_eq!(signer(text, "hello"), format!("own {text}"));
        }
    }

    #[test]
    fn the_operator_reserves_more_signers_and_never_gives_those_of_kubernetes() {
        let entry = |text: &str| ReservedSigner::parse(text).expect("an entry");
        let more = [
            entry("example.com/own=hello"),
            entry("example.com/own=other"),
            entry("example.com/none"),
            entry("open-cluster-management.io/proxy-agent-signer=my-proxy"),
        ];
        let reserved = ReservedSigners::with(&more);
        let rows = [
            ("example.com/own", "hello", "own example.com/own"),
            ("example.com/own", "other", "own example.com/own"),
            (
                "example.com/own",
                "third",
                "reserved for the add-on \"hello\" or \"other\"",
            ),
            ("example.com/none", "hello", "no add-on may use it"),
            (
                "open-cluster-management.io/proxy-agent-signer",
                "my-proxy",
                "own open-cluster-management.io/proxy-agent-signer",
            ),
            (
                "open-cluster-management.io/proxy-agent-signer",
                "cluster-proxy",
                "own open-cluster-management.io/proxy-agent-signer",
            ),
            ("open-cluster-management.io/grpc", "hello", "no add-on may use it"),
        ];
        for (name, addon, expected) in rows {
            let found = signer_of(name, addon, &reserved);
            assert!(found.contains(expected), "{name} {addon}: {found}");
        }
        for text in [
            "kubernetes.io/kube-apiserver-client=hello",
            "certificates.k8s.io/x=hello",
            "KUBERNETES.io/x=hello",
            "example.com=hello",
            "=hello",
            "",
        ] {
            assert!(ReservedSigner::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_certificate_never_names_a_privileged_user_of_the_hub() {
        let rows = [
            ("worker", true),
            ("", true),
            ("systems", true),
            ("open-cluster-management:hello", true),
            ("open-cluster-management:hello:agent", true),
            ("open-cluster-management:hello2", false),
            ("open-cluster-management:c1", false),
            ("open-cluster-management:", false),
            ("system:masters", false),
            ("system:nodes", false),
            ("system:authenticated", false),
            ("System:Masters", false),
            (" system:masters", false),
            ("system:open-cluster-management:cluster:c1:addon:hello", false),
            ("kubeadm:cluster-admins", false),
        ];
        for (text, allowed) in rows {
            let checked = check_certificate_name(text, "hello");
            assert_eq!(checked.is_ok(), allowed, "{text:?}: {checked:?}");
        }
        assert!(check_certificate_name("open-cluster-management:", "").is_err());
    }
}
