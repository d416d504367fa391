//! Signs certificates of agents with the key of an add-on's own signer.
//!
//! Decides what stands in the certificate: the subject that was checked, the usages of the request, a day of life. The key is
//! read for one signature and dropped; it is never kept and never told to anybody, errors included.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use rcgen::{
    CertificateSigningRequestParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    PublicKeyData, SanType, SerialNumber,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateSigningRequestDer, PrivateKeyDer};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::plan::Signing;
use crate::snapshot::Name;

const DAY: i64 = 24 * 60 * 60;
/// Shortest life that a request may ask for, as the API has it.
const SHORTEST: i64 = 600;
/// Clocks of clusters differ.
const BEFORE: i64 = 5 * 60;

/// Why a certificate was not signed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SignError {
    /// The secret could not be read.
    #[error("cannot read secret {namespace}/{name} of the signer")]
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
    #[error("secret {namespace}/{name} of the signer does not exist")]
    NoSecret {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
    },
    /// The secret cannot sign.
    #[error("secret {namespace}/{name} of the signer cannot sign: {why}")]
    Unfit {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
        /// What is wrong with it, without any of its content.
        why: &'static str,
    },
    /// The request cannot be signed.
    #[error("the request cannot be signed: {0}")]
    Request(&'static str),
}

/// Why one signature did not come about.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    Secret(&'static str),
    Request(&'static str),
}

/// Reads the signer's key and returns the signed certificate as PEM.
pub(super) async fn certificate(
    client: &Client,
    signing: &Signing,
    own_namespace: &Name,
    uid: &str,
) -> Result<String, SignError> {
    let namespace = if signing.ca_namespace.is_empty() {
        own_namespace
    } else {
        &signing.ca_namespace
    };
    let (namespace, name) = (namespace.clone(), signing.ca_name.clone());
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
    let secret = match secrets.get_opt(&name).await {
        Ok(Some(secret)) => secret,
        Ok(None) => return Err(SignError::NoSecret { namespace, name }),
        Err(source) => {
            return Err(SignError::ReadSecret {
                namespace,
                name,
                source: Box::new(source),
            });
        }
    };
    let data = secret.data.unwrap_or_default();
    let part = |key: &str| data.get(key).map(|bytes| bytes.0.as_slice());
    let pair = part("tls.crt").zip(part("tls.key"));
    let signed = match pair {
        Some((certificate, key)) => issue(signing, (certificate, key), uid, Timestamp::now()),
        None => Err(Fault::Secret("tls.crt or tls.key is absent")),
    };
    signed.map_err(|fault| match fault {
        Fault::Secret(why) => SignError::Unfit {
            namespace,
            name,
            why,
        },
        Fault::Request(why) => SignError::Request(why),
    })
}

fn issue(
    signing: &Signing,
    (certificate, key): (&[u8], &[u8]),
    uid: &str,
    now: Timestamp,
) -> Result<String, Fault> {
    let (issuer, ends) = issuer(certificate, key, now)?;
    let der = CertificateSigningRequestDer::from(signing.asked.der.as_slice());
    let mut request = CertificateSigningRequestParams::from_der(&der)
        .map_err(|_unfit| Fault::Request("its signature or an extension of it is not valid"))?;
    let params = &mut request.params;
    let life = signing.seconds.unwrap_or(DAY).clamp(SHORTEST, DAY);
    let now = now.as_second();
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + since_epoch(now.saturating_sub(BEFORE));
    params.not_after = epoch + since_epoch(now.saturating_add(life).min(ends));
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = signing.usages.iter().filter_map(|usage| key_usage(usage)).collect();
    params.extended_key_usages = signing
        .usages
        .iter()
        .filter_map(|usage| extended_usage(usage))
        .collect();
    params
        .subject_alt_names
        .retain(|name| matches!(name, SanType::DnsName(_)));
    params.use_authority_key_identifier_extension = true;
    params.serial_number = Some(SerialNumber::from_slice(&serial(uid)));
    let signed = request
        .signed_by(&issuer)
        .map_err(|_unfit| Fault::Secret("the key does not sign"))?;
    Ok(signed.pem())
}

/// Returns the issuer and the second at which its certificate ends.
fn issuer(
    certificate: &[u8],
    key: &[u8],
    now: Timestamp,
) -> Result<(Issuer<'static, KeyPair>, i64), Fault> {
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_unfit| Fault::Secret("tls.key is no private key"))?;
    let key = KeyPair::try_from(&key).map_err(|_unfit| Fault::Secret("tls.key is of an unknown kind"))?;
    let der = CertificateDer::from_pem_slice(certificate)
        .map_err(|_unfit| Fault::Secret("tls.crt is no certificate"))?;
    let (_, read) =
        X509Certificate::from_der(&der).map_err(|_unfit| Fault::Secret("tls.crt is no certificate"))?;
    if !read.is_ca() {
        return Err(Fault::Secret("tls.crt is not the certificate of an authority"));
    }
    if read.public_key().raw != key.subject_public_key_info() {
        return Err(Fault::Secret("tls.key does not belong to tls.crt"));
    }
    let (begins, ends) = (
        read.validity().not_before.timestamp(),
        read.validity().not_after.timestamp(),
    );
    if !(begins..ends).contains(&now.as_second()) {
        return Err(Fault::Secret("tls.crt is not valid at this time"));
    }
    let issuer = Issuer::from_ca_cert_der(&der, key)
        .map_err(|_unfit| Fault::Secret("tls.crt has a form that cannot be used"))?;
    Ok((issuer, ends))
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

fn since_epoch(second: i64) -> Duration {
    Duration::from_secs(u64::try_from(second).unwrap_or_default())
}

fn key_usage(usage: &str) -> Option<KeyUsagePurpose> {
    match usage {
        "digital signature" => Some(KeyUsagePurpose::DigitalSignature),
        "key encipherment" => Some(KeyUsagePurpose::KeyEncipherment),
        "key agreement" => Some(KeyUsagePurpose::KeyAgreement),
        _ => None,
    }
}

fn extended_usage(usage: &str) -> Option<ExtendedKeyUsagePurpose> {
    match usage {
        "client auth" => Some(ExtendedKeyUsagePurpose::ClientAuth),
        "server auth" => Some(ExtendedKeyUsagePurpose::ServerAuth),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Asked;
    use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType};
    use std::sync::Arc;

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
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "agent");
        let key = KeyPair::generate().unwrap();
        let asked = Asked {
            users: Vec::new(),
            groups: std::collections::BTreeSet::default(),
            units: std::collections::BTreeSet::default(),
            others: Vec::new(),
            names: std::collections::BTreeSet::default(),
            der: params.serialize_request(&key).unwrap().der().to_vec(),
        };
        Signing {
            asked: Arc::new(asked),
            usages: vec!["client auth".into(), "digital signature".into()],
            seconds,
            ca_namespace: "".into(),
            ca_name: "ca".into(),
        }
    }

    fn issued(signing: &Signing) -> Vec<u8> {
        let (certificate, key) = authority(true);
        let pair = (certificate.as_bytes(), key.serialize_pem());
        let pem = issue(signing, (pair.0, pair.1.as_bytes()), UID, now()).unwrap();
        CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec()
    }

    #[test]
    fn a_certificate_lives_a_day_for_the_usages_of_its_request() {
        let der = issued(&signing(&["hello.addon.open-cluster-management.io"], None));
        let (_, read) = X509Certificate::from_der(&der).unwrap();
        assert_eq!(read.subject().to_string(), "CN=agent");
        assert_eq!(read.issuer().to_string(), "CN=hello-ca");
        assert!(!read.is_ca());
        let (from, to) = (read.validity().not_before.timestamp(), read.validity().not_after.timestamp());
        assert_eq!((now().as_second() - from, to - now().as_second()), (BEFORE, DAY));
        let extended = read.extended_key_usage().unwrap().unwrap().value;
        assert!(extended.client_auth && !extended.server_auth);
        let usage = read.key_usage().unwrap().unwrap().value;
        assert!(usage.digital_signature() && !usage.key_cert_sign());
        assert_eq!(read.subject_alternative_name().unwrap().unwrap().value.general_names.len(), 1);
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
    fn a_secret_that_cannot_sign_is_named_by_its_fault() {
        let (ca, key) = authority(true);
        let (leaf, leaf_key) = authority(false);
        let (_, other) = authority(true);
        let rows = [
            ("x", key.serialize_pem(), "tls.crt is no certificate"),
            (&*ca, "x".to_owned(), "tls.key is no private key"),
            (&*ca, other.serialize_pem(), "tls.key does not belong to tls.crt"),
            (&*leaf, leaf_key.serialize_pem(), "tls.crt is not the certificate of an authority"),
        ];
        for (certificate, key, expected) in rows {
            let fault = issue(&signing(&[], None), (certificate.as_bytes(), key.as_bytes()), UID, now());
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
