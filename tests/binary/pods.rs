//! Pods of the installation, outside of the hub: the containers of its Deployments run with the real binary, with tokens of their service
//! accounts and no other permissions, and the status of the Deployments reports their pods.
//!
//! One pod represents all replicas: addresses are those of this machine.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::addresses::free_address;
use crate::reads::Reader;
use crate::replicas::{Program, is_ready};
use crate::rig::{kubectl, tidegate};
use crate::serve::until;

/// Runs kubectl, which must succeed; returns what it printed.
pub(crate) fn done(kubeconfig: &Path, words: &[&str], text: &str) -> String {
    let ran = kubectl(kubeconfig, words, text);
    assert!(ran.ok, "{words:?}: {}", ran.stderr);
    ran.stdout.trim().to_owned()
}

/// A pod, and the container that it runs.
struct Pod {
    container: Value,
    program: Program,
    health: SocketAddr,
    page: SocketAddr,
}

/// What runs the pods of the namespace `tidegate`.
pub(crate) struct Pods<'a> {
    folder: &'a Path,
    admin: &'a Path,
    reader: Reader,
    gate: SocketAddr,
    running: BTreeMap<String, Pod>,
}

impl<'a> Pods<'a> {
    /// The gate listens where the hub finds its Service.
    pub(crate) fn new(folder: &'a Path, admin: &'a Path, gate: SocketAddr) -> Self {
        Self {
            folder,
            admin,
            reader: Reader::of(admin),
            gate,
            running: BTreeMap::new(),
        }
    }

    /// Runs the containers of the Deployments during an action; running ones continue.
    pub(crate) fn run_during<T>(&mut self, act: impl FnOnce() -> T) -> T {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let keeps = scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    self.sync();
                    std::thread::sleep(Duration::from_millis(200));
                }
            });
            let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
            over.store(true, Ordering::SeqCst);
            keeps.join().expect("the pods run");
            acted.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Returns the image that a Deployment's pod runs.
    pub(crate) fn image(&self, deployment: &str) -> &str {
        self.running[deployment].container["image"]
            .as_str()
            .unwrap_or_default()
    }

    /// Returns where a Deployment's pod serves the web page, as a user meets it who forwards its port.
    pub(crate) fn page(&self, deployment: &str) -> SocketAddr {
        self.running[deployment].page
    }

    fn sync(&mut self) {
        let list = self
            .reader
            .get(&["deployments", "-n", "tidegate"])
            .unwrap_or_default();
        let deployments = list["items"].as_array().cloned().unwrap_or_default();
        let named = |name: &str| deployments.iter().any(|one| one["metadata"]["name"] == name);
        self.running.retain(|name, _| named(name));
        for deployment in &deployments {
            self.follow(deployment);
        }
    }

    fn follow(&mut self, deployment: &Value) {
        let name = deployment["metadata"]["name"].as_str().expect("a name");
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let is_new = self
            .running
            .get(name)
            .is_none_or(|pod| pod.container != *container);
        if is_new {
            if let Some(old) = self.running.remove(name) {
                end(old.program);
            }
            let pod = self.start(deployment);
            self.running.insert(name.to_owned(), pod);
        }
        if !is_ready(&self.running[name].health.to_string()) {
            return;
        }
        let generation = &deployment["metadata"]["generation"];
        if deployment["status"]["observedGeneration"] != *generation {
            let count = &deployment["spec"]["replicas"];
            let status = json!({"status": {"observedGeneration": generation, "replicas": count, "updatedReplicas": count,
                "readyReplicas": count, "availableReplicas": count}});
            let place = ["patch", "deployment", name, "-n", "tidegate"];
            let how = ["--subresource", "status", "--type", "merge", "-p"];
            // A Deployment that has gone meanwhile needs no status.
            kubectl(
                self.admin,
                &[&place[..], &how, &[&status.to_string()]].concat(),
                "",
            );
        }
    }

    fn start(&self, deployment: &Value) -> Pod {
        let pod = &deployment["spec"]["template"]["spec"];
        let account = pod["serviceAccountName"].as_str().expect("an account");
        let kubeconfig = self.account(account);
        let [health, metrics, page] = [free_address(), free_address(), free_address()];
        let own = [
            ("--bind", self.gate),
            ("--health", health),
            ("--metrics", metrics),
            ("--ui", page),
        ];
        let words = pod["containers"][0]["args"].as_array().expect("words");
        let words = words.iter().map(|word| {
            let word = word.as_str().expect("a word");
            let flag = word.split('=').next().unwrap_or_default();
            let own = own.iter().find(|(name, _)| *name == flag);
            own.map_or_else(|| word.to_owned(), |(name, address)| format!("{name}={address}"))
        });
        let log = std::fs::File::create(self.folder.join(format!("{account}.log"))).expect("writable");
        let child = tidegate()
            .args(words)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the binary starts");
        Pod {
            container: pod["containers"][0].clone(),
            program: Program(child),
            health,
            page,
        }
    }

    /// A kubeconfig of a service account alone.
    fn account(&self, name: &str) -> PathBuf {
        let token = done(self.admin, &["create", "token", name, "-n", "tidegate"], "");
        let own = self.folder.join(format!("{name}.kubeconfig"));
        std::fs::copy(self.admin, &own).expect("writable");
        let view = ["config", "view", "-o", "jsonpath={.contexts[0].context.user}"];
        let user = done(&own, &view, "");
        done(&own, &["config", "delete-user", &user], "");
        done(&own, &["config", "set-credentials", &user, "--token", &token], "");
        let asked = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];
        let expected = format!("system:serviceaccount:tidegate:{name}");
        assert_eq!(done(&own, &asked, ""), expected);
        own
    }
}

/// Ends a pod as a node does.
fn end(mut program: Program) {
    program.signal("TERM");
    until("the pod ends", || {
        program.0.try_wait().expect("it can be waited for").is_some()
    });
}
