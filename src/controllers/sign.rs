//! Signs certificates of agents with the key of an add-on's own signer.
//!
//! Decides what is in the certificate: the subject that was checked, the usages of the request, a day of life. The key is
//! read for one signature and dropped; it is never kept and never told, not in an error either.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use rcgen::{CertificateParams, KeyPair, PublicKeyData, SubjectPublicKeyInfo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use x509_cert::ext::pkix::name::GeneralName;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::certificate::{self, Extensions, Leaf};
use plan::{Signer, Signing};
use store::{Name, read_request};

const DAY: i64 = 24 * 60 * 60;
/// Shortest life that a request may ask for, as the API has it.
const SHORTEST: i64 = 600;
/// Clocks of clusters differ.
const BEFORE: i64 = 5 * 60;

/// Why a certificate was not signed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SignError {
    /// The secret could not be read.
    #[error("cannot read Secret {namespace}/{name} of the signer")]
    ReadSecret {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
        /// The answer.
        #[source]
        source: Box<kube::Error>,
    },
    /// The secret does not exist.
    #[error("Secret {namespace}/{name} of the signer does not exist")]
    NoSecret {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
    },
    /// The secret cannot sign.
    #[error("Secret {namespace}/{name} of the signer cannot sign: {why}")]
    Unfit {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
        /// What is wrong with it, without any of its content.
        why: &'static str,
    },
    /// The secret signs for others.
    #[error(
        "Secret {namespace}/{name} of the signer does not sign for add-on {addon:?}; hint: set the annotation \
         {SIGNS_FOR}={addon} on the Secret"
    )]
    NotForIt {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
        /// The add-on.
        addon: Name,
    },
    /// The request cannot be signed.
    #[error("the request cannot be signed: {0}")]
    Request(&'static str),
}

/// Annotation of a secret with the add-ons that it signs for, separated by commas.
const SIGNS_FOR: &str = "tidegate.io/signs-for";

/// Why one signature did not come about.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    Secret(&'static str),
    Request(&'static str),
}

/// Returns the secret of a signer, if it says that it signs for the add-on.
///
/// Asked before an approval, too: an approved request is signed by the controller that owns the signer's name,
/// and a template may name any.
pub(super) async fn secret_of(
    client: &Client,
    signer: &Signer,
    own_namespace: &Name,
) -> Result<Secret, SignError> {
    let namespace = if signer.namespace.is_empty() {
        own_namespace
    } else {
        &signer.namespace
    };
    let (namespace, name) = (namespace.clone(), signer.name.clone());
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
    match secrets.get_opt(&name).await {
        Ok(Some(secret)) if signs_for(&secret, &signer.addon) => Ok(secret),
        Ok(Some(_)) => Err(SignError::NotForIt {
            namespace,
            name,
            addon: signer.addon.clone(),
        }),
        Ok(None) => Err(SignError::NoSecret { namespace, name }),
        Err(source) => Err(SignError::ReadSecret {
            namespace,
            name,
            source: Box::new(source),
        }),
    }
}

/// Reads the signer's key and returns the signed certificate as PEM.
pub(super) async fn certificate(
    client: &Client,
    signing: &Signing,
    own_namespace: &Name,
    uid: &str,
) -> Result<String, SignError> {
    let secret = secret_of(client, &signing.signer, own_namespace).await?;
    let named = |metadata: Option<&String>| Name::from(metadata.map(String::as_str).unwrap_or_default());
    let (namespace, name) = (
        named(secret.metadata.namespace.as_ref()),
        named(secret.metadata.name.as_ref()),
    );
    let data = secret.data.unwrap_or_default();
    let part = |key: &str| data.get(key).map(|bytes| bytes.0.as_slice());
    let pair = part("tls.crt").zip(part("tls.key"));
    let signed = match pair {
        Some((certificate, key)) => issue(signing, certificate, key, uid, Timestamp::now()),
        None => Err(Fault::Secret("tls.crt or tls.key is absent")),
    };
    signed.map_err(|fault| match fault {
        Fault::Secret(why) => SignError::Unfit { namespace, name, why },
        Fault::Request(why) => SignError::Request(why),
    })
}

/// A template's author may name any secret; only a user who may write the secret says for which add-ons it signs.
fn signs_for(secret: &Secret, addon: &str) -> bool {
    let named = secret
        .metadata
        .annotations
        .as_ref()
        .and_then(|all| all.get(SIGNS_FOR));
    named.is_some_and(|named| {
        named
            .split(',')
            .any(|one| one.trim() == addon && !addon.is_empty())
    })
}

fn issue(
    signing: &Signing,
    certificate: &[u8],
    key: &[u8],
    uid: &str,
    now: Timestamp,
) -> Result<String, Fault> {
    let authority = CertificateDer::from_pem_slice(certificate)
        .map_err(|_unfit| Fault::Secret("tls.crt is not a certificate"))?;
    let (_, authority) = X509Certificate::from_der(&authority)
        .map_err(|_unfit| Fault::Secret("tls.crt is not a certificate"))?;
    let pair = pair(&authority, key, now)?;
    let (_, request) = X509CertificationRequest::from_der(&signing.asked.der)
        .map_err(|_unfit| Fault::Request("it cannot be read"))?;
    request
        .verify_signature()
        .map_err(|_unfit| Fault::Request("its signature is not valid"))?;
    if !is_for(signing) {
        return Err(Fault::Request("its subject differs from the approved one"));
    }
    let info = &request.certification_request_info;
    let public_key = SubjectPublicKeyInfo::from_der(info.subject_pki.raw)
        .map_err(|_unfit| Fault::Request("its key has an unknown key type"))?;
    let leaf = Leaf {
        issuer: certificate::name(authority.subject().as_raw())
            .ok_or(Fault::Secret("tls.crt is not a certificate"))?,
        subject: certificate::name(info.subject.as_raw()).ok_or(Fault::Request("it cannot be read"))?,
        extensions: Extensions {
            authority: identifier(&authority, &pair),
            key: CertificateParams::default().key_identifier(&public_key),
            names: alternatives(signing)?,
            usages: signing.usages.clone(),
        },
        serial: serial(uid),
        valid: valid(signing, now, authority.validity().not_after.timestamp()),
    };
    certificate::signed(leaf, &public_key, &pair).map_err(|_unfit| Fault::Secret("tls.key cannot sign"))
}

/// What is signed is read again, and compared with whom it may be for: nothing between the check and the key counts.
fn is_for(signing: &Signing) -> bool {
    let bearer = &signing.bearer;
    read_request(signing.asked.der.clone()).is_ok_and(|read| {
        read.users == bearer.users
            && read.groups == bearer.groups
            && read.units == bearer.units
            && read.others.is_empty()
            && read.names.is_subset(&bearer.names)
            && signing.asked.names == read.names
    })
}

fn alternatives(signing: &Signing) -> Result<Vec<GeneralName>, Fault> {
    let names = signing.asked.names.iter();
    names
        .filter_map(|name| name.strip_prefix("DNS:"))
        .map(certificate::alternative)
        .collect::<Option<_>>()
        .ok_or(Fault::Request("a subject alternative name is not valid"))
}

/// Returns the first second of a certificate and its last.
fn valid(signing: &Signing, now: Timestamp, ends: i64) -> (i64, i64) {
    let life = signing.seconds.unwrap_or(DAY).clamp(SHORTEST, DAY);
    let now = now.as_second();
    (now.saturating_sub(BEFORE), now.saturating_add(life).min(ends))
}

/// Returns the key of the authority, if its certificate can be used now.
fn pair(authority: &X509Certificate<'_>, key: &[u8], now: Timestamp) -> Result<KeyPair, Fault> {
    let key =
        PrivateKeyDer::from_pem_slice(key).map_err(|_unfit| Fault::Secret("tls.key is not a private key"))?;
    let key = KeyPair::try_from(&key).map_err(|_unfit| Fault::Secret("tls.key has an unknown key type"))?;
    if !authority.is_ca() {
        return Err(Fault::Secret("tls.crt is not a CA certificate"));
    }
    if authority.public_key().raw != key.subject_public_key_info() {
        return Err(Fault::Secret("tls.key does not match tls.crt"));
    }
    let validity = authority.validity();
    let valid = validity.not_before.timestamp()..validity.not_after.timestamp();
    if !valid.contains(&now.as_second()) {
        return Err(Fault::Secret("tls.crt is not valid at this time"));
    }
    Ok(key)
}

/// Returns how the authority's certificate identifies its key.
fn identifier(authority: &X509Certificate<'_>, pair: &KeyPair) -> Vec<u8> {
    let told = authority
        .iter_extensions()
        .find_map(|one| match one.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(identifier) => Some(identifier.0.to_vec()),
            _ => None,
        });
    told.unwrap_or_else(|| CertificateParams::default().key_identifier(pair))
}

/// A serial number for each request: its uid, with the first bit clear and never zero.
fn serial(uid: &str) -> Vec<u8> {
    let digits: Vec<u8> = uid
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .filter_map(|digit| u8::try_from(digit).ok())
        .collect();
    let pairs = digits.as_chunks::<2>().0.iter();
    let bytes = pairs.map(|[high, low]| high << 4 | low);
    std::iter::once(1).chain(bytes).take(17).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, DistinguishedName, DnType, IsCa};
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use store::CertificateRequest;

    const UID: &str = "0b5c1c34-3b0e-4a53-9a3c-9f6b0f6b8a11";

    fn now() -> Timestamp {
        "2030-01-01T00:00:00Z".parse().unwrap()
    }

    fn authority(is_ca: bool) -> (String, KeyPair) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        if is_ca {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        params.distinguished_name.push(DnType::CommonName, "hello-ca");
        let key = KeyPair::generate().unwrap();
        (params.self_signed(&key).unwrap().pem(), key)
    }

    fn signing(names: &[&str], seconds: Option<i64>) -> Signing {
        let names = names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut params = CertificateParams::new(names.clone()).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "agent");
        params.distinguished_name.push(DnType::OrganizationName, "one");
        let again = DnType::CustomDnType(vec![2, 5, 4, 10]);
        params.distinguished_name.push(again, "other");
        let key = KeyPair::generate().unwrap();
        let asked = CertificateRequest {
            users: Vec::new(),
            groups: BTreeSet::default(),
            units: BTreeSet::default(),
            others: Vec::new(),
            names: names.iter().map(|name| format!("DNS:{name}")).collect(),
            der: params.serialize_request(&key).unwrap().der().to_vec(),
        };
        Signing {
            bearer: read_request(asked.der.clone()).unwrap(),
            asked: Arc::new(asked),
            usages: vec!["client auth".into(), "digital signature".into()],
            seconds,
            signer: Signer {
                namespace: "".into(),
                name: "ca".into(),
                addon: "hello".into(),
            },
        }
    }

    fn issued(signing: &Signing) -> Vec<u8> {
        let (certificate, key) = authority(true);
        let key = key.serialize_pem();
        let pem = issue(signing, certificate.as_bytes(), key.as_bytes(), UID, now()).unwrap();
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec();
        let authority = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
        let (_, authority) = X509Certificate::from_der(&authority).unwrap();
        let (_, read) = X509Certificate::from_der(&der).unwrap();
        read.verify_signature(Some(authority.public_key())).unwrap();
        assert_eq!(read.issuer().as_raw(), authority.subject().as_raw());
        der
    }

    #[test]
    fn a_request_that_its_key_has_not_signed_is_refused() {
        let (certificate, key) = authority(true);
        let key = key.serialize_pem();
        let mut signing = signing(&[], None);
        let asked = Arc::get_mut(&mut signing.asked).unwrap();
        let last = asked.der.len() - 1;
        asked.der[last] ^= 1;
        let fault = issue(&signing, certificate.as_bytes(), key.as_bytes(), UID, now());
        assert!(matches!(fault, Err(Fault::Request(_))), "{fault:?}");
    }

    #[test]
    fn a_request_for_another_subject_than_was_checked_is_rejected() {
        let (certificate, key) = authority(true);
        let key = key.serialize_pem();
        let changes: [fn(&mut CertificateRequest); 4] = [
            |bearer| bearer.users = vec!["worker".to_owned()],
            |bearer| drop(bearer.groups.pop_first()),
            |bearer| bearer.units.extend(["unit".to_owned()]),
            |bearer| bearer.names.clear(),
        ];
        for change in changes {
            let mut signing = signing(&["hello.addon.open-cluster-management.io"], None);
            assert!(issue(&signing, certificate.as_bytes(), key.as_bytes(), UID, now()).is_ok());
            change(&mut signing.bearer);
            let fault = issue(&signing, certificate.as_bytes(), key.as_bytes(), UID, now());
            assert!(matches!(fault, Err(Fault::Request(_))), "{fault:?}");
        }
    }

    #[test]
    fn a_certificate_lives_a_day_for_the_usages_of_its_request() {
        let der = issued(&signing(&["hello.addon.open-cluster-management.io"], None));
        let (_, read) = X509Certificate::from_der(&der).unwrap();
        assert_eq!(read.subject().to_string(), "CN=agent, O=one, O=other");
        assert!(!read.is_ca());
        let (from, to) = (
            read.validity().not_before.timestamp(),
            read.validity().not_after.timestamp(),
        );
        assert_eq!((now().as_second() - from, to - now().as_second()), (BEFORE, DAY));
        let extended = read.extended_key_usage().unwrap().unwrap().value;
        assert!(extended.client_auth && !extended.server_auth);
        let usage = read.key_usage().unwrap().unwrap().value;
        assert!(usage.digital_signature() && !usage.key_cert_sign());
        assert_eq!(
            read.subject_alternative_name()
                .unwrap()
                .unwrap()
                .value
                .general_names
                .len(),
            1
        );
    }

    #[test]
    fn a_request_may_ask_for_a_shorter_life_and_never_for_a_longer_one() {
        for (asked, expected) in [(3600, 3600), (1, SHORTEST), (DAY * 9, DAY)] {
            let der = issued(&signing(&[], Some(asked)));
            let (_, read) = X509Certificate::from_der(&der).unwrap();
            let ends = read.validity().not_after.timestamp();
            assert_eq!(ends - now().as_second(), expected, "{asked}");
        }
    }

    #[test]
    fn a_secret_signs_only_for_the_add_ons_that_it_names() {
        let secret = |named: Option<&str>| {
            let annotations = named.map(|named| [(SIGNS_FOR.to_owned(), named.to_owned())].into());
            let mut secret = Secret::default();
            secret.metadata.annotations = annotations;
            secret
        };
        for (named, expected) in [
            (None, false),
            (Some(""), false),
            (Some("other"), false),
            (Some("hello2"), false),
            (Some("hello"), true),
            (Some("other, hello"), true),
        ] {
            assert_eq!(signs_for(&secret(named), "hello"), expected, "{named:?}");
        }
        assert!(!signs_for(&secret(Some("")), ""));
    }

    #[test]
    fn a_secret_that_cannot_sign_is_named_by_its_fault() {
        let (ca, key) = authority(true);
        let (leaf, leaf_key) = authority(false);
        let (_, other) = authority(true);
        let rows = [
            ("x", key.serialize_pem(), "tls.crt is not a certificate"),
            (&*ca, "x".to_owned(), "tls.key is not a private key"),
            (&*ca, other.serialize_pem(), "tls.key does not match tls.crt"),
            (
                &*leaf,
                leaf_key.serialize_pem(),
                "tls.crt is not a CA certificate",
            ),
        ];
        for (certificate, key, expected) in rows {
            let fault = issue(
                &signing(&[], None),
                certificate.as_bytes(),
                key.as_bytes(),
                UID,
                now(),
            );
            assert_eq!(fault, Err(Fault::Secret(expected)));
        }
    }

    #[test]
    fn serial_numbers_are_positive_and_differ_by_request() {
        let (one, other) = (serial(UID), serial("1b5c1c34-3b0e-4a53-9a3c-9f6b0f6b8a11"));
        assert!(one.len() == 17 && one[0] == 1 && one != other);
        assert_eq!(serial(""), [1]);
    }
}
