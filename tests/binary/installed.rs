//! The installation as in `docs/operate/install.md`, `upgrade.md` and `uninstall.md`, on a hub with Open Cluster Management's CRDs and
//! RBAC: with the program, kustomize and Helm, each block of the pages as it is written.
//!
//! The installation must work with only its own permissions, the doctor must report no errors, and uninstalling must leave nothing behind
//! and keep the user's objects. `pods` runs the binary; `install_kit` compares the output of the three ways.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use devhub::{Authz, DevHub};
use serde_json::{Value, json};
use spokes::{Fleet, FleetOptions};

use crate::addresses::free_address;
use crate::definitions::theirs;
use crate::pods::{Pods, done};
use crate::programs::HELM;
use crate::reads::Reader;
use crate::rig::{Run, certificate, repository, state_of};
use crate::serve::{Serve, until};
use crate::upgraded::goes_there_and_back;
use crate::v1beta1::Author;
use crate::web::told;

/// How long a command may take on a slow machine.
const COMMAND_SECONDS: &str = "180";
/// The exit status of `timeout` for a command that it has ended.
const TIMED_OUT: i32 = 124;
/// How many lines of a pod's log a failure shows.
const LOG_LINES: usize = 20;

/// A hub with two clusters and without anything of ours.
pub(crate) struct Site {
    pub(crate) admin: PathBuf,
    pub(crate) folder: tempfile::TempDir,
    gate: SocketAddr,
    hub: DevHub,
    fleet: Fleet,
    /// Stands for OCM's conversion between its versions.
    _conversion: Serve,
}

impl Site {
    async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let gate = free_address();
        let builder = DevHub::builder()
            .authz(Authz::Rbac)
            .controllers(devhub::Controller::ALL)
            .service("tidegate", "tidegate", gate);
        let builder = definitions().into_iter().fold(builder, devhub::Builder::crd);
        let hub = builder.start().await.expect("the hub starts");
        let admin = folder.path().join("kubeconfig");
        hub.write_kubeconfig(&admin).expect("writable");
        let conversion = tokio::task::block_in_place(|| converts(folder.path(), &admin));
        let options = FleetOptions {
            clusters: 2,
            ..FleetOptions::default()
        };
        let fleet = Fleet::start(hub.client(), options)
            .await
            .expect("the clusters start");
        let site = Self {
            admin,
            folder,
            gate,
            hub,
            fleet,
            _conversion: conversion,
        };
        site.lay_out();
        site
    }

    /// The folder in which a person would type: the repository's, and what is on the path.
    fn lay_out(&self) {
        let at = |name: &str| self.folder.path().join(name);
        for part in ["manifests", "charts"] {
            std::os::unix::fs::symlink(repository(part), at(part)).expect("writable");
        }
        std::fs::create_dir(at("bin")).expect("writable");
        let program = env!("CARGO_BIN_EXE_tidegate");
        std::os::unix::fs::symlink(program, at("bin/tidegate")).expect("writable");
    }

    fn pods(&self) -> Pods<'_> {
        Pods::new(self.folder.path(), &self.admin, self.gate)
    }

    /// Runs a command as a person types it. What waits for a pod that never becomes ready, such as `kubectl rollout status`, is ended.
    pub(crate) fn types(&self, command: &str) -> Run {
        let path = std::env::var("PATH").unwrap_or_default();
        let ran = Command::new("timeout")
            .args([COMMAND_SECONDS, "bash", "-o", "pipefail", "-c", command])
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("KUBECONFIG", &self.admin)
            .env(
                "PATH",
                format!("{}:{path}", self.folder.path().join("bin").display()),
            )
            .output();
        let ran = Run::from(ran.expect("timeout and bash are there"));
        assert!(
            ran.code != Some(TIMED_OUT),
            "{command}: has not ended within {COMMAND_SECONDS} s:\n{}{}{}",
            ran.stdout,
            ran.stderr,
            self.pod_logs()
        );
        ran
    }

    /// Returns the last lines that each pod has logged.
    fn pod_logs(&self) -> String {
        let folder = std::fs::read_dir(self.folder.path()).expect("readable");
        let logs = folder.filter_map(|entry| Some(entry.ok()?.path()));
        let logs = logs.filter(|path| path.extension().is_some_and(|ends| ends == "log"));
        let shown = logs.map(|path| {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let last = &lines[lines.len().saturating_sub(LOG_LINES)..];
            format!("{}:\n{}\n", path.display(), last.join("\n"))
        });
        shown.collect()
    }

    /// Runs a command that must succeed; returns what it printed.
    pub(crate) fn typed(&self, command: &str) -> String {
        let ran = self.types(command);
        assert!(ran.ok, "{command}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// An administrator wants an add-on on every cluster.
    fn has_an_addon(&self) {
        self.typed("kubectl apply -f manifests/examples/");
        let decisions = ["placementdecisions", "-n", "open-cluster-management"];
        Reader::of(&self.admin).until("the placement is decided", &decisions, |list| {
            list["items"].as_array().is_some_and(|all| !all.is_empty())
        });
    }

    /// An administrator changes what the add-on says on every cluster.
    pub(crate) fn greets(&self, greeting: &str) {
        let patch = json!({"spec": {"customizedVariables": [{"name": "GREETING", "value": greeting}]}});
        self.typed(&format!("kubectl patch addondeploymentconfig helloworld -n open-cluster-management --type=merge -p '{patch}'"));
    }

    async fn end(self) {
        self.fleet.shutdown().await;
        self.hub.shutdown().await;
    }
}

/// Open Cluster Management's, with a conversion where its versions differ.
fn definitions() -> Vec<Value> {
    let mut definitions = theirs();
    for crd in &mut definitions {
        let plural = &crd["spec"]["names"]["plural"];
        if plural == "addondeploymentconfigs" || plural == "addontemplates" {
            crd["spec"]["conversion"] = json!({"strategy": "None"});
        }
    }
    definitions
}

fn converts(folder: &Path, admin: &Path) -> Serve {
    let (authority, chain, key) = certificate(folder);
    let files = [chain.to_string_lossy(), key.to_string_lossy()];
    let words = ["--bind", "127.0.0.1:0", "--linger", "0", "--log-level", "error"];
    let words = [&words[..], &["--certificate", &files[0], "--key", &files[1]]].concat();
    let program = Serve::half("gate", admin, &words);
    let url = program.url.strip_prefix("gate=").expect("an address");
    Author(admin).converts_with(url, authority.ca_pem());
    program
}

/// The commands of the first block under a heading of a page.
pub(crate) fn commands(page: &str, heading: &str) -> Vec<String> {
    let text = std::fs::read_to_string(repository(page)).expect(page);
    let section = text.split(&format!("\n## {heading}\n")).nth(1).expect(heading);
    let block = section.split("```console\n").nth(1).expect("a block");
    let lines = block.split("```").next().unwrap_or_default().lines();
    lines
        .filter_map(|line| line.strip_prefix("$ "))
        .map(str::to_owned)
        .collect()
}

const INSTALL: &str = "docs/operate/install.md";
const UNINSTALL: &str = "docs/operate/uninstall.md";

/// A policy of the user's, of a kind that goes with Tidegate.
const POLICY: &str = "policies/rollout-progressive-in-production.yaml";

/// What happens to an installation between its first day and its last one.
#[derive(Clone, Copy, PartialEq)]
enum Life {
    Quiet,
    Upgraded,
    UpgradedAndShown,
}

async fn comes_works_and_goes(heading: &str, life: Life) {
    let site = Site::start().await;
    tokio::task::block_in_place(|| {
        site.has_an_addon();
        let before = everything(&site.admin);
        let mut pods = site.pods();
        pods.run_during(|| {
            let registration = commands(INSTALL, "Registration of agents");
            for command in commands(INSTALL, heading).iter().chain(&registration) {
                site.typed(command);
            }
            works(&site);
            upgrades(&site);
            changes_nothing_again(&site, heading);
            is_sound(&site, "");
        });
        let policy = repository(POLICY);
        done(&site.admin, &["apply", "-f", &policy.to_string_lossy()], "");
        let profile = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "RolloutProfile", "metadata": {"name": "careful"},
            "spec": {"onFailure": "Undo"}});
        site.typed(&format!("kubectl apply -f - <<< '{profile}'"));
        if life != Life::Quiet {
            goes_there_and_back(&site, &mut pods, heading);
        }
        if life == Life::UpgradedAndShown {
            shows_a_web_page(&site, &mut pods);
        }
        site.typed("kubectl patch addonrollout helloworld --type=merge -p '{\"spec\": {\"pause\": {\"reason\": \"maintenance\"}}}'");
        let theirs = of_the_user(&site.admin);
        let beside = commands(UNINSTALL, "Parts that were applied separately");
        for command in commands(UNINSTALL, heading).iter().chain(&beside) {
            // As the page of the installation says: with the flags that it was printed with.
            let command = match life {
                Life::UpgradedAndShown => {
                    command.replace("--webhooks without", "--webhooks without --with web-page")
                }
                Life::Quiet | Life::Upgraded => command.clone(),
            };
            site.typed(&command);
        }
        drop(pods);
        let reader = Reader::of(&site.admin);
        until("the namespace is deleted", || {
            reader.get(&["namespace", "tidegate"]).is_err()
        });
        assert_eq!(everything(&site.admin), before, "nothing is left");
        assert_eq!(of_the_user(&site.admin), theirs, "nothing is lost");
        site.typed("tidegate crds | kubectl apply -f -");
        // As the controllers create it before the file is applied.
        site.typed("kubectl create -f - <<< '{\"apiVersion\": \"tidegate.io/v1alpha1\", \"kind\": \"AddOnRollout\", \"metadata\": {\"name\": \"helloworld\"}}'");
        site.typed("kubectl apply -f kept.yaml");
        let kept = site.typed("kubectl get addonpolicies,rolloutprofiles -o name");
        assert_eq!(
            kept.trim().lines().collect::<Vec<_>>(),
            [
                "addonpolicy.tidegate.io/rollout-progressive-in-production",
                "rolloutprofile.tidegate.io/careful"
            ]
        );
        let paused = site.typed("kubectl get addonrollout helloworld -o jsonpath={.spec.pause.reason}");
        assert_eq!(paused, "maintenance");
    });
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_program_it_comes_works_is_upgraded_shows_a_page_and_goes() {
    comes_works_and_goes("With the program", Life::UpgradedAndShown).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_kustomize_it_comes_works_and_goes() {
    comes_works_and_goes("With kustomize", Life::Quiet).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_helm_it_comes_works_is_upgraded_and_goes() {
    if HELM.is_missing() {
        return;
    }
    comes_works_and_goes("With Helm", Life::Upgraded).await;
}

/// The page of the kit shows nothing without a valid token, and with one what the hub lets its user see; the doctor finds the rights
/// that it needs.
fn shows_a_web_page(site: &Site, pods: &mut Pods<'_>) {
    pods.run_during(|| {
        let ran = site.types("tidegate doctor --as system:serviceaccount:tidegate:tidegate-controllers --only controllers --ui");
        assert_eq!(ran.code, Some(1), "{}", ran.stdout);
        assert!(ran.stdout.contains("tokenreviews"), "{}", ran.stdout);
        for command in commands(INSTALL, "With the web page") {
            if !command.contains("port-forward") && !command.contains("create token") {
                site.typed(&command);
            }
        }
        works(site);
        is_sound(site, " --ui");
    });
    let address = pods.page("tidegate-controllers").to_string();
    let ask = |token: &str| {
        let shows = format!("authorization: Bearer {token}");
        let (status, _, body) = told(&address, "/api/rollouts", &["host: 127.0.0.1", &shows]);
        (status, body.contains("helloworld"))
    };
    let token = |name: &str| {
        site.typed(&format!("kubectl create serviceaccount {name} -n default"));
        site.typed(&format!("kubectl create token {name} -n default"))
            .trim()
            .to_owned()
    };
    let (unprivileged, viewer) = (token("unprivileged"), token("viewer"));
    site.typed("kubectl create clusterrole viewer --verb=get,list,watch --resource='*.*'");
    site.typed(
        "kubectl create clusterrolebinding viewer --clusterrole=viewer --serviceaccount=default:viewer",
    );
    assert_eq!(ask("invalid-token"), (401, false));
    until("the viewer sees the rollout", || ask(&viewer) == (200, true));
    assert_eq!(ask(&unprivileged), (200, false));
    site.typed("kubectl delete clusterrolebinding,clusterrole viewer");
    site.typed("kubectl delete serviceaccount unprivileged viewer -n default");
}

/// The add-on arrives on both clusters, a change of it does, and what is wrong is refused.
pub(crate) fn works(site: &Site) {
    arrives(site, "hello");
    site.greets("ahoy");
    arrives(site, "ahoy");
    let mut told = String::new();
    until("what is wrong is refused", || {
        let ran = site.types("kubectl apply -f manifests/examples/wrong/01-rollout.yaml");
        told = ran.stderr;
        !ran.ok && told.contains("[rollout/min-success-time]")
    });
}

/// An upgrade reaches the clusters of a placement of another namespace, by a record that the webhook has signed with the key
/// of the installation.
fn upgrades(site: &Site) {
    site.typed("kubectl label managedclusters cluster1 cluster2 clusterID=x");
    let upgrade = json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
        "metadata": {"name": "elsewhere", "namespace": "default"},
        "spec": {"placement": [{"name": "all-clusters", "namespace": "open-cluster-management"}],
            "clusterVersion": {"version": "4.12.0"}}});
    site.typed(&format!("kubectl apply -f - <<< '{upgrade}'"));
    let seen = Reader::of(&site.admin).until(
        "the upgrade has started on a cluster",
        &["mcu", "elsewhere"],
        |upgrade| {
            let mut clusters = upgrade["status"]["clusters"].as_array().into_iter().flatten();
            clusters.any(|cluster| cluster["state"] == "Initialized")
        },
    );
    let clusters = seen["status"]["clusters"].to_string();
    assert!(!clusters.contains("PlacementAccessUnproven"), "{clusters}");
    site.typed("kubectl delete mcu elsewhere -n default");
    site.typed("kubectl label managedclusters cluster1 cluster2 clusterID-");
}

/// Waits until both clusters have the add-on, ready, with this greeting.
fn arrives(site: &Site, greeting: &str) {
    let reader = Reader::of(&site.admin);
    for cluster in ["cluster1", "cluster2"] {
        until("the add-on is ready", || {
            let addon = reader
                .get(&["mca", "helloworld", "-n", cluster])
                .unwrap_or_default();
            let works = reader.get(&["manifestworks", "-n", cluster]).unwrap_or_default();
            state_of(&addon, "Ready").0 == "True"
                && state_of(&addon, "Progressing").0 == "False"
                && works.to_string().contains(greeting)
        });
    }
}

/// A second installation changes nothing, whatever Tidegate has written to the objects in the meantime.
fn changes_nothing_again(site: &Site, heading: &str) {
    let kinds = "clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,services,deployments,poddisruptionbudgets,crd,\
                 validatingwebhookconfigurations,mutatingwebhookconfigurations";
    let seen = || {
        let ours = format!(
            "kubectl get -n tidegate {kinds} -o 'jsonpath={{range .items[*]}}{{.kind}} {{.metadata.name}} {{.metadata.resourceVersion}}{{\"\\n\"}}{{end}}'"
        );
        let secrets = "kubectl get secret tidegate-tls tidegate-record-keys -n tidegate -o 'jsonpath={.items[*].metadata.resourceVersion}'";
        site.typed(&ours) + &site.typed(secrets)
    };
    let before = seen();
    let commands = commands(INSTALL, heading);
    for command in commands
        .iter()
        .filter(|command| !command.starts_with("helm install"))
    {
        site.typed(command);
    }
    assert_eq!(seen(), before, "nothing moves");
}

/// The doctor has nothing to say against what is installed, for any account.
pub(crate) fn is_sound(site: &Site, chosen: &str) {
    let controllers = format!(" --elect tidegate/leader{chosen}");
    for (half, flags) in [
        ("gate", chosen),
        ("controllers", &controllers),
        ("certificates", ""),
    ] {
        let account = format!("system:serviceaccount:tidegate:tidegate-{half}");
        let command = format!(
            "tidegate doctor --as {account} --only {half} --gate {}{flags} --fail-on warning -o json",
            site.gate
        );
        let ran = site.types(&command);
        let page: Value = serde_json::from_str(&ran.stdout).expect(&ran.stderr);
        let findings = page["findings"].as_array().expect("findings");
        let odd: Vec<&Value> = findings
            .iter()
            .filter(|one| one["severity"] != "ok" && one["severity"] != "note")
            .collect();
        assert!(odd.is_empty() && findings.len() > 15, "{half}: {odd:#?}");
        assert_eq!(ran.code, Some(0), "{half}: {}", ran.stderr);
    }
}

/// The names of everything that an installation could leave behind.
fn everything(admin: &Path) -> String {
    let kinds = "namespaces,clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,secrets,services,deployments,configmaps,\
                 poddisruptionbudgets,leases,crd,validatingwebhookconfigurations,mutatingwebhookconfigurations,\
                 validatingadmissionpolicies,validatingadmissionpolicybindings";
    done(admin, &["get", kinds, "-A", "-o", "name"], "")
}

/// What the user has, as he wrote it or as it was made for him: add-ons, instances, works, configurations, placements.
fn of_the_user(admin: &Path) -> Vec<Value> {
    let kinds = [
        "clustermanagementaddons",
        "managedclusteraddons",
        "addontemplates",
        "addondeploymentconfigs",
        "manifestworks",
        "placements",
        "managedclusters",
    ];
    let read = |kind: &&str| {
        let text = done(admin, &["get", kind, "-A", "-o", "json"], "");
        let list: Value = serde_json::from_str(&text).expect("JSON");
        list["items"].as_array().expect("a list").clone()
    };
    let objects: Vec<Value> = kinds.iter().flat_map(read).collect();
    assert!(objects.len() >= 10, "{}", objects.len());
    let part = |object: &Value| {
        let metadata = &object["metadata"];
        let finalizers = &metadata["finalizers"];
        json!([
            object["kind"],
            metadata["namespace"],
            metadata["name"],
            metadata["uid"],
            finalizers,
            object["spec"]
        ])
    };
    objects.iter().map(part).collect()
}
