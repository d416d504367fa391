//! A server outside of the hub that the controllers send requests to, with its certificate authorities and its token.
//!
//! The files are read again for each request, because they are replaced while the program runs. Neither the token nor the path of the
//! URL is logged: both may be secrets.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::LazyLock;

use http::{HeaderValue, Uri};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::files::read_text;
use crate::telemetry::{HttpClient, http_client, native_roots};

/// The largest file, in bytes.
const LARGEST_FILE: u64 = 1024 * 1024;

/// A URL without user and password, with the scheme `http` or `https`.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpUrl(Uri);

impl FromStr for HttpUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || "must be a URL with http or https, such as https://events.example.com/tidegate".to_owned();
        let uri: Uri = text.parse().map_err(|_error| wrong())?;
        let authority = uri.authority().ok_or_else(wrong)?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(wrong());
        }
        if authority.as_str().contains('@') {
            return Err("must have no user and password: use a file with a token".to_owned());
        }
        Ok(Self(uri))
    }
}

impl std::fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.host())
    }
}

impl HttpUrl {
    /// Returns the URL with a path behind its own; nothing if it has a query.
    pub(super) fn join(&self, path: &str) -> Option<Self> {
        if self.0.query().is_some() {
            return None;
        }
        let mut parts = self.0.clone().into_parts();
        let whole = format!("{}{path}", self.0.path().trim_end_matches('/'));
        parts.path_and_query = Some(whole.parse().ok()?);
        Uri::from_parts(parts).ok().map(Self)
    }

    /// Returns the host, with the port if the URL has one.
    pub fn host(&self) -> &str {
        self.0.authority().map_or("", |authority| authority.as_str())
    }
}

/// A server that requests are sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpEndpoint {
    /// Where.
    pub url: HttpUrl,
    /// File with a bearer token.
    pub token_file: Option<PathBuf>,
    /// File with the certificate authorities (PEM) of the server; without it, those of this machine count.
    pub ca_file: Option<PathBuf>,
}

impl HttpEndpoint {
    /// Returns the URL of requests.
    pub(super) fn uri(&self) -> &Uri {
        &self.url.0
    }

    /// Returns a client for a request, and the value of its header `Authorization`. Fails if a file cannot be read or used.
    pub(super) fn open(&self) -> Result<(HttpClient, Option<HeaderValue>), String> {
        static ROOTS: LazyLock<RootCertStore> = LazyLock::new(native_roots);
        let roots = match &self.ca_file {
            Some(path) => authorities(path)?,
            None if self.url.0.scheme_str() == Some("https") => ROOTS.clone(),
            None => RootCertStore::empty(),
        };
        let token = self.token_file.as_ref().map(|path| {
            let mut value =
                HeaderValue::try_from(format!("Bearer {}", read(path)?.trim())).map_err(|_error| {
                    format!(
                        "the token in {} has characters that no header can have",
                        path.display()
                    )
                })?;
            value.set_sensitive(true);
            Ok::<_, String>(value)
        });
        let client = http_client(roots).map_err(|error| format!("cannot set up TLS: {error}"))?;
        Ok((client, token.transpose()?))
    }
}

fn authorities(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(read(path)?.as_bytes()).flatten());
    if roots.is_empty() {
        return Err(format!("{} has no certificate", path.display()));
    }
    Ok(roots)
}

fn read(path: &Path) -> Result<String, String> {
    read_text(path, LARGEST_FILE).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_and_no_password_and_its_path_is_not_shown() {
        let url: HttpUrl = "https://events.example.com:8443/hooks/s3cret?key=s3cret"
            .parse()
            .expect("it is valid");
        assert_eq!(format!("{url:?}"), "events.example.com:8443");
        for wrong in [
            "events.example.com",
            "ftp://a",
            "http://",
            "https://user:pass@a",
            "/path",
            "",
        ] {
            assert!(wrong.parse::<HttpUrl>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn files_are_read_again_and_what_is_wrong_with_one_is_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        let mut endpoint = HttpEndpoint {
            url: "http://127.0.0.1:1".parse().expect("it is valid"),
            token_file: Some(file.clone()),
            ca_file: None,
        };
        let token = |endpoint: &HttpEndpoint| endpoint.open().map(|(_, token)| token);
        assert!(token(&endpoint).expect_err("no file").starts_with("cannot read "));
        for text in ["first\n", "second"] {
            std::fs::write(&file, text).expect("writable");
            let value = token(&endpoint).expect("a token").expect("a token");
            assert_eq!(value, format!("Bearer {}", text.trim()));
            assert!(!format!("{value:?}").contains(text.trim()), "{value:?}");
        }
        std::fs::write(&file, "a\u{7}b").expect("writable");
        assert!(
            token(&endpoint)
                .expect_err("a control character")
                .contains("characters")
        );
        endpoint.token_file = None;
        endpoint.ca_file = Some(file);
        assert!(
            token(&endpoint)
                .expect_err("no certificate")
                .ends_with("has no certificate")
        );
    }
}
