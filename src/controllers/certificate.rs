//! Puts a certificate together and has it signed.
//!
//! Decides which fields and extensions it has, and in which order they stand. Never decides for whom it is: names, key and usages
//! come checked. Never touches a private key otherwise than by asking it for a signature.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use rcgen::{KeyPair, PublicKeyData, SignatureAlgorithm, SigningKey};
use signature::Keypair;
use x509_cert::TbsCertificate;
use x509_cert::builder::profile::BuilderProfile;
use x509_cert::builder::{Builder, CertificateBuilder, Result};
use x509_cert::der::asn1::{BitString, Ia5String, Null, OctetString};
use x509_cert::der::flagset::FlagSet;
use x509_cert::der::oid::db::rfc5280::{ID_KP_CLIENT_AUTH, ID_KP_SERVER_AUTH};
use x509_cert::der::oid::db::{rfc5912, rfc8410};
use x509_cert::der::{Decode, Document, Encode, EncodePem, pem::LineEnding};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages, SubjectAltName,
    SubjectKeyIdentifier,
};
use x509_cert::ext::{Extension, ToExtension};
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{
    AlgorithmIdentifierOwned, DynSignatureAlgorithmIdentifier, EncodePublicKey, Error, ObjectIdentifier,
    SubjectPublicKeyInfoOwned, SubjectPublicKeyInfoRef,
};
use x509_cert::time::{Time, Validity};

/// What is in a certificate beside its key.
pub(super) struct Leaf {
    /// The name of the authority.
    pub(super) issuer: Name,
    /// Whom it is for.
    pub(super) subject: Name,
    /// What it says about keys and usages.
    pub(super) extensions: Extensions,
    /// Its number.
    pub(super) serial: Vec<u8>,
    /// Its first second and its last, since the epoch.
    pub(super) valid: (i64, i64),
}

/// The extensions of a certificate.
#[derive(Default)]
pub(super) struct Extensions {
    /// Identifies the key of the authority.
    pub(super) authority: Vec<u8>,
    /// Identifies the key of the certificate.
    pub(super) key: Vec<u8>,
    /// Alternative names.
    pub(super) names: Vec<GeneralName>,
    /// What the key may do, as the API spells it; what it spells otherwise is left out.
    pub(super) usages: Vec<Arc<str>>,
}

/// Reads a name that is encoded as it would be written again: nothing else could stand in a certificate unchanged.
pub(super) fn name(raw: &[u8]) -> Option<Name> {
    let name = Name::from_der(raw).ok()?;
    (name.to_der().ok()? == raw).then_some(name)
}

/// Returns an alternative name: an address, if it is one.
pub(super) fn alternative(name: &str) -> Option<GeneralName> {
    match name.parse::<std::net::IpAddr>() {
        Ok(address) => Some(address.into()),
        Err(_other) => Ia5String::new(name).ok().map(GeneralName::DnsName),
    }
}

/// Returns the certificate of the key, signed by the authority's, as PEM.
pub(super) fn signed(leaf: Leaf, key: &impl PublicKeyData, authority: &KeyPair) -> Result<String> {
    let serial = SerialNumber::new(&leaf.serial)?;
    let (from, to) = leaf.valid;
    let validity = Validity::new(time(from)?, time(to)?);
    let key = SubjectPublicKeyInfoOwned::from_der(&key.subject_public_key_info())?;
    let mut builder = CertificateBuilder::new(leaf, serial, validity, key)?;
    let authority = Authority(authority);
    let body = builder.finalize(&authority)?;
    let signature = authority.0.sign(&body);
    let signature = signature.map_err(|_refused| signature::Error::new())?;
    let certificate = builder.assemble(BitString::from_bytes(&signature)?, &authority)?;
    Ok(certificate.to_pem(LineEnding::LF)?)
}

fn time(second: i64) -> x509_cert::der::Result<Time> {
    (UNIX_EPOCH + Duration::from_secs(u64::try_from(second).unwrap_or_default())).try_into()
}

impl BuilderProfile for Leaf {
    fn get_issuer(&self, _subject: &Name) -> Name {
        self.issuer.clone()
    }

    fn get_subject(&self) -> Name {
        self.subject.clone()
    }

    fn build_extensions(
        &self,
        _key: SubjectPublicKeyInfoRef<'_>,
        _authority: SubjectPublicKeyInfoRef<'_>,
        body: &TbsCertificate,
    ) -> Result<Vec<Extension>> {
        let said = &self.extensions;
        let subject = body.subject();
        let authority = AuthorityKeyIdentifier {
            key_identifier: Some(OctetString::new(said.authority.as_slice())?),
            ..AuthorityKeyIdentifier::default()
        };
        let mut all = vec![authority.to_extension(subject, &[])?];
        if !said.names.is_empty() {
            all.push(SubjectAltName(said.names.clone()).to_extension(subject, &all)?);
        }
        let usages = said.usages.iter();
        let flags = usages.clone().filter_map(|usage| key_usage(usage));
        let flags = flags.fold(FlagSet::default(), |all, one| all | one);
        if !flags.is_empty() {
            all.push(KeyUsage(flags).to_extension(subject, &all)?);
        }
        let extended: Vec<_> = usages.filter_map(|usage| extended_usage(usage)).collect();
        if !extended.is_empty() {
            all.push(ExtendedKeyUsage(extended).to_extension(subject, &all)?);
        }
        let key = SubjectKeyIdentifier(OctetString::new(said.key.as_slice())?);
        all.push(key.to_extension(subject, &all)?);
        let no_authority = BasicConstraints {
            ca: false,
            path_len_constraint: None,
        };
        all.push(no_authority.to_extension(subject, &all)?);
        Ok(all)
    }
}

fn key_usage(usage: &str) -> Option<KeyUsages> {
    match usage {
        "digital signature" => Some(KeyUsages::DigitalSignature),
        "key encipherment" => Some(KeyUsages::KeyEncipherment),
        "key agreement" => Some(KeyUsages::KeyAgreement),
        _ => None,
    }
}

fn extended_usage(usage: &str) -> Option<ObjectIdentifier> {
    match usage {
        "client auth" => Some(ID_KP_CLIENT_AUTH),
        "server auth" => Some(ID_KP_SERVER_AUTH),
        _ => None,
    }
}

/// The key of the authority, as the builder asks for one; the signature itself is made by the library that holds the key.
struct Authority<'a>(&'a KeyPair);

/// Its public half.
#[derive(Clone)]
struct Public(Vec<u8>);

impl Keypair for Authority<'_> {
    type VerifyingKey = Public;

    fn verifying_key(&self) -> Public {
        Public(self.0.subject_public_key_info())
    }
}

impl EncodePublicKey for Public {
    fn to_public_key_der(&self) -> x509_cert::spki::Result<Document> {
        Ok(Document::try_from(self.0.as_slice())?)
    }
}

impl DynSignatureAlgorithmIdentifier for Authority<'_> {
    fn signature_algorithm_identifier(&self) -> x509_cert::spki::Result<AlgorithmIdentifierOwned> {
        let known: [(&SignatureAlgorithm, ObjectIdentifier); 5] = [
            (&rcgen::PKCS_ECDSA_P256_SHA256, rfc5912::ECDSA_WITH_SHA_256),
            (&rcgen::PKCS_ECDSA_P384_SHA384, rfc5912::ECDSA_WITH_SHA_384),
            (&rcgen::PKCS_ECDSA_P521_SHA512, rfc5912::ECDSA_WITH_SHA_512),
            (&rcgen::PKCS_ED25519, rfc8410::ID_ED_25519),
            (&rcgen::PKCS_RSA_SHA256, rfc5912::SHA_256_WITH_RSA_ENCRYPTION),
        ];
        let ours = PublicKeyData::algorithm(self.0);
        let (_, oid) = known
            .into_iter()
            .find(|(one, _)| *one == ours)
            .ok_or(Error::AlgorithmParametersMissing)?;
        let parameters = (oid == rfc5912::SHA_256_WITH_RSA_ENCRYPTION).then(|| Null.into());
        Ok(AlgorithmIdentifierOwned { oid, parameters })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::str::FromStr;

    #[test]
    fn a_name_that_would_be_written_otherwise_is_none() {
        let raw = Name::from_str("CN=agent+O=one").unwrap().to_der().unwrap();
        assert_eq!(name(&raw).unwrap().to_der().unwrap(), raw);
        // One set of two attributes, each of its own length; DER requires the shorter one first.
        let (head, attributes) = raw.split_at(4);
        let first = usize::from(attributes[1]) + 2;
        let (first, second) = attributes.split_at(first);
        assert!(name(&[head, second, first].concat()).is_none());
        assert!(name(&raw[..raw.len() - 1]).is_none());
        assert!(name(&[&raw[..], &[0]].concat()).is_none());
    }

    #[test]
    fn an_alternative_name_is_an_address_or_a_name_in_ascii() {
        assert!(matches!(alternative("::1"), Some(GeneralName::IpAddress(_))));
        assert!(matches!(alternative("a.b"), Some(GeneralName::DnsName(_))));
        assert!(alternative("\u{e9}").is_none());
    }

    proptest! {
        #[test]
        fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _found = name(&noise).is_some();
        }
    }
}
