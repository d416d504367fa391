//! Holds the role of the controllers to what they do: every watched kind can be watched, every written one written, and nothing
//! is granted by a star.

use std::collections::BTreeSet;
use std::path::Path;

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use tidegate::audit::Form;
use tidegate::snapshot::Kind;

fn rules() -> Vec<PolicyRule> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/rbac/tide.yaml");
    let text = std::fs::read_to_string(file).expect("the role");
    let first = text.split("\n---\n").next().unwrap_or_default();
    let role: ClusterRole = serde_saphyr::from_str(first).expect("a ClusterRole");
    role.rules.unwrap_or_default()
}

fn granted(rules: &[PolicyRule], group: &str, resource: &str) -> BTreeSet<String> {
    let names = |list: &Option<Vec<String>>, wanted: &str| list.iter().flatten().any(|one| one == wanted);
    let about = rules
        .iter()
        .filter(|rule| names(&rule.api_groups, group) && names(&rule.resources, resource));
    about.flat_map(|rule| rule.verbs.clone()).collect()
}

/// What the controllers do beside watching: resource or subresource, verbs.
fn written(kind: Kind) -> Vec<(&'static str, &'static [&'static str])> {
    match kind {
        Kind::Placement
        | Kind::Decision
        | Kind::DeploymentConfig
        | Kind::Template
        | Kind::HubConfig
        | Kind::Namespace => Vec::new(),
        Kind::Cluster => vec![("", &["patch"])],
        Kind::AddOn => vec![("/status", &["patch"]), ("/finalizers", &["update"])],
        Kind::Instance => vec![
            ("", &["create", "patch", "delete"]),
            ("/status", &["patch"]),
            ("/finalizers", &["update"]),
        ],
        Kind::Work | Kind::ServiceAccount | Kind::Role | Kind::RoleBinding => {
            vec![("", &["create", "patch", "delete"])]
        }
        Kind::SigningRequest => vec![("/approval", &["patch"]), ("/status", &["patch"])],
    }
}

#[test]
fn the_role_allows_what_the_controllers_do() {
    let rules = rules();
    let mut missing = Vec::new();
    for kind in Kind::ALL {
        let address = kind.address();
        let watched = ("", &["get", "list", "watch"][..]);
        for (part, verbs) in std::iter::once(watched).chain(written(kind)) {
            let resource = format!("{}{part}", address.resource);
            let granted = granted(&rules, address.group, &resource);
            let absent = verbs.iter().filter(|verb| !granted.contains(**verb));
            missing.extend(absent.map(|verb| format!("{verb} {resource}")));
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_role_allows_what_the_audit_does() {
    let rules = rules();
    for form in Form::ALL {
        let (group, resource) = (form.api().0, form.resource());
        let granted = granted(&rules, group, resource);
        for verb in ["get", "list", "watch", "create", "update", "delete"] {
            assert!(granted.contains(verb), "{verb} {resource}.{group}");
        }
        let name = format!("{resource}.{group}");
        let definitions = rules.iter().filter(|rule| {
            let about = rule.resources.iter().flatten();
            let mut names = rule.resource_names.iter().flatten();
            about.into_iter().any(|one| one == "customresourcedefinitions") && names.any(|one| *one == name)
        });
        let verbs: BTreeSet<&String> = definitions.flat_map(|rule| &rule.verbs).collect();
        assert!(
            verbs.contains(&"list".to_owned()) && verbs.contains(&"watch".to_owned()),
            "{name} comes unnoticed"
        );
    }
}

#[test]
fn the_role_allows_nothing_by_a_star() {
    for rule in rules() {
        let lists = [
            &rule.api_groups,
            &rule.resources,
            &rule.resource_names,
            &Some(rule.verbs.clone()),
        ];
        let all = lists.into_iter().flatten().flatten();
        assert!(all.into_iter().all(|word| word != "*"), "{rule:?}");
        let signs = rule.verbs.iter().any(|verb| verb == "approve" || verb == "sign");
        assert!(!signs || rule.resource_names.is_some(), "{rule:?}");
    }
}

#[test]
fn the_role_gives_the_token_role_because_it_holds_it() {
    let held = granted(&rules(), "", "serviceaccounts/token");
    assert!(held.contains("create") && held.contains("subscribe"));
}
