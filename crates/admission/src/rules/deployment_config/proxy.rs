//! Rules about the proxy of an AddOnDeploymentConfig.
//!
//! Refuses URLs and certificates that an agent could not use, without opening a connection.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::subject::{DeploymentConfig, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, quoted};

const PROXY: &str = "deployment-config/proxy";
const SCHEMES: [&str; 3] = ["http", "https", "socks5"];

rules! { pub(in crate::rules) RULES of DeploymentConfig {
    refuses PROXY, CreateAndUpdate, proxy =>
        "`proxyConfig` has valid proxy URLs and certificates.\n\n\
         With an invalid proxy the agent starts, but cannot connect to the hub. `httpProxy` and `httpsProxy` are URLs with a \
         host and the scheme `http`, `https` or `socks5`; `caBundle` is base64-encoded PEM certificates without a private \
         key. Refused. A `caBundle` without a proxy, and entries of `noProxy` with a scheme or with spaces, have no effect, \
         and warn.";
} }

fn proxy(subject: &Subject<'_, DeploymentConfig>, findings: &mut Findings) {
    let Some(config) = subject.body.key("proxyConfig") else {
        return;
    };
    let given = |field: &str| config.text(field).filter(|text| !text.is_empty());
    for field in ["httpProxy", "httpsProxy"] {
        if let Some(fault) = given(field).and_then(wrong_address) {
            findings.deny(fault.at(config.path.key(field), PROXY));
        }
    }
    if let Some(bundle) = given("caBundle") {
        let path = config.path.key("caBundle");
        if let Some(detail) = wrong_bundle(bundle) {
            findings.deny(Fault::bare(Class::Invalid, detail).at(path, PROXY));
        } else if given("httpProxy").is_none() && given("httpsProxy").is_none() {
            let detail = "has no effect without httpProxy or httpsProxy";
            findings.warn(Fault::bare(Class::Forbidden, detail).at(path, PROXY));
        }
    }
    let entries = given("noProxy").into_iter().flat_map(|list| list.split(','));
    for entry in entries.take_while(|entry| subject.effort.read(entry)) {
        let entry = entry.trim();
        let detail = if entry.contains("://") {
            "each entry must be a host, a domain or a network, without a scheme"
        } else if entry.chars().any(char::is_whitespace) {
            "entries must be separated by commas"
        } else {
            continue;
        };
        let fault = Fault::of_text(Class::Invalid, entry, detail);
        findings.warn(fault.at(config.path.key("noProxy"), PROXY));
    }
}

fn wrong_address(text: &str) -> Option<Fault> {
    let fault = |detail: &str| Fault::of_text(Class::Invalid, text, detail);
    if text
        .chars()
        .any(|letter| letter.is_whitespace() || letter.is_control())
    {
        return Some(fault("must not contain whitespace or control characters"));
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        let near = format!("http://{text}");
        let detail = "must be a URL such as \"http://proxy.example.com:3128\"";
        let hint = wrong_address(&near)
            .is_none()
            .then(|| format!("did you mean {}?", quoted(&near)));
        return Some(fault(detail).hint_if(hint));
    };
    if !SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) {
        return Some(fault("must have the scheme http, https or socks5"));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, after)) => (address, after.strip_prefix(':')),
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    if name.is_empty() {
        return Some(fault("must have a host"));
    }
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    (!is_port).then(|| fault("must have a port from 1 to 65535"))
}

fn wrong_bundle(bundle: &str) -> Option<&'static str> {
    let bare: String = bundle.chars().filter(|letter| !letter.is_whitespace()).collect();
    let Ok(bytes) = STANDARD.decode(bare) else {
        return Some(if bundle.contains("-----BEGIN") {
            "must be base64-encoded: this is the PEM text itself"
        } else {
            "must be base64-encoded PEM certificates"
        });
    };
    let text = String::from_utf8_lossy(&bytes);
    if text.contains("PRIVATE KEY-----") {
        return Some("must not contain a private key: every user who can read this object could read it");
    }
    let has = |mark: &str| text.contains(mark);
    let is_pem = has("-----BEGIN CERTIFICATE-----") && has("-----END CERTIFICATE-----");
    (!is_pem).then_some("must be base64-encoded PEM certificates")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_url_has_a_known_scheme_a_host_and_a_valid_port() {
        let good = [
            "http://proxy:3128",
            "https://user:secret@proxy.example.com",
            "http://[::1]:80/",
            "HTTP://proxy",
            "socks5://proxy:1080",
        ];
        for good in good {
            assert_eq!(wrong_address(good), None, "{good}");
        }
        let bad = [
            "proxy:3128",
            "ftp://proxy",
            "http://",
            "http://:80",
            "http://proxy:0",
            "http://proxy:99999",
            "http://proxy :80",
            "http://[::1]:x",
        ];
        for bad in bad {
            assert!(wrong_address(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn a_bundle_contains_certificates_and_no_private_key() {
        let encoded = |text: &str| STANDARD.encode(text);
        let certificate = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
        assert_eq!(wrong_bundle(&encoded(certificate)), None);
        for bad in [
            certificate.to_owned(),
            encoded("nothing"),
            encoded(&format!("{certificate}-----BEGIN PRIVATE KEY-----")),
            "%".to_owned(),
        ] {
            assert!(wrong_bundle(&bad).is_some(), "{bad}");
        }
    }
}
