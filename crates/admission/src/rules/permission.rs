//! Rules about what the agents of a template may do on the hub. Page: `tests/rules/permission.md`.
//!
//! Decides which roles and namespaces no template may ask for, and what its author has to be allowed. No rule sees who
//! the author is: the question goes to the hub, and the answer comes back among the facts.

use std::collections::BTreeSet;

use crate::body::Node;
use crate::subject::{Subject, Template, rules};
use crate::template_body::PermissionAt;
use kubernetes::field::{Class, Fault, Findings, nearest, quoted};
use model::{is_addons_own, is_never_bound, is_reserved};
use store::{Kind, Name, ObjectKey, UserRight, role_key, terms};

const FORM: &str = "permission/form";
const ROLE: &str = "permission/role";
const NAMESPACE: &str = "permission/namespace";
const AUTHOR: &str = "permission/author";
/// The group of roles.
const RBAC: &str = "rbac.authorization.k8s.io";

rules! { pub(crate) ON_TEMPLATES of Template {
    refuses FORM, CreateAndUpdate, form =>
        "A hub permission specifies a role and its namespace.\n\n\
         `CurrentCluster` names a ClusterRole in `currentCluster.clusterRoleName`; `SingleNamespace` names a namespace and, \
         in `singleNamespace.roleRef`, a ClusterRole or a Role of the group `rbac.authorization.k8s.io`. A permission \
         with any other value cannot be bound, and would block all permissions of the add-on on every cluster. Refused.";
    refuses ROLE, CreateAndUpdate, role =>
        "Agents get only roles that are intended for agents.\n\n\
         A role is intended for agents if it has the label `tidegate.io/hub-permissions: allowed`. The controllers do not \
         bind a role without the label; this warns, because the same `kubectl apply` may create the role. The roles of \
         the hub (`system:*`, `cluster-admin`, `admin`, `edit`, `tidegate-*`) are refused. A labelled role is refused if \
         it allows `*`, `escalate`, `bind` or `impersonate`, or if it allows to create tokens of service accounts, to \
         write secrets or read secrets that it does not name, to write roles or role bindings, or to run programs on \
         the hub.";
    refuses NAMESPACE, CreateAndUpdate, namespace =>
        "Agents get roles only in permitted namespaces.\n\n\
         An agent can have roles in the namespace of its cluster, in the namespace with the name of the add-on (unless \
         that namespace belongs to a cluster or to the hub), and in the namespaces of `--hub-permission-namespaces`. \
         A role in any other namespace is refused. For the namespace of a cluster, the rule only warns, because only the agent of that \
         cluster gets the role.";
    refuses AUTHOR, CreateAndUpdate, author =>
        "A template grants only permissions that its author may grant.\n\n\
         The user who adds a permission needs the verb `bind` on its role, in the namespace of the permission or, for \
         CurrentCluster, in all namespaces, as for a role binding. The webhook checks this with a SubjectAccessReview. If the \
         API server does not respond in time, the permission is refused, because it would not be checked again. Permissions \
         that were there before are not checked. In files and in the audit there is no user to check, so the result is \
         unknown.";
} }

/// The schema reports fields that are missing.
fn form(subject: &Subject<'_, Template>, findings: &mut Findings) {
    for registration in subject.body.registration.each(subject.effort) {
        let client = registration
            .key("kubeClient")
            .filter(|_| registration.text("type") == Some("KubeClient"));
        let permissions = client.map(|client| client.list("hubPermissions"));
        for permission in permissions.iter().flat_map(|all| all.each(subject.effort)) {
            match permission.text("type") {
                Some("CurrentCluster") => current_cluster(permission, findings),
                Some("SingleNamespace") => single_namespace(permission, findings),
                Some(_) | None => {}
            }
        }
    }
}

fn current_cluster(permission: &Node<'_>, findings: &mut Findings) {
    match permission.key("currentCluster") {
        None => {
            let fault = Fault::bare(
                Class::Required,
                "must be set for a permission of type CurrentCluster",
            );
            findings.deny(fault.at(permission.path.key("currentCluster"), FORM));
        }
        Some(current) => stated(&current, "clusterRoleName", findings),
    }
}

fn single_namespace(permission: &Node<'_>, findings: &mut Findings) {
    let Some(single) = permission.key("singleNamespace") else {
        let fault = Fault::bare(
            Class::Required,
            "must be set for a permission of type SingleNamespace",
        );
        findings.deny(fault.at(permission.path.key("singleNamespace"), FORM));
        return;
    };
    stated(&single, "namespace", findings);
    let Some(role) = single.key("roleRef") else {
        return;
    };
    stated(&role, "name", findings);
    let kinds = ["ClusterRole", "Role"];
    if let Some(kind) = role.text("kind").filter(|kind| !kinds.contains(kind)) {
        let fault = Fault::of_text(
            Class::NotSupported,
            kind,
            "supported values: \"ClusterRole\", \"Role\"",
        );
        let near = nearest(kind, kinds).map(|near| format!("did you mean {near:?}?"));
        findings.deny(fault.hint_if(near).at(role.path.key("kind"), FORM));
    }
    // Kubernetes reads an empty group as this one.
    let odd = |group: &&str| !["", RBAC].contains(group);
    if let Some(group) = role.text("apiGroup").filter(odd) {
        let fault = Fault::of_text(Class::NotSupported, group, format!("supported values: {RBAC:?}"));
        findings.deny(fault.at(role.path.key("apiGroup"), FORM));
    }
}

/// A name must not be empty.
fn stated(block: &Node<'_>, name: &'static str, findings: &mut Findings) {
    if block.text(name) == Some("") {
        let fault = Fault::bare(Class::Required, "must not be empty");
        findings.deny(fault.at(block.path.key(name), FORM));
    }
}

/// Permissions that can be checked: the schema reports missing fields, and the rule of the form invalid ones.
fn readable<'s, 'a>(subject: &'s Subject<'a, Template>) -> impl Iterator<Item = &'s PermissionAt<'a>> {
    let all = subject.body.permissions.each(subject.effort);
    all.filter(|one| !one.role.is_empty())
}

fn key(permission: &PermissionAt<'_>) -> Option<ObjectKey> {
    let namespace = Name::from(permission.namespace.unwrap_or_default());
    role_key(permission.kind, &namespace, &Name::from(permission.role))
}

fn role(subject: &Subject<'_, Template>, findings: &mut Findings) {
    for permission in readable(subject) {
        let path = permission.role_path.clone();
        if is_never_bound(permission.role) {
            let fault = Fault::of_text(
                Class::Invalid,
                permission.role,
                "is a role of the hub, which agents must not have",
            );
            findings.deny(fault.hint("create a separate role for the add-on").at(path, ROLE));
            continue;
        }
        let Some(key) = key(permission) else {
            continue;
        };
        match subject.facts.hub_roles.get(&key) {
            Some(says) if says.allowed => {
                let Some(danger) = says.danger else { continue };
                let fault = Fault::of_text(Class::Invalid, permission.role, danger.words());
                findings.deny(fault.hint("remove this permission from the role").at(path, ROLE));
            }
            Some(_) => findings.warn(unlabelled(permission).at(path, ROLE)),
            None if !subject.facts.knows(key.kind) => {}
            None => {
                if subject.lacks(key, ROLE, &path) {
                    findings.warn(unlabelled(permission).at(path, ROLE));
                }
            }
        }
    }
}

fn unlabelled(permission: &PermissionAt<'_>) -> Fault {
    let fault = Fault::of_text(
        Class::NotFound,
        permission.role,
        "no role of this name is labelled for agents",
    );
    fault.hint(format!(
        "add the label {}={} to the role",
        terms::HUB_PERMISSIONS,
        terms::ALLOWED
    ))
}

fn namespace(subject: &Subject<'_, Template>, findings: &mut Findings) {
    for permission in readable(subject) {
        let Some(namespace) = permission.namespace.filter(|namespace| !namespace.is_empty()) else {
            continue;
        };
        let cluster = subject.facts.cluster(namespace);
        let is_cluster = cluster.is_some();
        let has_a_cluster = cluster.is_some_and(|cluster| cluster.accepted);
        let own = is_addons_own(namespace, subject.body.addon) && !has_a_cluster;
        if own || subject.hub_namespaces.lists(namespace) {
            continue;
        }
        let path = permission.namespace_path.clone();
        let reserved = is_reserved(namespace);
        let cluster = ObjectKey::new(Kind::Cluster, "", namespace);
        if !reserved && (is_cluster || !subject.lacks(cluster, NAMESPACE, &path)) {
            let detail = "is the namespace of a cluster: only the agent of that cluster gets the role";
            findings.warn(Fault::of_text(Class::Invalid, namespace, detail).at(path, NAMESPACE));
            continue;
        }
        let detail = "agents get roles only in the namespace of their cluster and in the namespace named after their add-on";
        let fault = Fault::of_text(Class::Invalid, namespace, detail);
        findings.deny(
            fault
                .hint("use one of these namespaces, or add this one to --hub-permission-namespaces")
                .at(path, NAMESPACE),
        );
    }
}

fn author(subject: &Subject<'_, Template>, findings: &mut Findings) {
    let old = old(subject);
    for permission in readable(subject) {
        if is_never_bound(permission.role) || old.contains(&given(permission)) {
            continue;
        }
        let Some(role) = key(permission) else {
            continue;
        };
        let question = UserRight {
            object: role,
            namespace: Name::from(permission.namespace.unwrap_or_default()),
        };
        let path = permission.role_path.clone();
        let place = match permission.namespace {
            Some(namespace) => format!("in namespace {}", quoted(namespace)),
            None => "in all namespaces".to_owned(),
        };
        let (detail, hint) = match subject.facts.rights.word_about(&question) {
            Some(true) => continue,
            Some(false) => (
                format!("you are not allowed to grant this role {place}"),
                "request the verb \"bind\" on the role",
            ),
            None => (
                format!("the hub did not report in time whether you are allowed to grant this role {place}"),
                "try again",
            ),
        };
        subject.doubts.ask(AUTHOR, &path, question);
        let fault = Fault::of_text(Class::Invalid, permission.role, detail);
        findings.deny(fault.hint(hint).at(path, AUTHOR));
    }
}

/// Kind and name of a role, and where it is given.
type Given<'a> = (&'a str, &'a str, Option<&'a str>);

fn given<'a>(permission: &PermissionAt<'a>) -> Given<'a> {
    (permission.kind, permission.role, permission.namespace)
}

/// What the stored template asks for, for the same add-on.
fn old<'a>(subject: &Subject<'a, Template>) -> BTreeSet<Given<'a>> {
    let old = subject.old.as_ref().filter(|old| old.addon == subject.body.addon);
    old.iter()
        .flat_map(|old| old.permissions.each(subject.effort))
        .map(given)
        .collect()
}
