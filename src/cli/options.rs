//! The options that subcommands share: how words become settings.
//!
//! Decides only how words become values. Never knows a subcommand.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use apimachinery::duration::GoDuration;
use apimachinery::names::{is_dns1123_label, is_dns1123_subdomain};
use clap::Args;

use super::{AuditArgs, DoorArgs};
use crate::admission::BlastRadius;
use crate::controllers::TideOptions;
use crate::model::HubNamespaces;
use crate::snapshot::{
    AgentGroups, ClusterConfigs, DiscoveryLabels, EmptyLifecycle, HookTimeout, Managing, Name, RemovalBudget,
    RollUps, Settings, TimeoutPolicy, Vocabulary, service_account,
};

/// Guard and drive a hub: serve admission over TLS and run the controllers.
///
/// The hub is the one of the kubeconfig (flag, else KUBECONFIG, else the service account of the pod). It must have the
/// definitions of `tidegate crds` beside OCM's own, and be told to ask the gate: `tidegate reference webhooks`.
/// Several replicas need `--elect`, so that only one of them writes. Ends on SIGINT or SIGTERM after the requests under way.
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    /// Kubeconfig of the hub.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Run one half alone, so that the open port and the writing have an identity each (`docs/replicas.md`).
    ///
    /// The gate alone writes nothing. The controllers alone open no port but that of `--metrics`, which then tells their health
    /// too, and need no certificate.
    #[arg(long, value_enum, value_name = "HALF")]
    pub only: Option<Only>,
    /// Address to serve admission on.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9443")]
    pub bind: SocketAddr,
    /// Certificate, callers, probes and metrics.
    #[command(flatten)]
    pub door: DoorArgs,
    /// Lease by which several replicas elect the one that writes; every replica answers admission.
    ///
    /// The Lease is made if it is not there; the namespace is not. Without the flag this replica writes by itself.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = lease)]
    pub elect: Option<LeasePlace>,
    /// What the gate decides by.
    #[command(flatten)]
    pub gate: GateArgs,
    /// How the controllers behave.
    #[command(flatten)]
    pub tide: TideArgs,
    /// What agents may have on the hub.
    #[command(flatten)]
    pub rights: RightsArgs,
    /// Whether stored objects are audited.
    #[command(flatten)]
    pub audit: AuditArgs,
    /// Form of the log on standard error: lines for people, or one object of JSON a line.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// How many seconds to go on serving after a signal, until routes to this server are withdrawn.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=300))]
    pub linger: u64,
}

/// Form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// A line an event, coloured on a terminal unless NO_COLOR is set.
    #[default]
    Text,
    /// An object of JSON an event: time, level, target, message, facts.
    Json,
}

/// One half of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Only {
    /// Serves admission, and writes nothing.
    Gate,
    /// Writes, and serves no admission.
    Controllers,
}

/// What agents of add-ons may have on the hub: the same for the gate and the controllers.
#[derive(Args, Clone, Debug, Default)]
pub struct RightsArgs {
    /// Namespaces in which agents of add-ons may have roles on the hub, separated by commas (`docs/registration.md`).
    ///
    /// They are added to the namespace of the agent's own cluster and the one that is called like the add-on.
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',')]
    pub hub_permission_namespaces: Vec<String>,
}

impl RightsArgs {
    /// Returns the namespaces.
    pub(super) fn namespaces(&self) -> HubNamespaces {
        HubNamespaces::of(self.hub_permission_namespaces.iter().map(String::as_str))
    }
}

/// Where the Lease of the replicas lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasePlace {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

fn lease(text: &str) -> Result<LeasePlace, String> {
    let fits = |part: &str| !part.is_empty() && !part.contains('/');
    match text.split_once('/') {
        Some((namespace, name)) if fits(namespace) && fits(name) => Ok(LeasePlace {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }),
        Some(_) | None => Err("write a namespace and a name, for instance tidegate/leader".to_owned()),
    }
}

/// What the gate decides by, whatever hub it guards.
#[derive(Args, Clone, Debug, Default)]
pub struct GateArgs {
    /// What findings of rules do, by rule, add-on and namespace: a YAML list of settings (`docs/enforcement.md`).
    ///
    /// For instance `[{rule: "rollout/*", action: Warn, addons: ["edge-*"]}]`; actions are Off, Audit, Warn and Deny, and
    /// the last setting that matches counts. Without the file every rule does what its page says.
    #[arg(long, value_name = "FILE")]
    pub enforcement: Option<PathBuf>,
    /// Folder of policies (YAML): users' own rules, beside those on the hub. Changed files are taken up without a restart.
    ///
    /// Reads AddOnPolicy, and Kubernetes' ValidatingAdmissionPolicy and MutatingAdmissionPolicy with their bindings. A policy
    /// that does not compile leaves its last good version in force (`docs/policies.md`).
    #[arg(long, value_name = "DIR")]
    pub policies: Option<PathBuf>,
    /// How many percent of an add-on's clusters one edit may take it from, or move at once, before the gate warns (default 50).
    #[arg(long, value_name = "PERCENT", value_parser = blast_radius)]
    pub blast_radius: Option<BlastRadius>,
}

fn blast_radius(text: &str) -> Result<BlastRadius, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let percent = number.parse().ok().and_then(BlastRadius::percent);
    percent.ok_or_else(|| "must be a share from 0 to 100 percent".to_owned())
}

/// Reads a service account, and returns the user by which a hub knows it.
fn account(text: &str) -> Result<Name, String> {
    match text.split_once('/') {
        Some((namespace, name)) if is_dns1123_label(namespace) && is_dns1123_subdomain(name) => {
            Ok(service_account(namespace, name))
        }
        Some(_) | None => Err("write the namespace and the name of a service account".to_owned()),
    }
}

/// The words of the `Progressing` condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Reasons {
    /// `Installing`, `InstallSucceed`, `Upgrading`, …
    Lifecycle,
    /// `Progressing`, `Completed`, `Failed`, as current OCM writes them.
    Ocm,
}

/// How the controllers behave, whatever hub they drive.
#[derive(Args, Clone, Debug)]
pub struct TideArgs {
    /// Words of the `Progressing` condition.
    #[arg(long, value_enum, value_name = "WORDS", default_value_t = Reasons::Lifecycle)]
    pub progressing_reasons: Reasons,
    /// How long an add-on stays on a cluster that nothing selects any more, for instance `10s` or `2m`; 0 removes it at once.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = length)]
    pub decision_grace: Duration,
    /// How many instances of an add-on may be taken away in a minute: a number, a share, or the larger of both (`20,10%`); an add-on
    /// with no more instances than the number has no budget. `unlimited` holds nothing.
    #[arg(long, value_name = "BUDGET", default_value = "20,10%", value_parser = removal_budget)]
    pub removal_budget: RemovalBudget,
    /// What a ClusterManagementAddOn means whose lifecycle annotation is there, but empty.
    #[arg(long, value_enum, value_name = "WHO", default_value_t = EmptyMeans::Managed)]
    pub empty_lifecycle: EmptyMeans,
    /// Which ClusterManagementAddOns are managed: all that do not manage themselves, or only those with the annotation
    /// `addon.open-cluster-management.io/lifecycle: tidegate`, beside another manager that has the others.
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Manage::All)]
    pub manage: Manage,
    /// Namespace of the secrets of custom signers for which a template names none.
    #[arg(long, value_name = "NAMESPACE", default_value = "open-cluster-management-hub")]
    pub signing_namespace: String,
    /// Service account of the hub's gRPC server: its requests for certificates are those of the agents that it names.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "open-cluster-management-hub/grpc-server-sa", value_parser = account)]
    pub grpc_server_account: Name,
    /// How an edit of a configuration that a ManagedClusterAddOn refers to by itself travels.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = ClusterConfigsArg::AtOnce)]
    pub cluster_configs: ClusterConfigsArg,
    /// To whom the permissions of an add-on's agent are given, beside its user.
    #[arg(long, value_enum, value_name = "WHOSE", default_value_t = AgentGroupsArg::Cluster)]
    pub agent_groups: AgentGroupsArg,
    /// How long an agent may be unavailable after a change until that counts as a failure, for instance `30s` or `2m`.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = length)]
    pub startup_time: Duration,
    /// How long pre-delete hooks may take before an add-on goes without them (`10m`, `1h30m`); 0 waits for ever.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = hook_timeout)]
    pub hook_timeout: HookTimeout,
    /// What happens to an add-on whose pre-delete hooks have not completed in time.
    #[arg(long, value_enum, value_name = "POLICY", default_value_t = AfterHooks::Release)]
    pub hook_timeout_policy: AfterHooks,
    /// Whether clusters are labelled with their add-ons: `feature.open-cluster-management.io/addon-<name>`.
    #[arg(long, value_enum, value_name = "SWITCH", default_value_t = Switch::On)]
    pub discovery_labels: Switch,
}

/// Which add-ons are managed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Manage {
    /// All that do not manage themselves.
    All,
    /// Only those that are marked for Tidegate.
    Marked,
}

/// What an empty lifecycle annotation means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum EmptyMeans {
    /// The hub manages the add-on, as if there were no annotation.
    Managed,
    /// The add-on manages itself, as current OCM reads it.
    #[value(name = "self")]
    Own,
}

/// Reads a length of time as Kubernetes writes it.
fn length(text: &str) -> Result<Duration, String> {
    let read = GoDuration::parse(text).ok().and_then(GoDuration::length);
    read.ok_or_else(|| "must be a length of time, such as 10s, 1m30s or 0".to_owned())
}

/// How an edit of a cluster's own configuration travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ClusterConfigsArg {
    /// To all its clusters at once, whatever the rollout strategy is, as OCM does.
    AtOnce,
    /// By the rollout strategy of the cluster's placement.
    Rollout,
}

/// To whom the permissions of an add-on's agent are given, beside its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AgentGroupsArg {
    /// To the group of the add-on on the agent's cluster.
    Cluster,
    /// Also to the group of the add-on on all clusters, as OCM does: each of its agents may then do what any of them may.
    Stock,
}

/// What happens to an add-on whose pre-delete hooks have not completed in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AfterHooks {
    /// It goes without them.
    Release,
    /// It stays until they complete or are skipped.
    Block,
}

/// Whether something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

fn removal_budget(text: &str) -> Result<RemovalBudget, String> {
    RemovalBudget::parse(text).ok_or_else(|| "write for instance 50, 5%, 20,10% or unlimited".to_owned())
}

fn hook_timeout(text: &str) -> Result<HookTimeout, String> {
    HookTimeout::parse(text).ok_or_else(|| "write for instance 90s, 10m or 1h30m, or 0 for no end".to_owned())
}

impl From<&TideArgs> for TideOptions {
    fn from(args: &TideArgs) -> Self {
        let reasons = match args.progressing_reasons {
            Reasons::Lifecycle => Vocabulary::Lifecycle,
            Reasons::Ocm => Vocabulary::Ocm,
        };
        Self {
            settings: Settings {
                reasons,
                hook_timeout: args.hook_timeout,
                hook_timeout_policy: match args.hook_timeout_policy {
                    AfterHooks::Release => TimeoutPolicy::Release,
                    AfterHooks::Block => TimeoutPolicy::Block,
                },
                discovery_labels: match args.discovery_labels {
                    Switch::On => DiscoveryLabels::On,
                    Switch::Off => DiscoveryLabels::Off,
                },
                decision_grace: args.decision_grace,
                managing: match args.manage {
                    Manage::All => Managing::All,
                    Manage::Marked => Managing::Marked,
                },
                empty_lifecycle: match args.empty_lifecycle {
                    EmptyMeans::Managed => EmptyLifecycle::Managed,
                    EmptyMeans::Own => EmptyLifecycle::Own,
                },
                cluster_configs: match args.cluster_configs {
                    ClusterConfigsArg::AtOnce => ClusterConfigs::AtOnce,
                    ClusterConfigsArg::Rollout => ClusterConfigs::Rollout,
                },
                agent_groups: match args.agent_groups {
                    AgentGroupsArg::Cluster => AgentGroups::Cluster,
                    AgentGroupsArg::Stock => AgentGroups::Stock,
                },
                roll_ups: RollUps::InOwnKind,
                grpc_server: args.grpc_server_account.clone(),
                startup: args.startup_time,
                removal_budget: args.removal_budget,
                hub_namespaces: HubNamespaces::default(),
            },
            signing_namespace: args.signing_namespace.as_str().into(),
            ..Self::default()
        }
    }
}

/// Print generated references.
#[derive(Args, Clone, Debug)]
pub struct ReferenceArgs {
    /// Which reference.
    #[arg(value_enum)]
    pub topic: Topic,
    /// Webhooks for hubs before Kubernetes 1.28: without match conditions, which these drop, and without the webhook that fails
    /// closed, which would then hold up every add-on while the gate is away.
    #[arg(long)]
    pub without_conditions: bool,
    /// File with the secret that ends the path of every question, as `tidegate serve --path-secret` reads it; its first line counts.
    #[arg(long, value_name = "FILE")]
    pub path_secret: Option<PathBuf>,
    /// Webhooks for a gate at this address, such as `https://gate.example:9443`, instead of the service `tidegate/tidegate`.
    ///
    /// The API server has to reach it, and to trust its certificate: write the authority into `caBundle` where the system's
    /// own do not know it.
    #[arg(long, value_name = "URL", value_parser = gate_url)]
    pub url: Option<String>,
}

/// What an API server takes for the address of a webhook: a host, and no more than a path behind it.
fn gate_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").unwrap_or_default();
    let odd = |letter: char| "@?#".contains(letter) || !letter.is_ascii_graphic();
    if rest.is_empty() || rest.starts_with(['/', ':']) || rest.contains(odd) {
        return Err("must be https://HOST[:PORT], without user, query or fragment".to_owned());
    }
    Ok(text.to_owned())
}

/// What `tidegate reference` can print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Topic {
    /// Every built-in rule of the gate (Markdown).
    Rules,
    /// Every subcommand and flag (Markdown).
    Cli,
    /// The webhook configurations, for a gate behind a service or at `--url` (YAML).
    Webhooks,
}
