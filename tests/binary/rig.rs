//! Starts `tidegate dev` in a folder of its own and runs `kubectl` against it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use devhub::{Authz, DevHub, TestHub};
use serde_json::Value;
use tidegate::server::Authority;

use crate::kubectl::require_kubectl;
use crate::reads::Reader;

/// How long anything may take before a story gives up.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// kubectl's name of instances in the version that has their install namespace as a field.
pub(crate) const MCA_V1ALPHA1: &str = "managedclusteraddons.v1alpha1.addon.open-cluster-management.io";

/// kubectl's name of add-ons in that version.
pub(crate) const CMA_V1ALPHA1: &str = "clustermanagementaddons.v1alpha1.addon.open-cluster-management.io";

/// Starts a hub that asks which user a client is and what the user may do, with all definitions; returns it with the kubeconfig
/// of an administrator.
pub(crate) async fn hub_with_rbac(folder: &Path) -> (DevHub, PathBuf) {
    let mut builder = DevHub::builder().authz(Authz::Rbac);
    for crd in api::crds() {
        builder = builder.crd(serde_json::to_value(crd).expect("a definition is plain data"));
    }
    let hub = builder.start().await.expect("the hub starts");
    let admin = folder.join("kubeconfig");
    hub.write_kubeconfig(&admin).expect("writable");
    (hub, admin)
}

/// Issues a certificate for loopback and writes it to the folder; returns its authority and the files of its chain and its key.
pub(crate) fn certificate(folder: &Path) -> (Authority, PathBuf, PathBuf) {
    let authority = Authority::generate().expect("an authority");
    let issued = authority.issue(["127.0.0.1"]).expect("a certificate");
    let (chain, key) = (folder.join("tls.crt"), folder.join("tls.key"));
    issued.write(&chain, &key).expect("writable");
    (authority, chain, key)
}

/// A running `tidegate dev`; ended when dropped.
pub(crate) struct Dev {
    child: Child,
    folder: tempfile::TempDir,
    pub(crate) kubeconfig: PathBuf,
    reader: Reader,
    _place: Place,
}

impl Dev {
    /// Starts the binary with extra flags and waits for its READY line.
    pub(crate) fn start(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = Place::take();
        let mut child = tidegate()
            .arg("dev")
            .args(["--dir", &folder.path().join("state").to_string_lossy()])
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let ready = wait_for_ready(&mut child);
        let kubeconfig: PathBuf = ready
            .split_whitespace()
            .find_map(|word| word.strip_prefix("kubeconfig="))
            .expect("the READY line names the kubeconfig")
            .into();
        let reader = Reader::of(&kubeconfig);
        Self {
            child,
            folder,
            kubeconfig,
            reader,
            _place: place,
        }
    }

    /// Runs kubectl against the hub.
    pub(crate) fn kubectl(&self, args: &[&str]) -> Run {
        self.kubectl_with(args, "")
    }

    /// Runs `kubectl apply -f -` on a manifest.
    pub(crate) fn apply(&self, manifest: &str) -> Run {
        self.kubectl_with(&["apply", "-f", "-"], manifest)
    }

    /// Runs kubectl with text on its standard input.
    pub(crate) fn kubectl_with(&self, args: &[&str], stdin: &str) -> Run {
        kubectl(&self.kubeconfig, args, stdin)
    }

    /// Waits until so long passes without a write: a hub at rest is not written to.
    pub(crate) fn comes_to_rest(&self, quiet: Duration) {
        let begun = Instant::now();
        let (mut seen, mut since) = (self.revision(), Instant::now());
        while since.elapsed() < quiet {
            std::thread::sleep(Duration::from_millis(50));
            let now = self.revision();
            if now != seen {
                assert!(begun.elapsed() < PATIENCE, "the hub never comes to rest");
                (seen, since) = (now, Instant::now());
            }
        }
    }

    /// Returns the hub's newest resource version: it moves with every write, of whatever kind.
    fn revision(&self) -> String {
        let list = self.reader.read("/api/v1/namespaces?limit=1").expect("a list");
        let version = list["metadata"]["resourceVersion"].as_str();
        version.expect("a list has a resource version").to_owned()
    }

    /// Reads an object as JSON.
    pub(crate) fn read(&self, args: &[&str]) -> Value {
        let run = self.kubectl(&[&["get", "-o", "json"], args].concat());
        assert!(run.ok, "kubectl get {args:?}: {}", run.stderr);
        serde_json::from_str(&run.stdout).expect("kubectl prints JSON")
    }

    /// Reads until `holds` says yes; panics with the last object when patience ends.
    pub(crate) fn until(&self, what: &str, args: &[&str], holds: impl Fn(&Value) -> bool) -> Value {
        self.reader.until(what, args, holds)
    }

    /// Runs kubectl and returns what it printed; panics with what it complained about when it fails.
    pub(crate) fn succeed(&self, args: &[&str]) -> String {
        let run = self.kubectl(args);
        assert!(run.ok, "kubectl {args:?}: {}{}", run.stdout, run.stderr);
        run.stdout
    }

    /// Runs kubectl again and again until `holds` says yes; panics with the last outcome when patience ends.
    pub(crate) fn until_run(
        &self,
        what: &str,
        args: &[&str],
        stdin: &str,
        holds: impl Fn(&Run) -> bool,
    ) -> Run {
        let begun = Instant::now();
        loop {
            let run = self.kubectl_with(args, stdin);
            if holds(&run) {
                return run;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "still not so: {what}\n{}{}",
                run.stdout,
                run.stderr
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until the add-on on this cluster has this status and reason of Progressing; it need not exist yet.
    pub(crate) fn until_says(&self, addon: &str, cluster: &str, status: &str, reason: &str) -> Value {
        let says = |found: &Value| state_of(found, "Progressing") == (status.to_owned(), reason.to_owned());
        let what = format!("{addon} on {cluster} says {reason}");
        let list = self.until(&what, &["mca", "-A"], |list| {
            on_cluster(list, addon, cluster).is_some_and(says)
        });
        on_cluster(&list, addon, cluster).expect("just seen").clone()
    }

    /// Returns the processor time that the program has used; `None` if the system does not report it.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        // Behind the name, which may contain anything: the 12th and 13th words are the ticks, a hundred a second.
        let words: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |at: usize| words.get(at)?.parse::<u64>().ok();
        Some(Duration::from_millis((ticks(11)? + ticks(12)?) * 10))
    }

    /// The folder of the program.
    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Sends a signal by name and waits for the end.
    pub(crate) fn end(&mut self, signal: &str) -> ExitStatus {
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &self.child.id().to_string()])
            .status()
            .expect("kill is there");
        assert!(sent.success(), "the signal reaches the program");
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("the program can be waited for") {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "the program does not end on {signal}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Runs kubectl with text on its standard input. What it remembers stays beside the kubeconfig.
pub(crate) fn kubectl(kubeconfig: &Path, args: &[&str], stdin: &str) -> Run {
    require_kubectl();
    let home = kubeconfig.parent().expect("a file has a folder");
    let mut child = Command::new("kubectl")
        .env("KUBECONFIG", kubeconfig)
        .env("HOME", home)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kubectl starts");
    child
        .stdin
        .take()
        .expect("stdin is piped")
        .write_all(stdin.as_bytes())
        .expect("kubectl reads");
    Run::from(child.wait_with_output().expect("kubectl ends"))
}

/// Starts a hub with our definitions; returns it and a kubeconfig in the folder.
pub(crate) async fn defined_hub(folder: &Path) -> (TestHub, PathBuf) {
    let mut builder = DevHub::builder();
    for crd in api::crds() {
        builder = builder.crd(serde_json::to_value(crd).expect("a definition is plain data"));
    }
    let hub = TestHub::of(builder).await.expect("the hub starts");
    let kubeconfig = folder.join("kubeconfig");
    std::fs::write(&kubeconfig, hub.kubeconfig()).expect("writable");
    (hub, kubeconfig)
}

impl Drop for Dev {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Hubs that run side by side; more would only make each other slow.
static RUNNING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());
const PLACES: usize = 2;

/// The right to run a hub; given back when dropped.
struct Place;

impl Place {
    fn take() -> Self {
        let (count, freed) = &RUNNING;
        let count = count.lock().unwrap_or_else(PoisonError::into_inner);
        let mut count = freed
            .wait_while(count, |count| *count >= PLACES)
            .unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        Self
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (count, freed) = &RUNNING;
        *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        freed.notify_one();
    }
}

/// What a command printed.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) ok: bool,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            ok: output.status.success(),
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The binary under test. Most tests talk to it with kubectl, and all of them begin here or with kubectl itself.
pub(crate) fn tidegate() -> Command {
    require_kubectl();
    Command::new(env!("CARGO_BIN_EXE_tidegate"))
}

/// Runs the binary to its end.
pub(crate) fn run(args: &[&str]) -> Run {
    Run::from(tidegate().args(args).output().expect("the binary starts"))
}

/// A file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the object of this name and namespace in a list.
pub(crate) fn on_cluster<'a>(list: &'a Value, name: &str, namespace: &str) -> Option<&'a Value> {
    list["items"]
        .as_array()?
        .iter()
        .find(|item| item["metadata"]["name"] == name && item["metadata"]["namespace"] == namespace)
}

/// Returns the message of a condition, "" where it is absent.
pub(crate) fn message_of<'a>(object: &'a Value, kind: &str) -> &'a str {
    condition(object, kind)
        .and_then(|found| found["message"].as_str())
        .unwrap_or_default()
}

/// Returns a condition of an object.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == kind)
}

/// Returns status and reason of a condition, `-` where it is absent.
pub(crate) fn state_of(object: &Value, kind: &str) -> (String, String) {
    let text = |key: &str| {
        condition(object, kind)
            .and_then(|found| found[key].as_str())
            .map_or_else(|| "-".to_owned(), str::to_owned)
    };
    (text("status"), text("reason"))
}

fn wait_for_ready(child: &mut Child) -> String {
    let stdout = child.stdout.take().expect("stdout is piped");
    let (tell, told) = mpsc::channel();
    // Reading continues after READY: a full pipe would block the program under test.
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if line.starts_with("READY ") {
                tell.send(line).ok();
            }
        }
    });
    told.recv_timeout(PATIENCE).expect("the program prints READY")
}
