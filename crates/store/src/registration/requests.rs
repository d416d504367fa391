//! Certificate signing requests of add-ons: who asks, for whom, and how far the request is.
//!
//! Decides what a request says; parsing is pure and never panics, whatever a client put into it. Never decides whether it
//! may be granted.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer as _;
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

use crate::decode::read::{meta, parse, shared};
use crate::names::Names;
use crate::record::Meta;
use crate::terms;
use api::names::labels;
use model::Name;

/// Longest request that is read, in bytes of DER: a certificate for one user needs far less.
const LONGEST: usize = 32 * 1024;

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Neither approved nor denied.
    Pending,
    /// Approved, and no certificate yet.
    Approved,
    /// Denied, failed or issued: nothing is left to do.
    Settled,
}

/// A `CertificateSigningRequest` of an add-on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// AgentIdentity and revision.
    pub meta: Meta,
    /// Its name.
    pub name: Name,
    /// The cluster that it says it comes from.
    pub cluster: Name,
    /// Who is asked to sign.
    pub signer: Name,
    /// Who asked, as the hub saw it.
    pub requester: Name,
    /// For whom it says it was made: it counts if the requester is the hub's gRPC server, and no other's word does.
    pub on_behalf_of: Option<Name>,
    /// What the key may be used for.
    pub usages: Vec<Name>,
    /// For how many seconds, when it says so.
    pub seconds: Option<i64>,
    /// How far it is.
    pub stage: Stage,
    /// What is asked for, or why that cannot be read; absent when nothing is left to do.
    pub asked: Option<Result<Arc<CertificateRequest>, Name>>,
    /// `status.conditions` as they stand, for a patch of the whole list.
    pub conditions: Vec<Value>,
}

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateRequest {
    /// Common names; a well-formed request has one.
    pub users: Vec<String>,
    /// Organizations.
    pub groups: BTreeSet<String>,
    /// Organizational units.
    pub units: BTreeSet<String>,
    /// Other parts of the subject, by their identifiers.
    pub others: Vec<String>,
    /// Alternative names, each with its kind.
    pub names: BTreeSet<String>,
    /// The request itself.
    pub der: Vec<u8>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Wire {
    metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
    spec: WireSpec,
    status: Option<WireStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireSpec {
    request: String,
    signer_name: String,
    usages: Option<Vec<String>>,
    username: String,
    expiration_seconds: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireStatus {
    certificate: Option<String>,
    conditions: Option<Vec<Value>>,
}

/// Decodes a request with its add-on; `None` when it is not one of an add-on.
pub(crate) fn request(object: &Value, names: &mut Names) -> Result<Option<(Name, Request)>, String> {
    let Wire {
        metadata,
        spec,
        status,
    } = parse(object)?;
    let label = |key: &str| metadata.labels.as_ref().and_then(|labels| labels.get(key));
    let annotation = |key: &str| metadata.annotations.as_ref().and_then(|all| all.get(key));
    let name = metadata.name.clone().unwrap_or_default();
    let (Some(addon), Some(cluster)) = (label(labels::ADDON_NAME), label(terms::CLUSTER_NAME)) else {
        return Ok(None);
    };
    if !name.starts_with("addon") {
        return Ok(None);
    }
    let status = status.unwrap_or_default();
    let conditions = status.conditions.unwrap_or_default();
    let stage = stage(&conditions, status.certificate.as_deref());
    let asked = (stage != Stage::Settled).then(|| read(&spec.request).map(Arc::new).map_err(Name::from));
    let request = Request {
        meta: meta(&metadata)?,
        name: name.into(),
        cluster: names.share(cluster),
        signer: names.share(&spec.signer_name),
        requester: names.share(&spec.username),
        on_behalf_of: annotation(terms::CSR_USER).map(|user| names.share(user)),
        usages: spec
            .usages
            .iter()
            .flatten()
            .map(|usage| names.share(usage))
            .collect(),
        seconds: spec.expiration_seconds,
        stage,
        asked,
        conditions: if stage == Stage::Pending {
            conditions
        } else {
            Vec::new()
        },
    };
    Ok(Some((shared(Some(addon), names), request)))
}

fn stage(conditions: &[Value], certificate: Option<&str>) -> Stage {
    let has = |kind: &str| conditions.iter().any(|condition| condition["type"] == kind);
    if has("Denied") || has("Failed") || certificate.is_some_and(|text| !text.is_empty()) {
        Stage::Settled
    } else if has("Approved") {
        Stage::Approved
    } else {
        Stage::Pending
    }
}

/// Reads `spec.request`: base64 of PEM of PKCS#10.
fn read(request: &str) -> Result<CertificateRequest, &'static str> {
    let pem = STANDARD
        .decode(request)
        .map_err(|_malformed| "the request is not base64")?;
    let (_, block) = x509_parser::pem::parse_x509_pem(&pem).map_err(|_malformed| "the request is not PEM")?;
    if block.label != "CERTIFICATE REQUEST" {
        return Err("the PEM block is not a CERTIFICATE REQUEST");
    }
    read_request(block.contents)
}

/// Reads PKCS#10, as DER, if its signature proves that the requester has the key.
pub fn read_request(der: Vec<u8>) -> Result<CertificateRequest, &'static str> {
    if der.len() > LONGEST {
        return Err("the request is too large");
    }
    let (rest, parsed) = X509CertificationRequest::from_der(&der)
        .map_err(|_malformed| "the request is not a PKCS#10 certification request")?;
    if !rest.is_empty() {
        return Err("there is data after the certification request");
    }
    // An approval is indefinitely, and the signer may not look later: what cannot be verified is never approved.
    parsed
        .verify_signature()
        .map_err(|_unproved| "the signature of the request cannot be verified")?;
    let mut asked = subject(&parsed.certification_request_info.subject)?;
    for extension in parsed.requested_extensions().into_iter().flatten() {
        if let ParsedExtension::SubjectAlternativeName(names) = extension {
            asked.names.extend(names.general_names.iter().map(alternative));
        } else if !is_harmless(extension) {
            return Err("the request contains an extension that no agent needs");
        }
    }
    asked.der = der;
    Ok(asked)
}

/// What the signer decides anyway.
fn is_harmless(extension: &ParsedExtension<'_>) -> bool {
    if let ParsedExtension::BasicConstraints(constraints) = extension {
        return !constraints.ca;
    }
    matches!(
        extension,
        ParsedExtension::KeyUsage(_) | ParsedExtension::ExtendedKeyUsage(_)
    )
}

fn alternative(name: &GeneralName<'_>) -> String {
    if let GeneralName::DNSName(name) = name {
        return format!("DNS:{name}");
    }
    name.to_string()
}

fn subject(name: &X509Name<'_>) -> Result<CertificateRequest, &'static str> {
    const UNREADABLE: &str = "a part of the subject is not text";
    let text = |part: &AttributeTypeAndValue<'_>| part.as_str().map(ToOwned::to_owned);
    let all = |parts: &mut dyn Iterator<Item = &AttributeTypeAndValue<'_>>| {
        let mut found = Vec::new();
        for part in parts {
            found.push(text(part).map_err(|_malformed| UNREADABLE)?);
        }
        Ok::<_, &'static str>(found)
    };
    let known = ["2.5.4.3", "2.5.4.10", "2.5.4.11"];
    let others = name
        .iter_attributes()
        .map(|part| part.attr_type().to_id_string())
        .filter(|id| !known.contains(&id.as_str()));
    Ok(CertificateRequest {
        users: all(&mut name.iter_common_name())?,
        groups: all(&mut name.iter_organization())?.into_iter().collect(),
        units: all(&mut name.iter_organizational_unit())?.into_iter().collect(),
        others: others.collect(),
        names: BTreeSet::new(),
        der: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rcgen::{CertificateParams, DnType, KeyPair};
    use serde_json::json;

    fn real() -> Vec<u8> {
        let mut params =
            CertificateParams::new(vec!["hello.addon.open-cluster-management.io".to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "agent");
        params.distinguished_name.push(DnType::OrganizationName, "group");
        let key = KeyPair::generate().unwrap();
        params.serialize_request(&key).unwrap().der().to_vec()
    }

    fn object(request: &str, status: &Value) -> Value {
        json!({"metadata": {"name": "addon-c1-hello-x", "uid": "u", "resourceVersion": "1",
            "labels": {(labels::ADDON_NAME): "hello", (terms::CLUSTER_NAME): "c1"}},
            "spec": {"request": request, "signerName": "a.b/c", "username": "me", "usages": ["client auth"]},
            "status": status})
    }

    #[test]
    fn a_real_request_is_read() {
        let asked = read_request(real()).unwrap();
        assert_eq!(asked.users, ["agent"]);
        assert_eq!(asked.groups.into_iter().collect::<Vec<_>>(), ["group"]);
        assert_eq!(
            asked.names.into_iter().collect::<Vec<_>>(),
            ["DNS:hello.addon.open-cluster-management.io"]
        );
    }

    #[test]
    fn a_request_with_a_broken_signature_is_none() {
        let der = real();
        // The signature is the last thing; a flipped bit in it, or in what is signed, changes no form.
        let last = der.len() - 1;
        let name = der
            .windows(5)
            .position(|part| part == b"agent")
            .expect("the name is in it");
        for (at, bit) in [(last, 1), (name, 2)] {
            let mut broken = der.clone();
            broken[at] ^= bit;
            let why = read_request(broken).unwrap_err();
            assert_eq!(why, "the signature of the request cannot be verified", "{at}");
        }
        let pem = |der: &[u8]| {
            let text = STANDARD.encode(der);
            let pem =
                format!("-----BEGIN CERTIFICATE REQUEST-----\n{text}\n-----END CERTIFICATE REQUEST-----\n");
            STANDARD.encode(pem)
        };
        let mut broken = der.clone();
        broken[last] ^= 1;
        for (der, is_read) in [(der, true), (broken, false)] {
            let (_, request) = request(&object(&pem(&der), &Value::Null), &mut Names::default())
                .unwrap()
                .unwrap();
            assert_eq!(request.asked.unwrap().is_ok(), is_read);
        }
    }

    #[test]
    fn no_request_gets_a_certificate_authority() {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let der = params.serialize_request(&key).unwrap().der().to_vec();
        assert!(read_request(der).unwrap_err().contains("no agent needs"));
    }

    #[test]
    fn the_stage_follows_conditions_and_certificate() {
        let approved = json!([{"type": "Approved", "status": "True"}]);
        let rows = [
            (json!({}), Stage::Pending),
            (json!({"conditions": approved}), Stage::Approved),
            (
                json!({"conditions": approved, "certificate": "QQ=="}),
                Stage::Settled,
            ),
            (json!({"conditions": [{"type": "Denied"}]}), Stage::Settled),
            (
                json!({"conditions": [{"type": "Approved"}, {"type": "Failed"}]}),
                Stage::Settled,
            ),
        ];
        for (status, expected) in rows {
            let (_, request) = request(&object("!", &status), &mut Names::default())
                .unwrap()
                .unwrap();
            assert_eq!(request.stage, expected, "{status}");
            assert_eq!(request.asked.is_none(), expected == Stage::Settled);
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics_on_noise(noise in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _asked = read_request(noise.clone()).is_ok();
            let pem = format!("-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n",
                STANDARD.encode(noise));
            let object = object(&STANDARD.encode(pem), &Value::Null);
            let decoded = request(&object, &mut Names::default());
            prop_assert!(decoded.is_ok());
        }

        #[test]
        fn parsing_never_panics_on_a_damaged_request(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            cut in any::<prop::sample::Index>()) {
            let mut der = real();
            for (at, byte) in changes {
                let at = at.index(der.len());
                der[at] = byte;
            }
            let _asked = read_request(der.clone()).is_ok();
            der.truncate(cut.index(der.len()));
            prop_assert!(read_request(der).is_err());
        }
    }
}
