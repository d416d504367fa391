//! From credentials to users.
//!
//! Decides who asks: the user of a bearer token, else of the connection (a client certificate; the administrator for a client in
//! the hub's own process), else no user.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::authority::{Authority, Credentials, IdentityError};
use super::tokens::{API_AUDIENCE, Holder, Signer, Wish};
use crate::admission::UserInfo;
use crate::error::ApiError;
use crate::store::Store;

/// The group to which nothing is refused.
pub(crate) const ADMINS: &str = "system:masters";
/// The group of every user with valid credentials.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of clients without credentials.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of clients without credentials.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// The other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A client of the same process: the administrator.
    InProcess,
    /// A controller of the hub: the administrator, too.
    Controller,
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
    /// Returns the users of a hub whose administrator has this token and whose service accounts' tokens are signed so.
    pub(crate) fn new(token: &str, signer: Signer) -> Self {
        let admin = UserInfo {
            name: "admin".to_owned(),
            uid: "admin-uid".to_owned(),
            groups: vec![ADMINS.to_owned(), AUTHENTICATED.to_owned()],
            extra: BTreeMap::new(),
        };
        Self {
            tokens: BTreeMap::from([(token.to_owned(), admin)]),
            signer,
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

    /// Returns the administrator.
    pub(crate) fn admin(&self) -> UserInfo {
        self.tokens.values().next().cloned().unwrap_or_default()
    }

    /// Returns the user who asks; none for a client that brings no credentials at all. An invalid bearer token is refused.
    pub(crate) fn identify(
        &self,
        peer: &Peer,
        headers: &HeaderMap,
        store: &Store,
    ) -> Result<Option<UserInfo>, ApiError> {
        let unauthorized = || ApiError::new(401, "Unauthorized", "Unauthorized");
        if let Some(header) = text(headers, AUTHORIZATION.as_str()) {
            let (scheme, token) = header.split_once(' ').unwrap_or_default();
            if scheme.eq_ignore_ascii_case("bearer") {
                let holder = self.by_token(token.trim(), store).ok_or_else(unauthorized)?;
                // A token for other audiences is not valid here.
                let is_for_us = holder.audiences.iter().any(|audience| audience == API_AUDIENCE);
                return is_for_us.then_some(Some(holder.user)).ok_or_else(unauthorized);
            }
        }
        Ok(match peer {
            Peer::Certificate(user) => Some(user.clone()),
            Peer::InProcess | Peer::Controller => Some(self.admin()),
            Peer::Unknown => None,
        })
    }
}

/// Returns who a client is that brings no credentials.
pub(crate) fn anonymous() -> UserInfo {
    UserInfo {
        name: ANONYMOUS.to_owned(),
        groups: vec![UNAUTHENTICATED.to_owned()],
        ..UserInfo::default()
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
}

/// Who a hub is.
#[derive(Debug)]
pub(crate) struct Identity {
    /// Its authority.
    pub(crate) authority: Authority,
    /// The administrator's certificate.
    pub(crate) admin: Credentials,
    /// The administrator's token.
    pub(crate) token: String,
    signer: Signer,
}

impl Identity {
    /// Returns a new identity.
    pub(crate) fn new(token: Option<String>) -> Result<Self, IdentityError> {
        let authority = Authority::new()?;
        let admin = authority.client("admin", ADMINS)?;
        Ok(Self {
            authority,
            admin,
            token: token.unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string()),
            signer: Signer::new(),
        })
    }

    /// Returns the users of a hub with this identity.
    pub(crate) fn users(&self) -> Users {
        Users::new(&self.token, self.signer.clone())
    }
}
