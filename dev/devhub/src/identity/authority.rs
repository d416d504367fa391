//! The hub's own certificate authority.
//!
//! Decides which certificates exist: one for serving, one for the administrator.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// The cryptography library refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IdentityError {
    /// A certificate could not be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// The TLS configuration does not hold together.
    #[error("cannot configure TLS")]
    Tls(#[from] rustls::Error),
    /// Client certificates cannot be verified.
    #[error("cannot verify client certificates")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
}

/// A certificate with its key.
#[derive(Clone)]
pub(crate) struct Credentials {
    /// Certificate as PEM.
    pub(crate) certificate: String,
    /// Key as PEM.
    pub(crate) key: String,
    der: Vec<u8>,
    key_der: Vec<u8>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// Returns the certificate for rustls.
    pub(crate) fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from(self.der.clone())]
    }

    /// Returns the key for rustls.
    pub(crate) fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key_der.clone()))
    }
}

/// A certificate authority.
pub(crate) struct Authority {
    /// Its certificate as PEM.
    pub(crate) pem: String,
    /// Its key as PEM.
    pub(crate) key_pem: String,
    der: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    /// Makes a new authority.
    pub(crate) fn new() -> Result<Self, IdentityError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "devhub-ca");
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            pem: certificate.pem(),
            der: certificate.der().clone(),
            key_pem: key.serialize_pem(),
            issuer: Issuer::new(params, key),
        })
    }

    /// Returns the certificate for rustls.
    pub(crate) fn root(&self) -> CertificateDer<'static> {
        self.der.clone()
    }

    /// Issues the certificate that the hub serves with.
    pub(crate) fn serving(&self) -> Result<Credentials, IdentityError> {
        let names = ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc"]
            .map(str::to_owned)
            .to_vec();
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "devhub");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(params)
    }

    /// Issues a client certificate for a user in a group.
    pub(crate) fn client(&self, user: &str, group: &str) -> Result<Credentials, IdentityError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, user);
        params.distinguished_name.push(DnType::OrganizationName, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(params)
    }

    fn issue(&self, mut params: CertificateParams) -> Result<Credentials, IdentityError> {
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Credentials {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            der: certificate.der().to_vec(),
            key_der: key.serialize_der(),
        })
    }
}
