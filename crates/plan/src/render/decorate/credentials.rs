//! The secrets that a registered agent finds in its pods: its kubeconfig and the certificates of custom signers.
//!
//! Decides names and paths. A secret is mounted once, however many registrations ask for it.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::pod::{Object, mount};
use crate::render::fault::RenderFault;
use crate::size_budget::SizeBudget;
use api::v1alpha1::RegistrationSpec;

/// Longest name of a volume.
const LONGEST: usize = 63;

/// A secret and where it is mounted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Credential {
    volume: Value,
    path: String,
}

impl Credential {
    fn new(name: &str, secret: &str, path: String) -> Self {
        Self {
            volume: json!({"name": name, "secret": {"secretName": secret}}),
            path,
        }
    }

    /// Mounts the secret into every container of a pod.
    pub(super) fn apply(&self, pod: &mut Object, budget: &SizeBudget) {
        mount(pod, &self.volume, &self.path, budget);
    }
}

/// Returns the secrets that the registrations of a template give its pods.
pub(super) fn credentials(
    addon: &str,
    registrations: &[RegistrationSpec],
) -> Result<Vec<Credential>, RenderFault> {
    let mut found: Vec<Credential> = Vec::new();
    for (index, registration) in registrations.iter().enumerate() {
        let credential = match registration.type_.as_str() {
            "CustomSigner" => {
                let signer = registration.custom_signer.as_ref();
                let signer = signer.ok_or(RenderFault::NoSigner(index))?;
                certificate(addon, &signer.signer_name)
            }
            "KubeClient" => kubeconfig(addon),
            // The API server accepts no other type.
            _ => continue,
        };
        if !found.contains(&credential) {
            found.push(credential);
        }
    }
    Ok(found)
}

fn kubeconfig(addon: &str) -> Credential {
    let secret = format!("{addon}-hub-kubeconfig");
    Credential::new("hub-kubeconfig", &secret, "/managed/hub-kubeconfig".to_owned())
}

fn certificate(addon: &str, signer: &str) -> Credential {
    let dashed = signer.replace('/', "-");
    let name = volume_name(&dashed.replace('.', "-"));
    let secret = format!("{addon}-{dashed}-client-cert");
    Credential::new(&name, &secret, format!("/managed/{dashed}"))
}

/// Names of signers may be longer than names of volumes; a digest keeps two that begin alike apart.
fn volume_name(dashed: &str) -> String {
    let name = format!("cert-{dashed}");
    if name.len() <= LONGEST {
        return name;
    }
    let digest = Sha256::digest(dashed.as_bytes());
    let number = digest
        .iter()
        .take(4)
        .fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    let kept: String = name.chars().take(LONGEST.saturating_sub(9)).collect();
    format!("{kept}-{number:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::v1alpha1::CustomSignerRegistration;

    fn registration(kind: &str, signer: Option<&str>) -> RegistrationSpec {
        RegistrationSpec {
            type_: kind.to_owned(),
            custom_signer: signer.map(|name| CustomSignerRegistration {
                signer_name: name.to_owned(),
                ..CustomSignerRegistration::default()
            }),
            ..RegistrationSpec::default()
        }
    }

    #[test]
    fn every_secret_is_mounted_once() {
        let client = || registration("KubeClient", None);
        let signer = |name: &str| registration("CustomSigner", Some(name));
        let all = [
            client(),
            signer("example.com/a.b"),
            client(),
            signer("example.com/a.b"),
        ];
        let mut pod = json!({"containers": [{"name": "x"}]})
            .as_object()
            .unwrap()
            .clone();
        for credential in credentials("hello", &all).unwrap() {
            credential.apply(&mut pod, &SizeBudget::default());
        }
        let expected = json!({
            "volumes": [
                {"name": "hub-kubeconfig", "secret": {"secretName": "hello-hub-kubeconfig"}},
                {"name": "cert-example-com-a-b", "secret": {"secretName": "hello-example.com-a.b-client-cert"}},
            ],
            "containers": [{"name": "x", "volumeMounts": [
                {"name": "hub-kubeconfig", "mountPath": "/managed/hub-kubeconfig"},
                {"name": "cert-example-com-a-b", "mountPath": "/managed/example.com-a.b"},
            ]}],
        });
        assert_eq!(Value::Object(pod), expected);
    }

    #[test]
    fn a_long_signer_gets_a_name_that_a_volume_may_have() {
        let name = |end: &str| volume_name(&format!("example-com-{}{end}", "x".repeat(100)));
        assert_eq!(name("a").len(), LONGEST);
        assert_ne!(name("a"), name("b"));
    }

    #[test]
    fn a_custom_signer_without_a_signer_is_a_fault() {
        let all = [
            registration("KubeClient", None),
            registration("CustomSigner", None),
        ];
        let fault = credentials("hello", &all).unwrap_err();
        assert_eq!(fault.to_string(), "registration[1]: custom signer is nil");
    }
}
