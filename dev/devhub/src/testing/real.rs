//! A real kube-apiserver with its etcd, for the time of a test.
//!
//! Decides the order of starting and ending, and when the server is ready. The controllers are those of the embedded hub.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, Config};

use super::command_line::{self, Ports, file};
use super::process::Process;
use super::{Assets, TestHubError};
use crate::builder::Wishes;
use crate::controllers::{Controllers, Plan};
use crate::identity::{ADMINS, Authority, IdentityError, kubeconfig};
use crate::program::write_private;

const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A running API server.
pub(super) struct RealHub {
    pub(super) config: Config,
    pub(super) client: Client,
    pub(super) kubeconfig: String,
    controllers: Controllers,
    // In the order in which they end: who calls before who is called.
    _apiserver: Process,
    _etcd: Process,
    _folder: Folder,
}

impl std::fmt::Debug for RealHub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RealHub").finish_non_exhaustive()
    }
}

/// A folder that goes with its owner.
#[derive(Debug)]
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

impl From<IdentityError> for TestHubError {
    fn from(error: IdentityError) -> Self {
        Self::Certificates(error.to_string())
    }
}

impl RealHub {
    /// Starts both programs and the controllers; waits until the server is ready.
    pub(super) async fn start(
        assets: &Assets,
        wishes: &Wishes,
        patience: Duration,
    ) -> Result<Self, TestHubError> {
        let dir = std::env::temp_dir().join(format!("devhub-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir(&dir).map_err(system("make a folder"))?;
        let folder = Folder(dir.clone());
        let authority = Authority::new()?;
        let token = wishes.token.clone();
        let token = token.unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string());
        let admin = authority.client("admin", ADMINS)?;
        write_files(&dir, &authority, &token)?;
        let ports = free_ports().map_err(system("find free ports"))?;
        let store = command_line::etcd(assets, &dir, ports, knows(&assets.etcd, command_line::NO_FSYNC));
        let mut etcd = Process::start(&store, dir.join("etcd.log"))?;
        let server = command_line::apiserver(assets, &dir, ports);
        let mut apiserver = Process::start(&server, dir.join("apiserver.log"))?;

        let url = format!("https://127.0.0.1:{}", ports.apiserver);
        let kubeconfig = kubeconfig(&url, &authority.pem, &admin, &token);
        let mut config = Config::new(url.parse().unwrap_or_default());
        config.root_cert = Some(vec![authority.root().to_vec()]);
        config.auth_info.token = Some(token.into());
        let client = Client::try_from(config.clone())?;
        ready(&client, [&mut etcd, &mut apiserver], patience).await?;
        let plan = Plan {
            which: wishes.controllers.clone(),
            event_ttl: wishes.event_ttl,
            ca_pem: authority.pem.clone(),
        };
        Ok(Self {
            controllers: Controllers::start(&client, &plan),
            config,
            client,
            kubeconfig,
            _apiserver: apiserver,
            _etcd: etcd,
            _folder: folder,
        })
    }

    /// Ends everything.
    pub(super) async fn shutdown(self) {
        self.controllers.shutdown().await;
    }
}

fn system(what: &'static str) -> impl Fn(std::io::Error) -> TestHubError {
    move |source| TestHubError::System {
        what: what.to_owned(),
        source,
    }
}

fn write_files(dir: &Path, authority: &Authority, token: &str) -> Result<(), TestHubError> {
    let serving = authority.serving()?;
    let accounts = Authority::new()?;
    let tokens = format!("{token},admin,admin-uid,\"system:masters\"\n");
    for (name, text) in [
        (file::CA, &authority.pem),
        (file::CERTIFICATE, &serving.certificate),
        (file::KEY, &serving.key),
        (file::ACCOUNTS, &accounts.key_pem),
        (file::ACCOUNTS_PROOF, &accounts.pem),
        (file::TOKENS, &tokens),
    ] {
        write_private(&dir.join(name), text).map_err(system("write a file"))?;
    }
    Ok(())
}

/// Returns whether a program tells of a flag: not every version has every one.
fn knows(program: &Path, flag: &str) -> bool {
    let told = std::process::Command::new(program)
        .arg("--help")
        .stdin(std::process::Stdio::null())
        .output();
    told.is_ok_and(|told| {
        [told.stdout, told.stderr]
            .iter()
            .any(|text| String::from_utf8_lossy(text).contains(flag))
    })
}

/// Returns ports that were free a moment ago: neither program can take any free one by itself.
fn free_ports() -> std::io::Result<Ports> {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0"));
    let [etcd, peers, apiserver] = listeners;
    let port = |listener: std::io::Result<TcpListener>| listener?.local_addr().map(|address| address.port());
    Ok(Ports {
        etcd: port(etcd)?,
        peers: port(peers)?,
        apiserver: port(apiserver)?,
    })
}

/// Waits until the server says that it is ready and has made the namespace `default`, which it makes in the background and which
/// clients expect.
async fn ready(
    client: &Client,
    [etcd, apiserver]: [&mut Process; 2],
    patience: Duration,
) -> Result<(), TestHubError> {
    let started = Instant::now();
    loop {
        let request = http::Request::get("/readyz").body(Vec::new());
        let answer = match request {
            Ok(request) => client
                .request_text(request)
                .await
                .map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        etcd.check()?;
        apiserver.check()?;
        let cause = match answer {
            Ok(text) if text.trim() == "ok" => {
                let namespaces: Api<Namespace> = Api::all(client.clone());
                match namespaces.get_opt("default").await {
                    Ok(Some(_)) => return Ok(()),
                    Ok(None) => "there is no namespace \"default\" yet".to_owned(),
                    Err(error) => error.to_string(),
                }
            }
            Ok(text) => text,
            Err(cause) => cause,
        };
        if started.elapsed() > patience {
            return Err(TestHubError::NotReady {
                seconds: patience.as_secs(),
                cause,
                words: apiserver.last_words(),
            });
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Makes programs that note their arguments and process ids, and then do as told.
    fn fake(folder: &Path, etcd: &str, apiserver: &str) -> Assets {
        let make = |name: &str, does: &str| {
            let path = folder.join(name);
            let note = folder.join(format!("{name}.noted"));
            let text = format!(
                "#!/bin/sh\n[ \"$1\" = --help ] && exit\necho $$ \"$@\" > {}\necho {name} begins\n{does}\n",
                note.display()
            );
            std::fs::write(&path, text).expect("writable");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("ours");
            path
        };
        Assets {
            etcd: make("etcd", etcd),
            apiserver: make("kube-apiserver", apiserver),
        }
    }

    fn wishes() -> Wishes {
        crate::DevHub::builder()
            .wishes_of_any_hub()
            .expect("nothing special")
    }

    /// A program that ends only when the other one has begun: neither begins at a known moment.
    const ENDS_EARLY: &str = r#"until [ -s "${0%/*}/etcd.noted" ]; do sleep 0.05; done
echo no such flag
exit 3"#;

    /// Tells whether both programs have noted themselves.
    fn have_begun(folder: &Path) -> bool {
        ["etcd", "kube-apiserver"].iter().all(|name| {
            let text = std::fs::read_to_string(folder.join(format!("{name}.noted")));
            text.is_ok_and(|text| text.ends_with('\n'))
        })
    }

    /// Returns process id and arguments that a program noted.
    fn noted(folder: &Path, name: &str) -> (String, String) {
        let text = std::fs::read_to_string(folder.join(format!("{name}.noted"))).expect("it has run");
        let (id, arguments) = text.trim().split_once(' ').expect("an id and arguments");
        (id.to_owned(), arguments.to_owned())
    }

    #[tokio::test]
    async fn a_server_that_never_gets_ready_is_reported_and_both_programs_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let assets = fake(folder.path(), "exec sleep 600", "exec sleep 600");
        let mut seconds = 1;
        // On a busy machine a second may be too short for programs to begin at all.
        let said = loop {
            let error = RealHub::start(&assets, &wishes(), Duration::from_secs(seconds))
                .await
                .expect_err("it sleeps");
            if have_begun(folder.path()) {
                break error.to_string();
            }
            seconds *= 2;
        };
        assert!(
            said.contains(&format!("kube-apiserver was not ready within {seconds} s")),
            "{said}"
        );
        assert!(said.contains("kube-apiserver begins"), "{said}");
        for name in ["etcd", "kube-apiserver"] {
            let (id, arguments) = noted(folder.path(), name);
            assert!(!Path::new("/proc").join(&id).exists(), "{name} still runs");
            let own = arguments.split_whitespace().find_map(|argument| {
                argument
                    .strip_prefix("--data-dir=")
                    .or_else(|| argument.strip_prefix("--cert-dir="))
            });
            let parent = Path::new(own.expect("a folder")).parent().expect("a folder");
            assert!(!parent.exists(), "the folder goes with the hub");
        }
        let (etcd, server) = (
            noted(folder.path(), "etcd").1,
            noted(folder.path(), "kube-apiserver").1,
        );
        let port = etcd
            .split_once("--listen-client-urls=http://127.0.0.1:")
            .and_then(|(_, rest)| rest.split_whitespace().next())
            .expect("a port");
        assert!(
            server.contains(&format!("--etcd-servers=http://127.0.0.1:{port} ")),
            "{server}"
        );
    }

    #[tokio::test]
    async fn a_program_that_ends_early_is_reported_with_its_last_output() {
        let folder = tempfile::tempdir().expect("a folder");
        let assets = fake(folder.path(), "exec sleep 600", ENDS_EARLY);
        let error = RealHub::start(&assets, &wishes(), Duration::from_mins(2))
            .await
            .expect_err("it ends");
        let said = error.to_string();
        assert!(
            said.contains("kube-apiserver ended early (exit status: 3)"),
            "{said}"
        );
        assert!(said.contains("no such flag"), "{said}");
        assert!(!Path::new("/proc").join(noted(folder.path(), "etcd").0).exists());
    }

    #[test]
    fn a_process_ends_with_its_owner() {
        let folder = tempfile::tempdir().expect("a folder");
        let assets = fake(folder.path(), "exec sleep 600", "");
        let line = command_line::CommandLine {
            program: assets.etcd,
            arguments: vec!["--x".to_owned()],
        };
        let process = Process::start(&line, folder.path().join("log")).expect("it starts");
        let place = Path::new("/proc").join(process.id().to_string());
        assert!(place.exists());
        drop(process);
        assert!(!place.exists());
    }
}
