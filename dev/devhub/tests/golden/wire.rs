//! The plainest possible HTTPS client: it sends exactly what a scenario says and nothing else.
//!
//! Decides how bytes travel.

use std::{collections::BTreeMap, fmt::Write, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::{net::TcpStream, sync::mpsc, task::JoinHandle, time::Instant};
use tokio_rustls::TlsConnector;

/// Where requests go.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// `https://host:port`, without a slash at the end.
    pub(crate) url: String,
    /// `host:port`.
    pub(crate) address: String,
    pub(crate) token: String,
    pub(crate) ca_pem: String,
}

/// One request, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) verb: String,
    /// Encoded path and query.
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Option<Vec<u8>>,
}

/// An answer that was read to its end.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A client with one connection that is kept.
pub(crate) struct Client {
    server: Server,
    tls: TlsConnector,
    sender: Option<http1::SendRequest<Full<Bytes>>>,
}

impl Client {
    pub(crate) fn new(server: Server) -> Self {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(server.ca_pem.as_bytes()) {
            roots
                .add(certificate.expect("a PEM certificate"))
                .expect("a usable certificate");
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("default protocol versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self {
            server,
            tls: TlsConnector::from(Arc::new(config)),
            sender: None,
        }
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn send(&mut self, call: &Call) -> Result<Reply, String> {
        // A kept connection may have been closed meanwhile; then nothing was processed and a retry is safe.
        let kept = self.sender.take().filter(http1::SendRequest::is_ready);
        let was_kept = kept.is_some();
        let mut sender = match kept {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let answer = match sender.send_request(request(call)?).await {
            Ok(answer) => answer,
            Err(_) if was_kept => {
                sender = self.connect().await?;
                sender
                    .send_request(request(call)?)
                    .await
                    .map_err(|cause| cause.to_string())?
            }
            Err(cause) => return Err(cause.to_string()),
        };
        let (head, body) = answer.into_parts();
        let body = body
            .collect()
            .await
            .map_err(|cause| format!("the answer breaks off: {cause}"))?
            .to_bytes()
            .to_vec();
        sender.ready().await.ok();
        self.sender = Some(sender);
        Ok(Reply {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
        })
    }

    /// Sends a request on a connection of its own and returns the head as soon as it is there.
    pub(crate) async fn open(&self, call: &Call) -> Result<Response<Incoming>, String> {
        let mut sender = self.connect().await?;
        sender
            .send_request(request(call)?)
            .await
            .map_err(|cause| cause.to_string())
    }

    async fn connect(&self) -> Result<http1::SendRequest<Full<Bytes>>, String> {
        let address = &self.server.address;
        let host = address
            .rsplit_once(':')
            .map_or(address.as_str(), |(host, _)| host)
            .to_owned();
        let name = ServerName::try_from(host).map_err(|cause| cause.to_string())?;
        let socket = TcpStream::connect(address)
            .await
            .map_err(|cause| format!("no connection: {cause}"))?;
        socket.set_nodelay(true).ok();
        let stream = self
            .tls
            .connect(name, socket)
            .await
            .map_err(|cause| format!("no TLS connection: {cause}"))?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|cause| format!("no HTTP connection: {cause}"))?;
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }
}

fn request(call: &Call) -> Result<Request<Full<Bytes>>, String> {
    let mut request = Request::builder().method(call.verb.as_str()).uri(&call.target);
    for (name, value) in &call.headers {
        request = request.header(name, value);
    }
    let body = call.body.clone().unwrap_or_default();
    request
        .body(Full::new(Bytes::from(body)))
        .map_err(|cause| format!("cannot send this request: {cause}"))
}

/// Percent-encodes what may not stand in the path of a URL.
pub(crate) fn encoded(path: &str) -> String {
    escaped(path, b"-._~!$&'()*+,;=:@/%")
}

/// Percent-encodes what no URL may contain; the query is encoded already, but some characters are often left plain.
pub(crate) fn encoded_query(query: &str) -> String {
    escaped(query, b"-._~!$&'()*+,;=:@/%?")
}

fn escaped(text: &str, legal: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || legal.contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").ok();
        }
    }
    out
}

/// Lines of a watch, read in the background.
pub(crate) struct Lines {
    receiver: mpsc::UnboundedReceiver<Value>,
    reader: JoinHandle<()>,
}

impl Lines {
    pub(crate) fn new(body: Incoming) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self {
            receiver,
            reader: tokio::spawn(send_lines(body, sender)),
        }
    }

    /// Reads events: up to `count` of them and whatever follows within `quiet`, or all until the stream ends.
    /// Returns them, and whether the server ended the stream.
    pub(crate) async fn read(
        &mut self,
        count: Option<usize>,
        timeout: Duration,
        quiet: Duration,
    ) -> (Vec<Value>, bool) {
        let deadline = Instant::now() + timeout;
        let mut events = Vec::new();
        let mut quiet_until = None;
        loop {
            if count.is_some_and(|count| events.len() >= count) && quiet_until.is_none() {
                quiet_until = Some(Instant::now() + quiet);
            }
            let until = quiet_until.unwrap_or(deadline);
            match tokio::time::timeout_at(until, self.receiver.recv()).await {
                Ok(Some(event)) if is_plain_bookmark(&event) => {}
                Ok(Some(event)) => events.push(event),
                Ok(None) => return (events, true),
                Err(_elapsed) => return (events, false),
            }
        }
    }
}

/// Forwards every line of a body, until there is no more or the receiver is dropped.
async fn send_lines(mut body: Incoming, sender: mpsc::UnboundedSender<Value>) {
    let mut rest = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(bytes) = frame.into_data() else { continue };
        rest.extend_from_slice(&bytes);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            sender.send(line_value(&line)).ok();
        }
        if sender.is_closed() {
            return;
        }
    }
    if !rest.iter().all(u8::is_ascii_whitespace) {
        sender.send(line_value(&rest)).ok();
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

fn line_value(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(line).into_owned()))
}

/// Bookmarks come when the server likes, except the one that ends the initial state.
fn is_plain_bookmark(event: &Value) -> bool {
    event.get("type").and_then(Value::as_str) == Some("BOOKMARK")
        && event
            .pointer("/object/metadata/annotations/k8s.io~1initial-events-end")
            .and_then(Value::as_str)
            != Some("true")
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn encodes_only_what_a_path_forbids() {
        assert_eq!(encoded("/api/v1/a:b@c/d e/ü%20"), "/api/v1/a:b@c/d%20e/%C3%BC%20");
    }
}
