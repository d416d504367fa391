//! The install kit as `docs/operate/install.md` tells it, on a hub with Open Cluster Management's definitions where rights decide: what
//! `tidegate install` prints is applied; both halves run outside with the words of their Deployments, as their service accounts, with
//! tokens of these; the API server finds the gate behind its Service; and what `docs/operate/uninstall.md` tells leaves nothing behind.
//!
//! Decides nothing about pods: nobody runs them here.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Child;

use devhub::{Authz, DevHub};
use serde_json::Value;

use crate::definitions::theirs;
use crate::rig::{CMA_V1ALPHA1, kubectl, repository, run, tidegate};
use crate::serve::{page, serving, until};

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}

/// What runs until it is dropped.
struct Half(Child);

impl Drop for Half {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn done(kubeconfig: &Path, words: &[&str], text: &str) -> String {
    let ran = kubectl(kubeconfig, words, text);
    assert!(ran.ok, "{words:?}: {}", ran.stderr);
    ran.stdout.trim().to_owned()
}

/// A kubeconfig of a service account alone.
fn account(folder: &Path, admin: &Path, name: &str) -> PathBuf {
    let token = done(admin, &["create", "token", name, "-n", "tidegate"], "");
    let own = folder.join(format!("{name}.kubeconfig"));
    std::fs::copy(admin, &own).expect("writable");
    let user = done(
        &own,
        &["config", "view", "-o", "jsonpath={.contexts[0].context.user}"],
        "",
    );
    done(&own, &["config", "delete-user", &user], "");
    done(&own, &["config", "set-credentials", &user, "--token", &token], "");
    let who = done(
        &own,
        &["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"],
        "",
    );
    assert_eq!(who, format!("system:serviceaccount:tidegate:{name}"));
    own
}

/// The words of a Deployment's container, with addresses of this machine.
fn words(printed: &str, deployment: &str, addresses: &[(&str, SocketAddr)]) -> Vec<String> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(printed).expect("YAML");
    let found = objects
        .iter()
        .find(|object| object["kind"] == "Deployment" && object["metadata"]["name"] == deployment);
    let found = found.expect("the Deployment");
    let pod = &found["spec"]["template"]["spec"];
    assert_eq!(
        pod["serviceAccountName"], deployment,
        "the account whose token is used"
    );
    let words = pod["containers"][0]["args"].as_array().expect("words");
    let word = |word: &Value| {
        let word = word.as_str().expect("a word");
        let flag = word.split('=').next().unwrap_or_default();
        let own = addresses.iter().find(|(name, _)| *name == flag);
        own.map_or_else(|| word.to_owned(), |(name, address)| format!("{name}={address}"))
    };
    words.iter().map(word).collect()
}

fn start(kubeconfig: &Path, words: &[String]) -> Half {
    let (child, _) = serving(tidegate().args(words).arg("--kubeconfig").arg(kubeconfig));
    Half(child)
}

fn printed(flags: &[&str]) -> String {
    let printed = run(&[&["install", "--print"], flags].concat());
    assert!(printed.ok, "{}", printed.stderr);
    printed.stdout
}

const ADDON: &str = "\
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: mine}
spec:
  installStrategy: {type: Manual}
";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_installed_runs_with_its_own_rights_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let gate = free_address();
    let builder = DevHub::builder()
        .authz(Authz::Rbac)
        .controllers(devhub::Controller::ALL)
        .service("tidegate", "tidegate", gate);
    let builder = theirs().into_iter().fold(builder, devhub::Builder::crd);
    let hub = builder.start().await.expect("the hub starts");
    let admin = folder.path().join("kubeconfig");
    hub.write_kubeconfig(&admin).expect("writable");
    tokio::task::block_in_place(|| {
        let before = everything(&admin);
        let all = printed(&["--webhooks", "without"]);
        done(&admin, &["apply", "-f", "-"], &all);
        let [health, other] = [free_address(), free_address()];
        let controllers = words(
            &all,
            "tidegate-controllers",
            &[("--health", other), ("--metrics", other)],
        );
        let controllers = start(
            &account(folder.path(), &admin, "tidegate-controllers"),
            &controllers,
        );
        let flags = [("--bind", gate), ("--health", health), ("--metrics", health)];
        let answering = words(&all, "tidegate-gate", &flags);
        let answering = start(&account(folder.path(), &admin, "tidegate-gate"), &answering);
        let ready = Some((200, "ok".to_owned()));
        until("the gate is ready", || {
            page(&health.to_string(), "/readyz") == ready
        });
        done(&admin, &["apply", "-f", "-"], &printed(&["--webhooks", "only"]));
        guards(&admin);
        // Applied again, whatever Tidegate has written meanwhile stays.
        let again = done(&admin, &["apply", "-f", "-"], &printed(&[]));
        assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");
        guards(&admin);
        // Away with it: the webhooks first.
        done(&admin, &["delete", "-f", "-"], &printed(&["--webhooks", "only"]));
        drop((controllers, answering));
        done(
            &admin,
            &["delete", "--ignore-not-found", "-f", "-"],
            &printed(&["--webhooks", "without"]),
        );
        until("the namespace is gone", || {
            !kubectl(&admin, &["get", "namespace", "tidegate"], "").ok
        });
        assert_eq!(everything(&admin), before, "nothing is left");
        done(&admin, &["get", CMA_V1ALPHA1, "mine"], "");
    });
    hub.shutdown().await;
}

/// The API server asks the gate behind its Service, and trusts the certificate that it made.
fn guards(admin: &Path) {
    until("what is right passes", || {
        kubectl(admin, &["apply", "-f", "-"], ADDON).ok
    });
    let wrong = repository("manifests/examples/wrong/01-rollout.yaml");
    let mut told = String::new();
    until("what is wrong is refused", || {
        let ran = kubectl(admin, &["apply", "-f", &wrong.to_string_lossy()], "");
        told = ran.stderr;
        !ran.ok && told.contains("[rollout/min-success-time]")
    });
}

/// The names of everything that an installation could leave behind.
fn everything(admin: &Path) -> String {
    let kinds = "namespaces,clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,secrets,services,deployments,\
                 poddisruptionbudgets,leases,crd,validatingwebhookconfigurations,mutatingwebhookconfigurations";
    done(admin, &["get", kinds, "-A", "-o", "name"], "")
}
