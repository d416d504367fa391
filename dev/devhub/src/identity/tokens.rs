//! Tokens of service accounts.
//!
//! Decides what a token says and whether it still holds: it was signed here, its time is not over, and the account (and the
//! object that it was bound to) is still the same one. Tokens end with the key, and that with the hub.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::admission::UserInfo;
use crate::store::{Store, key_of};

/// The audience of a token whose request names none: the hub itself.
pub(crate) const API_AUDIENCE: &str = "https://kubernetes.default.svc";
/// Length of a block of the hash.
const BLOCK: usize = 64;

/// What a token stands for: members of the claim, each an object that must still exist.
const BOUND: [(&str, &str); 2] = [("serviceaccount", "serviceaccounts"), ("secret", "secrets")];

/// Who holds a token, and for whom the token was made.
#[derive(Clone, Debug)]
pub(crate) struct Holder {
    /// The user.
    pub(crate) user: UserInfo,
    /// Who may trust the token.
    pub(crate) audiences: Vec<String>,
}

/// An object that a token is for.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// Its name.
    pub(crate) name: String,
    /// Its uid.
    pub(crate) uid: String,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    /// Namespace of the account.
    pub(crate) namespace: String,
    /// The account.
    pub(crate) account: Named,
    /// A secret with which the token ends.
    pub(crate) secret: Option<Named>,
    /// Who may trust the token.
    pub(crate) audiences: Vec<String>,
    /// When the token begins to hold.
    pub(crate) from: Timestamp,
    /// When it ends, in seconds since 1970.
    pub(crate) until: i64,
}

/// Signs tokens and knows its own again.
#[derive(Clone)]
pub(crate) struct Signer {
    key: [u8; BLOCK],
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").finish_non_exhaustive()
    }
}

impl Signer {
    /// Returns a signer with a new key.
    pub(crate) fn new() -> Self {
        Self {
            key: std::array::from_fn(|_| rand::random()),
        }
    }

    /// Makes a token.
    pub(crate) fn issue(&self, wish: &Wish) -> String {
        let named = |named: &Named| json!({ "name": named.name, "uid": named.uid });
        let mut about = json!({ "namespace": wish.namespace, "serviceaccount": named(&wish.account) });
        if let (Some(secret), Some(about)) = (&wish.secret, about.as_object_mut()) {
            about.insert("secret".to_owned(), named(secret));
        }
        let from = wish.from.as_second();
        let claims = json!({
            "iss": API_AUDIENCE, "aud": wish.audiences, "iat": from, "nbf": from, "exp": wish.until,
            "jti": uuid::Uuid::new_v4().to_string(), "kubernetes.io": about,
            "sub": format!("system:serviceaccount:{}:{}", wish.namespace, wish.account.name),
        });
        let head = BASE64.encode(json!({ "alg": "HS256", "typ": "JWT" }).to_string());
        let said = format!("{head}.{}", BASE64.encode(claims.to_string()));
        let seal = BASE64.encode(self.seal(said.as_bytes()));
        format!("{said}.{seal}")
    }

    /// Returns who holds a token, if it holds.
    pub(crate) fn holder(&self, token: &str, store: &Store, now: Timestamp) -> Option<Holder> {
        let claims = self.claims(token)?;
        let begins = claims.get("nbf")?.as_i64()?;
        let ends = claims.get("exp")?.as_i64()?;
        let about = claims.get("kubernetes.io")?;
        let namespace = about.get("namespace")?.as_str()?;
        let holds = (begins..ends).contains(&now.as_second());
        if !holds || !BOUND.iter().all(|bound| exists(store, namespace, about, *bound)) {
            return None;
        }
        let groups = [
            "system:serviceaccounts",
            &format!("system:serviceaccounts:{namespace}"),
            "system:authenticated",
        ];
        let credential = format!("JTI={}", claims.get("jti")?.as_str()?);
        let user = UserInfo {
            name: claims.get("sub")?.as_str()?.to_owned(),
            uid: about.pointer("/serviceaccount/uid")?.as_str()?.to_owned(),
            groups: groups.map(str::to_owned).to_vec(),
            extra: BTreeMap::from([(
                "authentication.kubernetes.io/credential-id".to_owned(),
                vec![credential],
            )]),
        };
        let audiences = claims.get("aud")?.as_array()?.iter().filter_map(Value::as_str);
        Some(Holder {
            user,
            audiences: audiences.map(str::to_owned).collect(),
        })
    }

    fn claims(&self, token: &str) -> Option<Value> {
        let (said, seal) = token.rsplit_once('.')?;
        let seal = BASE64.decode(seal).ok()?;
        let expected = self.seal(said.as_bytes());
        let differs = expected
            .iter()
            .zip(&seal)
            .fold(0, |found, (left, right)| found | (left ^ right));
        if seal.len() != expected.len() || differs != 0 {
            return None;
        }
        let (_, claims) = said.split_once('.')?;
        serde_json::from_slice(&BASE64.decode(claims).ok()?).ok()
    }

    /// Returns the keyed hash of a text (HMAC with SHA-256).
    fn seal(&self, text: &[u8]) -> Vec<u8> {
        let padded = |pad: u8| self.key.map(|byte| byte ^ pad);
        let inner = Sha256::new()
            .chain_update(padded(0x36))
            .chain_update(text)
            .finalize();
        Sha256::new()
            .chain_update(padded(0x5c))
            .chain_update(inner)
            .finalize()
            .to_vec()
    }
}

/// Returns whether the object that a claim names is still the same one; a claim that names none holds.
fn exists(store: &Store, namespace: &str, about: &Value, (member, table): (&str, &str)) -> bool {
    let Some(named) = about.get(member) else {
        return true;
    };
    let name = named.get("name").and_then(Value::as_str).unwrap_or_default();
    uid(store, table, namespace, name)
        .is_some_and(|uid| named.get("uid").and_then(Value::as_str) == Some(&uid))
}

/// Returns the uid of an object of the core group.
pub(crate) fn uid(store: &Store, table: &str, namespace: &str, name: &str) -> Option<String> {
    let record = store.table(table).read(&key_of(namespace, name))?;
    let object = record.decode("v1", "", record.version);
    let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
    uid.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seal_is_the_standard_one() {
        // Second case of RFC 4231: key "Jefe".
        let mut key = [0; BLOCK];
        key[..4].copy_from_slice(b"Jefe");
        let seal = Signer { key }.seal(b"what do ya want for nothing?");
        let digits: Vec<String> = seal.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            digits.concat(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn a_changed_token_says_nothing() {
        let signer = Signer::new();
        let account = Named {
            name: "robot".to_owned(),
            uid: "u".to_owned(),
        };
        let wish = Wish {
            namespace: "team".to_owned(),
            account,
            secret: None,
            audiences: vec![API_AUDIENCE.to_owned()],
            from: Timestamp::UNIX_EPOCH,
            until: 600,
        };
        let token = signer.issue(&wish);
        assert!(signer.claims(&token).is_some());
        assert!(Signer::new().claims(&token).is_none(), "another hub");
        for broken in [
            "",
            ".",
            "..",
            "a.b.c",
            token.strip_suffix(|_: char| true).unwrap_or_default(),
            &token.replacen('.', "x.", 1),
            token.rsplit_once('.').map_or("", |(said, _)| said),
        ] {
            assert!(signer.claims(broken).is_none(), "{broken}");
        }
    }
}
