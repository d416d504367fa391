//! The versions of this program, of a hub and of its controllers, and whether they fit together.

use api::output::OutputDocument;
use schemars::JsonSchema;
use serde::Serialize;

/// The oldest supported minor version of Kubernetes 1.
pub const OLDEST_MINOR: u32 = 28;

/// An API, a field or a feature gate of Kubernetes that Tidegate uses.
#[derive(Clone, Copy, Debug)]
pub struct KubernetesFeature {
    /// Its name: group and version of an API with its kinds, or a field.
    pub name: &'static str,
    /// What Tidegate uses it for.
    pub used_for: &'static str,
    /// The first minor version of Kubernetes 1 that serves it without a feature gate that is off by default.
    pub since: u32,
    /// What happens on a hub that does not serve it; empty if [`OLDEST_MINOR`] and all later versions do.
    pub otherwise: &'static str,
}

/// Every API of Kubernetes that Tidegate calls or is installed with, and every field and feature gate that is newer than Kubernetes 1.20.
/// Source of the versions: the API reference and the list of feature gates of Kubernetes.
pub const KUBERNETES_FEATURES: &[KubernetesFeature] = &[
    feature("core `v1`", "everything", 0, ""),
    feature(
        "`apps/v1` Deployment, ControllerRevision",
        "installation; revisions of configurations",
        9,
        "",
    ),
    feature(
        "`rbac.authorization.k8s.io/v1`",
        "permissions of Tidegate, of users and of agents",
        8,
        "",
    ),
    feature(
        "`coordination.k8s.io/v1` Lease",
        "leader election, heartbeats of agents",
        14,
        "",
    ),
    feature(
        "`apiextensions.k8s.io/v1` CustomResourceDefinition",
        "definitions of all kinds",
        16,
        "",
    ),
    feature(
        "`admissionregistration.k8s.io/v1` webhooks",
        "the webhook",
        16,
        "",
    ),
    feature(
        "`authentication.k8s.io/v1` TokenReview",
        "sign-in to the web page and the metrics",
        6,
        "",
    ),
    feature(
        "`authorization.k8s.io/v1` access reviews",
        "permissions of users, in `permission/author` and the web page; `tidegate doctor`",
        6,
        "",
    ),
    feature(
        "`certificates.k8s.io/v1` CertificateSigningRequest",
        "registration of agents",
        19,
        "",
    ),
    feature("`events.k8s.io/v1` Event", "events of the controllers", 19, ""),
    feature(
        "`networking.k8s.io/v1` NetworkPolicy",
        "`--with network-policy`",
        7,
        "",
    ),
    feature("`policy/v1` PodDisruptionBudget", "installation", 21, ""),
    feature(
        "`serviceaccounts/token`, bound tokens in pods",
        "add-on agents that register with tokens; the pods of Tidegate",
        20,
        "",
    ),
    feature(
        "server-side apply",
        "writes of the controllers; `tidegate definitions`",
        16,
        "",
    ),
    feature(
        "`x-kubernetes-validations` in a CustomResourceDefinition",
        "`conditionRules` of a ManifestWork: the check that a rule of type `CEL` has a `condition`",
        25,
        "",
    ),
    feature(
        "`matchConditions` of webhooks (until 1.29 the feature gate `AdmissionWebhookMatchConditions` can turn them off)",
        "the webhook is called only for changes that it evaluates; `guard`, which fails closed, is called for only a few objects",
        28,
        "the API server drops them. `tidegate install` prints the form without them, and without `guard`; with `--while-unavailable refuse`, \
         it exits with an error",
    ),
    feature(
        "`admissionregistration.k8s.io/v1` ValidatingAdmissionPolicy and its binding",
        "[the backstop](gate.md#the-backstop)",
        30,
        "no backstop. `tidegate install` and the chart omit it; with kustomize, add the component `without-backstop`",
    ),
    feature(
        "`admissionregistration.k8s.io/v1` ValidatingAdmissionPolicy and its binding",
        "`registration-everywhere-policy.yaml`, which restricts the controllers if their role is bound in all namespaces",
        30,
        "the API server rejects the policy: instead, bind `tidegate-cluster` in the namespace of each cluster ([registration](registration.md#permissions-of-tidegate-itself))",
    ),
];

const fn feature(
    name: &'static str,
    used_for: &'static str,
    since: u32,
    otherwise: &'static str,
) -> KubernetesFeature {
    KubernetesFeature {
        name,
        used_for,
        since,
        otherwise,
    }
}

/// The versions of this program and of a hub.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "VersionReport")]
pub struct Versions {
    /// This program.
    pub client: String,
    /// The hub; absent where none was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub: Option<HubVersions>,
    /// What does not fit.
    pub skew: Vec<String>,
}

impl OutputDocument for Versions {
    const KIND: &'static str = "VersionReport";
}

/// The versions of a hub.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct HubVersions {
    /// Its address.
    pub url: String,
    /// Its version of Kubernetes.
    pub kubernetes: String,
    /// The version of its controllers, where they publish it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controllers: Option<String>,
    /// The definitions of the kinds.
    pub definitions: Vec<Definition>,
}

/// A definition of a hub.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// The versions that are served; none where the hub has no such kind.
    pub served: Vec<String>,
    /// How many of Tidegate's fields the definition lacks.
    pub lacking: usize,
}

/// Returns what does not fit together, in whole sentences.
pub fn skew(client: &str, hub: &HubVersions) -> Vec<String> {
    let mut all = Vec::new();
    if let Some((major, minor)) = major_minor(&hub.kubernetes)
        && (major, minor) < (1, u64::from(OLDEST_MINOR))
    {
        all.push(format!(
            "the hub runs Kubernetes {}, Tidegate supports 1.{OLDEST_MINOR} and newer (docs/kubernetes-versions.md)",
            hub.kubernetes
        ));
    }
    if let (Some(theirs), Some(here)) = (hub.controllers.as_deref(), major_minor(client))
        && major_minor(theirs).is_some_and(|theirs| theirs != here)
    {
        all.push(format!(
            "the controllers have version {theirs}, and this program has version {client}: its forecasts may differ from \
             what the controllers do"
        ));
    }
    let absent: Vec<&str> = hub
        .definitions
        .iter()
        .filter(|definition| definition.served.is_empty())
        .map(|definition| definition.name.as_str())
        .collect();
    if !absent.is_empty() {
        all.push(format!(
            "the hub does not serve {}; Tidegate's own kinds: `tidegate crds | kubectl apply -f -`",
            kubernetes::field::listed(absent)
        ));
    }
    all
}

/// Major and minor of `v1.36.0+k3s1`.
fn major_minor(text: &str) -> Option<(u64, u64)> {
    let mut parts = text.trim_start_matches('v').split('.');
    let number = |part: Option<&str>| {
        let part = part?;
        part.trim_end_matches(|one: char| !one.is_ascii_digit())
            .parse()
            .ok()
    };
    Some((number(parts.next())?, number(parts.next())?))
}

impl Versions {
    /// Returns the versions for a terminal.
    pub fn text(&self) -> String {
        let mut lines = vec![format!("client       tidegate {}", self.client)];
        if let Some(hub) = &self.hub {
            lines.push(format!(
                "hub          Kubernetes {} at {}",
                hub.kubernetes, hub.url
            ));
            let controllers = hub.controllers.as_deref();
            lines.push(controllers.map_or_else(
                || "controllers  no controllers of Tidegate report a version".to_owned(),
                |version| format!("controllers  tidegate {version}"),
            ));
            let mut head = "definitions";
            for definition in &hub.definitions {
                let served = if definition.served.is_empty() {
                    "not served".to_owned()
                } else {
                    definition.served.join(", ")
                };
                let lacking = match definition.lacking {
                    0 => String::new(),
                    1 => "; lacks 1 field of Tidegate (tidegate definitions plan)".to_owned(),
                    count => format!("; lacks {count} fields of Tidegate (tidegate definitions plan)"),
                };
                lines.push(format!("{head:12} {}: {served}{lacking}", definition.name));
                head = "";
            }
        }
        for skew in &self.skew {
            lines.push(format!("skew         {skew}"));
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hub(kubernetes: &str, controllers: Option<&str>, served: &[&str]) -> HubVersions {
        HubVersions {
            url: "https://hub:6443".to_owned(),
            kubernetes: kubernetes.to_owned(),
            controllers: controllers.map(str::to_owned),
            definitions: vec![Definition {
                name: "clustermanagementaddons.addon.open-cluster-management.io".to_owned(),
                served: served.iter().map(ToString::to_string).collect(),
                lacking: 2,
            }],
        }
    }

    #[test]
    fn what_fits_has_no_skew() {
        assert!(skew("0.1.0", &hub("v1.36.1", Some("0.1.7"), &["v1alpha1"])).is_empty());
        assert!(skew("0.1.0", &hub("v1.28.0+k3s1", None, &["v1alpha1"])).is_empty());
        assert!(skew("0.1.0", &hub("something", None, &["v1alpha1"])).is_empty());
    }

    #[test]
    fn old_hubs_other_controllers_and_absent_kinds_are_reported() {
        let hub = hub("v1.27.3", Some("0.2.0"), &[]);
        let versions = Versions {
            client: "0.1.0".to_owned(),
            skew: skew("0.1.0", &hub),
            hub: Some(hub),
        };
        let lines = [
            "client       tidegate 0.1.0",
            "hub          Kubernetes v1.27.3 at https://hub:6443",
            "controllers  tidegate 0.2.0",
            "definitions  clustermanagementaddons.addon.open-cluster-management.io: not served; lacks 2 fields of Tidegate (tidegate definitions plan)",
            "skew         the hub runs Kubernetes v1.27.3, Tidegate supports 1.28 and newer (docs/kubernetes-versions.md)",
            "skew         the controllers have version 0.2.0, and this program has version 0.1.0: its forecasts may differ \
             from what the controllers do",
            "skew         the hub does not serve \"clustermanagementaddons.addon.open-cluster-management.io\"; Tidegate's own kinds: `tidegate crds | kubectl apply -f -`",
            "",
        ];
        assert_eq!(versions.text(), lines.join("\n"));
    }
}
