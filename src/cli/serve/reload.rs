//! The files of the webhook's endpoint, and what happens when they are replaced; the certificate may come from a Secret instead.
//!
//! Decides when a file has changed: by content, because a mounted Secret is replaced by moving a link. What callers could not use is
//! never taken: the old certificate, authority or secret stays, and that is reported once, with the file, in the log and in a metric.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use sha2::{Digest, Sha256};
use tracing::{error, warn};

use super::endpoint::{self, CertificatesArg, EndpointArgs};
use super::load_error::{FileDigest, LoadError};
use super::secret::SecretSource;
use crate::cli::LeasePlace;
use crate::files::read;
use crate::server::{Certificate, CertificateError, Gate, Health};

/// Interval between two checks of the files. A certificate is replaced weeks before it expires; seconds do not matter.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Number of checks after which the expiry is logged again: an hour.
const SAID_AGAIN_AFTER: u32 = 360;
/// The largest file that is checked, in bytes; a larger one is reported when it is read.
const LARGEST: u64 = 1 << 20;

/// Paths of certificate, key, client CA and secrets.
#[derive(Debug)]
pub(super) struct Files {
    certificate: Part,
    /// Where the certificate comes from, when not from files.
    place: Option<LeasePlace>,
    secret: Option<SecretSource>,
    authority: Option<Part>,
    secrets: Option<Part>,
    looks: u32,
}

/// Files that are loaded together.
#[derive(Debug)]
struct Part {
    /// Their name in the messages of the probes.
    what: &'static str,
    paths: Vec<PathBuf>,
    /// What was loaded last.
    seen: FileDigest,
    /// What was rejected last, and why: logged once.
    refused: Option<(FileDigest, &'static str)>,
}

impl Part {
    fn new(what: &'static str, paths: Vec<PathBuf>) -> Self {
        let seen = digest(&paths);
        Self {
            what,
            paths,
            seen,
            refused: None,
        }
    }

    /// Loads new content; does nothing if there is none.
    fn look(&mut self, gate: &Gate, take: impl FnOnce(&[PathBuf]) -> Result<(), LoadError>) {
        let (now, place) = (digest(&self.paths), first(&self.paths).display().to_string());
        self.look_at(gate, now, &place, take);
    }

    /// The same for content that was already read.
    fn look_at(
        &mut self,
        gate: &Gate,
        now: FileDigest,
        place: &str,
        take: impl FnOnce(&[PathBuf]) -> Result<(), LoadError>,
    ) {
        if now == self.seen {
            self.refused = None;
            gate.keeps(self.what, None);
            return;
        }
        let Err(error) = take(&self.paths) else {
            self.seen = now;
            self.refused = None;
            gate.keeps(self.what, None);
            return;
        };
        gate.keeps(self.what, Some(error.reason()));
        // What does not hold yet may hold at the next look, and nothing else changes without the file.
        let refused = Some((now, error.reason()));
        if self.refused == refused {
            return;
        }
        self.refused = refused;
        gate.metrics().connections().refuses(error.reason());
        warn!(
            file = place,
            reason = error.reason(),
            error = &error as &dyn std::error::Error,
            "the new certificate file is invalid; the current certificate remains in use"
        );
    }
}

impl Files {
    /// Names the files.
    pub(super) fn new(args: &EndpointArgs) -> Self {
        let part = |what, path: &PathBuf| Part::new(what, vec![path.clone()]);
        let pair = vec![args.certificate.clone(), args.key.clone()];
        let (authority, secrets) = (args.client_ca.as_ref(), args.path_secret.as_ref());
        let place = match args.certificates {
            CertificatesArg::Files => None,
            CertificatesArg::Secret | CertificatesArg::SelfManaged => Some(args.certificate_secret.clone()),
        };
        Self {
            place,
            secret: None,
            certificate: Part::new("certificate", pair),
            authority: authority.map(|path| part("authority of callers", path)),
            secrets: secrets.map(|path| part("secret of the path", path)),
            looks: 0,
        }
    }

    /// Reads the certificate, and remembers what was read.
    pub(super) fn read(&mut self) -> Result<Certificate, CertificateError> {
        self.certificate.seen = digest(&self.certificate.paths);
        certificate(&self.certificate.paths)
    }

    /// Waits for the first certificate of a Secret, and remembers what was read.
    pub(super) async fn wait(&mut self, client: Client, health: &Health) -> Certificate {
        let place = self.place.clone();
        let place = place.expect("files are read before anything is waited for");
        let mut secret = SecretSource::new(client, &place);
        let certificate = secret.first(health).await;
        self.certificate.seen = secret.digest();
        self.secret = Some(secret);
        certificate
    }

    /// Applies every change to the webhook until it is dropped.
    pub(super) async fn follow(&mut self, gate: &Gate) {
        loop {
            let changed = async {
                match &mut self.secret {
                    Some(secret) => secret.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = changed => {}
            }
            self.look(gate, Timestamp::now());
        }
    }

    fn look_at_certificate(&mut self, gate: &Gate, now: Timestamp) {
        let Some(secret) = &self.secret else {
            return self.certificate.look(gate, |paths| {
                let certificate = certificate(paths)?;
                Ok(gate.swap_certificate(&certificate, now)?)
            });
        };
        self.certificate
            .look_at(gate, secret.digest(), secret.place(), |_| {
                let certificate = secret.read()?;
                let swapped = gate.swap_certificate(&certificate, now);
                swapped.map_err(|source| LoadError::UseSecret {
                    place: secret.place().to_owned(),
                    source,
                })
            });
    }

    /// Source of the certificate, for the log.
    fn source(&self) -> String {
        match &self.secret {
            Some(secret) => secret.place().to_owned(),
            None => first(&self.certificate.paths).display().to_string(),
        }
    }

    /// Checks the files once.
    fn look(&mut self, gate: &Gate, now: Timestamp) {
        self.look_at_certificate(gate, now);
        if let Some(part) = &mut self.authority {
            part.look(gate, |paths| {
                let authority = endpoint::authority(first(paths))?;
                gate.swap_authority(&authority).map_err(LoadError::SetUpTls)
            });
        }
        if let Some(part) = &mut self.secrets {
            part.look(gate, |paths| {
                gate.swap_secrets(endpoint::secrets(first(paths))?);
                Ok(())
            });
        }
        if self.looks.is_multiple_of(SAID_AGAIN_AFTER)
            && let Some(told) = gate.certificate_ends(now)
        {
            let file = self.source();
            error!(%file, told, "the certificate expires soon; renew it");
        }
        self.looks = self.looks.wrapping_add(1);
    }
}

fn certificate(paths: &[PathBuf]) -> Result<Certificate, CertificateError> {
    Certificate::read(
        first(paths),
        paths.last().map_or_else(|| Path::new(""), PathBuf::as_path),
    )
}

fn first(paths: &[PathBuf]) -> &Path {
    paths.first().map_or_else(|| Path::new(""), PathBuf::as_path)
}

/// A file that cannot be read counts as empty: reading it again reports why.
fn digest(paths: &[PathBuf]) -> FileDigest {
    let mut hash = Sha256::new();
    for path in paths {
        let bytes = read(path, LARGEST).unwrap_or_default();
        hash.update(bytes.len().to_be_bytes());
        hash.update(bytes);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::sync::Arc;

    use clap::Parser;
    use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};

    use super::*;
    use crate::server::{Authority, Callers, GateOptions, Health};
    use crate::telemetry::Metrics;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        endpoint: EndpointArgs,
    }

    struct Scene {
        folder: tempfile::TempDir,
        authority: Authority,
        files: Files,
        gate: Gate,
        health: Health,
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    impl Scene {
        async fn new() -> Self {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let path = |name: &str| folder.path().join(name).display().to_string();
            std::fs::write(path("secret"), "s".repeat(22)).expect("writable");
            let (certificate, key, secret) = (path("tls.crt"), path("tls.key"), path("secret"));
            let flags = [
                "x",
                "--certificate",
                &certificate,
                "--key",
                &key,
                "--path-secret",
                &secret,
            ];
            let mut files = Files::new(&Flags::parse_from(flags).endpoint);
            let authority = Authority::generate().expect("an authority");
            let issued = authority.issue(["gate.example"]).expect("a certificate");
            issued
                .write(Path::new(&certificate), Path::new(&key))
                .expect("writable");
            let health = Health::default();
            let options = GateOptions {
                bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
                certificate: files.read().expect("a pair"),
                name: None,
                callers: Callers::default(),
                health: health.clone(),
                facts: Arc::default(),
                rulebook: Arc::default(),
                metrics: Metrics::default(),
                witness: None,
            };
            let gate = Gate::start(options).await.expect("the gate starts");
            Self {
                folder,
                authority,
                files,
                gate,
                health,
            }
        }

        fn write(&self, chain: &str, key: &str) {
            std::fs::write(self.folder.path().join("tls.crt"), chain).expect("writable");
            std::fs::write(self.folder.path().join("tls.key"), key).expect("writable");
        }

        /// Checks twice, as time passes; returns what the metrics report of rejections.
        fn look(&mut self, now: Timestamp) -> Vec<String> {
            self.files.look(&self.gate, now);
            self.files.look(&self.gate, now);
            let text = self.gate.metrics().text();
            let refusals = text
                .lines()
                .filter_map(|line| line.strip_prefix("tidegate_certificate_refusals_total"));
            refusals.map(str::to_owned).collect()
        }

        fn refused(&self) -> Vec<(&'static str, &'static str)> {
            self.health.refused().into_iter().collect()
        }

        fn expiry(&self) -> String {
            let text = self.gate.metrics().text();
            let name = "tidegate_certificate_expiry_timestamp_seconds ";
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.expect("a line").to_owned()
        }
    }

    /// A self-signed certificate for these names and years.
    fn made(names: &[&str], years: (i32, i32)) -> (String, String) {
        let mut params =
            CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
                .expect("names");
        params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
        params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let text = key.serialize_pem();
        let made = CertifiedIssuer::self_signed(params, key).expect("a certificate");
        (made.pem(), text)
    }

    #[tokio::test]
    async fn what_callers_could_not_accept_never_replaces_what_they_can() {
        let mut scene = Scene::new().await;
        let now = Timestamp::now();
        let before = scene.expiry();
        assert!(scene.look(now).is_empty(), "nothing is new");
        let good = made(&["gate.example"], (2020, 2999));
        for (files, reason) in [
            (made(&["gate.example"], (2001, 2002)), "expired"),
            (made(&["gate.example"], (2900, 2999)), "not-yet-valid"),
            (made(&[], (2020, 2999)), "nameless"),
            (made(&["other.example"], (2020, 2999)), "other-names"),
            (
                (good.0.clone(), made(&["gate.example"], (2020, 2999)).1),
                "mismatch",
            ),
            ((good.0.clone(), "no key".to_owned()), "no-key"),
            (("no chain".to_owned(), good.1.clone()), "no-certificate"),
        ] {
            scene.write(&files.0, &files.1);
            let told = scene.look(now);
            let line = format!("{{reason=\"{reason}\"}} 1");
            assert!(told.contains(&line), "{reason}: told once in {told:?}");
            assert_eq!(scene.expiry(), before, "{reason}");
            assert_eq!(scene.refused(), [("certificate", reason)], "probes say so");
        }
        scene.write(&good.0, &good.1);
        scene.look(now);
        assert_ne!(scene.expiry(), before, "what is good is taken");
        assert!(scene.refused().is_empty(), "and nothing is refused any more");
        scene.write("no chain", &good.1);
        scene.look(now);
        assert_eq!(scene.refused(), [("certificate", "no-certificate")]);
        scene.write(&good.0, &good.1);
        scene.look(now);
        assert!(scene.refused().is_empty(), "the one that is shown came back");
        assert_eq!(scene.gate.certificate_ends(now), None);
        let end = scene.gate.certificate_ends(at("2998-12-31T00:00:00Z"));
        assert_eq!(end.as_deref(), Some("it expires at 2999-01-01T00:00:00Z"));
        let ended = scene.gate.certificate_ends(at("2999-01-02T00:00:00Z"));
        assert_eq!(ended.as_deref(), Some("it expired at 2999-01-01T00:00:00Z"));
    }

    #[tokio::test]
    async fn a_certificate_that_comes_too_early_is_taken_when_its_time_has_come() {
        let mut scene = Scene::new().await;
        let before = scene.expiry();
        let early = made(&["gate.example"], (2900, 2999));
        scene.write(&early.0, &early.1);
        scene.look(at("2899-12-31T00:00:00Z"));
        assert_eq!(scene.expiry(), before);
        scene.look(at("2900-01-02T00:00:00Z"));
        assert_ne!(scene.expiry(), before);
    }

    #[tokio::test]
    async fn a_replaced_pair_is_distinguished_from_an_untouched_one_and_a_bad_secret_from_a_good_one() {
        let mut scene = Scene::new().await;
        let next = scene
            .authority
            .issue(["new.example", "gate.example"])
            .expect("a certificate");
        scene.write(next.chain_pem(), next.key_pem());
        assert!(scene.look(Timestamp::now()).is_empty());
        std::fs::write(scene.folder.path().join("secret"), "short").expect("writable");
        assert_eq!(scene.look(Timestamp::now()), ["{reason=\"callers\"} 1"]);
        assert_eq!(scene.refused(), [("secret of the path", "callers")]);
        std::fs::write(scene.folder.path().join("secret"), "t".repeat(22)).expect("writable");
        assert_eq!(scene.look(Timestamp::now()), ["{reason=\"callers\"} 1"]);
    }
}
