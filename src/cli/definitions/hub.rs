//! The hub of `tidegate definitions`: reads definitions, asks about the conversion, writes patches.
//!
//! Decides how often something is tried. The only writes are JSON patches of definitions, and the question about the conversion is
//! never stored.

use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::Value;

use crate::cli::{CliError, HubArgs, connect};
use api::definitions::{
    HubContext, Operator, Proof, converter, is_answered_by_tidegate, is_established, other_versions, probe,
    version_annotation,
};

/// Who owns the fields that are added.
const MANAGER: &str = "tidegate-definitions";
/// The definition that only a hub with the operator has.
const OF_OPERATOR: &str = "clustermanagers.operator.open-cluster-management.io";
/// Definitions that the operator writes and no other program takes over: what it has written on them is its own version.
const UNTOUCHED: [&str; 3] = [
    "managedclusters.cluster.open-cluster-management.io",
    "manifestworks.work.open-cluster-management.io",
    "placements.cluster.open-cluster-management.io",
];
/// The kind that is asked about the conversion.
const ASKED: &str = "clustermanagementaddons.addon.open-cluster-management.io";
/// How long a definition may take to be served again.
const LOOKS: usize = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// The definitions of a hub.
pub(super) struct Definitions {
    client: Client,
    api: Api<DynamicObject>,
}

impl Definitions {
    pub(super) async fn of(hub: &HubArgs) -> Result<Self, CliError> {
        let client = connect::client(connect::config_of(hub).await?)?;
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let resource = ApiResource::from_gvk_with_plural(&kind, "customresourcedefinitions");
        let api = Api::all_with(client.clone(), &resource);
        Ok(Self { client, api })
    }

    pub(super) async fn read(&self, name: &str) -> Result<Option<Value>, CliError> {
        let found = self
            .api
            .get_opt(name)
            .await
            .map_err(CliError::acting("read the hub's definitions"))?;
        found.map(whole).transpose()
    }

    /// Finds out who else has a say about definitions. `live` are those that may be changed.
    pub(super) async fn hub_context(&self, live: &[Value]) -> Result<HubContext, CliError> {
        Ok(HubContext {
            operator: self.operator().await?,
            proof: self.proof(live).await,
        })
    }

    async fn operator(&self) -> Result<Operator, CliError> {
        if self.read(OF_OPERATOR).await?.is_none() {
            return Ok(Operator::Absent);
        }
        for name in UNTOUCHED {
            let found = self.read(name).await?;
            if let Some(version) = found.as_ref().and_then(version_annotation) {
                return Ok(Operator::Present(Some(version.to_owned())));
            }
        }
        Ok(Operator::Present(None))
    }

    /// Tests whether the conversion of the hub loses anything, if there is one.
    async fn proof(&self, live: &[Value]) -> Proof {
        let asked = live.iter().find(|one| is_named(one, ASKED));
        let Some((address, others)) = asked.and_then(|one| Some((converter(one)?, other_versions(one))))
        else {
            return Proof::NotAsked;
        };
        if !others.iter().any(|other| other == "v1beta1") {
            return Proof::NotAsked;
        }
        let question = match serde_json::from_value::<DynamicObject>(probe()) {
            Ok(question) => question,
            Err(error) => return Proof::Unanswered(error.to_string()),
        };
        let kind = GroupVersionKind::gvk(
            "addon.open-cluster-management.io",
            "v1beta1",
            "ClusterManagementAddOn",
        );
        let resource = ApiResource::from_gvk_with_plural(&kind, "clustermanagementaddons");
        let params = PostParams {
            dry_run: true,
            field_manager: Some(MANAGER.to_owned()),
        };
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        match api.create(&params, &question).await.map(whole) {
            Ok(Ok(answer)) if is_answered_by_tidegate(&answer) => Proof::Lossless(address),
            Ok(Ok(_)) => Proof::Loses(address),
            Ok(Err(error)) => Proof::Unanswered(error.one_line()),
            Err(error) => Proof::Unanswered(format!(
                "an add-on in v1beta1 could not be created with dryRun=All: {}",
                said(&error)
            )),
        }
    }

    /// Changes a definition, and waits until the hub serves it again; returns it as it is then.
    pub(super) async fn patch(&self, name: &str, patch: &[Value], dry_run: bool) -> Result<Value, CliError> {
        let operations = serde_json::from_value::<json_patch::Patch>(patch.iter().cloned().collect())
            .map_err(|source| cannot_write(source.into()))?;
        let params = PatchParams {
            dry_run,
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch: Patch<Value> = Patch::Json(operations);
        let answer = self.api.patch(name, &params, &patch).await;
        let mut stored = answer.map_err(|error| refused(name, &error)).and_then(whole)?;
        for _ in 0..LOOKS {
            if is_established(&stored) {
                return Ok(stored);
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
            stored = self.read(name).await?.unwrap_or_default();
        }
        let words = format!("{name} was changed, but the hub does not serve it; see its status.conditions");
        Err(cannot_write(words.into()))
    }
}

fn is_named(definition: &Value, name: &str) -> bool {
    definition.pointer("/metadata/name").and_then(Value::as_str) == Some(name)
}

fn whole(object: DynamicObject) -> Result<Value, CliError> {
    serde_json::to_value(object).map_err(CliError::acting("read the hub's definitions"))
}

fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.to_string(),
        other => other.to_string(),
    }
}

/// The patch tests what it rests on: it fails when another client was faster.
fn refused(name: &str, error: &kube::Error) -> CliError {
    let hint = match error {
        kube::Error::Api(status) if [409, 422].contains(&status.code) => {
            "; if another client changed the definition at the same time, run the command again"
        }
        _ => "",
    };
    cannot_write(format!("{name}: {}{hint}", said(error)).into())
}

pub(super) fn cannot_write(source: Box<dyn std::error::Error + Send + Sync>) -> CliError {
    CliError::Serve {
        part: "the change of a definition",
        source,
    }
}
