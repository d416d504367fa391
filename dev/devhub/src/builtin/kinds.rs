//! The built-in resources that are served, with their subresources.
//!
//! Decides names, verbs and scopes.

use super::untyped::ROWS as UNTYPED;
use crate::{Resource, Scope};

/// A subresource of a built-in resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// Name after the slash.
    pub name: &'static str,
    /// API group of what it takes and returns.
    pub group: &'static str,
    /// Version of what it takes and returns.
    pub version: &'static str,
    /// Kind of what it takes and returns.
    pub kind: &'static str,
    /// Verbs offered, sorted.
    pub verbs: &'static [&'static str],
}

pub(super) struct Row {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    scope: Scope,
    verbs: &'static [&'static str],
    status: bool,
    /// Whether `kubectl get all` shows it.
    common: bool,
}

const ALL: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
const NO_COLLECTION: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
const CREATE: &[&str] = &["create"];

const EXTENSIONS: &str = "apiextensions.k8s.io";
const REGISTRATION: &str = "admissionregistration.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";
const AUTHENTICATION: &str = "authentication.k8s.io";
const CERTIFICATES: &str = "certificates.k8s.io";

const ROWS: &[Row] = &[
    row("", "ConfigMap", "configmaps", Scope::Namespaced).short(&["cm"]),
    row("", "Event", "events", Scope::Namespaced).short(&["ev"]),
    row("", "Namespace", "namespaces", Scope::Cluster)
        .short(&["ns"])
        .verbs(NO_COLLECTION)
        .status(),
    row("", "Secret", "secrets", Scope::Namespaced),
    row("", "ServiceAccount", "serviceaccounts", Scope::Namespaced).short(&["sa"]),
    row("events.k8s.io", "Event", "events", Scope::Namespaced).short(&["ev"]),
    row("coordination.k8s.io", "Lease", "leases", Scope::Namespaced),
    row(
        "apps",
        "ControllerRevision",
        "controllerrevisions",
        Scope::Namespaced,
    ),
    row(
        EXTENSIONS,
        "CustomResourceDefinition",
        "customresourcedefinitions",
        Scope::Cluster,
    )
    .short(&["crd", "crds"])
    .status(),
    row(
        REGISTRATION,
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        Scope::Cluster,
    ),
    row(
        REGISTRATION,
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        Scope::Cluster,
    ),
    row(
        REGISTRATION,
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        Scope::Cluster,
    )
    .status(),
    row(
        REGISTRATION,
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        Scope::Cluster,
    ),
    row(
        CERTIFICATES,
        "CertificateSigningRequest",
        "certificatesigningrequests",
        Scope::Cluster,
    )
    .short(&["csr"])
    .status(),
    row(RBAC, "ClusterRole", "clusterroles", Scope::Cluster),
    row(RBAC, "ClusterRoleBinding", "clusterrolebindings", Scope::Cluster),
    row(RBAC, "Role", "roles", Scope::Namespaced),
    row(RBAC, "RoleBinding", "rolebindings", Scope::Namespaced),
    row(
        AUTHENTICATION,
        "SelfSubjectReview",
        "selfsubjectreviews",
        Scope::Cluster,
    )
    .verbs(CREATE),
    row(AUTHENTICATION, "TokenReview", "tokenreviews", Scope::Cluster).verbs(CREATE),
    row(
        AUTHORIZATION,
        "LocalSubjectAccessReview",
        "localsubjectaccessreviews",
        Scope::Namespaced,
    )
    .verbs(CREATE),
    row(
        AUTHORIZATION,
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        Scope::Cluster,
    )
    .verbs(CREATE),
    row(
        AUTHORIZATION,
        "SelfSubjectRulesReview",
        "selfsubjectrulesreviews",
        Scope::Cluster,
    )
    .verbs(CREATE),
    row(
        AUTHORIZATION,
        "SubjectAccessReview",
        "subjectaccessreviews",
        Scope::Cluster,
    )
    .verbs(CREATE),
];

pub(super) const fn row(group: &'static str, kind: &'static str, plural: &'static str, scope: Scope) -> Row {
    Row {
        group,
        version: "v1",
        kind,
        plural,
        short: &[],
        scope,
        verbs: ALL,
        status: false,
        common: false,
    }
}

fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().chain(UNTYPED)
}

impl Row {
    pub(super) const fn short(mut self, names: &'static [&'static str]) -> Self {
        self.short = names;
        self
    }

    const fn verbs(mut self, verbs: &'static [&'static str]) -> Self {
        self.verbs = verbs;
        self
    }

    pub(super) const fn status(mut self) -> Self {
        self.status = true;
        self
    }

    pub(super) const fn common(mut self) -> Self {
        self.common = true;
        self
    }

    pub(super) const fn version(mut self, version: &'static str) -> Self {
        self.version = version;
        self
    }

    pub(super) fn is(&self, resource: &Resource) -> bool {
        self.group == resource.group && self.kind == resource.kind
    }

    fn resource(&self) -> Resource {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let extension = matches!(self.group, EXTENSIONS | REGISTRATION);
        Resource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            kind: self.kind.to_owned(),
            list_kind: format!("{}List", self.kind),
            plural: self.plural.to_owned(),
            singular: self.kind.to_lowercase(),
            short_names: owned(self.short),
            categories: match (extension, self.common) {
                (true, _) => owned(&["api-extensions"]),
                (false, true) => owned(&["all"]),
                (false, false) => Vec::new(),
            },
            scope: self.scope,
            verbs: owned(self.verbs),
            status: self.status,
            columns: Vec::new(),
            open_api: None,
            custom: false,
        }
    }
}

/// Returns every built-in resource that is served.
///
/// `events` stands twice: core `v1` is the stored form, `events.k8s.io/v1` a view of it (see [`super::events`]).
/// The review kinds have the verb `create` only and are never stored.
pub fn resources() -> Vec<Resource> {
    rows().map(Row::resource).collect()
}

/// Returns the subresources of a built-in resource, in the order in which discovery lists them; none for custom resources,
/// whose status follows from [`Resource`] itself.
pub fn subresources(resource: &Resource) -> Vec<Subresource> {
    const READ_WRITE: &[&str] = &["get", "patch", "update"];
    let Some(row) =
        rows().find(|row| !resource.custom && row.group == resource.group && row.kind == resource.kind)
    else {
        return Vec::new();
    };
    let own = |name, verbs| Subresource {
        name,
        group: row.group,
        version: row.version,
        kind: row.kind,
        verbs,
    };
    let mut found = match (row.group, row.kind) {
        ("", "Namespace") => vec![own("finalize", &["update"])],
        (CERTIFICATES, "CertificateSigningRequest") => vec![own("approval", READ_WRITE)],
        ("", "ServiceAccount") => {
            vec![Subresource {
                name: "token",
                group: AUTHENTICATION,
                version: "v1",
                kind: "TokenRequest",
                verbs: CREATE,
            }]
        }
        _ => Vec::new(),
    };
    if row.status {
        found.push(own("status", READ_WRITE));
    }
    found
}

/// Returns the text with which a stored built-in object begins: `{"kind":"ConfigMap","apiVersion":"v1",`.
///
/// Objects are stored with this header so that lists, whose items carry neither kind nor apiVersion, can skip it.
pub fn header(resource: &Resource) -> String {
    format!(
        "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",",
        resource.kind,
        resource.api_version()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resource_is_named_once() {
        let mut names: Vec<_> = resources().iter().map(Resource::group_resource).collect();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(resources().iter().all(|resource| resource.verbs.is_sorted()));
    }

    #[test]
    fn subresources_are_those_of_the_recordings() {
        let names = |kind: &str| {
            let resource = resources()
                .into_iter()
                .find(|resource| resource.kind == kind)
                .expect("a kind");
            subresources(&resource)
                .iter()
                .map(|subresource| subresource.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("Namespace"), ["finalize", "status"]);
        assert_eq!(names("ServiceAccount"), ["token"]);
        assert_eq!(names("CustomResourceDefinition"), ["status"]);
        assert_eq!(names("CertificateSigningRequest"), ["approval", "status"]);
        assert_eq!(names("ConfigMap"), [""; 0]);
        assert_eq!(names("Deployment"), ["status"]);
    }

    #[test]
    fn headers_name_kind_and_version() {
        let lease = resources()
            .into_iter()
            .find(|resource| resource.kind == "Lease")
            .expect("leases");
        assert_eq!(
            header(&lease),
            r#"{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","#
        );
    }
}
