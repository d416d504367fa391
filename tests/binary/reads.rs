//! Reads of a hub for tests that wait: with a client, because one `kubectl` process per poll would slow down what the test waits for.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::rig::PATIENCE;

/// The time between two reads.
const PAUSE: Duration = Duration::from_millis(30);

/// Clients live here: a test may have a runtime of its own or none, and both can wait for this one.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
});

/// Where the objects of a resource are.
#[derive(Clone)]
struct Place {
    /// `/api/v1` or `/apis/group/version`.
    root: String,
    plural: String,
    is_namespaced: bool,
}

/// Reads what `kubectl get WORDS -o json` reads.
pub(crate) struct Reader {
    client: Client,
    places: Mutex<BTreeMap<String, Place>>,
}

impl Reader {
    pub(crate) fn of(kubeconfig: &Path) -> Self {
        let file = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
        let client = wait_for(async {
            let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
                .await
                .expect("a kubeconfig that names a hub");
            config.read_timeout = Some(Duration::from_secs(10));
            Client::try_from(config).expect("a client")
        });
        Self {
            client,
            places: Mutex::default(),
        }
    }

    /// Returns the object or list that the words name as they do for `kubectl get`: a resource, and a name, a namespace (`-n`) or
    /// all of them (`-A`).
    pub(crate) fn get(&self, words: &[&str]) -> Result<Value, String> {
        let (resource, name, namespace) = match *words {
            [resource] => (resource, None, Some("default")),
            [resource, "-A"] => (resource, None, None),
            [resource, "-n", namespace] => (resource, None, Some(namespace)),
            [resource, name] => (resource, Some(name), Some("default")),
            [resource, name, "-n", namespace] => (resource, Some(name), Some(namespace)),
            _ => return Err(format!("RESOURCE [NAME] [-n NAMESPACE | -A], not {words:?}")),
        };
        let place = self.place(resource)?;
        let namespace = namespace.filter(|_| place.is_namespaced);
        let namespace = namespace.map_or_else(String::new, |namespace| format!("/namespaces/{namespace}"));
        let name = name.map_or_else(String::new, |name| format!("/{name}"));
        self.read(&format!("{}{namespace}/{}{name}", place.root, place.plural))
    }

    /// Reads a path.
    pub(crate) fn read(&self, path: &str) -> Result<Value, String> {
        let client = self.client.clone();
        let request = http::Request::get(path)
            .body(Vec::new())
            .map_err(|error| error.to_string())?;
        let read = wait_for(async move { client.request::<Value>(request).await });
        read.map_err(|error| error.to_string())
    }

    /// Reads until what is read is as it should be, and returns it; panics with what was read last when patience ends.
    pub(crate) fn until(&self, what: &str, words: &[&str], holds: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let seen = self.get(words);
            match seen {
                Ok(seen) if holds(&seen) => return seen,
                seen => assert!(
                    begun.elapsed() < PATIENCE,
                    "still not so: {what}\n{}",
                    seen.map_or_else(|error| error, |seen| format!("{seen:#}"))
                ),
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds a resource by its plural, singular or short name, or by plural, version and group.
    fn place(&self, resource: &str) -> Result<Place, String> {
        if let Some(known) = self.known().get(resource) {
            return Ok(known.clone());
        }
        let client = self.client.clone();
        let groups = wait_for(async move {
            let mut groups = client.list_core_api_versions_aggregated().await?.items;
            groups.extend(client.list_api_groups_aggregated().await?.items);
            Ok(groups)
        });
        let groups = groups.map_err(|error: kube::Error| error.to_string())?;
        for group in groups {
            let group_name = group
                .metadata
                .and_then(|metadata| metadata.name)
                .unwrap_or_default();
            // The first version is the one that the hub prefers.
            for version in group.versions {
                let version_name = version.version.unwrap_or_default();
                let root = if group_name.is_empty() {
                    format!("/api/{version_name}")
                } else {
                    format!("/apis/{group_name}/{version_name}")
                };
                for found in version.resources {
                    let plural = found.resource.unwrap_or_default();
                    let is_named = plural == resource
                        || found.singular_resource.as_deref() == Some(resource)
                        || found.short_names.iter().any(|name| name == resource)
                        || format!("{plural}.{version_name}.{group_name}") == resource;
                    if is_named {
                        let place = Place {
                            root,
                            plural,
                            is_namespaced: found.scope.as_deref() == Some("Namespaced"),
                        };
                        self.known().insert(resource.to_owned(), place.clone());
                        return Ok(place);
                    }
                }
            }
        }
        Err(format!("the hub has no resource \"{resource}\""))
    }
}

/// Waits on a thread that may belong to another runtime.
fn wait_for<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    RUNTIME.spawn(async move { sender.send(future.await).ok() });
    receiver.recv().expect("the future ends")
}
