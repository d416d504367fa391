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
    /// Source of the certificate: files; a Secret that another program renews; or a Secret that this program creates and
    /// renews, together with the CA bundle in the webhook configurations (`docs/operate/certificates.md`).
    #[arg(long, value_enum, value_name = "SOURCE", default_value_t = CertificatesArg::Files)]
    pub certificates: CertificatesArg,
    /// Secret of the certificate (`tls.crt` and `tls.key`), unless it is read from files.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "tidegate/tidegate-tls", value_parser = lease)]
    pub certificate_secret: LeasePlace,
    /// Validity of certificates that this program creates, for example `24h`; they are renewed when a third of it remains.
    #[arg(long, value_name = "DURATION", default_value = "2160h", value_parser = certificate_life)]
    pub certificate_life: Duration,
    /// Certificate chain (PEM). Reloaded on change, without a restart.
    #[arg(long, value_name = "FILE", default_value = "/certs/tls.crt")]
    pub certificate: PathBuf,
    /// Private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", default_value = "/certs/tls.key")]
    pub key: PathBuf,
    /// DNS name of the webhook, for example `tidegate.tidegate.svc`; a certificate without this name is not served.
    ///
    /// Without the flag, a new certificate must keep one of the names of the previous one, and certificates that this program
    /// creates are for `tidegate.tidegate.svc`.
    #[arg(long, value_name = "NAME")]
    pub certificate_name: Option<String>,
    /// CA bundle (PEM) for client certificates; without the flag, every client is accepted. Reloaded on change.
    ///
    /// The API server of the hub sends a client certificate if its `--admission-control-config-file` configures one
    /// (`docs/gate.md`).
    #[arg(long, value_name = "FILE")]
    pub client_ca: Option<PathBuf>,
    /// Required name in the client certificate: common name or subject alternative name. Repeatable (default: any name).
    #[arg(long = "client-name", value_name = "NAME", requires = "client_ca")]
    pub client_names: Vec<String>,
    /// File with the secret at the end of the webhook's URL path: `/validate/<secret>`. Reloaded on change.
    ///
    /// 22 to 128 letters, digits, `-` or `_`. To rotate the secret, write the old and the new one on separate lines.
    #[arg(long, value_name = "FILE")]
    pub path_secret: Option<PathBuf>,
    /// Address for `/healthz` and `/readyz`, plain HTTP, on a separate thread; the address of the webhook serves them, too.
    #[arg(long, value_name = "ADDRESS")]
    pub health: Option<SocketAddr>,
    /// Address for `/metrics`, plain HTTP (default: no metrics endpoint). May be the address of `--health`.
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<SocketAddr>,
}

/// Source of the certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CertificatesArg {
    /// Files of `--certificate` and `--key`.
    Files,
    /// Secret of `--certificate-secret`, which another program renews.
    Secret,
    /// Secret of `--certificate-secret`, which `--only certificates` creates and renews, together with the CA bundle in the
    /// webhook configurations. Without `--only`, this process does both; `--only gate` only reads the Secret.
    SelfManaged,
}

/// The name by which API servers call the gate of `manifests/deploy`.
const SERVICE: &str = "tidegate.tidegate.svc";
/// With a shorter validity, a certificate expires before every API server trusts it.
const SHORTEST_LIFE: Duration = Duration::from_secs(10);

fn certificate_life(text: &str) -> Result<Duration, String> {
    let life = length(text).ok().filter(|life| *life >= SHORTEST_LIFE);
    life.ok_or_else(|| "must be a duration of at least 10s, such as 24h or 2160h".to_owned())
}

/// The certificate of the endpoint, and the clients that it accepts.
pub(super) struct Endpoint {
    pub(super) files: Files,
    /// Absent where a Secret has to be read first.
    pub(super) certificate: Option<Certificate>,
    pub(super) callers: Callers,
}

impl EndpointArgs {
    /// Reads the certificate. One that is not valid yet, or is expired, is logged and served all the same: the probes report
    /// that the webhook is not ready, the controllers need no certificate, and time or a new file resolves it.
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

    /// Returns how this process keeps the certificate, if it does.
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

    /// Serves the requested pages. Controllers alone have no webhook: their health endpoints are on the address of the metrics.
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

/// Reads the CA bundle for client certificates.
pub(super) fn authority(path: &Path) -> Result<ClientAuthority, LoadError> {
    ClientAuthority::from_pem(&LoadError::text(path)?).map_err(|source| LoadError::callers(path, source))
}

/// Reads the secrets of the path.
pub(in crate::cli) fn secrets(path: &Path) -> Result<PathSecrets, LoadError> {
    PathSecrets::parse(&LoadError::text(path)?).map_err(|source| LoadError::callers(path, source))
}
