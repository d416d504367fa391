//! The Prometheus servers that checks may query, and the values that they return.
//!
//! Decides what is one value: a scalar, or a vector with one sample, and never NaN or infinite. The token is read again for each
//! evaluation. Neither it nor a response is logged.

use std::error::Error as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use kubernetes::field::{cut, quoted};
use kubernetes::names::is_dns1123_label;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;

use crate::files::read_text;
use crate::telemetry::{HttpClient, http_client, native_roots};

/// The largest response, in bytes.
const LARGEST: usize = 1024 * 1024;
/// The largest file, in bytes.
const LARGEST_FILE: u64 = 1024 * 1024;
/// So much of the error of a server is reported, in bytes.
const SAID: usize = 300;

/// A Prometheus server in the configuration of the controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckEndpoint {
    /// The name that checks choose it by.
    pub name: String,
    url: Uri,
    token_file: Option<PathBuf>,
    ca_file: Option<PathBuf>,
}

impl FromStr for CheckEndpoint {
    type Err = String;

    /// Reads `NAME=URL[,token-file=PATH][,ca-file=PATH]`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = "must be NAME=URL[,token-file=PATH][,ca-file=PATH], such as main=http://prometheus:9090";
        let mut parts = text.split(',');
        let (name, url) = parts
            .next()
            .and_then(|first| first.split_once('='))
            .ok_or(wrong)?;
        if !is_dns1123_label(name) {
            return Err("the name must be lower case letters, digits and \"-\"".to_owned());
        }
        let uri: Uri = url.parse().map_err(|_error| wrong)?;
        let authority = uri.authority().ok_or(wrong)?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.query().is_some() {
            return Err(wrong.to_owned());
        }
        if authority.as_str().contains('@') {
            return Err(
                "must have no user and password: write a token into a file, and set token-file".to_owned(),
            );
        }
        let path = format!("{}/api/v1/query", uri.path().trim_end_matches('/'));
        let whole = Uri::builder()
            .scheme(uri.scheme_str().unwrap_or_default())
            .authority(authority.as_str())
            .path_and_query(path)
            .build();
        let mut endpoint = Self {
            name: name.to_owned(),
            url: whole.map_err(|_error| wrong)?,
            token_file: None,
            ca_file: None,
        };
        for part in parts {
            match part.split_once('=') {
                Some(("token-file", path)) => endpoint.token_file = Some(path.into()),
                Some(("ca-file", path)) => endpoint.ca_file = Some(path.into()),
                Some(_) | None => return Err(wrong.to_owned()),
            }
        }
        Ok(endpoint)
    }
}

/// An endpoint with its certificates and its token, as they are now.
pub(super) struct Session<'e> {
    endpoint: &'e CheckEndpoint,
    client: HttpClient,
    token: Option<HeaderValue>,
}

impl CheckEndpoint {
    /// Reads the files of the endpoint.
    pub(super) fn open(&self) -> Result<Session<'_>, String> {
        static ROOTS: LazyLock<RootCertStore> = LazyLock::new(native_roots);
        let read = |path: &PathBuf| {
            read_text(path, LARGEST_FILE)
                .map_err(|error| format!("cannot read the file {}: {error}", path.display()))
        };
        let roots = match &self.ca_file {
            Some(path) => {
                let mut roots = RootCertStore::empty();
                let text = read(path)?;
                roots.add_parsable_certificates(CertificateDer::pem_slice_iter(text.as_bytes()).flatten());
                roots
            }
            None if self.url.scheme_str() == Some("https") => ROOTS.clone(),
            None => RootCertStore::empty(),
        };
        let token = self.token_file.as_ref().map(|path| {
            let mut value = HeaderValue::try_from(format!("Bearer {}", read(path)?.trim()))
                .map_err(|_error| "the token has characters that no token has".to_owned())?;
            value.set_sensitive(true);
            Ok::<_, String>(value)
        });
        Ok(Session {
            endpoint: self,
            client: http_client(roots).map_err(|error| format!("cannot set up TLS: {error}"))?,
            token: token.transpose()?,
        })
    }
}

impl Session<'_> {
    /// Returns the one value of an instant query.
    pub(super) async fn value(&self, query: &str) -> Result<f64, String> {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(&self.endpoint.url)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, token);
        }
        let body = Full::new(Bytes::from(format!("query={}", encoded(query))));
        let request = request.body(body).map_err(|error| error.to_string())?;
        let response = self.client.request(request).await.map_err(|error| {
            let cause = error
                .source()
                .map_or_else(String::new, |cause| format!(": {cause}"));
            format!("the endpoint cannot be reached: {error}{cause}")
        })?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LARGEST).collect().await;
        let body = body
            .map_err(|error| format!("the response cannot be read: {error}"))?
            .to_bytes();
        let answer: Option<Value> = serde_json::from_slice(&body).ok();
        if !status.is_success() {
            let said = answer.as_ref().and_then(|answer| answer.get("error")?.as_str());
            let said = said.map_or_else(String::new, |said| format!(": {}", cut(said, SAID)));
            return Err(format!("the endpoint returns {status}{said}"));
        }
        value(&answer.ok_or("the response is not JSON")?)
    }
}

/// Reads the response to an instant query.
fn value(answer: &Value) -> Result<f64, String> {
    let result = answer.pointer("/data/result");
    let kind = answer.pointer("/data/resultType").and_then(Value::as_str);
    let sample = match (kind, result.and_then(Value::as_array).map(Vec::as_slice)) {
        (Some("scalar"), Some([_, text])) => Some(text),
        (Some("vector"), Some([])) => return Err("the query returns no sample".to_owned()),
        (Some("vector"), Some([one])) => one.pointer("/value/1"),
        (Some("vector"), Some(many)) => {
            return Err(format!(
                "the query returns {} samples, and must return one",
                many.len()
            ));
        }
        (Some(kind), _) => {
            return Err(format!(
                "the query returns a {}, and must return a scalar or a vector",
                quoted(kind)
            ));
        }
        (None, _) => None,
    };
    let text = sample
        .and_then(Value::as_str)
        .ok_or("the response is not that of a query")?;
    let value: f64 = text
        .parse()
        .map_err(|_error| format!("the query returns {}, which is no number", quoted(text)))?;
    if value.is_finite() {
        return Ok(value);
    }
    Err(format!("the query returns {text}, which is no finite number"))
}

/// Encodes a value of a form.
fn encoded(text: &str) -> String {
    let each = text.bytes().map(|byte| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    each.collect()
}
