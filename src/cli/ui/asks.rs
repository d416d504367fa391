//! What the page reads when its user asks: why a cluster is where it is, and what the hub remembers of a rollout; and what its user does.
//!
//! Reads and writes the hub as the requesting user. The texts are those of `tidegate why`, `tidegate rollout history` and the verbs of
//! `tidegate rollout`.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::settings::{freezes_of, settings_of};
use crate::cli::connect::{self, HubConfig};
use crate::cli::print::document;
use crate::cli::rollout::{
    FreezeFields, NotAllowed, Request, Steering, begin_freeze, duration, end_freeze, events, label, raw,
    steered_from,
};
use crate::cli::{CliError, live};
use crate::ui::{Action, Ask, FreezeAction, FreezeWish, NotDone, Token};
use insight::cockpit::{
    Line, Picture, RolloutHistory, SteerClient, Stopwatch, Target, TargetKind, revisions,
};
use kubernetes::field::{Listing, quoted};
use store::{Settings, Store};

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
        let settings = self.settings.borrow().clone();
        let (hub, store) = live::with_reasons(&client, settings).await?;
        let now = Timestamp::now();
        let judged = tokio::task::spawn_blocking(move || reasons(&hub, &store, now, &target, &cluster));
        let judged = judged
            .await
            .map_err(|source| CliError::Refused(Box::new(source)))?;
        judged.map_err(|why| CliError::Refused(why.into()))
    }

    async fn read_history(self, token: Option<Token>, target: Target) -> Result<Value, CliError> {
        let client = self.client(token.as_ref())?;
        let object = raw(&client, &target).await?;
        let told = events(&client, &target).await?;
        document(&RolloutHistory::of(
            &target,
            &object,
            &told.own,
            &told.of_clusters,
        ))
    }
}

impl Reader {
    async fn read_changes(self, token: Option<Token>, target: Target) -> Result<Value, CliError> {
        let client = self.client(token.as_ref())?;
        let settings = self.settings.borrow().clone();
        let store = live::store(&client, settings).await?;
        let read = tokio::task::spawn_blocking(move || {
            let picture = Picture::of(&store, &target, &Stopwatch::default(), Timestamp::now());
            let changes = picture.map(|picture| insight::cockpit::field_changes(&store, &picture));
            (changes.unwrap_or_default(), revisions(&store, &target))
        });
        let (items, revisions) = read.await.map_err(|source| CliError::Refused(Box::new(source)))?;
        Ok(json!({"items": items, "revisions": revisions}))
    }

    async fn read_settings(self, token: Option<Token>, target: Target) -> Result<Value, CliError> {
        settings_of(&self.client(token.as_ref())?, &target).await
    }

    async fn read_freezes(self, token: Option<Token>) -> Result<Value, CliError> {
        let found = freezes_of(&self.client(token.as_ref())?, Timestamp::now()).await?;
        let hidden = found.is_none();
        Ok(json!({"items": found.unwrap_or_default(), "hidden": hidden}))
    }

    async fn write_freeze(self, token: Option<Token>, action: FreezeAction) -> Result<Value, CliError> {
        let FreezeAction {
            name,
            begins,
            dry_run,
        } = action;
        let fields = begins.map(fields_of).transpose()?;
        let client = self.client(token.as_ref())?;
        let text = match fields {
            Some(fields) => begin_freeze(client, &name, &fields, dry_run).await?.join("\n"),
            None => end_freeze(client, &name, dry_run).await?,
        };
        Ok(json!({"dryRun": dry_run, "text": text}))
    }

    /// What a verb writes is decided from the hub as the user sees it, and written with the token of the user.
    async fn write(self, token: Option<Token>, target: Target, action: Action) -> Result<Value, CliError> {
        let client = self.client(token.as_ref())?;
        let settings = self.settings.borrow().clone();
        let store = live::store(&client, settings).await?;
        let request = Request {
            dry_run: action.dry_run,
            force: action.force,
            client: SteerClient::WebPage,
        };
        let steering = Steering {
            name: &target.told(),
            verb: &action.verb,
            reason: action.reason.as_deref(),
            request,
        };
        let written = steered_from(&client, store, steering).await?;
        let lines: Vec<String> = written.iter().map(Line::text).collect();
        Ok(json!({"dryRun": action.dry_run, "text": lines.join("\n")}))
    }
}

/// Reads what a user enters as the flags of `tidegate rollout freeze`.
fn fields_of(wish: FreezeWish) -> Result<FreezeFields, CliError> {
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let (until, length) = (given(wish.until), given(wish.length));
    if wish.reason.trim().is_empty() {
        return Err(CliError::Refused(
            "reason: required, because each cluster that waits shows it".into(),
        ));
    }
    if until.is_some() && length.is_some() {
        return Err(CliError::Refused(
            "a freeze has an end or a length, not both".into(),
        ));
    }
    let refused = |field: &str, text: &str, why: String| {
        CliError::Refused(format!("{field}: Invalid value: {}: {why}", quoted(text)).into())
    };
    let length = length
        .map(|text| duration(&text).map_err(|why| refused("for", &text, why)))
        .transpose()?;
    let labels = wish
        .cluster_labels
        .iter()
        .map(|text| label(text).map_err(|why| refused("clusterLabels", text, why)));
    Ok(FreezeFields {
        reason: wish.reason.trim().to_owned(),
        from: given(wish.from),
        until,
        length,
        cluster_label: labels.collect::<Result<_, _>>()?,
        addon: wish.add_ons,
        without_upgrades: wish.without_upgrades,
    })
}

/// Tells apart what the user may not do, what cannot be done now, and a hub that does not answer.
fn not_done(error: &CliError) -> NotDone {
    let why = error.one_line();
    match error {
        CliError::Serve { source, .. } if source.is::<NotAllowed>() => {
            NotDone::NotAllowed(source.to_string())
        }
        CliError::Serve { source, .. } => NotDone::Rejected(source.to_string()),
        CliError::Refused(_) => NotDone::Rejected(why),
        _ => NotDone::Failed(why),
    }
}

/// Returns the cause of the state of a cluster, as text and as JSON.
fn reasons(
    hub: &insight::offline::Hub,
    store: &Store,
    now: Timestamp,
    target: &Target,
    cluster: &str,
) -> Result<Value, String> {
    let (text, answer) = match target.kind {
        TargetKind::ClusterManagementAddOn => {
            let answer = insight::why::why_from(hub, store, &target.name, Some(cluster), now)
                .map_err(|error| error.to_string())?;
            let text = insight::why::text(&answer, true, Listing::Whole);
            (text, document(&insight::why::addon_diagnosis(&answer)))
        }
        TargetKind::ManagedClustersUpgrade => {
            let name = format!("{}/{}", target.namespace, target.name);
            let answer = insight::why::why_upgrade_from(store, &name, Some(cluster), now)
                .map_err(|error| error.to_string())?;
            let text = insight::why::upgrade_text(&answer, Listing::Whole);
            (text, document(&insight::why::upgrade_diagnosis(&answer)))
        }
    };
    Ok(json!({"text": text, "answer": answer.map_err(|error| error.one_line())?}))
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

    fn changes(&self, token: Option<Token>, target: Target) -> BoxFuture<'static, Result<Value, String>> {
        let read = self.clone().read_changes(token, target);
        read.map(|read| read.map_err(|error| error.one_line())).boxed()
    }

    fn settings(&self, token: Option<Token>, target: Target) -> BoxFuture<'static, Result<Value, String>> {
        let read = self.clone().read_settings(token, target);
        read.map(|read| read.map_err(|error| error.one_line())).boxed()
    }

    fn act(
        &self,
        token: Option<Token>,
        target: Target,
        action: Action,
    ) -> BoxFuture<'static, Result<Value, NotDone>> {
        let written = self.clone().write(token, target, action);
        written.map(|done| done.map_err(|error| not_done(&error))).boxed()
    }

    fn freezes(&self, token: Option<Token>) -> BoxFuture<'static, Result<Value, String>> {
        let read = self.clone().read_freezes(token);
        read.map(|read| read.map_err(|error| error.one_line())).boxed()
    }

    fn freeze(
        &self,
        token: Option<Token>,
        action: FreezeAction,
    ) -> BoxFuture<'static, Result<Value, NotDone>> {
        let written = self.clone().write_freeze(token, action);
        written.map(|done| done.map_err(|error| not_done(&error))).boxed()
    }

    fn history(&self, token: Option<Token>, target: Target) -> BoxFuture<'static, Result<Value, String>> {
        let read = self.clone().read_history(token, target);
        read.map(|read| read.map_err(|error| error.one_line())).boxed()
    }
}
