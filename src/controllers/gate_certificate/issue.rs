//! Makes a certificate for the gate, and an authority that signs nothing else.
//!
//! Decides names of subjects. The authority's key ends with the call: a thief of the Secret can show the certificate in it until
//! that ends, and cannot make another.

use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use kubernetes::certificates::{Lives, Made};

/// Makes a pair for callers who use this name.
pub(super) fn issue(name: &str, lives: Lives, now: Timestamp) -> Result<Made, rcgen::Error> {
    let mut authority = CertificateParams::default();
    // Unlike any before it, for people who compare them.
    let subject = format!("tidegate {}", now.strftime("%Y-%m-%d %H:%M:%SZ"));
    authority.distinguished_name.push(DnType::CommonName, subject);
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    holds(&mut authority, lives, now);
    let authority_key = KeyPair::generate()?;
    let authority_pem = authority.self_signed(&authority_key)?.pem();
    let issuer = Issuer::new(authority, authority_key);
    let mut leaf = CertificateParams::new(vec![name.to_owned()])?;
    leaf.distinguished_name.push(DnType::CommonName, "tidegate");
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    holds(&mut leaf, lives, now);
    let key = KeyPair::generate()?;
    Ok(Made {
        chain: leaf.signed_by(&key, &issuer)?.pem(),
        key: key.serialize_pem(),
        authority: authority_pem,
    })
}

fn holds(params: &mut CertificateParams, lives: Lives, now: Timestamp) {
    let date = |time: Timestamp| {
        let seconds = u64::try_from(time.as_second()).unwrap_or_default();
        rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds)
    };
    params.not_before = date(Lives::begin(now));
    params.not_after = date(lives.end(now));
}
