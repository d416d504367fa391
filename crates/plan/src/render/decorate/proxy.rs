//! The proxy of a deployment configuration: environment of containers and, when it has certificates of its own, a
//! ConfigMap with them.
//!
//! The ConfigMap stands where the workload stands that mounts it, and only where one does.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::pod::{EnvPrecedence, Object, containers, mount, set_env};
use crate::render::fault::RenderFault;
use crate::size_budget::SizeBudget;
use api::v1alpha1::ProxyConfig;

const FILE: &str = "ca-bundle.crt";
const FOLDER: &str = "/managed/proxy-ca";

/// What containers learn about the proxy.
#[derive(Debug)]
pub(super) struct Proxy {
    env: Vec<(&'static str, String)>,
    /// Name of the ConfigMap and the certificates in it.
    bundle: Option<(String, String)>,
}

impl Proxy {
    /// Reads the configuration. Without an address there is no proxy, whatever certificates are given.
    pub(super) fn of(addon: &str, config: &ProxyConfig) -> Result<Option<Self>, RenderFault> {
        let pairs = [
            (["HTTP_PROXY", "http_proxy"], &config.http_proxy),
            (["HTTPS_PROXY", "https_proxy"], &config.https_proxy),
            (["NO_PROXY", "no_proxy"], &config.no_proxy),
        ];
        let given = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        let env: Vec<_> = given
            .flat_map(|(names, value)| names.map(|name| (name, value.clone())))
            .collect();
        if env.is_empty() {
            return Ok(None);
        }
        let bundle = if config.ca_bundle.is_empty() {
            None
        } else {
            Some((format!("{addon}-proxy-ca"), decoded(&config.ca_bundle)?))
        };
        Ok(Some(Self { env, bundle }))
    }

    /// Applies the proxy to a pod.
    pub(super) fn apply(&self, pod: &mut Object, budget: &SizeBudget) {
        for container in containers(pod, "containers") {
            for (name, value) in &self.env {
                set_env(container, name, value, EnvPrecedence::Gives, budget);
            }
            if self.bundle.is_some() {
                let path = format!("{FOLDER}/{FILE}");
                set_env(
                    container,
                    "CA_BUNDLE_FILE_PATH",
                    &path,
                    EnvPrecedence::Gives,
                    budget,
                );
            }
        }
        if let Some((name, _)) = &self.bundle {
            mount(
                pod,
                &json!({"name": "proxy-ca-bundle", "configMap": {"name": name}}),
                FOLDER,
                budget,
            );
        }
    }

    /// Returns the ConfigMap with the certificates for the workloads of a namespace.
    pub(super) fn config_map(&self, namespace: &str, budget: &SizeBudget) -> Option<Value> {
        let (name, certificates) = self.bundle.as_ref().filter(|(_, pem)| budget.take(pem.len()))?;
        let mut metadata = json!({"name": name});
        if let Some(fields) = metadata.as_object_mut().filter(|_| !namespace.is_empty()) {
            fields.insert("namespace".to_owned(), Value::from(namespace));
        }
        Some(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {FILE: certificates}}),
        )
    }
}

fn decoded(bundle: &str) -> Result<String, RenderFault> {
    let bytes = STANDARD.decode(bundle.trim()).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or(RenderFault::CaBundle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(http: &str, no: &str, bundle: &str) -> ProxyConfig {
        ProxyConfig {
            http_proxy: http.to_owned(),
            no_proxy: no.to_owned(),
            ca_bundle: bundle.to_owned(),
            ..ProxyConfig::default()
        }
    }

    fn applied(proxy: &Proxy) -> Value {
        let pod = json!({"containers": [{"name": "a", "env": [{"name": "HTTP_PROXY", "value": "own"}]}]});
        let mut pod = pod.as_object().unwrap().clone();
        proxy.apply(&mut pod, &SizeBudget::default());
        Value::Object(pod)
    }

    #[test]
    fn the_configuration_wins_over_the_template() {
        let proxy = Proxy::of("hello", &config("http://p:1", "", ""))
            .unwrap()
            .unwrap();
        let env = json!([{"name": "HTTP_PROXY", "value": "http://p:1"}, {"name": "http_proxy", "value": "http://p:1"}]);
        assert_eq!(
            applied(&proxy),
            json!({"containers": [{"name": "a", "env": env}]})
        );
        assert_eq!(proxy.config_map("ns", &SizeBudget::default()), None);
    }

    #[test]
    fn certificates_come_as_a_file() {
        let proxy = Proxy::of("hello", &config("", "x", "UEVN")).unwrap().unwrap();
        let pod = applied(&proxy);
        let names: Vec<&str> = pod["containers"][0]["env"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            names,
            ["HTTP_PROXY", "NO_PROXY", "no_proxy", "CA_BUNDLE_FILE_PATH"]
        );
        let volume = json!([{"name": "proxy-ca-bundle", "configMap": {"name": "hello-proxy-ca"}}]);
        assert_eq!(pod["volumes"], volume);
        let map = proxy.config_map("ns", &SizeBudget::default()).unwrap();
        assert_eq!(map["data"], json!({"ca-bundle.crt": "PEM"}));
        assert_eq!(
            map["metadata"],
            json!({"name": "hello-proxy-ca", "namespace": "ns"})
        );
    }

    #[test]
    fn certificates_without_a_proxy_are_nothing_and_bad_ones_a_fault() {
        assert!(Proxy::of("hello", &config("", "", "UEVN")).unwrap().is_none());
        for bad in ["not base64!", "//8="] {
            let fault = Proxy::of("hello", &config("http://p", "", bad)).unwrap_err();
            assert_eq!(fault, RenderFault::CaBundle, "{bad}");
        }
    }
}
