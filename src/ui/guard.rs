//! Which requests come from the page itself, and not from another site that a browser has open.
//!
//! Decides by the names that a browser cannot be made to lie about. A site that has its own name resolve to this address (DNS
//! rebinding) still sends that name as Host; an address of numbers cannot be rebound. Pure.

use std::collections::BTreeSet;
use std::net::IpAddr;

use axum::http::{HeaderMap, Uri, header};

/// Why a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    /// It names no host, or several.
    NoHost,
    /// It is for a host of another name.
    OtherHost,
    /// Another site has sent it.
    OtherSite,
}

impl Foreign {
    /// Returns the error for the client.
    pub(super) const fn told(self) -> &'static str {
        match self {
            Self::NoHost => "the request has no host",
            Self::OtherHost => {
                "the page is not served under this name; use its address, localhost, or a name given with --ui-host"
            }
            Self::OtherSite => "requests from other sites are not allowed",
        }
    }
}

/// Returns why a request is rejected, if it is.
pub(super) fn foreign(headers: &HeaderMap, uri: &Uri, hosts: &BTreeSet<String>) -> Option<Foreign> {
    let mut named = headers.get_all(header::HOST).iter();
    let (host, more) = (named.next(), named.next());
    let host = host.and_then(|host| host.to_str().ok());
    let Some(host) = host.filter(|_| more.is_none()) else {
        return Some(Foreign::NoHost);
    };
    let is_absolute_elsewhere = uri.authority().is_some_and(|uri| uri.as_str() != host);
    if is_absolute_elsewhere || !is_ours(host, hosts) {
        return Some(Foreign::OtherHost);
    }
    let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str());
    let is_own = |origin: &str| {
        let rest = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
    };
    if origin.is_some_and(|origin| !origin.is_ok_and(is_own)) {
        return Some(Foreign::OtherSite);
    }
    // A link from elsewhere may open the page; nothing else of it is for other sites.
    let site = headers
        .get("sec-fetch-site")
        .map(axum::http::HeaderValue::as_bytes);
    let is_visit = headers
        .get("sec-fetch-mode")
        .is_some_and(|mode| mode == "navigate")
        && uri.path() == "/";
    let is_same = matches!(site, None | Some(b"same-origin" | b"none")) || is_visit;
    (!is_same).then_some(Foreign::OtherSite)
}

/// An address of numbers, this machine, or a name that was given.
fn is_ours(host: &str, hosts: &BTreeSet<String>) -> bool {
    let name = match host.rsplit_once(':') {
        // The colons of an address without brackets are none before a port.
        Some((name, port)) if port.chars().all(|one| one.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let bare = bare.unwrap_or(name);
    let lower = bare.to_ascii_lowercase();
    lower == "localhost" || bare.parse::<IpAddr>().is_ok() || hosts.contains(&lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(lines: &[(&'static str, &'static str)], uri: &str) -> Option<Foreign> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().expect("a value"));
        }
        let hosts = BTreeSet::from(["hub.example".to_owned()]);
        foreign(&headers, &uri.parse().expect("a path"), &hosts)
    }

    #[test]
    fn only_names_that_cannot_be_rebound_are_answered() {
        for host in [
            "127.0.0.1:8090",
            "localhost:1",
            "[::1]:8090",
            "[::1]",
            "10.0.0.7",
            "Hub.example:443",
        ] {
            assert_eq!(asked(&[("host", host)], "/api/rollouts"), None, "{host}");
        }
        for host in [
            "evil.example:8090",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "",
            "hub.example.",
        ] {
            assert_eq!(asked(&[("host", host)], "/"), Some(Foreign::OtherHost), "{host}");
        }
        assert_eq!(asked(&[], "/"), Some(Foreign::NoHost));
        let two = [("host", "127.0.0.1"), ("host", "localhost")];
        assert_eq!(asked(&two, "/"), Some(Foreign::NoHost));
        let other = asked(&[("host", "127.0.0.1:1")], "http://evil.example/");
        assert_eq!(other, Some(Foreign::OtherHost));
    }

    #[test]
    fn other_sites_get_nothing_but_may_lead_here() {
        let host = ("host", "127.0.0.1:8090");
        let own = ("origin", "http://127.0.0.1:8090");
        let same = ("sec-fetch-site", "same-origin");
        assert_eq!(asked(&[host, own, same], "/api/rollouts"), None);
        for other in ["http://127.0.0.1:9000", "https://evil.example", "null"] {
            assert_eq!(
                asked(&[host, ("origin", other)], "/"),
                Some(Foreign::OtherSite),
                "{other}"
            );
        }
        let cross = ("sec-fetch-site", "cross-site");
        let visit = ("sec-fetch-mode", "navigate");
        assert_eq!(asked(&[host, cross, visit], "/"), None);
        assert_eq!(
            asked(&[host, cross, visit], "/api/rollouts"),
            Some(Foreign::OtherSite)
        );
        assert_eq!(asked(&[host, cross], "/"), Some(Foreign::OtherSite));
    }
}
