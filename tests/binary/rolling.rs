//! Webhook pods that are replaced one after the other while the hub sends requests at a steady rate.
//!
//! Every request gets a response from Tidegate. The load balancer here sends connections to ready pods, as a Service does.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use admission::{Endpoint, configurations};
use devhub::TestHub;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::json;
use tidegate::server::Authority;
use tokio::net::{TcpListener, TcpStream};

use crate::addresses::free_address;
use crate::replicas::{Program, apply, is_ready};
use crate::rig::{defined_hub, tidegate};
use crate::serve::until;

/// A gate: the program, and where it answers questions and probes.
struct Gate {
    program: Program,
    bind: String,
    health: String,
}

impl Gate {
    fn start(kubeconfig: &Path, files: &[String; 2]) -> Self {
        let (bind, health) = (free_address().to_string(), free_address().to_string());
        let child = tidegate()
            .args([
                "serve", "--only", "gate", "--bind", &bind, "--health", &health, "--linger", "2",
            ])
            .args(["--certificate", &files[0], "--key", &files[1], "--kubeconfig"])
            .arg(kubeconfig)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        until("the gate is ready", || is_ready(&health));
        Self {
            program: Program(child),
            bind,
            health,
        }
    }
}

/// What stands before the gates: new connections go to those whose probe says that they are ready.
#[derive(Clone, Default)]
struct Front {
    /// Address and probe of each.
    backends: Arc<Mutex<Vec<(String, String)>>>,
    ready: Arc<Mutex<Vec<String>>>,
    next: Arc<AtomicUsize>,
    /// Connections that found no gate: the fault of what stands before the gates.
    lost: Arc<Mutex<Vec<String>>>,
}

impl Front {
    fn add(&self, gate: &Gate) {
        let place = (gate.bind.clone(), gate.health.clone());
        self.backends.lock().expect("unpoisoned").push(place);
    }

    fn remove(&self, gate: &Gate) {
        let mut backends = self.backends.lock().expect("unpoisoned");
        backends.retain(|(bind, _)| *bind != gate.bind);
    }

    fn knows(&self, gate: &Gate) -> bool {
        self.ready.lock().expect("unpoisoned").contains(&gate.bind)
    }

    async fn start(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let probing = self.clone();
        std::thread::spawn(move || {
            loop {
                let all = probing.backends.lock().expect("unpoisoned").clone();
                let ready = all.into_iter().filter(|(_, health)| is_ready(health));
                let ready = ready.map(|(bind, _)| bind).collect();
                *probing.ready.lock().expect("unpoisoned") = ready;
                std::thread::sleep(Duration::from_millis(250));
            }
        });
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(self.clone().join(stream));
            }
        });
        address
    }

    async fn join(self, mut stream: TcpStream) {
        let ready = self.ready.lock().expect("unpoisoned").clone();
        let place = self.next.fetch_add(1, Ordering::Relaxed) % ready.len().max(1);
        let lost = |why: String| self.lost.lock().expect("unpoisoned").push(why);
        let Some(bind) = ready.get(place) else {
            return lost("no pod is ready".to_owned());
        };
        match TcpStream::connect(bind).await {
            Ok(mut other) => drop(tokio::io::copy_bidirectional(&mut stream, &mut other).await),
            Err(error) => lost(format!("{bind} of {ready:?}: {error}")),
        }
    }
}

/// Asks the hub again and again for what the gate refuses; returns how often it was asked, and every answer that was not the
/// gate's.
async fn asked(hub: &TestHub, every: Duration, end: Arc<AtomicBool>) -> (usize, Vec<String>) {
    let kind = GroupVersionKind::gvk(
        "addon.open-cluster-management.io",
        "v1alpha1",
        "ClusterManagementAddOn",
    );
    let resource = ApiResource::from_gvk_with_plural(&kind, "clustermanagementaddons");
    let api: Api<DynamicObject> = Api::all_with(hub.client(), &resource);
    let rollout = json!({"type": "All", "all": {"minSuccessTime": "banana"}});
    let placement = json!({"name": "p", "namespace": "default", "rolloutStrategy": rollout});
    let wrong = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": "wrong"}, "spec": {"installStrategy": {"type": "Placements", "placements": [placement]}}});
    let wrong: DynamicObject = serde_json::from_value(wrong).expect("an object");
    let mut pace = tokio::time::interval(every);
    let mut asking = tokio::task::JoinSet::new();
    while !end.load(Ordering::Relaxed) {
        pace.tick().await;
        let (api, wrong) = (api.clone(), wrong.clone());
        asking.spawn(async move {
            let params = PostParams {
                dry_run: true,
                ..PostParams::default()
            };
            match api.create(&params, &wrong).await {
                Ok(_) => Some("it would have been stored".to_owned()),
                // The first webhook refuses; where it could not be asked it is passed over, and another one does.
                Err(kube::Error::Api(status))
                    if status.message.contains("\"mutate.gate.tidegate.io\" denied") =>
                {
                    None
                }
                Err(error) => Some(error.to_string()),
            }
        });
    }
    let answers = asking.join_all().await;
    (answers.len(), answers.into_iter().flatten().collect())
}

/// Replaces both gates, each as a Deployment does: the new one first.
fn replace(front: &Front, gates: &mut [Gate; 2], kubeconfig: &Path, files: &[String; 2]) {
    for old in gates {
        let new = Gate::start(kubeconfig, files);
        front.add(&new);
        until("the new one is known", || front.knows(&new));
        old.program.signal("TERM");
        until("the old one has ended", || {
            old.program.0.try_wait().expect("it can be waited for").is_some()
        });
        front.remove(old);
        *old = new;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gates_are_replaced_and_no_question_is_left_without_an_answer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    let authority = Authority::generate().expect("an authority");
    let (chain, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    let issued = authority.issue(["127.0.0.1"]).expect("a certificate");
    issued.write(&chain, &key).expect("writable");
    let files = [chain, key].map(|path| path.to_string_lossy().into_owned());
    let front = Front::default();
    let address = front.clone().start().await;
    let mut gates = tokio::task::block_in_place(|| {
        let gates = [Gate::start(&kubeconfig, &files), Gate::start(&kubeconfig, &files)];
        for gate in &gates {
            front.add(gate);
        }
        until("both are known", || gates.iter().all(|gate| front.knows(gate)));
        let endpoint = Endpoint::Url(format!("https://{address}"));
        for mut configuration in configurations(&endpoint, Some(authority.ca_pem())) {
            // A question that is late because this machine does other work as well is not a lost one.
            for webhook in configuration["webhooks"].as_array_mut().expect("webhooks") {
                webhook["timeoutSeconds"] = json!(20);
            }
            apply(&kubeconfig, &configuration);
        }
        gates
    });
    let (end, begun) = (Arc::new(AtomicBool::new(false)), Instant::now());
    let lost = Arc::clone(&front.lost);
    let replacing = tokio::task::spawn_blocking({
        let end = Arc::clone(&end);
        move || {
            replace(&front, &mut gates, &kubeconfig, &files);
            end.store(true, Ordering::Relaxed);
            // They answer until the last question is answered.
            gates
        }
    });
    // By hand: TIDEGATE_ROLLING_RATE=500.
    let rate = std::env::var("TIDEGATE_ROLLING_RATE")
        .ok()
        .and_then(|rate| rate.parse().ok());
    let every = Duration::from_secs_f64(1.0 / rate.unwrap_or(50.0_f64));
    let (count, failures) = asked(&hub, every, end).await;
    let _gates = replacing.await.expect("both are replaced");
    println!(
        "{count} questions in {:?}, {} not answered by the gate",
        begun.elapsed(),
        failures.len()
    );
    let lost = lost.lock().expect("unpoisoned").clone();
    assert!(lost.is_empty(), "failed connections: {lost:?}");
    assert!(
        failures.is_empty(),
        "{} of {count}: {:#?}",
        failures.len(),
        failures.first()
    );
    assert!(count > 100, "{count} questions only");
    hub.shutdown().await;
}
