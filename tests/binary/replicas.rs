//! Several replicas of the controllers: which one writes after a leader was stopped, killed or asked to release the Lease.
//!
//! Every replica has a proxy of its own that counts its requests, so that the writer is known. `docs/operate/replicas.md` has the
//! figures.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use devhub::TestHub;
use fleetbench::{Counter, Counts, Proxy};
use serde_json::{Value, json};

use crate::addresses::free_address;
use crate::reads::Reader;
use crate::rig::{defined_hub, kubectl, tidegate};
use crate::serve::{page, until};

/// A running program; killed when dropped.
pub(crate) struct Program(pub(crate) Child);

impl Program {
    pub(crate) fn signal(&self, name: &str) {
        let words = [format!("-{name}"), self.0.id().to_string()];
        let sent = Command::new("kill").args(words).status();
        assert!(sent.expect("kill is there").success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A replica of the controllers, and what it asks the hub for.
struct Replica {
    program: Program,
    metrics: String,
    counter: Counter,
    _proxy: Proxy,
}

impl Replica {
    async fn start(hub: &TestHub, folder: &Path, name: &str) -> Self {
        let counter = Counter::default();
        let proxy = Proxy::start(hub.client(), counter.clone())
            .await
            .expect("a proxy");
        let kubeconfig = folder.join(name);
        std::fs::write(&kubeconfig, proxy.kubeconfig()).expect("writable");
        let metrics = free_address().to_string();
        let child = tidegate()
            .args(["serve", "--only", "controllers", "--elect", "default/leader"])
            .args(["--metrics", &metrics, "--kubeconfig"])
            .arg(&kubeconfig)
            .env("HOSTNAME", name)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let replica = Self {
            program: Program(child),
            metrics,
            counter,
            _proxy: proxy,
        };
        tokio::task::block_in_place(|| until("it is ready", || is_ready(&replica.metrics)));
        replica
    }

    fn leads(&self) -> bool {
        let text = page(&self.metrics, "/metrics").map(|(_, text)| text);
        text.is_some_and(|text| text.lines().any(|line| line == "tidegate_leading 1"))
    }

    /// Returns what it has written since the last call, Leases and events apart.
    fn written(&self) -> Counts {
        let apart = ["leases", "events"];
        let calls = self.counter.take().into_iter();
        calls
            .filter(|(call, _)| call.is_write() && !apart.contains(&call.resource.as_str()))
            .collect()
    }
}

pub(crate) fn is_ready(address: &str) -> bool {
    page(address, "/readyz").is_some_and(|(status, _)| status == 200)
}

/// How many clusters: enough for a batch of writes that a signal can hit.
const CLUSTERS: usize = 40;

pub(crate) fn apply(kubeconfig: &Path, object: &Value) {
    let applied = kubectl(kubeconfig, &["apply", "-f", "-"], &object.to_string());
    assert!(applied.ok, "{}", applied.stderr);
}

fn fleet(kubeconfig: &Path) {
    let cluster = |number: usize| {
        let name = format!("c{number}");
        [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
            json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
                "metadata": {"name": name, "labels": {"env": "prod"}}, "spec": {"hubAcceptsClient": true}}),
        ]
    };
    let items: Vec<Value> = (0..CLUSTERS).flat_map(cluster).collect();
    apply(
        kubeconfig,
        &json!({"apiVersion": "v1", "kind": "List", "items": items}),
    );
}

/// Gives an add-on to every cluster.
fn give(kubeconfig: &Path, name: &str) {
    let strategy = json!({"type": "ClusterLabelSelector", "labelSelector": {"matchLabels": {"env": "prod"}}});
    let addon = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": name}, "spec": {"installStrategy": strategy}});
    apply(kubeconfig, &addon);
}

/// The instances of an add-on.
fn instances(reader: &Reader, name: &str) -> Vec<Value> {
    let mut list = reader.get(&["managedclusteraddons", "-A"]).unwrap_or_default();
    let all = list["items"]
        .as_array_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    let of_it = |one: &Value| one["metadata"]["name"] == name;
    all.into_iter().filter(of_it).collect()
}

fn installed(reader: &Reader, name: &str) -> usize {
    instances(reader, name).len()
}

/// Returns where an add-on's instances are, and their revisions.
fn revisions(reader: &Reader, name: &str) -> Vec<String> {
    let place = |one: Value| {
        let metadata = &one["metadata"];
        format!("{} {}", metadata["namespace"], metadata["resourceVersion"])
    };
    instances(reader, name).into_iter().map(place).collect()
}

async fn scene(folder: &Path) -> (TestHub, PathBuf, [Replica; 2]) {
    let (hub, kubeconfig) = defined_hub(folder).await;
    tokio::task::block_in_place(|| fleet(&kubeconfig));
    let first = Replica::start(&hub, folder, "first").await;
    tokio::task::block_in_place(|| until("the first leads", || first.leads()));
    let second = Replica::start(&hub, folder, "second").await;
    (hub, kubeconfig, [first, second])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_stopped_for_longer_than_its_lease_wakes_up_and_writes_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig, [first, second]) = scene(folder.path()).await;
    let reader = Reader::of(&kubeconfig);
    tokio::task::block_in_place(|| {
        give(&kubeconfig, "one");
        // In the middle of a batch: what was begun is in the sockets, what was planned is not.
        until("it has begun to write", || {
            first.written().values().sum::<u64>() > 0
        });
        first.program.signal("STOP");
        let stopped = Instant::now();
        until("the second leads", || second.leads());
        let taken_over = stopped.elapsed();
        until("everything is installed", || {
            installed(&reader, "one") == CLUSTERS
        });
        std::thread::sleep(Duration::from_secs(25).saturating_sub(stopped.elapsed()));
        first.written();
        second.written();
        let before = revisions(&reader, "one");
        // Work that is due at the moment of waking.
        give(&kubeconfig, "two");
        first.program.signal("CONT");
        until("everything is installed by the second", || {
            installed(&reader, "two") == CLUSTERS
        });
        std::thread::sleep(Duration::from_secs(3));
        let (woken, other) = (first.written(), second.written());
        println!("taken over {taken_over:?} after SIGSTOP; after SIGCONT the first has written {woken:?}");
        // What was on the wire when it was stopped names what is there already, and changes nothing.
        assert_eq!(
            revisions(&reader, "one"),
            before,
            "a leader of yesterday has changed something"
        );
        let creates = |counts: &Counts| -> u64 {
            let made = counts
                .iter()
                .filter(|(call, _)| call.verb == "create" && call.resource == "managedclusteraddons");
            made.map(|(_, count)| *count).sum()
        };
        assert_eq!(
            creates(&other),
            CLUSTERS as u64,
            "all of the new work is the second's: {other:?}"
        );
        assert!(
            creates(&woken) < 32,
            "no more than what was on its way: {woken:?}"
        );
        assert!(!first.leads() && second.leads());
    });
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_replica_writes_soon_after_a_leader_goes_and_within_twenty_seconds_after_it_is_killed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig, [first, second]) = scene(folder.path()).await;
    let reader = Reader::of(&kubeconfig);
    let third = Replica::start(&hub, folder.path(), "third").await;
    tokio::task::block_in_place(|| {
        let next = ["lease", "leader-next", "-n", "default"];
        reader.until("a replica is next in line", &next, |_| true);
        let begun = Instant::now();
        first.program.signal("TERM");
        give(&kubeconfig, "one");
        until("a replica writes", || installed(&reader, "one") > 0);
        let asked = begun.elapsed();
        until("one of them leads", || second.leads() != third.leads());
        until("everything is installed", || {
            installed(&reader, "one") == CLUSTERS
        });
        let leader = if second.leads() { &second } else { &third };
        let begun = Instant::now();
        leader.program.signal("KILL");
        give(&kubeconfig, "two");
        until("a replica writes again", || installed(&reader, "two") > 0);
        let killed = begun.elapsed();
        println!("first write of the next leader: {asked:?} after SIGTERM, {killed:?} after SIGKILL");
        // 3 s where nothing else runs; here other tests do.
        assert!(asked < Duration::from_secs(8), "{asked:?}");
        assert!(killed < Duration::from_secs(20), "{killed:?}");
    });
    hub.shutdown().await;
}
