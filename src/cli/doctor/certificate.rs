//! The certificate that answers at an address.
//!
//! Decides whether a client that trusts some authorities accepts it for a name, as an API server would. Sends no request: the
//! handshake says everything. Never shows a certificate of its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use operate::doctor::{ShownCertificate, Trust};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// How long a handshake may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is looked at.
#[derive(Debug)]
pub(super) struct Question<'a> {
    /// Where this machine reaches it, `host:port`.
    pub(super) address: &'a str,
    /// By which name the API server does.
    pub(super) name: &'a str,
    /// The authorities that the API server trusts, in base64; empty for none.
    pub(super) ca_bundle: &'a str,
}

pub(super) async fn look(question: &Question<'_>) -> Result<ShownCertificate, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let name = ServerName::try_from(question.name.to_owned())
        .map_err(|_odd| format!("\"{}\" is not a server name", question.name))?;
    let onlooker = Arc::new(Onlooker {
        provider: Arc::clone(&provider),
        judge: judge(question.ca_bundle, &provider),
        seen: Mutex::default(),
    });
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(&onlooker) as Arc<dyn ServerCertVerifier>)
        .with_no_client_auth();
    let shaken = tokio::time::timeout(PATIENCE, async {
        let stream = TcpStream::connect(question.address).await?;
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .map(drop)
    })
    .await;
    let seen = onlooker
        .seen
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    // A gate that asks for certificates of callers ends the handshake after it has shown its own.
    match (seen, shaken) {
        (Some((der, trust)), _) => read(question, &der, trust),
        (None, Err(_elapsed)) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        (None, Ok(Err(error))) => Err(error.to_string()),
        (None, Ok(Ok(()))) => Err("the server sent no certificate".to_owned()),
    }
}

fn read(question: &Question<'_>, der: &[u8], trust: Trust) -> Result<ShownCertificate, String> {
    let (_, certificate) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
    let time = |second: i64| Timestamp::from_second(second).map_err(|error| error.to_string());
    let validity = certificate.validity();
    Ok(ShownCertificate {
        from: question.address.to_owned(),
        not_before: time(validity.not_before.timestamp())?,
        not_after: time(validity.not_after.timestamp())?,
        trust,
    })
}

/// Who judges as the API server would; nothing without authorities, and the fault of a bundle that holds none.
fn judge(bundle: &str, provider: &Arc<CryptoProvider>) -> Option<Result<Arc<WebPkiServerVerifier>, String>> {
    if bundle.is_empty() {
        return None;
    }
    Some(verifier(bundle, provider))
}

fn verifier(bundle: &str, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, String> {
    let pem = STANDARD
        .decode(bundle)
        .map_err(|_odd| "caBundle is not base64".to_owned())?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|_odd| "caBundle is not PEM".to_owned())?;
        roots
            .add(certificate)
            .map_err(|error| format!("caBundle: {error}"))?;
    }
    if roots.is_empty() {
        return Err("caBundle holds no certificate".to_owned());
    }
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
    built.map_err(|error| format!("caBundle: {error}"))
}

/// Lets every certificate pass, and notes what the API server would say of it.
#[derive(Debug)]
struct Onlooker {
    provider: Arc<CryptoProvider>,
    judge: Option<Result<Arc<WebPkiServerVerifier>, String>>,
    seen: Mutex<Option<(Vec<u8>, Trust)>>,
}

impl ServerCertVerifier for Onlooker {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let trust = match &self.judge {
            None => Trust::Unknown,
            Some(Err(why)) => Trust::No(why.clone()),
            Some(Ok(judge)) => {
                match judge.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
                    Ok(_) => Trust::Yes(server_name.to_str().into_owned()),
                    Err(error) => Trust::No(error.to_string()),
                }
            }
        };
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some((end_entity.to_vec(), trust));
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signed,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
