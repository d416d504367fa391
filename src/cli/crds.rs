//! `tidegate crds`: prints the custom resource definitions, or schemas for editors.
//!
//! Decides for which hub they are: our own kinds for every hub, Open Cluster Management's only for one that has not got them. What
//! they contain `api` decides. Only reads the hub.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::PartialObjectMeta;
use kube::{Api, Client};

use super::print::print;
use super::{CliError, HubArgs, connect};
use crate::files::{Access, write};
use api::names::annotations::HUB_WITHOUT_OCM;
use kubernetes::field::{Shown, counted, listed};

/// Print the custom resource definitions (CRDs) of Tidegate's own kinds.
///
/// The CRDs of Open Cluster Management (OCM) are not included: the hub's own CRDs serve more versions, and applying these would
/// remove versions that other clients use. Tidegate works with the hub's own CRDs unchanged.
#[derive(Args, Clone, Debug)]
pub struct CrdsArgs {
    /// Also print the CRDs of Open Cluster Management, for a hub without OCM (demos and tests).
    ///
    /// Reads the hub first, and fails if the hub has any of these CRDs.
    #[arg(long)]
    pub for_hub_without_ocm: bool,
    /// Print JSON Schemas for editors instead, for every kind and version, including those of Open Cluster Management.
    ///
    /// Prints one schema that validates every document of a file by its `apiVersion` and `kind`. With --output, this schema is
    /// `all.json`, and there is one file per kind and version, such as `clustermanagementaddon_v1alpha1.json`. Does not contact
    /// the hub.
    #[arg(long, conflicts_with = "for_hub_without_ocm")]
    pub json_schema: bool,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Write one file per CRD or schema into this folder instead of standard output.
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

pub(super) fn run(args: &CrdsArgs) -> Result<(), CliError> {
    let theirs: Vec<CustomResourceDefinition> =
        api::crds().into_iter().filter(|crd| !api::is_ours(crd)).collect();
    if args.for_hub_without_ocm {
        refuse_known(&theirs, &args.hub)?;
    }
    if !args.for_hub_without_ocm && args.hub.is_given() {
        return Err(CliError::ReadFlag {
            flag: "kubeconfig",
            reason: "flags for the hub require --for-hub-without-ocm".to_owned(),
        });
    }
    if args.json_schema {
        return schemas(args.output.as_deref());
    }
    let is_printed = |crd: &CustomResourceDefinition| args.for_hub_without_ocm || api::is_ours(crd);
    let files: Vec<(String, String)> = api::crds()
        .into_iter()
        .filter(is_printed)
        .map(|crd| crd.spec.names.plural)
        .filter_map(|name| api::crds_yaml(&name).map(|text| (format!("{name}.yaml"), text)))
        .collect();
    let Some(dir) = &args.output else {
        let texts: Vec<String> = files.iter().map(|(_, text)| format!("---\n{text}")).collect();
        return print(&Shown::page(&texts.concat()));
    };
    keep(dir, &files)
}

/// Prints the combined schema, or writes all schemas.
fn schemas(folder: Option<&Path>) -> Result<(), CliError> {
    let all = api::json_schemas().into_iter();
    let mut files: Vec<(String, String)> = all
        .map(|(name, schema)| (format!("{name}.json"), format!("{schema:#}\n")))
        .collect();
    if let Some(folder) = folder {
        return keep(folder, &files);
    }
    files.retain(|(name, _)| name.strip_suffix(".json") == Some(api::EVERYTHING));
    files.iter().try_for_each(|(_, text)| print(&Shown::page(text)))
}

/// Writes files into a folder.
fn keep(dir: &Path, files: &[(String, String)]) -> Result<(), CliError> {
    fs::create_dir_all(dir).map_err(|source| CliError::PrepareFolder {
        dir: dir.to_owned(),
        source,
    })?;
    for (name, text) in files {
        let path = dir.join(name);
        write(&path, text, Access::Shared).map_err(CliError::writing(&path))?;
    }
    Ok(())
}

/// Reads the definitions of the hub, and fails if it has definitions of OCM that Tidegate did not create.
fn refuse_known(theirs: &[CustomResourceDefinition], hub: &HubArgs) -> Result<(), CliError> {
    let runtime = connect::runtime()?;
    let found = runtime.block_on(async {
        let client = connect::client(connect::config_of(hub).await?)?;
        known(client, theirs)
            .await
            .map_err(CliError::acting("read the hub's definitions"))
    })?;
    if found.is_empty() {
        return Ok(());
    }
    let words = format!(
        "the hub already has {} of Open Cluster Management ({}); the printed definitions would remove versions that the hub \
         serves. Tidegate works with the hub's own definitions: apply `tidegate crds` without --for-hub-without-ocm",
        counted(found.len(), "definition"),
        listed(found.iter().map(String::as_str))
    );
    Err(CliError::Refused(words.into()))
}

/// Returns the kinds whose definitions exist on the hub and were not created by Tidegate.
async fn known(client: Client, theirs: &[CustomResourceDefinition]) -> Result<Vec<String>, kube::Error> {
    let definitions: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(client);
    let mut found = Vec::new();
    for crd in theirs {
        let name = crd.metadata.name.as_deref().unwrap_or_default();
        let Some(stored) = definitions.get_opt(name).await? else {
            continue;
        };
        let annotations = stored.metadata.annotations.unwrap_or_default();
        if !annotations.contains_key(HUB_WITHOUT_OCM) {
            found.push(crd.spec.names.kind.clone());
        }
    }
    Ok(found)
}
