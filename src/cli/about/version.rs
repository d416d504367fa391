//! `tidegate version`: what runs here, on the hub, and whether the two fit.
//!
//! `operate::versions` decides what counts as skew. Only reads the hub.

use std::process::ExitCode;

use clap::Args;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client};

use crate::cli::format::FormatParser;
use crate::cli::print::{OutputFormat, complain, document, print, print_document};
use crate::cli::settings::{self, SettingsArgs};
use crate::cli::{CliError, HubArgs, connect};
use api::definitions::{HubContext, Operator, Proof, extended, plan};
use kubernetes::field::Shown;
use operate::versions::{Definition, HubVersions, Versions, skew};

/// Print the versions of this program and of the hub, its controllers and its CRDs, and whether they are compatible.
///
/// Exit status: 0 compatible or unknown, 1 the hub does not respond, or a version is not compatible.
#[derive(Args, Clone, Debug)]
pub struct VersionArgs {
    /// Print only the version of this program; do not contact a hub.
    #[arg(long)]
    pub client: bool,
    /// Output format, or `jsonpath=TEMPLATE` as in kubectl.
    #[arg(short, long, value_name = "FORMAT", default_value = "text", value_parser = FormatParser::<OutputFormat>::new())]
    pub output: OutputFormat,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Where its controllers publish their version.
    #[command(flatten)]
    pub settings: SettingsArgs,
}

pub(in crate::cli) fn run(args: &VersionArgs) -> Result<ExitCode, CliError> {
    let mut versions = Versions {
        client: env!("CARGO_PKG_VERSION").to_owned(),
        ..Versions::default()
    };
    let mut fault = None;
    if !args.client {
        match asked(args) {
            Ok(hub) => {
                versions.skew = skew(&versions.client, &hub);
                versions.hub = Some(hub);
            }
            Err(error) => fault = Some(error),
        }
    }
    match args.output {
        OutputFormat::Text => print(&Shown::page(&versions.text()))?,
        OutputFormat::Json | OutputFormat::Yaml | OutputFormat::JsonPath(_) => {
            print_document(&document(&versions)?, args.output)?;
        }
    }
    if let Some(error) = &fault {
        complain(&Shown::line(&format!("tidegate: {}", error.one_line())));
    }
    Ok(ExitCode::from(u8::from(
        fault.is_some() || !versions.skew.is_empty(),
    )))
}

fn asked(args: &VersionArgs) -> Result<HubVersions, CliError> {
    let runtime = connect::runtime()?;
    runtime.block_on(async {
        let config = connect::config_of(&args.hub).await?;
        let url = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let client = connect::client(config)?;
        let kubernetes = client
            .apiserver_version()
            .await
            .map_err(CliError::acting("read the version of the hub"))?
            .git_version;
        let controllers = match &args.settings.settings.0 {
            None => None,
            Some(place) => settings::read(client.clone(), place).await.ok().flatten(),
        };
        Ok(HubVersions {
            url,
            kubernetes,
            controllers: controllers.and_then(|published| published.version),
            definitions: definitions_of(client).await?,
        })
    })
}

/// Reads the definitions of every kind; those that the user may not read are left out.
async fn definitions_of(client: Client) -> Result<Vec<Definition>, CliError> {
    let api: Api<CustomResourceDefinition> = Api::all(client);
    let ours = extended();
    // Only counted here: whether the fields would last is what `tidegate definitions plan` finds out.
    let around = HubContext {
        operator: Operator::Absent,
        proof: Proof::NotAsked,
    };
    let mut found = Vec::new();
    for name in api::crds().into_iter().filter_map(|crd| crd.metadata.name) {
        let stored = match api.get_opt(&name).await {
            Ok(stored) => stored,
            Err(kube::Error::Api(status)) if status.code == 403 => continue,
            Err(error) => return Err(CliError::acting("read the version of the hub")(error)),
        };
        let mut definition = Definition {
            name,
            served: Vec::new(),
            lacking: 0,
        };
        if let Some(stored) = stored {
            let versions = stored.spec.versions.iter().filter(|version| version.served);
            definition.served = versions.map(|version| version.name.clone()).collect();
            let whole =
                serde_json::to_value(&stored).map_err(CliError::acting("read the version of the hub"))?;
            let planned = ours
                .iter()
                .find(|(known, _)| *known == definition.name)
                .map(|(_, ours)| plan(&whole, ours, &around));
            definition.lacking = planned.map_or(0, |plan| plan.pending().count());
        }
        found.push(definition);
    }
    Ok(found)
}
