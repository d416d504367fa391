//! The resources that are served.
//!
//! Decides which resource a path means and how its stored bytes are read; changes are published whole, readers never wait.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use schema::Schema;
use serde_json::Value;

use crate::builtin;
use crate::conversion::{Recent, Versions};
use crate::managed::Ownable;
use crate::resource::Resource;
use crate::store::{Record, Store, Table};

/// Tells whether a resource is another view of objects that are stored as core events.
pub(crate) fn is_view(resource: &Resource) -> bool {
    !resource.custom && resource.group == "events.k8s.io"
}

/// Returns the name of the table of a built-in resource.
fn storage_name(resource: &Resource) -> String {
    if is_view(resource) {
        resource.plural.clone()
    } else {
        resource.group_resource()
    }
}

/// What is special about a custom resource in one version.
#[derive(Debug)]
pub(crate) struct Custom {
    /// Its schema.
    pub(crate) schema: Arc<Schema>,
    /// Number of that schema; objects stored under another one are pruned and defaulted when read.
    pub(crate) shape: u32,
    /// All versions of the definition.
    pub(crate) versions: Arc<Versions>,
    /// What was converted for watchers of this version.
    pub(crate) recent: tokio::sync::Mutex<Recent>,
    /// Name of the definition.
    pub(crate) definition: String,
    /// Whether the definition is being deleted.
    pub(crate) terminating: bool,
    /// Warning for every request, if the version is deprecated.
    pub(crate) deprecation: Option<String>,
    /// Other served versions.
    pub(crate) other_versions: Vec<String>,
    /// JSON paths by which field selectors may select, besides name and namespace.
    pub(crate) selectable: Vec<String>,
}

/// One served resource in one version.
#[derive(Debug)]
pub(crate) struct Served {
    /// What discovery tells of it.
    pub(crate) resource: Resource,
    /// Its objects; versions of one resource share them.
    pub(crate) table: Arc<Table>,
    /// What only custom resources have.
    pub(crate) custom: Option<Custom>,
    /// What ownership needs to know of its objects, made when it is first asked for.
    pub(crate) ownable: OnceLock<Ownable>,
}

impl Served {
    /// Returns what ownership needs to know of its objects.
    pub(crate) fn ownable(&self) -> &Ownable {
        self.ownable.get_or_init(|| Ownable::new(&self.resource))
    }

    /// Returns the number of the schema under which objects are stored.
    pub(crate) fn shape(&self) -> u32 {
        self.custom
            .as_ref()
            .map_or(0, |custom| custom.versions.storage_shape())
    }

    /// Returns a stored object as this version shows it. No webhook is asked: of an object that only a webhook can convert
    /// no more than the metadata is right (see [`Self::needs_webhook`]).
    pub(crate) fn decode(&self, record: &Record, version: u64) -> Value {
        let plain = || record.decode(&self.resource.api_version(), &self.resource.kind, version);
        match &self.custom {
            Some(custom) if record.shape == custom.shape => plain(),
            Some(custom) if custom.versions.of(record) == self.resource.version => {
                custom.versions.stored(record, version)
            }
            Some(custom) => {
                let stored = custom.versions.stored(record, version);
                custom.versions.renamed(stored, &self.resource.version)
            }
            None if is_view(&self.resource) => builtin::events::to_events_api(&plain()),
            None => plain(),
        }
    }

    /// Returns a stored object in the version in which it was written.
    pub(crate) fn stored(&self, record: &Record, version: u64) -> Value {
        match &self.custom {
            Some(custom) => custom.versions.stored(record, version),
            None => self.decode(record, version),
        }
    }

    /// Tells whether a stored object can only be shown after a webhook has converted it, or not at all.
    pub(crate) fn needs_webhook(&self, record: &Record) -> bool {
        self.custom.as_ref().is_some_and(|custom| {
            let version = custom.versions.of(record);
            let converts = custom.versions.webhook.is_some() || !custom.versions.known.contains_key(version);
            version != self.resource.version && converts
        })
    }

    /// Writes a stored object as this version shows it.
    pub(crate) fn write(&self, record: &Record, version: u64, out: &mut Vec<u8>) {
        if self.reads_plain(record) {
            record.write(out, &self.resource.api_version(), &self.resource.kind, version);
        } else {
            // Serializing a tree into memory has no way to fail.
            serde_json::to_writer(out, &self.decode(record, version)).unwrap_or_default();
        }
    }

    /// Tells whether the stored bytes can be sent as they are.
    pub(crate) fn reads_plain(&self, record: &Record) -> bool {
        match &self.custom {
            Some(custom) => record.shape == custom.shape,
            None => !is_view(&self.resource),
        }
    }
}

/// All served resources at one moment.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    by_path: BTreeMap<(String, String, String), Arc<Served>>,
}

impl Registry {
    /// Returns the resource that a path names.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Served>> {
        self.by_path
            .get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// Returns all resources, in order of group, version and plural.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.by_path.values()
    }

    /// Returns what discovery and the `OpenAPI` documents need.
    pub(crate) fn resources(&self) -> Vec<Resource> {
        self.by_path
            .values()
            .map(|served| served.resource.clone())
            .collect()
    }
}

/// The registry and the way to change it.
#[derive(Debug)]
pub(crate) struct Directory {
    current: ArcSwap<Registry>,
    custom: Mutex<BTreeMap<String, Vec<Arc<Served>>>>,
    builtin: Vec<Arc<Served>>,
}

impl Directory {
    /// Returns a directory of the built-in kinds.
    pub(crate) fn new(store: &Store) -> Self {
        let builtin: Vec<Arc<Served>> = builtin::resources()
            .into_iter()
            .map(|resource| {
                let table = store.table(&storage_name(&resource));
                Arc::new(Served {
                    resource,
                    table,
                    ownable: OnceLock::new(),
                    custom: None,
                })
            })
            .collect();
        let directory = Self {
            current: ArcSwap::default(),
            custom: Mutex::new(BTreeMap::new()),
            builtin,
        };
        directory.publish(&BTreeMap::new());
        directory
    }

    /// Returns the registry of this moment.
    pub(crate) fn load(&self) -> Arc<Registry> {
        self.current.load_full()
    }

    /// Returns the served versions of a definition.
    pub(crate) fn definition(&self, name: &str) -> Vec<Arc<Served>> {
        self.custom
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
            .unwrap_or_default()
    }

    /// Replaces the served versions of a definition; none takes it out.
    pub(crate) fn replace(&self, definition: &str, versions: Vec<Arc<Served>>) {
        let mut custom = self.custom.lock().unwrap_or_else(PoisonError::into_inner);
        if versions.is_empty() {
            custom.remove(definition);
        } else {
            custom.insert(definition.to_owned(), versions);
        }
        self.publish(&custom);
    }

    fn publish(&self, custom: &BTreeMap<String, Vec<Arc<Served>>>) {
        let by_path = self
            .builtin
            .iter()
            .chain(custom.values().flatten())
            .map(|served| {
                let resource = &served.resource;
                let path = (
                    resource.group.clone(),
                    resource.version.clone(),
                    resource.plural.clone(),
                );
                (path, Arc::clone(served))
            })
            .collect();
        self.current.store(Arc::new(Registry { by_path }));
    }
}
