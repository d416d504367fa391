//! Access control as kubectl meets it.

#![expect(clippy::disallowed_methods, reason = "a test reads files and clocks")]

use std::process::Command;

use devhub::{Authz, Controller, DevHub};
use tempfile::TempDir;
use tokio::runtime::Runtime;

#[path = "../../../tests/kit/kubectl.rs"]
mod kubectl;

/// A hub with access control, and a folder for kubectl's files.
struct Rig {
    hub: DevHub,
    folder: TempDir,
    runtime: Runtime,
}

impl Rig {
    fn start() -> Self {
        kubectl::require_kubectl();
        let runtime = Runtime::new().expect("a runtime");
        let builder = DevHub::builder().authz(Authz::Rbac).controllers(Controller::ALL);
        let hub = runtime.block_on(builder.start()).expect("a hub starts");
        let folder = tempfile::tempdir().expect("a folder");
        hub.write_kubeconfig(&folder.path().join("kubeconfig"))
            .expect("a kubeconfig");
        Self { hub, folder, runtime }
    }

    fn end(self) {
        self.runtime.block_on(self.hub.shutdown());
    }

    /// Runs kubectl; returns whether it succeeded and all that it printed.
    fn kubectl(&self, words: &str) -> (bool, String) {
        let output = Command::new("kubectl")
            .env("KUBECONFIG", self.folder.path().join("kubeconfig"))
            .env("HOME", self.folder.path())
            .arg("--cache-dir")
            .arg(self.folder.path().join("cache"))
            .args(words.split_whitespace())
            .output()
            .expect("kubectl starts");
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&said).trim().to_owned(),
        )
    }

    fn says(&self, words: &str, expected: &str) {
        let (succeeded, said) = self.kubectl(words);
        assert!(succeeded && said.contains(expected), "kubectl {words}: {said}");
    }

    fn refuses(&self, words: &str, expected: &str) {
        let (succeeded, said) = self.kubectl(words);
        assert!(!succeeded && said.contains(expected), "kubectl {words}: {said}");
    }
}

const SECRET: &str = "secret-of-the-team";

/// A hub with access control, a namespace, and what an administrator would set up in it.
fn prepare() -> Rig {
    let rig = Rig::start();
    for words in [
        "create namespace team",
        "create configmap settings -n team --from-literal=a=b",
        "create rolebinding viewers -n team --clusterrole=view --user=jane",
        "create rolebinding admins -n team --clusterrole=admin --user=boss",
        "create role names -n team --verb=get --resource=secrets --resource-name=secret-of-the-team",
        "create rolebinding names -n team --role=names --group=devs",
    ] {
        rig.says(words, "created");
    }
    rig.says(
        &format!("create secret generic {SECRET} -n team --from-literal=a=b"),
        "created",
    );
    rig
}

#[test]
fn roles_and_bindings_decide_what_kubectl_may_do() {
    let rig = prepare();
    rig.says("get configmaps -n team --as jane", "settings");
    rig.refuses(
        "get configmaps -n default --as jane",
        "configmaps is forbidden: User \"jane\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\"",
    );
    rig.refuses(
        "delete configmap settings -n team --as jane",
        "configmaps \"settings\" is forbidden: User \"jane\" cannot delete resource \"configmaps\" in API group \"\" in the namespace \"team\"",
    );
    rig.says(
        &format!("get secret {SECRET} -n team --as jim --as-group devs"),
        SECRET,
    );
    rig.refuses(
        "get secret other -n team --as jim --as-group devs",
        "cannot get resource \"secrets\"",
    );
    rig.says(
        "create configmap more -n team --from-literal=a=b --as boss",
        "created",
    );
    rig.refuses("get nodes --as jane", "cannot list resource \"nodes\"");
    rig.refuses(
        "get --raw /metrics --as jane",
        "forbidden: User \"jane\" cannot get path \"/metrics\"",
    );
    rig.end();
}

#[test]
fn can_i_answers_from_the_same_rules() {
    let rig = prepare();
    for (words, answer) in [
        ("auth can-i create pods -n team --as boss", "yes"),
        ("auth can-i get configmaps -n team --as jane", "yes"),
        ("auth can-i * *", "yes"),
        ("auth can-i get /healthz --as jane", "yes"),
    ] {
        rig.says(words, answer);
    }
    for words in [
        "auth can-i create pods --as jane",
        "auth can-i create configmaps -n team --as jane",
        "auth can-i get secrets -n team --as jane",
        "auth can-i get secret/other -n team --as jim --as-group devs",
        "auth can-i get /metrics --as jane",
    ] {
        rig.refuses(words, "no");
    }
    let (succeeded, list) = rig.kubectl("auth can-i --list -n team --as jane");
    assert!(succeeded, "{list}");
    for text in [
        "configmaps",
        "[get list watch]",
        "selfsubjectaccessreviews.authorization.k8s.io",
        "[/healthz]",
    ] {
        assert!(list.contains(text), "{text}: {list}");
    }
    assert!(!list.contains("secrets"), "{list}");
    rig.end();
}

#[test]
fn users_cannot_grant_more_than_they_have_without_bind_or_escalate() {
    let rig = prepare();
    rig.says(
        "create role own -n team --verb=get --resource=configmaps --as boss",
        "created",
    );
    rig.refuses(
        "create role wide -n team --verb=get,list --resource=customresourcedefinitions --as boss",
        "roles.rbac.authorization.k8s.io \"wide\" is forbidden: user \"boss\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:",
    );
    rig.says(
        "create rolebinding own -n team --role=own --user=jim --as boss",
        "created",
    );
    rig.refuses(
        "create rolebinding root -n team --clusterrole=cluster-admin --user=jim --as boss",
        "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}",
    );
    rig.refuses(
        "create rolebinding none -n team --clusterrole=none --user=jim --as boss",
        "clusterrole.rbac.authorization.k8s.io \"none\" not found",
    );
    rig.says(
        "create role binder -n team --verb=bind --resource=clusterroles --resource-name=cluster-admin",
        "created",
    );
    rig.says(
        "create rolebinding binder -n team --role=binder --user=boss",
        "created",
    );
    rig.says(
        "create rolebinding root -n team --clusterrole=cluster-admin --user=jim --as boss",
        "created",
    );
    rig.says(
        "create clusterrole writer --verb=create,patch,update --resource=clusterroles",
        "created",
    );
    rig.says(
        "create clusterrolebinding writer --clusterrole=writer --user=ann",
        "created",
    );
    rig.refuses(
        "create clusterrole all --aggregation-rule=a=b --as ann",
        "must have cluster-admin privileges to use the aggregationRule",
    );
    rig.end();
}

#[test]
fn impersonation_needs_permission_for_every_part() {
    let rig = prepare();
    rig.says("create clusterrole actor --verb=impersonate --resource=users,groups --resource-name=jane --resource-name=devs", "created");
    rig.says(
        "create clusterrolebinding actor --clusterrole=actor --serviceaccount=team:robot",
        "created",
    );
    rig.says("create serviceaccount robot -n team", "created");
    let (succeeded, token) = rig.kubectl("create token robot -n team");
    assert!(succeeded, "{token}");
    let as_robot = |words: &str| {
        format!(
            "{words} --kubeconfig /dev/null --insecure-skip-tls-verify --token {token} --server {}",
            rig.hub.url()
        )
    };
    rig.says(
        &as_robot("get configmaps -n team --as jane --as-group devs"),
        "settings",
    );
    rig.refuses(
        &as_robot("get configmaps -n team --as boss"),
        "users \"boss\" is forbidden: User \"system:serviceaccount:team:robot\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope",
    );
    rig.refuses(
        &as_robot("get configmaps -n team --as jane --as-group system:masters"),
        "groups \"system:masters\" is forbidden",
    );
    rig.refuses(
        &as_robot("get configmaps -n team"),
        "configmaps is forbidden: User \"system:serviceaccount:team:robot\" cannot list",
    );
    rig.says(
        "create rolebinding robot -n team --clusterrole=view --serviceaccount=team:robot",
        "created",
    );
    rig.says(&as_robot("get configmaps -n team"), "settings");
    rig.end();
}

#[test]
fn aggregated_roles_take_in_new_ones_at_once_and_show_them() {
    let rig = prepare();
    let file = rig.folder.path().join("role.yaml");
    std::fs::write(
        &file,
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: things-view\n  labels: {rbac.authorization.k8s.io/aggregate-to-view: \"true\"}\nrules:\n- {apiGroups: [\"\"], resources: [things], verbs: [get]}\n",
    )
    .expect("writable");
    rig.refuses("auth can-i get things -n team --as jane", "no");
    rig.says(&format!("apply -f {}", file.display()), "created");
    rig.says("auth can-i get things -n team --as jane", "yes");
    rig.says("auth can-i get things -n team --as boss", "yes");
    let shown = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        rig.kubectl("get clusterrole admin -o yaml")
            .1
            .contains("- things")
    });
    assert!(shown, "the controller writes the rules of aggregated roles");
    rig.end();
}
