//! From credentials to users.
//!
//! Decides who asks: a bearer token, else a client certificate, else nobody. Impersonation is open to administrators.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::tokens::{API_AUDIENCE, Holder, Signer, Wish};
use crate::admission::UserInfo;
use crate::error::ApiError;
use crate::store::Store;

const ADMINS: &str = "system:masters";
const AUTHENTICATED: &str = "system:authenticated";

/// The other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A client of the same process: the administrator.
    InProcess,
    /// A TLS client with a certificate of the hub's authority.
    Certificate(UserInfo),
    /// A TLS client without certificate.
    Unknown,
}

impl Peer {
    /// Reads the user out of a verified certificate: the common name is the user, organizations are groups.
    pub(crate) fn from_certificate(der: Option<&CertificateDer<'_>>) -> Self {
        let Some(Ok((_, certificate))) = der.map(|der| X509Certificate::from_der(der)) else {
            return Self::Unknown;
        };
        let subject = certificate.subject();
        let Some(name) = subject
            .iter_common_name()
            .next()
            .and_then(|name| name.as_str().ok())
        else {
            return Self::Unknown;
        };
        let mut groups: Vec<String> = subject
            .iter_organization()
            .filter_map(|group| group.as_str().ok())
            .map(str::to_owned)
            .collect();
        groups.push(AUTHENTICATED.to_owned());
        Self::Certificate(UserInfo {
            name: name.to_owned(),
            uid: String::new(),
            groups,
            extra: BTreeMap::new(),
        })
    }
}

/// The users that the hub knows.
#[derive(Debug)]
pub(crate) struct Users {
    tokens: BTreeMap<String, UserInfo>,
    signer: Signer,
}

impl Users {
    /// Returns the users of a hub whose administrator has this token.
    pub(crate) fn with_admin(token: &str) -> Self {
        let admin = UserInfo {
            name: "admin".to_owned(),
            uid: "admin-uid".to_owned(),
            groups: vec![ADMINS.to_owned(), AUTHENTICATED.to_owned()],
            extra: BTreeMap::new(),
        };
        Self {
            tokens: BTreeMap::from([(token.to_owned(), admin)]),
            signer: Signer::new(),
        }
    }

    /// Makes a token for a service account.
    pub(crate) fn issue(&self, wish: &Wish) -> String {
        self.signer.issue(wish)
    }

    /// Returns who holds a token, if it holds.
    pub(crate) fn by_token(&self, token: &str, store: &Store) -> Option<Holder> {
        match self.tokens.get(token) {
            Some(user) => Some(Holder {
                user: user.clone(),
                audiences: vec![API_AUDIENCE.to_owned()],
            }),
            None => self.signer.holder(token, store, Timestamp::now()),
        }
    }

    /// Returns who asks, after impersonation.
    pub(crate) fn identify(
        &self,
        peer: &Peer,
        headers: &HeaderMap,
        store: &Store,
    ) -> Result<UserInfo, ApiError> {
        let user = self.authenticate(peer, headers, store)?;
        let Some(name) = text(headers, "impersonate-user") else {
            return Ok(user);
        };
        if !user.groups.iter().any(|group| group == ADMINS) {
            let message = format!(
                "users \"{name}\" is forbidden: User \"{}\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope",
                user.name
            );
            return Err(ApiError::new(403, "Forbidden", message));
        }
        Ok(impersonated(name, headers))
    }

    fn authenticate(&self, peer: &Peer, headers: &HeaderMap, store: &Store) -> Result<UserInfo, ApiError> {
        let unauthorized = || ApiError::new(401, "Unauthorized", "Unauthorized");
        if let Some(header) = text(headers, AUTHORIZATION.as_str()) {
            let (scheme, token) = header.split_once(' ').unwrap_or_default();
            if scheme.eq_ignore_ascii_case("bearer") {
                let holder = self.by_token(token.trim(), store).ok_or_else(unauthorized)?;
                // A token that was made for others opens their doors only.
                let is_for_us = holder.audiences.iter().any(|audience| audience == API_AUDIENCE);
                return is_for_us.then_some(holder.user).ok_or_else(unauthorized);
            }
        }
        match peer {
            Peer::Certificate(user) => Ok(user.clone()),
            Peer::InProcess => self.tokens.values().next().cloned().ok_or_else(unauthorized),
            Peer::Unknown => Err(unauthorized()),
        }
    }
}

fn impersonated(name: String, headers: &HeaderMap) -> UserInfo {
    let mut groups: Vec<String> = headers
        .get_all("impersonate-group")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .map(str::to_owned)
        .collect();
    groups.push(AUTHENTICATED.to_owned());
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (header, value) in headers {
        let Some(key) = header.as_str().strip_prefix("impersonate-extra-") else {
            continue;
        };
        if let Ok(value) = value.to_str() {
            extra.entry(key.to_owned()).or_default().push(value.to_owned());
        }
    }
    UserInfo {
        name,
        uid: text(headers, "impersonate-uid").unwrap_or_default(),
        groups,
        extra,
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
}
