//! The Prometheus servers that checks may query, and the values that they return.
//!
//! Decides what is one value: a scalar, or a vector with one sample, and never NaN or infinite. The token is read again for each
//! evaluation. Neither it nor a response is logged.

use std::error::Error as _;
use std::str::FromStr;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use kubernetes::field::{cut, quoted};
use kubernetes::names::is_dns1123_label;
use serde_json::Value;

use crate::controllers::http_endpoint::{HttpEndpoint, HttpUrl};
use crate::telemetry::HttpClient;

/// The largest response, in bytes.
const LARGEST: usize = 1024 * 1024;
/// So much of the error of a server is reported, in bytes.
const SAID: usize = 300;

/// A Prometheus server in the configuration of the controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckEndpoint {
    /// The name that checks choose it by.
    pub name: String,
    server: HttpEndpoint,
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
        let url: HttpUrl = url.parse()?;
        let mut server = HttpEndpoint {
            url: url.join("/api/v1/query").ok_or(wrong)?,
            token_file: None,
            ca_file: None,
        };
        for part in parts {
            match part.split_once('=') {
                Some(("token-file", path)) => server.token_file = Some(path.into()),
                Some(("ca-file", path)) => server.ca_file = Some(path.into()),
                Some(_) | None => return Err(wrong.to_owned()),
            }
        }
        Ok(Self {
            name: name.to_owned(),
            server,
        })
    }
}

/// An endpoint with its certificates and its token, as they are now.
pub(super) struct Session<'e> {
    url: &'e Uri,
    client: HttpClient,
    token: Option<HeaderValue>,
}

impl CheckEndpoint {
    /// Reads the files of the endpoint.
    pub(super) fn open(&self) -> Result<Session<'_>, String> {
        let (client, token) = self.server.open()?;
        Ok(Session {
            url: self.server.uri(),
            client,
            token,
        })
    }
}

impl Session<'_> {
    /// Returns the one value of an instant query.
    pub(super) async fn value(&self, query: &str) -> Result<f64, String> {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(self.url)
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
