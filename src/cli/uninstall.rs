//! `tidegate uninstall`: deletes what `tidegate install` creates, the webhooks first.
//!
//! Decides the order and what stays. Deletes only objects that `install` can have created, by name, after the user has seen the list.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum as _};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Preconditions};
use kube::discovery::{ApiCapabilities, Scope};
use kube::{Api, Client, Discovery};
use serde_json::Value;

use super::install::{CertifierArg, EXTRAS, WORKLOADS, namespace};
use super::print::{complain, print};
use super::{CliError, HubArgs, connect};
use crate::files::{Access, write};
use kubernetes::field::{Shown, counted};
use operate::kit::{
    Backstop, Choice, Definitions, Extra, KitError, MatchConditions, Place, Webhooks, WhileUnavailable,
    Workloads, objects,
};

/// Tidegate's default namespace.
const TIDEGATE: &str = "tidegate";
/// What no request may wait for while the rest is deleted.
const FIRST: [&str; 4] = [
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
];
const DEFINITION: &str = "CustomResourceDefinition";
const NAMESPACE: &str = "Namespace";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// Uninstall Tidegate from a hub: the webhooks first, then what `install` created.
///
/// Prints what it deletes, and asks for a confirmation. Add-ons, ManifestWorks and the statuses of add-ons stay. The definitions of
/// Tidegate's kinds and their objects stay, too, without --definitions. An installation by Helm is left to `helm uninstall`. See
/// `docs/operate/uninstall.md` before you start.
/// Exit status: 0 deleted or nothing to delete, 1 not confirmed, or the hub rejected a deletion, 2 cannot be determined.
#[derive(Args, Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct UninstallArgs {
    /// Namespace of the installation.
    #[arg(short, long, value_name = "NAMESPACE", default_value = TIDEGATE, value_parser = namespace)]
    pub namespace: String,
    /// Keep the namespace; a namespace other than `tidegate` is always kept.
    #[arg(long)]
    pub keep_namespace: bool,
    /// Also delete the definitions of Tidegate's kinds, and with them all objects of these kinds.
    #[arg(long)]
    pub definitions: bool,
    /// Write the objects of Tidegate's kinds to this file first (YAML), to apply them after another installation.
    #[arg(long, value_name = "FILE", requires = "definitions")]
    pub save: Option<PathBuf>,
    /// Do not ask for a confirmation.
    #[arg(short, long)]
    pub yes: bool,
    /// Print what would be deleted; nothing is deleted.
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
}

/// An object that is there.
struct Standing {
    api: Api<DynamicObject>,
    kind: String,
    namespace: String,
    name: String,
    uid: Option<String>,
    helm: bool,
}

impl Standing {
    fn told(&self) -> String {
        if self.namespace.is_empty() {
            format!("{} {}", self.kind, self.name)
        } else {
            format!("{} {}/{}", self.kind, self.namespace, self.name)
        }
    }
}

pub(super) fn run(args: &UninstallArgs) -> Result<ExitCode, CliError> {
    let wanted = created(args).map_err(|error| CliError::Refused(Box::new(error)))?;
    connect::serving_runtime()?.block_on(async {
        let config = connect::config_of(&args.hub).await?;
        let url = config.cluster_url.to_string();
        let hub = HubKinds::of(connect::client(config)?).await?;
        hub.refuse_conversion(&args.namespace).await?;
        let found = hub.standing(&wanted).await?;
        if found.is_empty() {
            print(&Shown::line(&format!(
                "nothing to delete: the hub {url} has no object of an installation in namespace {}",
                args.namespace
            )))?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(one) = found.iter().find(|one| one.helm) {
            let words = format!(
                "{} was installed by Helm: run `helm uninstall`, as docs/operate/uninstall.md shows",
                one.told()
            );
            return Err(CliError::Refused(words.into()));
        }
        let mut page = format!("{} to delete from {url}:\n", counted(found.len(), "object"));
        for one in &found {
            page.extend(["  ", &one.told(), "\n"]);
        }
        page.push_str(stays(args));
        print(&Shown::page(&page))?;
        if args.dry_run {
            return Ok(ExitCode::SUCCESS);
        }
        if !args.yes && !is_confirmed()? {
            print(&Shown::line("nothing was deleted"))?;
            return Ok(ExitCode::from(1));
        }
        if let Some(path) = &args.save {
            hub.save(&wanted, path).await?;
        }
        deleted(&found).await
    })
}

/// Returns what stays, for the user.
fn stays(args: &UninstallArgs) -> &'static str {
    if args.definitions {
        "Add-ons and ManifestWorks stay. All objects of Tidegate's kinds are deleted with their definitions.\n"
    } else {
        "Add-ons, ManifestWorks, and the definitions and objects of Tidegate's kinds stay.\n"
    }
}

/// Asks the user at the terminal.
fn is_confirmed() -> Result<bool, CliError> {
    if !std::io::stdin().is_terminal() {
        let words =
            "nothing was deleted: standard input is not a terminal, so there is no confirmation; use --yes";
        return Err(CliError::Refused(words.into()));
    }
    complain(&Shown::line("Delete them? [y/N]"));
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(CliError::acting("read the confirmation"))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Returns all objects that an installation can have, in the order in which they are deleted: of all choices that `install` offers.
fn created(args: &UninstallArgs) -> Result<Vec<Value>, KitError> {
    let mut found: Vec<Value> = Vec::new();
    let mut seen = BTreeSet::new();
    for certifier in CertifierArg::value_variants() {
        for (_, _, workloads) in WORKLOADS {
            // The webhook alone has no web page.
            let extras = EXTRAS.iter().map(|(_, _, extra)| *extra);
            let extras = extras.filter(|extra| *workloads != Workloads::Gate || *extra != Extra::WebPage);
            let choice = Choice {
                namespace: args.namespace.clone(),
                place: if args.namespace == TIDEGATE && !args.keep_namespace {
                    Place::Own
                } else {
                    Place::Existing
                },
                image: TIDEGATE.to_owned(),
                certificates: certifier.with_authority(None),
                workloads: *workloads,
                extras: extras.collect(),
                webhooks: Webhooks::With,
                definitions: if args.definitions {
                    Definitions::With
                } else {
                    Definitions::Without
                },
                while_unavailable: WhileUnavailable::Admit,
                match_conditions: MatchConditions::With,
                backstop: Backstop::Except(BTreeSet::new()),
            };
            let objects = objects(&choice)?;
            found.extend(objects.into_iter().filter(|object| seen.insert(identity(object))));
        }
    }
    found.reverse();
    found.sort_by_key(|object| {
        let kind = text(object, "/kind");
        let first = FIRST.iter().position(|known| *known == kind);
        // The namespace and the definitions take other objects with them.
        let last = usize::from(kind == DEFINITION) + 2 * usize::from(kind == NAMESPACE);
        (last, first.unwrap_or(FIRST.len()))
    });
    Ok(found)
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn identity(object: &Value) -> [String; 4] {
    ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"]
        .map(|pointer| text(object, pointer).to_owned())
}

/// The kinds that a hub serves.
struct HubKinds {
    client: Client,
    discovery: Discovery,
}

impl HubKinds {
    async fn of(client: Client) -> Result<Self, CliError> {
        let discovery = Discovery::new(client.clone());
        let discovery = discovery.run().await.map_err(CliError::acting("read the hub"))?;
        Ok(Self { client, discovery })
    }

    fn served(&self, api_version: &str, kind: &str) -> Option<(ApiResource, ApiCapabilities)> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let groups = self.discovery.groups().filter(|known| known.name() == group);
        let mut resources = groups.flat_map(kube::discovery::ApiGroup::resources_by_stability);
        resources.find(|(resource, _)| resource.kind == kind)
    }

    fn api(&self, resource: &ApiResource, scope: &Scope, namespace: &str) -> Api<DynamicObject> {
        if *scope == Scope::Cluster || namespace.is_empty() {
            Api::all_with(self.client.clone(), resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, resource)
        }
    }

    /// Returns those of these objects that are there.
    async fn standing(&self, wanted: &[Value]) -> Result<Vec<Standing>, CliError> {
        let mut found = Vec::new();
        for object in wanted {
            let Some((resource, about)) = self.served(text(object, "/apiVersion"), text(object, "/kind"))
            else {
                continue;
            };
            let (namespace, name) = (
                text(object, "/metadata/namespace"),
                text(object, "/metadata/name"),
            );
            let api = self.api(&resource, &about.scope, namespace);
            let known = api
                .get_opt(name)
                .await
                .map_err(CliError::acting("read the hub"))?;
            found.extend(known.map(|known| {
                Standing {
                    api,
                    kind: resource.kind,
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                    uid: known.metadata.uid,
                    helm: known
                        .metadata
                        .labels
                        .and_then(|labels| labels.get(MANAGED_BY).cloned())
                        == Some("Helm".to_owned()),
                }
            }));
        }
        Ok(found)
    }

    /// OCM's definitions must not convert with a webhook that is deleted.
    async fn refuse_conversion(&self, namespace: &str) -> Result<(), CliError> {
        let Some((resource, about)) = self.served("apiextensions.k8s.io/v1", DEFINITION) else {
            return Ok(());
        };
        let api = self.api(&resource, &about.scope, "");
        for plural in ["clustermanagementaddons", "managedclusteraddons"] {
            let name = format!("{plural}.addon.open-cluster-management.io");
            let found = api
                .get_opt(&name)
                .await
                .map_err(CliError::acting("read the hub"))?;
            let service = found.as_ref().and_then(|found| {
                found
                    .data
                    .pointer("/spec/conversion/webhook/clientConfig/service")
            });
            let is_ours = service.is_some_and(|service| {
                text(service, "/namespace") == namespace && text(service, "/name").starts_with(TIDEGATE)
            });
            if is_ours {
                let words = format!(
                    "the definition {name} converts with the webhook of Tidegate, without which no client can read its objects in \
                     other versions: run `tidegate definitions revert`, and set spec.conversion to the webhook of OCM first"
                );
                return Err(CliError::Refused(words.into()));
            }
        }
        Ok(())
    }

    /// Writes the objects of the definitions that are deleted to a file.
    async fn save(&self, wanted: &[Value], path: &std::path::Path) -> Result<(), CliError> {
        let mut page = String::new();
        for definition in wanted.iter().filter(|object| text(object, "/kind") == DEFINITION) {
            let group = text(definition, "/spec/group");
            let Some((resource, _)) =
                self.served(&format!("{group}/v1"), text(definition, "/spec/names/kind"))
            else {
                continue;
            };
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
            let all = api.list(&ListParams::default()).await;
            for mut object in all.map_err(CliError::acting("read the hub"))? {
                object.metadata.managed_fields = None;
                object.metadata.resource_version = None;
                object.metadata.uid = None;
                object.types = Some(kube::api::TypeMeta {
                    api_version: resource.api_version.clone(),
                    kind: resource.kind.clone(),
                });
                let text = serde_saphyr::to_string(&object).map_err(CliError::serving("the YAML writer"))?;
                page.push_str("---\n");
                page.push_str(&text);
            }
        }
        write(path, &page, Access::Private).map_err(CliError::writing(path))
    }
}

/// Deletes objects in their order; one that the hub does not delete ends it.
async fn deleted(found: &[Standing]) -> Result<ExitCode, CliError> {
    for one in found {
        let params = DeleteParams {
            preconditions: one.uid.clone().map(|uid| Preconditions {
                uid: Some(uid),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match one.api.delete(&one.name, &params).await {
            Ok(_) => print(&Shown::line(&format!("deleted {}", one.told())))?,
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(kube::Error::Api(status)) => {
                complain(&Shown::line(&format!(
                    "tidegate: the hub did not delete {}: {}",
                    one.told(),
                    status.message
                )));
                return Ok(ExitCode::from(1));
            }
            Err(error) => return Err(CliError::acting("write to the hub")(error)),
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: UninstallArgs,
    }

    fn kinds(line: &str) -> Vec<String> {
        let words = std::iter::once("tidegate").chain(line.split_whitespace());
        let args = Line::try_parse_from(words).expect("it parses").args;
        let all = created(&args).expect("objects");
        all.iter()
            .map(|object| text(object, "/kind").to_owned())
            .collect()
    }

    #[test]
    fn the_commands_of_the_page_save_all_kinds() {
        let page = include_str!("../../docs/operate/uninstall.md");
        let commands: Vec<&str> = page.lines().filter(|line| line.contains("> kept.yaml")).collect();
        assert_eq!(commands.len(), 2, "{commands:?}");
        let args = Line::try_parse_from(["tidegate", "--definitions"])
            .expect("it parses")
            .args;
        let all = created(&args).expect("objects");
        for definition in all.iter().filter(|object| text(object, "/kind") == DEFINITION) {
            let plural = text(definition, "/spec/names/plural");
            assert!(commands.iter().all(|line| line.contains(plural)), "{plural}");
        }
    }

    #[test]
    fn the_webhooks_go_first_and_the_namespace_last() {
        let all = kinds("");
        let first = all.iter().position(|kind| !FIRST.contains(&kind.as_str()));
        let last = all.iter().rposition(|kind| FIRST.contains(&kind.as_str()));
        assert!(last < first, "{all:?}");
        assert_eq!(all.last().map(String::as_str), Some(NAMESPACE));
        assert!(!all.contains(&DEFINITION.to_owned()), "{all:?}");
        for kept in ["--keep-namespace", "--namespace other"] {
            assert!(!kinds(kept).contains(&NAMESPACE.to_owned()), "{kept}");
        }
        assert!(kinds("--definitions").contains(&DEFINITION.to_owned()));
    }
}
