//! The HTTPS client of one webhook; connections are kept and reused.
//!
//! Decides how failures of the network and of TLS are named.

use std::{
    error::Error,
    fmt, io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{
        self,
        connect::{Connected, Connection},
    },
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::decode::HttpAnswer;

/// Longer answers are not read; the API server takes no larger bodies either.
const ANSWER_LIMIT: usize = 3 * 1024 * 1024;
/// How often a request is sent that no server has taken up.
const TRIES: usize = 5;
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Posts reviews to one server.
#[derive(Debug)]
pub(super) struct Client {
    pool: legacy::Client<Connector, Full<Bytes>>,
}

impl Client {
    /// Makes a client for the server called `name` at `address`, trusting the PEM certificates in `trusted`.
    pub(super) fn new(name: &str, address: String, trusted: &[u8]) -> Result<Self, String> {
        let server = ServerName::try_from(name.to_owned())
            .map_err(|cause| format!("{name:?} is not a host name: {cause}"))?;
        let connector = Connector {
            tls: TlsConnector::from(Arc::new(tls(trusted)?)),
            server,
            address,
        };
        let pool = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build(connector);
        Ok(Self { pool })
    }

    /// Sends a request, and again on another connection if the server had closed the first one before reading it, as Go's client in
    /// API servers does.
    async fn sent(&self, url: &str, body: &Bytes) -> Result<Response<Incoming>, String> {
        let mut tries = 0;
        loop {
            tries += 1;
            let request = Request::post(url)
                .header(header::CONTENT_TYPE, "application/json")
                .header(header::ACCEPT, "application/json, */*")
                .header(header::USER_AGENT, "kube-apiserver-admission")
                .body(Full::new(body.clone()))
                .map_err(|cause| cause.to_string())?;
            match self.pool.request(request).await {
                Err(cause) if tries < TRIES && is_unprocessed(&cause) => {}
                answer => return answer.map_err(|cause| named(&cause)),
            }
        }
    }

    /// Posts `body` and returns the answer, whatever its status. The error is the reason why there is none.
    pub(super) async fn post(&self, url: &str, body: Vec<u8>) -> Result<HttpAnswer, String> {
        let answer = self.sent(url, &Bytes::from(body)).await?;
        let code = answer.status().as_u16();
        let content_type = answer.headers().get(header::CONTENT_TYPE);
        let content_type = content_type
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        let body = Limited::new(answer.into_body(), ANSWER_LIMIT)
            .collect()
            .await
            .map_err(|cause| cause.to_string())?;
        Ok(HttpAnswer {
            code,
            content_type,
            body: body.to_bytes().to_vec(),
        })
    }
}

/// Returns whether the other side has said that it ends the connection, and has not taken this request up.
fn is_unprocessed(error: &legacy::Error) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<h2::Error>() {
            return found.is_go_away() && found.is_remote() && found.reason() == Some(h2::Reason::NO_ERROR);
        }
        cause = error.source();
    }
    false
}

fn tls(trusted: &[u8]) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(trusted) {
        let certificate =
            certificate.map_err(|cause| format!("unable to load root certificates: {cause}"))?;
        roots
            .add(certificate)
            .map_err(|cause| format!("unable to load root certificates: {cause}"))?;
    }
    if roots.is_empty() {
        return Err("unable to load root certificates: unable to parse bytes as PEM block".to_owned());
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|cause| cause.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Finds the failure behind the client's own wrapping.
fn named(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    loop {
        if let Some(found) = cause.downcast_ref::<ConnectError>() {
            return found.0.clone();
        }
        match cause.source() {
            Some(deeper) => cause = deeper,
            None => break,
        }
    }
    let text = cause.to_string();
    if text.contains("connection closed before message completed") {
        "EOF".to_owned()
    } else {
        text
    }
}

/// Why there is no connection, in the words of Go's network stack.
#[derive(Debug)]
struct ConnectError(String);

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ConnectError {}

/// Opens TLS connections to one address, whatever host the URL names.
#[derive(Clone)]
struct Connector {
    tls: TlsConnector,
    server: ServerName<'static>,
    address: String,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl tower::Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<Self::Response, ConnectError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Self { tls, server, address } = self.clone();
        Box::pin(async move {
            let socket = TcpStream::connect(&address)
                .await
                .map_err(|cause| dial_error(&address, &cause))?;
            // Reviews are single writes; waiting for more data would only delay them.
            socket
                .set_nodelay(true)
                .map_err(|cause| dial_error(&address, &cause))?;
            let stream = tls
                .connect(server, socket)
                .await
                .map_err(|cause| tls_error(&cause))?;
            Ok(TokioIo::new(Stream(stream)))
        })
    }
}

fn dial_error(address: &str, cause: &io::Error) -> ConnectError {
    ConnectError(match cause.kind() {
        io::ErrorKind::ConnectionRefused => format!("dial tcp {address}: connect: connection refused"),
        // Anything without an operating system code was refused before a socket existed: the name is unknown.
        _ if cause.raw_os_error().is_none() => {
            let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
            format!("dial tcp: lookup {host}: no such host")
        }
        _ => format!("dial tcp {address}: connect: {cause}"),
    })
}

fn tls_error(cause: &io::Error) -> ConnectError {
    use rustls::{CertificateError, Error as TlsError};
    let reason = cause.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>());
    ConnectError(match reason {
        Some(TlsError::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        )) => "tls: failed to verify certificate: x509: certificate signed by unknown authority".to_owned(),
        Some(TlsError::InvalidCertificate(why)) => format!("tls: failed to verify certificate: x509: {why}"),
        Some(other) => format!("tls: {other}"),
        None => format!("tls handshake: {cause}"),
    })
}

/// A TLS stream that tells the connection pool which protocol was agreed on.
struct Stream(TlsStream<TcpStream>);

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let agreed = self.0.get_ref().1.alpn_protocol();
        if agreed == Some(b"h2") {
            Connected::new().negotiated_h2()
        } else {
            Connected::new()
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
