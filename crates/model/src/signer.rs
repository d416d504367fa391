//! Signers of an add-on's own, and the names that their certificates may carry.
//!
//! Decides which signers are Kubernetes' or Open Cluster Management's and not an add-on's, and which users and groups mean
//! something to the hub itself. Never knows whose key a signer has: a name that the hub would believe is refused for all.

use apimachinery::names::is_dns1123_label;

use field::{Class, Fault};

/// Longest name of a signer, as the API of certificate requests has it.
const LONGEST: usize = 571;
/// Domains whose signers are Kubernetes' own.
const KUBERNETES: [&str; 2] = ["kubernetes.io", "k8s.io"];
/// The domain whose signers are Open Cluster Management's own.
const OCM: &str = "open-cluster-management.io";
/// The signers of that domain that an add-on has by its documentation: add-on and signer.
const PURPOSES: [(&str, &str); 2] = [
    ("cluster-proxy", "open-cluster-management.io/proxy-agent-signer"),
    (
        "observability-controller",
        "open-cluster-management.io/observability-signer",
    ),
];

/// The name of a signer that an add-on may have certificates from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSigner(String);

impl OwnSigner {
    /// Reads `<domain>/<name>`. Signers of Kubernetes' and Open Cluster Management's domains sign for the hub itself: they are
    /// refused, but for one that is made for this add-on.
    pub fn parse(text: &str, addon: &str) -> Result<Self, Fault> {
        if text.chars().count() > LONGEST {
            let detail = format!("must have at most {LONGEST} characters");
            return Err(Fault::of_text(Class::TooLong, text, detail));
        }
        // Whose it is comes first: other spellings of a domain are no way around.
        let domain = text.trim().split('/').next().unwrap_or_default();
        let domain = domain.trim_end_matches('.').to_lowercase();
        if KUBERNETES.iter().any(|of| is_within(&domain, of)) {
            let fault = Fault::of_text(
                Class::Forbidden,
                text,
                "the signers of this domain are Kubernetes' own",
            );
            return Err(fault.hint(cure(text, addon)));
        }
        if is_within(&domain, OCM) {
            let mut purposes = PURPOSES.iter().filter(|(_, signer)| *signer == text);
            return match purposes.next() {
                Some((owner, _)) if *owner == addon => Ok(Self(text.to_owned())),
                Some((owner, _)) => {
                    let detail = format!("this signer is for the add-on \"{owner}\" alone");
                    Err(Fault::of_text(Class::Forbidden, text, detail).hint(own_domain(addon)))
                }
                None => {
                    let detail = "the signers of this domain are Open Cluster Management's own";
                    Err(Fault::of_text(Class::Forbidden, text, detail).hint(own_domain(addon)))
                }
            };
        }
        if is_well_formed(text) {
            return Ok(Self(text.to_owned()));
        }
        let detail = "must be a domain with at least one point, \"/\" and one name, all in lower case";
        Err(Fault::of_text(Class::Invalid, text, detail).hint(own_domain(addon)))
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
        let detail = format!("names that begin with \"{prefix}\" are the hub's own");
        let hint = "name a user or group of the add-on's own, or none";
        return Err(Fault::of_text(Class::Forbidden, text, detail).hint(hint));
    }
    let Some(owner) = plain.strip_prefix(AGENTS) else {
        return Ok(());
    };
    let rest = owner.strip_prefix(addon).filter(|_| !addon.is_empty());
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':')) {
        return Ok(());
    }
    let detail = format!("names that begin with \"{AGENTS}\" are those of clusters and of other add-ons");
    let hint = format!("write \"{AGENTS}{addon}\", or a name of the add-on's own");
    Err(Fault::of_text(Class::Forbidden, text, detail).hint(hint))
}

fn cure(text: &str, addon: &str) -> String {
    if text.to_lowercase().contains("kube-apiserver-client") {
        return "access to the hub is \"type: KubeClient\"".to_owned();
    }
    own_domain(addon)
}

fn own_domain(addon: &str) -> String {
    let addon = if addon.is_empty() { "my-addon" } else { addon };
    format!("name a domain of your own, such as \"example.com/{addon}\"")
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
        match OwnSigner::parse(text, addon) {
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
    fn nobody_signs_for_kubernetes_however_it_is_spelt() {
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
            assert!(signer(text, "hello").contains("Kubernetes' own"), "{text:?}");
        }
        let told = signer("kubernetes.io/kube-apiserver-client", "hello");
        assert!(
            told.ends_with("hint: access to the hub is \"type: KubeClient\""),
            "{told}"
        );
    }

    #[test]
    fn signers_of_open_cluster_management_are_for_their_purpose_alone() {
        let proxy = "open-cluster-management.io/proxy-agent-signer";
        assert_eq!(signer(proxy, "cluster-proxy"), format!("own {proxy}"));
        assert!(signer(proxy, "hello").contains("for the add-on \"cluster-proxy\" alone"));
        for text in [
            "open-cluster-management.io/grpc",
            "open-cluster-management.io/anything",
            "open-cluster-management.io/proxy-agent-signer/x",
            "OPEN-cluster-management.io/proxy-agent-signer",
            "addon.open-cluster-management.io/x",
        ] {
            assert!(
                signer(text, "cluster-proxy").contains("Open Cluster Management's own"),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_certificate_never_names_somebody_whom_the_hub_would_believe() {
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
