//! `tidegate version`: what runs here, on the hub, and whether the two fit.
//!
//! Decides what counts as skew. Only reads the hub.

use std::process::ExitCode;

use clap::Args;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client};
use semver::Version;
use serde::Serialize;

use crate::cli::print::{OutputFormat, complain, print};
use crate::cli::settings::{self, SettingsArgs};
use crate::cli::{CliError, HubArgs, connect};
use api::definitions::{HubContext, Operator, Proof, extended, plan};
use kubernetes::field::Shown;

/// The oldest minor version of Kubernetes 1 that a hub should have.
const OLDEST: u64 = 30;

/// Print the versions of this program and of the hub, its controllers and its definitions, and whether they fit.
///
/// Exit status: 0 they fit or it cannot be told, 1 the hub does not answer, or something does not fit.
#[derive(Args, Clone, Debug)]
pub struct VersionArgs {
    /// Ask no hub.
    #[arg(long)]
    pub client: bool,
    /// Form of the answer.
    #[arg(short, long, value_enum, value_name = "FORM", default_value_t = OutputFormat::Text)]
    pub output: OutputFormat,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Where its controllers tell their version.
    #[command(flatten)]
    pub settings: SettingsArgs,
}

/// All versions.
#[derive(Debug, Default, Serialize)]
struct Versions {
    client: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hub: Option<HubVersions>,
    /// What does not fit.
    skew: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
struct HubVersions {
    url: String,
    kubernetes: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    controllers: Option<String>,
    definitions: Vec<Definition>,
}

#[derive(Debug, Serialize)]
struct Definition {
    name: String,
    /// The versions that are served; none where the hub has no such kind.
    served: Vec<String>,
    /// How many of Tidegate's fields the definition lacks.
    lacking: usize,
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
        OutputFormat::Text => print(&Shown::page(&text(&versions)))?,
        OutputFormat::Json => {
            let page = serde_json::to_string_pretty(&versions).map_err(|source| CliError::Act {
                act: "write JSON",
                source: source.into(),
            })?;
            print(&Shown::json(&format!("{page}\n")))?;
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
        let kubernetes = client.apiserver_version().await.map_err(failed)?.git_version;
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

/// Looks at the definitions of every kind; what may not be read is left out.
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
            Err(error) => return Err(failed(error)),
        };
        let mut definition = Definition {
            name,
            served: Vec::new(),
            lacking: 0,
        };
        if let Some(stored) = stored {
            let versions = stored.spec.versions.iter().filter(|version| version.served);
            definition.served = versions.map(|version| version.name.clone()).collect();
            let whole = serde_json::to_value(&stored).map_err(failed)?;
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

/// What does not fit, in whole sentences.
fn skew(client: &str, hub: &HubVersions) -> Vec<String> {
    let mut all = Vec::new();
    if let Some((major, minor)) = kubernetes(&hub.kubernetes)
        && (major, minor) < (1, OLDEST)
    {
        all.push(format!(
            "the hub runs Kubernetes {}, Tidegate is made for 1.{OLDEST} and newer (docs/kubernetes-versions.md)",
            hub.kubernetes
        ));
    }
    let minor = |text: &str| {
        let version = Version::parse(text.trim_start_matches('v')).ok()?;
        Some((version.major, version.minor))
    };
    if let (Some(theirs), Some(here)) = (hub.controllers.as_deref(), minor(client))
        && minor(theirs).is_some_and(|theirs| theirs != here)
    {
        all.push(format!(
            "the controllers are {theirs}, this program is {client}: what it forecasts may not be what they do"
        ));
    }
    let absent: Vec<&str> = hub
        .definitions
        .iter()
        .filter(|definition| definition.served.is_empty())
        .map(|definition| definition.name.as_str())
        .collect();
    if !absent.is_empty() {
        all.push(format!(
            "the hub does not serve {}; Tidegate's own kinds: `tidegate crds | kubectl apply -f -`",
            kubernetes::field::listed(absent)
        ));
    }
    all
}

/// Major and minor of `v1.36.0+k3s1`.
fn kubernetes(text: &str) -> Option<(u64, u64)> {
    let mut parts = text.trim_start_matches('v').split('.');
    let number = |part: Option<&str>| {
        let part = part?;
        part.trim_end_matches(|one: char| !one.is_ascii_digit())
            .parse()
            .ok()
    };
    Some((number(parts.next())?, number(parts.next())?))
}

fn text(versions: &Versions) -> String {
    let mut lines = vec![format!("client       tidegate {}", versions.client)];
    if let Some(hub) = &versions.hub {
        lines.push(format!(
            "hub          Kubernetes {} at {}",
            hub.kubernetes, hub.url
        ));
        let controllers = hub.controllers.as_deref();
        lines.push(controllers.map_or_else(
            || "controllers  no Tidegate tells its version there".to_owned(),
            |version| format!("controllers  tidegate {version}"),
        ));
        let mut head = "definitions";
        for definition in &hub.definitions {
            let served = if definition.served.is_empty() {
                "not served".to_owned()
            } else {
                definition.served.join(", ")
            };
            let lacking = match definition.lacking {
                0 => String::new(),
                1 => "; lacks a field of Tidegate's (tidegate definitions plan)".to_owned(),
                count => format!("; lacks {count} fields of Tidegate's (tidegate definitions plan)"),
            };
            lines.push(format!("{head:12} {}: {served}{lacking}", definition.name));
            head = "";
        }
    }
    for skew in &versions.skew {
        lines.push(format!("skew         {skew}"));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn failed(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CliError {
    CliError::Act {
        act: "ask the hub for its version",
        source: source.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn hub(kubernetes: &str, controllers: Option<&str>, served: &[&str]) -> HubVersions {
        HubVersions {
            url: "https://hub:6443".to_owned(),
            kubernetes: kubernetes.to_owned(),
            controllers: controllers.map(str::to_owned),
            definitions: vec![Definition {
                name: "clustermanagementaddons.addon.open-cluster-management.io".to_owned(),
                served: served.iter().map(ToString::to_string).collect(),
                lacking: 2,
            }],
        }
    }

    #[test]
    fn what_fits_has_no_skew() {
        assert!(skew("0.1.0", &hub("v1.36.1", Some("0.1.7"), &["v1alpha1"])).is_empty());
        assert!(skew("0.1.0", &hub("v1.30.0+k3s1", None, &["v1alpha1"])).is_empty());
        assert!(skew("0.1.0", &hub("something", None, &["v1alpha1"])).is_empty());
    }

    #[test]
    fn old_hubs_other_controllers_and_absent_kinds_are_told() {
        let hub = hub("v1.27.3", Some("0.2.0"), &[]);
        let versions = Versions {
            client: "0.1.0".to_owned(),
            skew: skew("0.1.0", &hub),
            hub: Some(hub),
        };
        expect![[r#"
            client       tidegate 0.1.0
            hub          Kubernetes v1.27.3 at https://hub:6443
            controllers  tidegate 0.2.0
            definitions  clustermanagementaddons.addon.open-cluster-management.io: not served; lacks 2 fields of Tidegate's (tidegate definitions plan)
            skew         the hub runs Kubernetes v1.27.3, Tidegate is made for 1.30 and newer (docs/kubernetes-versions.md)
            skew         the controllers are 0.2.0, this program is 0.1.0: what it forecasts may not be what they do
            skew         the hub does not serve "clustermanagementaddons.addon.open-cluster-management.io"; Tidegate's own kinds: `tidegate crds | kubectl apply -f -`
        "#]]
        .assert_eq(&text(&versions));
    }
}
