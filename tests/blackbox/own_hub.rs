//! A hub in a process of its own, on a disk that can be full.
//!
//! Decides nothing about what a full disk does. The disk is full because no file of the process may grow any more.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::chaos_scene::definitions;
use crate::replicas::Program;

const FOLDER: &str = "OWN_HUB_FOLDER";
const PORT: &str = "OWN_HUB_PORT";

/// This program, started by a test with a folder and a port, is a hub until it is ended.
#[test]
#[ignore = "the program that other tests start"]
fn serves_as_a_hub() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("a folder"));
    let port = std::env::var(PORT).expect("a port");
    let flag = |flag: &str, name: &str| [flag.into(), folder.join(name).into_os_string()];
    let mut words: Vec<OsString> = vec!["devhub".into(), "--port".into(), port.into()];
    words.extend(flag("--dir", "hub"));
    words.extend(flag("--data-dir", "data"));
    words.extend(flag("--crds", "definitions"));
    assert_eq!(devhub::command::run(words), ExitCode::SUCCESS);
}

/// A running hub.
pub(crate) struct OwnHub {
    process: Option<Program>,
    folder: PathBuf,
    port: u16,
    pub(crate) kubeconfig: String,
}

impl OwnHub {
    pub(crate) fn start(folder: &Path, port: u16) -> Self {
        let definitions_folder = folder.join("definitions");
        std::fs::create_dir_all(&definitions_folder).expect("writable");
        for definition in definitions() {
            let name = definition["metadata"]["name"].as_str().expect("a name");
            let file = definitions_folder.join(format!("{name}.json"));
            std::fs::write(file, definition.to_string()).expect("writable");
        }
        let mut hub = Self {
            process: None,
            folder: folder.to_owned(),
            port,
            kubeconfig: String::new(),
        };
        hub.begin();
        hub
    }

    fn begin(&mut self) {
        // A write beyond the limit is an error, and not the end, when the signal for it is ignored.
        let mut child = Command::new("sh")
            .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().expect("this program"))
            .args(["--ignored", "--exact", "--nocapture", "own_hub::serves_as_a_hub"])
            .env(FOLDER, &self.folder)
            .env(PORT, self.port.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the hub's program starts");
        let mut said = BufReader::new(child.stdout.take().expect("its words")).lines();
        self.process = Some(Program(child));
        let mut lines = said.by_ref().map_while(Result::ok);
        let ready = lines.find(|line| line.contains("READY ")).expect("it gets ready");
        let kubeconfig = ready
            .split_whitespace()
            .find_map(|word| word.strip_prefix("kubeconfig="));
        let kubeconfig = kubeconfig.expect("the READY line names the kubeconfig");
        self.kubeconfig = std::fs::read_to_string(kubeconfig).expect("readable");
        let port = ready.rsplit(':').next().and_then(|port| port.trim().parse().ok());
        self.port = port.expect("the READY line ends with the port");
    }

    pub(crate) async fn client(&self) -> Client {
        let read = Kubeconfig::from_yaml(&self.kubeconfig).expect("a kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
        Client::try_from(config.expect("a configuration")).expect("a client")
    }

    /// No file may grow any more.
    pub(crate) fn fill(&self) {
        let log = self.folder.join("data/objects.log");
        let size = std::fs::metadata(&log).expect("the hub has a log").len();
        self.limit(&size.to_string());
    }

    /// Files may grow again.
    pub(crate) fn free(&self) {
        self.limit("unlimited");
    }

    fn limit(&self, size: &str) {
        let process = self.process.as_ref().expect("a running hub").0.id();
        let set = Command::new("prlimit")
            .args([format!("--pid={process}"), format!("--fsize={size}:")])
            .status();
        assert!(set.expect("prlimit is there").success());
    }

    pub(crate) fn kill_and_start_again(&mut self) {
        self.process = None;
        let before = std::mem::take(&mut self.kubeconfig);
        self.begin();
        assert_eq!(
            before, self.kubeconfig,
            "clients find it where it was, with what they have"
        );
    }
}
