//! A hub in memory from outside: read once from a live hub, from a dump of one, or from manifests.
//!
//! Decides how much is read at once and what is left out. Only lists and gets: a hub cannot be changed from here, and no
//! Secret is read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{ApiResource, GroupVersionKind};
use kube::{Api, Client, Discovery};
use serde_json::Value;

use super::error::not_served;
use super::print::{complain, note};
use super::settings::{BehaviourArgs, ControllerArgs, SettingsArgs, SettingsReading, Words};
use super::terminal::Progress;
use super::{CliError, HubArgs, LeasePlace, check, connect};
use crate::controllers::{one, pages, resource};
use crate::files;
use admission::HubDefinitions;
use api::names::OWN_GROUP;
use api::v1alpha1::{GROUP, VERSION};
use insight::offline::{Definition, Dump, Hub};
use insight::why::kept;
use kubernetes::field::Shown;
use operate::release::{is_alive, is_ours};
use store::{
    ConfigLookup, ConfigRef, Event, Fence, Kind, ObjectKey, ObservedConfig, Settings, Store, absence,
};

/// The most objects of one kind: a hub with more is too large for one file.
const MOST: usize = 200_000;
/// The largest dump, in bytes.
const LARGEST_DUMP: u64 = 1 << 30;

/// Reads everything that the store would watch from a hub.
pub(super) fn read(which: &HubArgs) -> Result<Hub, CliError> {
    let progress = Progress::begin("reading the hub");
    blocking(which, async |client| noted(&client, &progress).await)
}

/// Reads the objects of these kinds; none of a kind that the hub does not serve.
#[cfg(feature = "top")]
pub(super) fn objects_of(which: &HubArgs, kinds: &[Kind]) -> Result<Vec<(Kind, Value)>, CliError> {
    blocking(which, async |client| {
        let mut found = Vec::new();
        for kind in kinds.iter().copied() {
            let objects = list(&client, kind).await?.unwrap_or_default();
            found.extend(objects.into_iter().map(|object| (kind, object)));
        }
        Ok(found)
    })
}

/// What a verb plans or judges on: a hub, when it was read, and what could be read of the settings of its controllers.
pub(super) struct HubReading {
    pub(super) hub: Hub,
    pub(super) now: Timestamp,
    pub(super) settings: SettingsReading,
}

impl HubReading {
    /// Returns it in the form of a dump.
    pub(super) fn into_dump(self) -> Dump {
        let (controllers, controllers_unread) = match self.settings {
            SettingsReading::Published(words) => (words, None),
            SettingsReading::Absent(_) | SettingsReading::NotRead => (Words::new(), None),
            SettingsReading::Unread(why) => (Words::new(), Some(why)),
        };
        Dump {
            taken_at: self.now,
            hub: self.hub,
            controllers,
            controllers_unread,
        }
    }
}

/// Reads a hub, and what its controllers publish of their settings.
pub(super) fn seen(which: &HubArgs, settings: &SettingsArgs) -> Result<HubReading, CliError> {
    let progress = Progress::begin("reading the hub");
    blocking(which, async |client| {
        let settings = settings.read(client.clone()).await;
        Ok(HubReading {
            now: Timestamp::now(),
            hub: noted(&client, &progress).await?,
            settings,
        })
    })
}

/// Reads how a hub defines the kinds that are judged.
pub(super) fn definitions(which: &HubArgs) -> Result<HubDefinitions, CliError> {
    let names = api::crds().into_iter().map(|definition| {
        let spec = definition.spec;
        format!("{}.{}", spec.names.plural, spec.group)
    });
    let names: BTreeSet<String> = names.collect();
    blocking(which, async |client| {
        Ok(HubDefinitions::of(&stored_definitions(&client, &names).await?))
    })
}

/// Reads the CustomResourceDefinitions of these names that the hub has. Where the hub does not show them, those of this program
/// count, and a line says so.
async fn stored_definitions(client: &Client, names: &BTreeSet<String>) -> Result<Vec<Value>, CliError> {
    let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "customresourcedefinitions");
    let mut found = Vec::new();
    for name in names {
        match one(client, &resource, "", name).await {
            Ok(read) => found.extend(read),
            Err(kube::Error::Api(status)) if status.code == 403 => {
                complain(&Shown::line(&format!(
                    "tidegate: cannot read the CRDs of the hub, using those of this version: {}",
                    status.message
                )));
                break;
            }
            Err(error) => return Err(CliError::acting("read the hub")(error)),
        }
    }
    Ok(found)
}

/// Reads the settings in effect on a hub, and notes for the user.
pub(super) fn behaviour(
    which: &HubArgs,
    behaviour: &BehaviourArgs,
) -> Result<(ControllerArgs, Vec<String>), CliError> {
    let reading = blocking(which, async |client| Ok(behaviour.settings.read(client).await))?;
    behaviour.quietly(&reading)
}

/// Returns whether OCM's own manager acts on a hub, by its Lease. A user who may not read the Lease gets no answer from it.
pub(super) fn fence(which: &HubArgs, stock: Option<&LeasePlace>, now: Timestamp) -> Result<Fence, CliError> {
    let Some(place) = stock else {
        return Ok(Fence::Open);
    };
    let acts = lease(which, place)?.is_some_and(|lease| is_alive(&lease, now) && !is_ours(&lease));
    Ok(if acts { Fence::Closed } else { Fence::Open })
}

fn blocking<T>(which: &HubArgs, ask: impl AsyncFnOnce(Client) -> Result<T, CliError>) -> Result<T, CliError> {
    let runtime = connect::runtime()?;
    runtime.block_on(async {
        let client = connect::client(connect::config_of(which).await?)?;
        ask(client).await
    })
}

/// Reads a Lease; nothing where there is none, or none that may be seen.
fn lease(which: &HubArgs, place: &LeasePlace) -> Result<Option<Value>, CliError> {
    blocking(which, async |client| {
        let leases: Api<Lease> = Api::namespaced(client, &place.namespace);
        let found = leases.get_opt(&place.name).await.ok().flatten();
        found
            .map(|lease| serde_json::to_value(lease).map_err(CliError::acting("read the hub")))
            .transpose()
    })
}

/// Reads a dump where one is named, and the hub where none is.
pub(super) fn dump_or_seen(
    path: Option<&Path>,
    which: &HubArgs,
    behaviour: &BehaviourArgs,
) -> Result<HubReading, CliError> {
    let Some(path) = path else {
        return seen(which, &behaviour.settings);
    };
    let dump = dump(path)?;
    Ok(HubReading {
        settings: behaviour.settings.of_dump(&dump),
        hub: dump.hub,
        now: dump.taken_at,
    })
}

/// Reads a dump, or a file or folder of manifests that describes a hub.
pub(super) fn dump(path: &Path) -> Result<Dump, CliError> {
    let unreadable = |source| CliError::ReadFile {
        path: path.to_owned(),
        source,
    };
    if path.is_dir() {
        let folder = check::read([&path.to_owned()])?;
        if let Some(fault) = folder.unreadable.first() {
            let why = format!("{}: {}", fault.spot.file, fault.message);
            return Err(unreadable(std::io::Error::other(why)));
        }
        let texts = folder
            .files
            .iter()
            .map(|file| (file.path.as_str(), file.text.as_str()));
        return manifests(texts).map_err(|why| unreadable(std::io::Error::other(why)));
    }
    let text = files::read_text(path, LARGEST_DUMP).map_err(unreadable)?;
    Dump::read(&text).or_else(|error| {
        let objects = has_objects(&text).then(|| manifests([("", text.as_str())]));
        let read = objects.unwrap_or_else(|| Err(error.to_string()));
        read.map_err(|why| unreadable(std::io::Error::other(why)))
    })
}

/// Returns whether a text that is no dump has manifests.
fn has_objects(text: &str) -> bool {
    let reading = lint::source::read(text);
    let mut objects = reading.documents.iter().flat_map(lint::source::objects);
    objects.any(|object| {
        ["apiVersion", "kind"]
            .iter()
            .all(|field| object.value.get(field).is_some_and(Value::is_string))
    })
}

/// Returns the hub that manifests describe, now.
fn manifests<'t>(texts: impl IntoIterator<Item = (&'t str, &'t str)>) -> Result<Dump, String> {
    let mut hub = Hub::default();
    for (path, text) in texts {
        let reading = lint::source::read(text);
        if let Some(fault) = reading.faults.first() {
            let separator = if path.is_empty() { "" } else { ": " };
            return Err(format!(
                "{path}{separator}line {}: {}",
                fault.at.line, fault.message
            ));
        }
        for object in reading.documents.iter().flat_map(lint::source::objects) {
            hub.put_file(object.value);
        }
    }
    Ok(Dump {
        taken_at: Timestamp::now(),
        hub,
        controllers: Words::new(),
        controllers_unread: None,
    })
}

/// Reads a hub. Without the CRD of add-ons, it would look like a hub without add-ons.
async fn noted(client: &Client, progress: &Progress) -> Result<Hub, CliError> {
    let mut absent = Vec::new();
    let found = hub(client, &|now| progress.now(now), &mut absent).await?;
    if absent.contains(&Kind::AddOn) {
        note(&not_served(Kind::AddOn));
    }
    Ok(found)
}

async fn hub(client: &Client, told: &(dyn Fn(&str) + Sync), absent: &mut Vec<Kind>) -> Result<Hub, CliError> {
    let mut hub = Hub::default();
    for kind in Kind::ALL {
        told(&format!("reading the hub: {}", kind.address().resource));
        let found = list(client, kind).await?;
        // What agents may do is not concluded from objects that the hub does not show.
        let is_withheld = found.is_none() && kind.is_never_guessed();
        if found.is_none() && !kind.may_be_withheld() {
            absent.push(kind);
        }
        for object in found.into_iter().flatten() {
            hub.put(object);
        }
        if !is_withheld {
            hub.complete(kind);
        }
    }
    for policy in policies(client).await? {
        hub.put(policy);
    }
    let mut kinds: BTreeSet<String> = BTreeSet::new();
    for kind in Kind::ALL {
        let address = kind.address();
        if [GROUP, OWN_GROUP].contains(&address.group) {
            kinds.insert(format!("{}.{}", address.resource, address.group));
        }
    }
    kinds.extend(answer(client, &mut hub).await?);
    for definition in stored_definitions(client, &kinds).await? {
        if let Some(definition) = Definition::of(&definition) {
            hub.define(definition);
        }
    }
    Ok(hub)
}

/// Returns all objects of a kind; nothing when the hub has no such kind, or does not show one that the others can do without.
async fn list(client: &Client, kind: Kind) -> Result<Option<Vec<Value>>, CliError> {
    all(client, &resource(kind), kind.selector(), kind_is_absent(kind)).await
}

/// Tells from the code of an error whether the hub has no such kind, or does not show one that the others can do without.
fn kind_is_absent(kind: Kind) -> impl Fn(u16) -> bool {
    move |code| code == 404 || (code == 403 && kind.may_be_withheld())
}

async fn all(
    client: &Client,
    resource: &ApiResource,
    labels: Option<String>,
    is_absent: impl Fn(u16) -> bool,
) -> Result<Option<Vec<Value>>, CliError> {
    let mut objects = Vec::new();
    let is_served = each_page(client, resource, labels, is_absent, |page| {
        objects.extend(page);
        objects.len()
    });
    Ok(is_served.await?.then_some(objects))
}

/// Passes the objects on in pages, to a function that returns how many there are so far. Returns whether the hub serves the kind.
async fn each_page(
    client: &Client,
    resource: &ApiResource,
    labels: Option<String>,
    is_absent: impl Fn(u16) -> bool,
    mut take: impl FnMut(Vec<Value>) -> usize,
) -> Result<bool, CliError> {
    let mut pages = pages(client, resource, labels);
    while let Some(page) = pages.next().await {
        let count = match page {
            Ok(page) => take(page),
            Err(kube::Error::Api(status)) if is_absent(status.code) => return Ok(false),
            Err(error) => return Err(CliError::acting("read the hub")(error)),
        };
        if count > MOST {
            let why = format!("the hub has more than {MOST} objects of kind {}", resource.kind);
            return Err(CliError::acting("read the hub")(std::io::Error::other(why)));
        }
    }
    Ok(true)
}

/// Returns the policies of the hub; none where it has no such kind, or does not show it, as for the gate.
async fn policies(client: &Client) -> Result<Vec<Value>, CliError> {
    let mut all = policies_of(client, OWN_GROUP).await?;
    // The group that the kind had before.
    all.extend(policies_of(client, GROUP).await?);
    Ok(all)
}

async fn policies_of(client: &Client, group: &str) -> Result<Vec<Value>, CliError> {
    let gvk = GroupVersionKind::gvk(group, VERSION, "AddOnPolicy");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "addonpolicies");
    let found = all(client, &resource, None, |code| matches!(code, 403 | 404)).await;
    Ok(found?.unwrap_or_default())
}

/// Reads everything that the store would watch, a page at a time: of a large hub, the objects together need ten times the memory of
/// the store.
pub(super) async fn store(client: &Client, settings: Settings) -> Result<Store, CliError> {
    store_with(client, settings, |_, _| {}).await
}

/// Reads the same, and what reasons need of the objects themselves.
pub(super) async fn with_reasons(client: &Client, settings: Settings) -> Result<(Hub, Store), CliError> {
    let mut hub = Hub::default();
    let store = store_with(client, settings, |kind, object| {
        if let Some(object) = kept(kind, object) {
            hub.put(object);
        }
    });
    let store = store.await?;
    Ok((hub, store))
}

async fn store_with(
    client: &Client,
    settings: Settings,
    mut look: impl FnMut(Kind, &Value),
) -> Result<Store, CliError> {
    let mut store = Store::new(settings);
    for kind in Kind::ALL {
        let (resource, mut keys) = (resource(kind), BTreeSet::new());
        let is_served = each_page(client, &resource, kind.selector(), kind_is_absent(kind), |page| {
            for object in page {
                look(kind, &object);
                keys.insert(ObjectKey::of(kind, &object));
                store.apply(Event::Applied { kind, object });
            }
            keys.len()
        });
        let is_withheld = !is_served.await? && kind.is_never_guessed();
        store.apply(if is_withheld {
            Event::Withheld { kind }
        } else {
            Event::ListEnded { kind, keys }
        });
    }
    while let Some(lookout) = store.take_watch_list() {
        let (answers, _) = answers(client, lookout.begin).await?;
        for (config, answer) in answers {
            store.apply(Event::Answered { config, answer });
        }
    }
    Ok(store)
}

/// Reads the configurations of foreign kinds that specs refer to; returns the names of their definitions.
async fn answer(client: &Client, hub: &mut Hub) -> Result<BTreeSet<String>, CliError> {
    // A store that has heard no answers asks for everything.
    let mut store = Store::new(Settings::default());
    for (key, object) in hub.objects() {
        store.apply(Event::Applied {
            kind: key.kind,
            object: Value::clone(object),
        });
    }
    let mut wanted: Vec<ConfigRef> = Vec::new();
    while let Some(lookout) = store.take_watch_list() {
        wanted.extend(lookout.begin);
    }
    let (answers, kinds) = answers(client, wanted).await?;
    for (config, answer) in answers {
        hub.answer(config, answer);
    }
    Ok(kinds)
}

/// Reads configurations of foreign kinds; returns the names of their definitions, too. One that may not be read stays unknown.
async fn answers(
    client: &Client,
    wanted: impl IntoIterator<Item = ConfigRef>,
) -> Result<(Vec<(ConfigRef, ConfigLookup)>, BTreeSet<String>), CliError> {
    let is_secret = |config: &ConfigRef| config.of.group.is_empty() && &*config.of.resource == "secrets";
    let mut wanted = wanted.into_iter().filter(|config| !is_secret(config)).peekable();
    let (mut answers, mut kinds) = (Vec::new(), BTreeSet::new());
    if wanted.peek().is_none() {
        return Ok((answers, kinds));
    }
    let served = served(client).await?;
    for config in wanted {
        let of = (config.of.group.to_string(), config.of.resource.to_string());
        let Some((resource, namespaced)) = served.get(&of) else {
            continue;
        };
        if resource.group.contains('.') {
            kinds.insert(format!("{}.{}", resource.plural, resource.group));
        }
        if let Some(answer) = look(client, resource, *namespaced, &config).await? {
            answers.push((config, answer));
        }
    }
    Ok((answers, kinds))
}

type Served = BTreeMap<(String, String), (ApiResource, bool)>;

async fn served(client: &Client) -> Result<Served, CliError> {
    let discovery = Discovery::new(client.clone())
        .run()
        .await
        .map_err(CliError::acting("read the hub"))?;
    let groups = discovery.groups();
    Ok(groups
        .flat_map(kube::discovery::ApiGroup::resources_by_stability)
        .map(|(resource, capabilities)| {
            let namespaced = capabilities.scope == kube::discovery::Scope::Namespaced;
            (
                (resource.group.clone(), resource.plural.clone()),
                (resource, namespaced),
            )
        })
        .collect())
}

async fn look(
    client: &Client,
    resource: &ApiResource,
    namespaced: bool,
    config: &ConfigRef,
) -> Result<Option<ConfigLookup>, CliError> {
    if namespaced == config.namespace.is_empty() {
        return Ok(Some(ConfigLookup::Absent(absence(config, namespaced))));
    }
    match one(client, resource, &config.namespace, &config.name).await {
        Ok(Some(object)) => Ok(Some(ConfigLookup::Exists(ObservedConfig::of(&object)))),
        Ok(None) => Ok(Some(ConfigLookup::Absent(absence(config, namespaced)))),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
        Err(error) => Err(CliError::acting("read the hub")(error)),
    }
}
