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

/// Print the custom resource definitions of Tidegate's own kinds.
///
/// Open Cluster Management's kinds are not among them: a hub that has them serves more versions than one, and an apply of other
/// definitions would take those away from every client. Tidegate works on a hub's own definitions as they are.
#[derive(Args, Clone, Debug)]
pub struct CrdsArgs {
    /// Print the kinds of Open Cluster Management as well, for a hub that has not got them: to try Tidegate, and for tests.
    ///
    /// The hub is asked first; one that has any of them already is refused.
    #[arg(long)]
    pub for_hub_without_ocm: bool,
    /// Print JSON Schemas for editors instead: of every kind in every version, Open Cluster Management's too.
    ///
    /// Printed is the one that judges every document of a file by its `apiVersion` and `kind`; with --output it is `all.json`, and beside
    /// it stands one for each kind and version, such as `clustermanagementaddon_v1alpha1.json`. The hub is not asked.
    #[arg(long, conflicts_with = "for_hub_without_ocm")]
    pub json_schema: bool,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Write one file a definition or schema into this folder instead of printing them all.
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
            reason: "the hub is only asked with --for-hub-without-ocm".to_owned(),
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

/// Prints the schema of everything, or writes all of them.
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

/// Asks the hub for its definitions, and refuses one that has some that are not ours.
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
        "the hub has {} of Open Cluster Management already ({}); these would take the versions away that it serves. \
         Tidegate works on them as they are: apply `tidegate crds` without --for-hub-without-ocm",
        counted(found.len(), "definition"),
        listed(found.iter().map(String::as_str))
    );
    Err(CliError::Refused(words.into()))
}

/// The kinds whose definitions are on the hub and were not made by us.
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
