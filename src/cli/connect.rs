//! The client of a hub that is already there.
//!
//! Decides where the kubeconfig comes from, which of its contexts counts, and how a hub is named that does not answer. Never asks
//! the hub anything by itself.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use futures::FutureExt as _;
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::runtime::{Builder, Runtime};
use tower::util::MapErrLayer;

use super::CliError;
use super::hub::{ConnectionArgs, HubPlace, Unreachable};
use crate::controllers;
use crate::files::inspect;
use crate::server::ExistenceReader;
use crate::telemetry::Metrics;
use store::Kind;

/// The largest kubeconfig, in bytes.
const LARGEST: u64 = 16 << 20;

/// The way to a hub, and what it is called when the hub does not answer.
#[derive(Clone, Debug)]
pub(super) struct HubConfig {
    config: Config,
    /// Where the way was read.
    origin: String,
}

impl Deref for HubConfig {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.config
    }
}

impl HubConfig {
    /// Returns the way to the same hub for the owner of a token alone: no credential of our own is shown with it.
    pub(super) fn bearing(mut self, token: &str) -> Self {
        self.config.auth_info = kube::config::AuthInfo {
            token: Some(token.to_owned().into()),
            ..kube::config::AuthInfo::default()
        };
        self
    }

    /// Applies the flags that replace parts of a kubeconfig.
    fn apply(&mut self, flags: &ConnectionArgs) {
        let config = &mut self.config;
        if let Some(server) = &flags.server {
            config.cluster_url = server.clone();
            self.origin = format!("--server, otherwise {}", self.origin);
        }
        if let Some(token) = &flags.token {
            config.auth_info = kube::config::AuthInfo {
                token: Some(token.clone().into()),
                ..kube::config::AuthInfo::default()
            };
        }
        if flags.insecure_skip_tls_verify {
            config.accept_invalid_certs = true;
        }
        if let Some(length) = flags.request_timeout {
            let limit = Some(length).filter(|length| !length.is_zero());
            config.connect_timeout = limit;
            config.read_timeout = limit;
            config.write_timeout = limit;
        }
    }

    /// Returns the way to the same hub for a caller that asks as another account.
    pub(super) fn impersonating(mut self, account: Option<String>) -> Self {
        self.config.auth_info.impersonate = account;
        self
    }
}

/// Returns the way to the hub of a kubeconfig; without one, of KUBECONFIG, of the user's own or of the pod's service account.
pub(super) async fn config_of<'a>(place: impl Into<HubPlace<'a>>) -> Result<HubConfig, CliError> {
    let place = place.into();
    let chosen = Chosen::of(&place);
    let mut reached = match place.kubeconfig {
        Some(path) => {
            inspect(path, LARGEST).map_err(CliError::reading(path))?;
            let origin = format!("\"{}\"", path.display());
            let file = Kubeconfig::read_from(path).map_err(in_file(&origin))?;
            of_file(file, chosen, &origin).await?
        }
        None => inferred(chosen, place.connection).await?,
    };
    if let Some(connection) = place.connection {
        reached.apply(connection);
    }
    if let Some(user) = place.as_user {
        reached.config.auth_info.impersonate = Some(user.to_owned());
        let groups = place.as_groups.to_vec();
        reached.config.auth_info.impersonate_groups = (!groups.is_empty()).then_some(groups);
    }
    Ok(reached)
}

/// What flags choose in a kubeconfig.
#[derive(Clone, Copy, Debug, Default)]
struct Chosen<'a> {
    context: Option<&'a str>,
    user: Option<&'a str>,
}

impl<'a> Chosen<'a> {
    fn of(place: &HubPlace<'a>) -> Self {
        let connection = place.connection;
        Self {
            context: connection.and_then(|flags| flags.context.as_deref()),
            user: connection.and_then(|flags| flags.user.as_deref()),
        }
    }

    fn is_any(self) -> bool {
        self.context.is_some() || self.user.is_some()
    }
}

async fn inferred(chosen: Chosen<'_>, connection: Option<&ConnectionArgs>) -> Result<HubConfig, CliError> {
    let paths = named();
    for path in &paths {
        // What is not there is left out by the reader of kubeconfigs.
        if let Err(source) = inspect(path, LARGEST).or_else(absent) {
            let path = path.clone();
            return Err(CliError::ReadFile { path, source });
        }
        // Of several files, the one that is wrong is named.
        if path.exists() {
            Kubeconfig::read_from(path).map_err(in_file(&format!("\"{}\"", path.display())))?;
        }
    }
    let origin = if paths.is_empty() {
        "\"~/.kube/config\"".to_owned()
    } else {
        let paths: Vec<String> = paths
            .iter()
            .map(|path| format!("\"{}\"", path.display()))
            .collect();
        format!("KUBECONFIG={}", paths.join(":"))
    };
    let read = match Kubeconfig::read() {
        Ok(file) if !file.contexts.is_empty() || chosen.is_any() => {
            return of_file(file, chosen, &origin).await;
        }
        Ok(_) => format!("{origin} has no context"),
        Err(error) => {
            let cause = CliError::Refused(Box::new(error)).one_line();
            format!("{origin}: {cause}")
        }
    };
    if chosen.is_any() {
        return Err(unreachable(read));
    }
    if let Some(server) = connection.and_then(|flags| flags.server.clone()) {
        return Ok(HubConfig {
            config: Config::new(server),
            origin: "--server".to_owned(),
        });
    }
    match Config::incluster() {
        Ok(config) => Ok(HubConfig {
            config,
            origin: "the service account of this pod".to_owned(),
        }),
        Err(_) => Err(unreachable(format!(
            "no kubeconfig ({read}), and not running in a pod; set --kubeconfig{DEV_HINT}"
        ))),
    }
}

#[cfg(feature = "dev")]
const DEV_HINT: &str = " (`tidegate dev` writes .tidegate/kubeconfig)";
#[cfg(not(feature = "dev"))]
const DEV_HINT: &str = "";

async fn of_file(file: Kubeconfig, chosen: Chosen<'_>, origin: &str) -> Result<HubConfig, CliError> {
    let Chosen { context, user } = chosen;
    if let Some(wanted) = context {
        let names = file.contexts.iter().map(|context| context.name.as_str());
        known("context", &names.collect::<Vec<_>>(), wanted, origin)?;
    }
    if let Some(wanted) = user {
        let names = file.auth_infos.iter().map(|user| user.name.as_str());
        known("user", &names.collect::<Vec<_>>(), wanted, origin)?;
    }
    let used = context.or(file.current_context.as_deref()).unwrap_or_default();
    let origin = format!("context \"{used}\" of {origin}");
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        user: user.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(file, &options)
        .await
        .map_err(in_file(&origin))?;
    Ok(HubConfig { config, origin })
}

/// For `map_err`: what is wrong in a kubeconfig, with its file.
fn in_file(origin: &str) -> impl Fn(kube::config::KubeconfigError) -> CliError {
    move |error| {
        let cause = CliError::Refused(Box::new(error)).one_line();
        CliError::Refused(format!("cannot use kubeconfig {origin}: {cause}").into())
    }
}

/// Refuses a name that a kubeconfig does not have, with those that it has.
fn known(flag: &'static str, names: &[&str], wanted: &str, origin: &str) -> Result<(), CliError> {
    if names.contains(&wanted) {
        return Ok(());
    }
    let near = kubernetes::field::nearest(wanted, names.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
    let known = if names.is_empty() {
        "it has none".to_owned()
    } else {
        format!("it has {}", kubernetes::field::listed(names.iter().copied()))
    };
    Err(CliError::ReadFlag {
        flag,
        reason: format!("{origin} has no {flag} \"{wanted}\": {known}{near}"),
    })
}

/// Returns the names of the contexts of a kubeconfig: of a file, or of KUBECONFIG.
pub(super) fn contexts(kubeconfig: Option<&Path>) -> Vec<String> {
    let read = match kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let all = read.into_iter().flat_map(|file| file.contexts);
    all.map(|context| context.name).collect()
}

/// The files that KUBECONFIG names.
fn named() -> Vec<PathBuf> {
    let names = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let paths = std::env::split_paths(&names);
    paths.filter(|path| !path.as_os_str().is_empty()).collect()
}

fn absent(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound {
        Ok(())
    } else {
        Err(error)
    }
}

/// Returns a client. The error of a hub that does not answer has its address and the source of the address.
pub(super) fn client(reached: HubConfig) -> Result<Client, CliError> {
    let HubConfig { config, origin } = reached;
    let url = config.cluster_url.to_string();
    let certificate = certificate_of(&config);
    let builder = ClientBuilder::try_from(config).map_err(|error| unusable(error, &certificate, &origin))?;
    let told = MapErrLayer::new(move |error: Cause| told(error, &url, &origin));
    Ok(builder.with_layer(&told).build())
}

/// Returns where the client certificate of a kubeconfig is.
fn certificate_of(config: &Config) -> String {
    match &config.auth_info.client_certificate {
        Some(path) => format!("in file \"{path}\""),
        None => "in client-certificate-data".to_owned(),
    }
}

/// The client certificate of a kubeconfig is one that TLS does not accept here.
#[derive(Debug, thiserror::Error)]
#[error(
    "the client certificate {certificate} of {origin} is an X.509 certificate of version 1; kubectl accepts it, this program needs version 3. \
     Issue it again with an extension, for instance: openssl x509 -req -in client.csr -CA ca.crt -CAkey ca.key -CAcreateserial \
     -out client.crt -extfile <(printf 'extendedKeyUsage=clientAuth')"
)]
struct FirstVersion {
    certificate: String,
    origin: String,
}

/// The library's own words for a certificate of version 1.
const FIRST_VERSION: &str = "UnsupportedCertVersion";

fn unusable(error: kube::Error, certificate: &str, origin: &str) -> CliError {
    let error = unreachable(error);
    if error.one_line().contains(FIRST_VERSION) {
        return CliError::Refused(Box::new(FirstVersion {
            certificate: certificate.to_owned(),
            origin: origin.to_owned(),
        }));
    }
    error
}

/// An answer that is an error has words of its own.
fn told(error: Cause, url: &str, origin: &str) -> Cause {
    if error.is::<kube::Error>() {
        return error;
    }
    Box::new(Unreachable::new(url, origin, error.as_ref()))
}

/// Returns the runtime of a verb that serves or follows.
pub(super) fn serving_runtime() -> Result<Runtime, CliError> {
    let built = Builder::new_multi_thread().enable_all().build();
    built.map_err(CliError::starting("the runtime"))
}

/// Returns what a verb waits on that asks a hub and ends.
pub(super) fn runtime() -> Result<Runtime, CliError> {
    let built = Builder::new_current_thread().enable_all().build();
    built.map_err(CliError::acting("start the runtime"))
}

/// Resources that are read in addition to the watched kinds.
const ALSO_ASKED: [&str; 9] = [
    "addonpolicies",
    "clusterpolicyreports",
    "customresourcedefinitions",
    "events",
    "leases",
    "policyreports",
    "secrets",
    "selfsubjectaccessreviews",
    "subjectaccessreviews",
];

/// Returns such a client whose requests are counted and sent once.
///
/// The client of a command retries a response of 429, 503 or 504 up to 15 times, which takes minutes. The controllers have a backoff of
/// their own for each object, and must not repeat a write after they stopped to lead.
pub(super) fn counted_client(reached: HubConfig, metrics: &Metrics) -> Result<Client, CliError> {
    let HubConfig { mut config, origin } = reached;
    config.default_retry = false;
    let watched = Kind::ALL.into_iter().map(|kind| kind.address().resource);
    let counts = metrics.api().layer(watched.chain(ALSO_ASKED));
    let url = config.cluster_url.to_string();
    let certificate = certificate_of(&config);
    let builder = ClientBuilder::try_from(config).map_err(|error| unusable(error, &certificate, &origin))?;
    let told = MapErrLayer::new(move |error: Cause| told(error, &url, &origin));
    Ok(builder.with_layer(&counts).with_layer(&told).build())
}

/// Returns the hub as a witness of what the watch has not seen.
pub(super) fn witness(client: Client) -> ExistenceReader {
    let same = client.clone();
    ExistenceReader::new(move |object| controllers::ask(client.clone(), object).boxed())
        .vouching(move |user, question| controllers::is_allowed(same.clone(), user, question).boxed())
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

fn unreachable(source: impl Into<Cause>) -> CliError {
    CliError::Act {
        act: "reach the hub",
        source: source.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// A certificate without extensions, in which the version is that of X.509's first one.
    fn first_version() -> (String, String) {
        let key = rcgen::KeyPair::generate().expect("a key");
        let params = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
        let mut der = params.self_signed(&key).expect("a certificate").der().to_vec();
        let version = [0xa0, 3, 2, 1, 2];
        let at = der.windows(version.len()).position(|bytes| bytes == version);
        der[at.expect("a version") + 4] = 0;
        let body = STANDARD.encode(&der);
        let pem = format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
        (pem, key.serialize_pem())
    }

    #[tokio::test]
    async fn a_client_certificate_of_version_1_is_named_with_its_file_and_a_way_to_issue_another() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (certificate, key) = first_version();
        let path = folder.path().join("client.crt");
        std::fs::write(&path, &certificate).expect("writable");
        for (field, value, named) in [
            ("client-certificate", path.display().to_string(), "client.crt"),
            (
                "client-certificate-data",
                STANDARD.encode(&certificate),
                "client-certificate-data",
            ),
        ] {
            let config = serde_json::json!({"apiVersion": "v1", "kind": "Config", "current-context": "hub",
                "clusters": [{"name": "hub", "cluster": {"server": "https://127.0.0.1:1"}}],
                "users": [{"name": "me", "user": {field: value, "client-key-data": STANDARD.encode(&key)}}],
                "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "me"}}]});
            let kubeconfig = folder.path().join("kubeconfig");
            std::fs::write(&kubeconfig, config.to_string()).expect("writable");
            let reached = config_of(Some(kubeconfig.as_path())).await.expect("it is read");
            let refused = client(reached).map(drop).expect_err("TLS refuses it").one_line();
            for words in [named, "context \"hub\"", "version 1", "openssl x509"] {
                assert!(refused.contains(words), "{words}: {refused}");
            }
        }
    }

    /// A hub that answers every request with a status, and counts them.
    async fn refusing_hub(status: &'static str) -> (HubConfig, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 4096];
                let _read = stream.read(&mut request).await;
                counted.fetch_add(1, Ordering::Relaxed);
                let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
                let _sent = stream.write_all(head.as_bytes()).await;
            }
        });
        let reached = HubConfig {
            config: Config::new(url.parse().expect("a URL")),
            origin: "a test".to_owned(),
        };
        (reached, requests)
    }

    #[tokio::test]
    async fn a_request_of_the_controllers_is_sent_once_whatever_the_response() {
        for status in [
            "429 Too Many Requests",
            "503 Service Unavailable",
            "504 Gateway Timeout",
        ] {
            let (reached, requests) = refusing_hub(status).await;
            let client = counted_client(reached, &Metrics::default()).expect("a client");
            let answer = client.apiserver_version();
            let answer = tokio::time::timeout(Duration::from_secs(30), answer).await;
            assert!(answer.is_ok_and(|answer| answer.is_err()), "{status}");
            assert_eq!(requests.load(Ordering::Relaxed), 1, "{status}");
        }
    }
}
