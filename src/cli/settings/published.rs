//! The ConfigMap by which the controllers of a hub tell how they behave.
//!
//! Decides what is in it and who says so: the replica that writes, and only where it says something else. Holds no secret;
//! nothing rests on it: a command that cannot read it says so and uses flags.

use std::collections::BTreeMap;

use clap::Args;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::ObjectMeta;
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::watch;
use tracing::{info, warn};

use super::flags::Words;
use crate::cli::LeasePlace;
use crate::cli::options::{StockArg, stock_lease};

/// Where the controllers of a hub publish their settings.
#[derive(Args, Clone, Debug)]
pub struct SettingsArgs {
    /// ConfigMap in which the controllers publish their settings (`serve` writes it); `none`: do not read it.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = PLACE, value_parser = stock_lease)]
    pub settings: StockArg,
}

/// The default ConfigMap.
const PLACE: &str = "tidegate/tidegate-settings";
/// The name, in the namespace of the Lease.
const NAME: &str = "tidegate-settings";
/// The namespace without a Lease.
const NAMESPACE: &str = "tidegate";

/// Returns where the controllers of this process publish their settings: beside their Lease.
pub(in crate::cli) fn place(elect: Option<&LeasePlace>) -> LeasePlace {
    LeasePlace {
        namespace: elect.map_or_else(|| NAMESPACE.to_owned(), |lease| lease.namespace.clone()),
        name: NAME.to_owned(),
    }
}

/// The entry that is not a flag: the version of the controllers.
const VERSION: &str = "controllers-version";
const MANAGER: &str = "tidegate-settings";

/// The settings that the controllers of a hub publish.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Published {
    /// Their version.
    pub(in crate::cli) version: Option<String>,
    /// Their flags.
    pub(in crate::cli) words: Words,
}

impl Published {
    fn of(mut data: BTreeMap<String, String>) -> Self {
        let version = data.remove(VERSION);
        Self { version, words: data }
    }
}

fn data(words: &Words) -> BTreeMap<String, String> {
    let mut data = words.clone();
    data.insert(VERSION.to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    data
}

/// Reads the settings that the controllers of a hub publish: `None` without the ConfigMap, an error if it cannot be read.
pub(in crate::cli) async fn read(client: Client, place: &LeasePlace) -> Result<Option<Published>, String> {
    let LeasePlace { namespace, name } = place;
    let maps: Api<ConfigMap> = Api::namespaced(client, namespace);
    match maps.get_opt(name).await {
        Ok(found) => Ok(found.map(|map| Published::of(map.data.unwrap_or_default()))),
        Err(kube::Error::Api(status)) => Err(status.message.clone()),
        Err(error) => Err(error.to_string()),
    }
}

/// Publishes the settings of this process whenever it becomes the leader, until it is dropped.
pub(in crate::cli) async fn publish(
    client: Client,
    place: LeasePlace,
    words: Words,
    mut leading: watch::Receiver<bool>,
) {
    let data = data(&words);
    loop {
        if leading.wait_for(|leads| *leads).await.is_err() {
            return;
        }
        match write(&client, &place, &data).await {
            Ok(true) => info!(
                config_map = format!("{}/{}", place.namespace, place.name),
                "settings of the controllers published"
            ),
            Ok(false) => {}
            Err(error) => warn!(
                config_map = format!("{}/{}", place.namespace, place.name),
                error = &error as &dyn std::error::Error,
                "cannot publish the settings of the controllers; commands that plan need them as flags"
            ),
        }
        if leading.wait_for(|leads| !*leads).await.is_err() {
            return;
        }
    }
}

/// Publishes them now, whether or not this replica leads.
#[cfg(feature = "dev")]
pub(in crate::cli) async fn publish_once(
    client: &Client,
    place: &LeasePlace,
    words: &Words,
) -> Result<(), kube::Error> {
    write(client, place, &data(words)).await.map(drop)
}

/// Returns whether anything was written.
async fn write(
    client: &Client,
    place: &LeasePlace,
    data: &BTreeMap<String, String>,
) -> Result<bool, kube::Error> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &place.namespace);
    let Some(there) = maps.get_opt(&place.name).await? else {
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(place.name.clone()),
                namespace: Some(place.namespace.clone()),
                ..ObjectMeta::default()
            },
            data: Some(data.clone()),
            ..ConfigMap::default()
        };
        let params = PostParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PostParams::default()
        };
        maps.create(&params, &map).await?;
        return Ok(true);
    };
    let there = there.data.unwrap_or_default();
    if there == *data {
        return Ok(false);
    }
    // A flag that is no more goes; what is not ours to know cannot be told from it.
    let gone = there.keys().filter(|flag| !data.contains_key(*flag));
    let mut patch = json!(data);
    if let Some(fields) = patch.as_object_mut() {
        fields.extend(gone.map(|flag| (flag.clone(), serde_json::Value::Null)));
    }
    let params = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    maps.patch(&place.name, &params, &Patch::Merge(json!({"data": patch})))
        .await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reported_is_read_back_with_the_version() {
        let words = Words::from([
            ("compat".to_owned(), "ocm".to_owned()),
            ("removal-budget".to_owned(), "20,10%".to_owned()),
        ]);
        let read = Published::of(data(&words));
        assert_eq!(read.words, words);
        assert_eq!(read.version.as_deref(), Some(env!("CARGO_PKG_VERSION")));
    }
}
