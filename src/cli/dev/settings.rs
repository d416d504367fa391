//! Publishes the settings of the controllers on a dev hub, as `serve` does.
//!
//! Only on a hub of our own: on another one, the settings would stay after these controllers have ended.

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use kube::core::ObjectMeta;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::debug;

use super::hub::Hub;
use crate::cli::DevArgs;
use crate::cli::settings::{place, publish, publish_once};

/// Goes on telling until it is dropped.
pub(super) async fn tell(hub: &Hub, args: &DevArgs, leading: watch::Receiver<bool>) -> JoinSet<()> {
    let mut telling = JoinSet::new();
    let (Hub::Own { .. }, place) = (hub, place(None)) else {
        return telling;
    };
    let namespaces: Api<Namespace> = Api::all(hub.client());
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some(place.namespace.clone()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    if let Err(error) = namespaces.create(&PostParams::default(), &namespace).await {
        debug!(
            error = &error as &dyn std::error::Error,
            "the namespace of the settings"
        );
    }
    // A tool that runs as soon as the hub is ready finds them.
    if let Err(error) = publish_once(&hub.client(), &place, &args.words.0).await {
        debug!(
            error = &error as &dyn std::error::Error,
            "the settings of the controllers"
        );
    }
    telling.spawn(publish(hub.client(), place, args.words.0.clone(), leading));
    telling
}
