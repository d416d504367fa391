//! The web page, as `serve` and `dev` serve it.
//!
//! Joins the server of the page with the hub that it shows.

mod asks;
mod follow;
mod settings;

use std::net::SocketAddr;

use clap::Args;

use kubernetes::names::is_dns1123_subdomain;

pub(super) use follow::{Hub, Watched, begin};

/// The web page.
#[derive(Args, Clone, Debug, Default)]
pub struct UiArgs {
    /// Address of the web page that shows rollouts, for example `127.0.0.1:8090` (default: no web page; `docs/web.md`).
    ///
    /// Users sign in with a token of the hub, and see and do what their permissions on the hub allow. With the webhook, the page
    /// uses the webhook's certificate. Without it, the page is served without TLS, and the address must be a loopback address.
    #[arg(long, value_name = "ADDRESS")]
    pub ui: Option<SocketAddr>,
    /// Host name under which browsers reach the page, in addition to IP addresses and localhost. Repeatable.
    #[arg(long = "ui-host", value_name = "NAME", requires = "ui", value_parser = host)]
    pub ui_hosts: Vec<String>,
    /// Name of the hub that the page shows (default: the address of the hub).
    #[arg(long = "ui-hub-name", value_name = "NAME", requires = "ui")]
    pub ui_hub_name: Option<String>,
}

fn host(text: &str) -> Result<String, String> {
    if is_dns1123_subdomain(text) {
        return Ok(text.to_owned());
    }
    Err("must be the name of a host, without scheme, port and path, such as tidegate.example.com".to_owned())
}

impl UiArgs {
    /// Returns the error in the address of a page that is served without a certificate, if there is one.
    pub(in crate::cli) fn plain_elsewhere(&self) -> Option<String> {
        let address = self.ui.filter(|address| !address.ip().is_loopback())?;
        Some(format!(
            "--ui {address} would accept tokens without TLS, because this process has no certificate; use a loopback address and \
             `kubectl port-forward`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_alone() {
        assert!(host("tidegate.example.com").is_ok());
        for odd in ["", "a b/<x>", "https://a", "a:443", "A_b"] {
            assert!(host(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn tokens_travel_in_the_clear_on_this_machine_only() {
        let of = |address: &str| UiArgs {
            ui: Some(address.parse().expect("an address")),
            ui_hosts: Vec::new(),
            ui_hub_name: None,
        };
        assert_eq!(of("127.0.0.1:8090").plain_elsewhere(), None);
        assert_eq!(of("[::1]:0").plain_elsewhere(), None);
        assert!(of("0.0.0.0:8090").plain_elsewhere().is_some());
        assert_eq!(UiArgs::default().plain_elsewhere(), None);
    }
}
