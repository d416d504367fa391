//! Where a webhook listens.
//!
//! Decides address, server name and path from a client configuration.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::Uri;

use super::{client::Client, configuration::ClientConfig, decode::HttpAnswer};

/// Addresses of Services, by `namespace/name`: the hub has no cluster network, so it must be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Services {
    addresses: BTreeMap<String, SocketAddr>,
}

impl Services {
    /// Adds the address of the Service `name` in `namespace`.
    #[must_use]
    pub fn with(mut self, namespace: &str, name: &str, address: SocketAddr) -> Self {
        self.addresses.insert(format!("{namespace}/{name}"), address);
        self
    }

    fn address(&self, namespace: &str, name: &str) -> Option<SocketAddr> {
        self.addresses.get(&format!("{namespace}/{name}")).copied()
    }
}

/// A URL to which reviews are posted. Errors in the configuration are returned for each call, because the failure policy decides what
/// they mean.
#[derive(Debug)]
pub(crate) struct Endpoint {
    place: Result<Place, String>,
}

/// A usable endpoint.
#[derive(Debug)]
pub(crate) struct Place {
    /// URL without a query.
    url: String,
    client: Client,
}

impl Place {
    /// Posts a review and waits for the answer, whatever its status. The error names the URL and why there is none.
    pub(crate) async fn post(&self, body: Vec<u8>, patience: Duration) -> Result<HttpAnswer, String> {
        let url = format!("{}?timeout={}s", self.url, patience.as_secs());
        match tokio::time::timeout(patience, self.client.post(&url, body)).await {
            Ok(outcome) => outcome.map_err(|cause| format!("Post {url:?}: {cause}")),
            Err(_elapsed) => Err(format!("Post {url:?}: context deadline exceeded")),
        }
    }
}

impl Endpoint {
    /// Reads a client configuration.
    pub(crate) fn new(config: &ClientConfig, services: &Services) -> Self {
        Self {
            place: place(config, services).map_err(|cause| format!("could not get REST client: {cause}")),
        }
    }

    /// Returns where to post, or why that is unknown.
    pub(crate) fn place(&self) -> Result<&Place, String> {
        self.place.as_ref().map_err(Clone::clone)
    }
}

fn place(config: &ClientConfig, services: &Services) -> Result<Place, String> {
    let trusted = trusted(config)?;
    match (&config.url, &config.service) {
        (Some(url), _) => {
            let uri: Uri = url
                .parse()
                .map_err(|cause| format!("Unparsable webhook URL: {cause}"))?;
            let host = uri
                .host()
                .ok_or_else(|| format!("webhook URL {url:?} has no host"))?;
            // Brackets belong to the URL, not to the address.
            let name = host.trim_start_matches('[').trim_end_matches(']');
            let address = format!("{host}:{}", uri.port_u16().unwrap_or(443));
            Ok(Place {
                url: url.clone(),
                client: Client::new(name, address, &trusted)?,
            })
        }
        (None, Some(service)) => {
            let (namespace, name) = (&service.namespace, &service.name);
            let address = services.address(namespace, name).ok_or_else(|| {
                format!("service \"{namespace}/{name}\" has no address: this hub runs no Services, name its address when the hub is built")
            })?;
            let server = format!("{name}.{namespace}.svc");
            let path = service.path.as_deref().unwrap_or("/");
            let slash = if path.starts_with('/') { "" } else { "/" };
            let url = format!("https://{server}:{}{slash}{path}", service.port.unwrap_or(443));
            Ok(Place {
                url,
                client: Client::new(&server, address.to_string(), &trusted)?,
            })
        }
        (None, None) => Err("webhook configuration must have either service or URL".to_owned()),
    }
}

/// Returns the PEM text of the certificates to trust.
fn trusted(config: &ClientConfig) -> Result<Vec<u8>, String> {
    let bundle = config.ca_bundle.as_deref().unwrap_or_default();
    if bundle.is_empty() {
        return Err("no caBundle is given, and this hub trusts no certificates of the system".to_owned());
    }
    STANDARD
        .decode(bundle)
        .map_err(|cause| format!("unable to load root certificates: {cause}"))
}
