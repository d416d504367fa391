//! The web page, as `serve` and `dev` serve it.
//!
//! Joins the room that serves it with the hub that it shows.

mod asks;
mod follow;

use std::net::SocketAddr;

use clap::Args;

use kubernetes::names::is_dns1123_subdomain;

pub(super) use follow::{Hub, Watched, begin};

/// The web page.
#[derive(Args, Clone, Debug, Default)]
pub struct UiArgs {
    /// Address to serve a web page on that shows rollouts, for instance `127.0.0.1:8090`; not served when absent (`docs/web.md`).
    ///
    /// It only reads, and asks its user for a token of the hub: every user sees what the hub lets them see. With a gate it is
    /// served with the gate's certificate; without one it has none, and the address must be a loopback one.
    #[arg(long, value_name = "ADDRESS")]
    pub ui: Option<SocketAddr>,
    /// Name by which browsers call the page, beside addresses and localhost. Repeatable.
    #[arg(long = "ui-host", value_name = "NAME", requires = "ui", value_parser = host)]
    pub ui_hosts: Vec<String>,
}

fn host(text: &str) -> Result<String, String> {
    if is_dns1123_subdomain(text) {
        return Ok(text.to_owned());
    }
    Err("must be the name of a host, without scheme, port and path, such as tidegate.example.com".to_owned())
}

impl UiArgs {
    /// Returns what is wrong with the address of a page that is served without a certificate, if anything is.
    pub(in crate::cli) fn plain_elsewhere(&self) -> Option<String> {
        let address = self.ui.filter(|address| !address.ip().is_loopback())?;
        Some(format!(
            "--ui {address} would take tokens without TLS, because no gate and no certificate is here; give a loopback address and \
             reach it by `kubectl port-forward`"
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
        };
        assert_eq!(of("127.0.0.1:8090").plain_elsewhere(), None);
        assert_eq!(of("[::1]:0").plain_elsewhere(), None);
        assert!(of("0.0.0.0:8090").plain_elsewhere().is_some());
        assert_eq!(UiArgs::default().plain_elsewhere(), None);
    }
}
