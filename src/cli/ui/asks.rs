//! What the page reads when its user asks: why a cluster is where it is, and what the hub remembers of a rollout.
//!
//! Reads the hub as the requesting user. The texts are those of `tidegate why` and `tidegate rollout history`.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cli::connect::{self, HubConfig};
use crate::cli::rollout::{events, raw};
use crate::cli::{CliError, live};
use crate::ui::{Ask, Token};
use insight::cockpit::{Target, TargetKind};
use kubernetes::field::Listing;
use store::Settings;

/// A hub that can be read as different people.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) config: HubConfig,
    /// How its controllers behave now.
    pub(super) settings: watch::Receiver<Settings>,
}

impl Reader {
    fn client(&self, token: Option<&Token>) -> Result<Client, CliError> {
        let config = self.config.clone();
        connect::client(match token {
            Some(token) => config.bearing(token.text()),
            None => config,
        })
    }

    async fn read_why(
        self,
        token: Option<Token>,
        target: Target,
        cluster: String,
    ) -> Result<Value, CliError> {
        let client = self.client(token.as_ref())?;
        let hub = live::quietly(&client).await?;
        let (settings, now) = (self.settings.borrow().clone(), Timestamp::now());
        let judged = tokio::task::spawn_blocking(move || reasons(&hub, settings, now, &target, &cluster));
        let judged = judged
            .await
            .map_err(|source| CliError::Refused(Box::new(source)))?;
        judged.map_err(|why| CliError::Refused(why.into()))
    }

    async fn read_history(self, token: Option<Token>, target: Target) -> Result<Value, CliError> {
        let client = self.client(token.as_ref())?;
        let object = raw(&client, &target).await?;
        let told = events(&client, &target).await?;
        Ok(insight::cockpit::history_json(
            &target,
            &object,
            &told.own,
            &told.of_clusters,
        ))
    }
}

/// Returns the cause of the state of a cluster, as text and as JSON.
fn reasons(
    hub: &insight::offline::Hub,
    settings: Settings,
    now: Timestamp,
    target: &Target,
    cluster: &str,
) -> Result<Value, String> {
    match target.kind {
        TargetKind::ClusterManagementAddOn => insight::why::why(hub, settings, &target.name, Some(cluster), now)
            .map(|answer| json!({"text": insight::why::text(&answer, true, Listing::Whole), "answer": insight::why::json(&answer)}))
            .map_err(|error| error.to_string()),
        TargetKind::ManagedClustersUpgrade => {
            let name = format!("{}/{}", target.namespace, target.name);
            insight::why::why_upgrade(hub, settings, &name, Some(cluster), now)
                .map(|answer| json!({"text": insight::why::upgrade_text(&answer, Listing::Whole), "answer": insight::why::upgrade_json(&answer)}))
                .map_err(|error| error.to_string())
        }
    }
}

impl Ask for Reader {
    fn why(
        &self,
        token: Option<Token>,
        target: Target,
        cluster: String,
    ) -> BoxFuture<'static, Result<Value, String>> {
        let read = self.clone().read_why(token, target, cluster);
        read.map(|read| read.map_err(|error| error.one_line())).boxed()
    }

    fn history(&self, token: Option<Token>, target: Target) -> BoxFuture<'static, Result<Value, String>> {
        let read = self.clone().read_history(token, target);
        read.map(|read| read.map_err(|error| error.one_line())).boxed()
    }
}
