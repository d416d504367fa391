//! The flags of the webhook's endpoint: its certificate, which clients it accepts, and where probes and metrics are served.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use tracing::error;

use super::load_error::LoadError;
use super::reload::Files;
use crate::cli::words::{LeasePlace, lease, length};
use crate::cli::{CliError, Only};
use crate::controllers::CertificateOptions;
use crate::server::{Callers, Certificate, ClientAuthority, Health, Pages, PagesAt, PathSecrets};
use crate::telemetry::Metrics;
use kubernetes::certificates::Lives;

/// The webhook's endpoint.
#[derive(Args, Clone, Debug)]
pub struct EndpointArgs {
    /// Where the certificate comes from: files; a Secret that another program renews, read over the API; or a Secret that this program
    /// makes and renews by itself, together with the authority in the webhook configurations (`docs/operate/certificates.md`).
    #[arg(long, value_enum, value_name = "WAY", default_value_t = CertificatesArg::Files)]
    pub certificates: CertificatesArg,
    /// Secret of the certificate, with `tls.crt` and `tls.key`, where it comes from one.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "tidegate/tidegate-tls", value_parser = lease)]
    pub certificate_secret: LeasePlace,
    /// How long a certificate holds that this program makes, for instance `24h`; a new one takes its place when a third of that is left.
    #[arg(long, value_name = "DURATION", default_value = "2160h", value_parser = certificate_life)]
    pub certificate_life: Duration,
    /// Certificate chain (PEM). Replaced files are taken up without a restart.
    #[arg(long, value_name = "FILE", default_value = "/certs/tls.crt")]
    pub certificate: PathBuf,
    /// Private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", default_value = "/certs/tls.key")]
    pub key: PathBuf,
    /// Name that the hub calls the gate by, for instance `tidegate.tidegate.svc`: a certificate for other names is never shown.
    ///
    /// Without it, a replaced certificate has to keep one of the names of the one before it, and one that this program makes is for
    /// `tidegate.tidegate.svc`.
    #[arg(long, value_name = "NAME")]
    pub certificate_name: Option<String>,
    /// Authority (PEM) of the certificates that callers must show; without it every caller may ask. A replaced file is taken up.
    ///
    /// The hub's API server shows one when its `--admission-control-config-file` says so (`docs/gate.md`).
    #[arg(long, value_name = "FILE")]
    pub client_ca: Option<PathBuf>,
    /// Name that a caller's certificate must have: its common name or an alternative one. Repeatable; by default any will do.
    #[arg(long = "client-name", value_name = "NAME", requires = "client_ca")]
    pub client_names: Vec<String>,
    /// File with the secret that ends the path of every question: `/validate/<secret>`. A replaced file is taken up.
    ///
    /// 22 to 128 letters, digits, `-` or `_`; several lines hold several, while one is being replaced.
    #[arg(long, value_name = "FILE")]
    pub path_secret: Option<PathBuf>,
    /// Address to answer `/healthz` and `/readyz` on, over plain HTTP and on a thread of their own; the gate's address answers them too.
    #[arg(long, value_name = "ADDRESS")]
    pub health: Option<SocketAddr>,
    /// Address to serve metrics on, over plain HTTP at `/metrics`; not served when absent. May be that of `--health`.
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<SocketAddr>,
}

/// Where the certificate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CertificatesArg {
    /// From the files of `--certificate` and `--key`.
    Files,
    /// From the Secret of `--certificate-secret`, which another program renews.
    Secret,
    /// From that Secret, which `--only certificates` makes and renews, and writes the authority into the webhook configurations. Without
    /// `--only` this process does both; a gate alone reads the Secret.
    SelfManaged,
}

/// The name by which API servers call the gate of `manifests/deploy`.
const SERVICE: &str = "tidegate.tidegate.svc";
/// A life shorter than that is over before every API server has heard of it.
const SHORTEST_LIFE: Duration = Duration::from_secs(10);

fn certificate_life(text: &str) -> Result<Duration, String> {
    let life = length(text).ok().filter(|life| *life >= SHORTEST_LIFE);
    life.ok_or_else(|| "must be a length of time of at least 10s, such as 24h or 2160h".to_owned())
}

/// The certificate of the endpoint, and the clients that it accepts.
pub(super) struct Endpoint {
    pub(super) files: Files,
    /// Absent where a Secret has to be read first.
    pub(super) certificate: Option<Certificate>,
    pub(super) callers: Callers,
}

impl EndpointArgs {
    /// Reads the certificate. One that does not hold yet, or any more, is told loudly and shown all the same: probes say that the
    /// gate is not ready, the controllers need none, and time or a new file heals it.
    pub(super) fn open(&self, now: Timestamp) -> Result<Endpoint, CliError> {
        let mut files = Files::new(self);
        let certificate = match self.certificates {
            CertificatesArg::Files => files.read().map(Some).map_err(|trouble| {
                let (certificate, key) = (self.certificate.display(), self.key.display());
                let cause = CliError::starting("the gate")(trouble).one_line();
                CliError::Refused(format!("{cause} (--certificate \"{certificate}\" --key \"{key}\")").into())
            }),
            CertificatesArg::Secret | CertificatesArg::SelfManaged => Ok(None),
        };
        let authority = self.client_ca.as_deref().map(authority).transpose();
        let secrets = self.path_secret.as_deref().map(secrets).transpose();
        let callers = CliError::both(
            authority.map_err(CliError::starting("the gate")),
            secrets.map_err(CliError::starting("the gate")),
        );
        let (certificate, (authority, secrets)) = CliError::both(certificate, callers)?;
        if let Some(Err(fault)) = certificate.as_ref().map(|certificate| certificate.holds(now)) {
            error!(
                file = %self.certificate.display(),
                error = &fault as &dyn std::error::Error,
                "the serving certificate is not valid; the gate is not ready"
            );
        }
        let callers = Callers {
            authority,
            names: self.client_names.iter().cloned().collect(),
            secrets,
        };
        Ok(Endpoint {
            files,
            certificate,
            callers,
        })
    }

    /// Returns how the certificate is kept, by a process that does that.
    pub(super) fn kept(&self) -> CertificateOptions {
        let place = &self.certificate_secret;
        CertificateOptions {
            namespace: place.namespace.clone(),
            secret: place.name.clone(),
            name: self
                .certificate_name
                .clone()
                .unwrap_or_else(|| SERVICE.to_owned()),
            lives: Lives::of(self.certificate_life),
        }
    }

    /// Serves the pages that are asked for. Controllers alone have no other webhook: their health is told where their metrics are.
    pub(super) fn pages(
        &self,
        only: Option<Only>,
        health: &Health,
        metrics: &Metrics,
    ) -> Result<Pages, CliError> {
        let elsewhere = match only {
            Some(Only::Controllers | Only::Certificates) => self.metrics,
            None | Some(Only::Gate) => None,
        };
        let at = PagesAt {
            health: self.health.or(elsewhere),
            metrics: self.metrics,
        };
        Pages::start(at, health, metrics).map_err(CliError::starting("the pages of probes and metrics"))
    }
}

/// Reads the authority of callers.
pub(super) fn authority(path: &Path) -> Result<ClientAuthority, LoadError> {
    ClientAuthority::from_pem(&LoadError::text(path)?).map_err(|source| LoadError::callers(path, source))
}

/// Reads the secrets of the path.
pub(in crate::cli) fn secrets(path: &Path) -> Result<PathSecrets, LoadError> {
    PathSecrets::parse(&LoadError::text(path)?).map_err(|source| LoadError::callers(path, source))
}
