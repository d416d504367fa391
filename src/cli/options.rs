//! The options that subcommands share: how words become settings.
//!
//! Decides only how arguments become values, independent of subcommands.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kubernetes::names::{is_dns1123_label, is_dns1123_subdomain};

use super::words::{Choices, LeasePlace, lease, length, one_of};
use crate::controllers::{CheckEndpoint, HttpEndpoint, HttpUrl, TideOptions};
use admission::BlastRadius;
use model::{HubNamespaces, ReservedSigner, ReservedSigners};
use store::{
    AgentGroups, ClusterConfigs, Compat, DiscoveryLabels, EmptyLifecycle, Failures, Fence, HookTimeout,
    Managing, Name, RemovalBudget, RollUps, Settings, TemplateSharing, TimeoutPolicy, UnsetVariables,
    Vocabulary, service_account,
};

/// Default leader election Lease of OCM's add-on manager.
pub(super) const STOCK_LEASE: &str = "open-cluster-management-hub/manager-lock";

/// Mode of the controllers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ControllersMode {
    /// Do not run the controllers, only the webhook.
    Off,
    /// Plan and report what would be written, and write nothing.
    Observe,
    /// Manage add-ons.
    #[default]
    On,
}

/// The Lease of OCM's add-on manager, or `none`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockArg(pub Option<LeasePlace>);

pub(super) fn stock_lease(text: &str) -> Result<StockArg, String> {
    if text == "none" {
        return Ok(StockArg(None));
    }
    lease(text).map(|place| StockArg(Some(place)))
}

/// A component of the program that runs alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Only {
    /// The webhook; writes only the first signing key of records.
    Gate,
    /// The controllers, without the webhook.
    Controllers,
    /// Only creates and renews the certificate of the webhook.
    Certificates,
}

/// Returns a value in the form of the command line.
pub(super) fn word<T: clap::ValueEnum>(value: &T) -> String {
    let known = value.to_possible_value();
    known.map_or_else(String::new, |known| known.get_name().to_owned())
}

/// Permissions that agents of add-ons may have on the hub: the same for the webhook and the controllers.
#[derive(Args, Clone, Debug, Default)]
pub struct RightsArgs {
    /// Namespaces in which agents of add-ons may have roles on the hub, separated by commas (`docs/registration.md`).
    ///
    /// The namespace of the cluster and the namespace with the name of the add-on are always allowed.
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',')]
    pub hub_permission_namespaces: Vec<String>,
    /// Certificate signers that are reserved for one add-on, separated by commas: `<domain>/<name>=<add-on>`; without
    /// `=<add-on>`, no add-on may use the signer (`docs/registration.md`).
    ///
    /// The signers of components of Open Cluster Management are always reserved.
    #[arg(long, value_name = "SIGNERS", value_delimiter = ',', value_parser = ReservedSigner::parse)]
    pub reserved_signers: Vec<ReservedSigner>,
}

impl RightsArgs {
    pub(super) fn namespaces(&self) -> HubNamespaces {
        HubNamespaces::of(self.hub_permission_namespaces.iter().map(String::as_str))
    }

    /// Returns the signers that only certain add-ons may use.
    pub(super) fn signers(&self) -> ReservedSigners {
        ReservedSigners::with(&self.reserved_signers)
    }

    /// Returns the settings with these permissions.
    pub(super) fn applied_to(&self, settings: Settings) -> Settings {
        Settings {
            hub_namespaces: self.namespaces(),
            reserved_signers: self.signers(),
            ..settings
        }
    }
}

/// What RolloutChecks may query.
#[derive(Args, Clone, Debug, Default)]
pub struct EndpointsArgs {
    /// Prometheus server that RolloutChecks may name (`docs/guides/checks.md`). Repeatable.
    ///
    /// `token-file` has a bearer token, which is read again for each evaluation; `ca-file` has the certificate authorities of the server
    /// instead of those of this machine.
    #[arg(
        long = "check-endpoint",
        id = "check_endpoint",
        value_name = "NAME=URL[,token-file=PATH][,ca-file=PATH]"
    )]
    pub endpoints: Vec<CheckEndpoint>,
}

/// Notifications about rollouts and upgrades.
#[derive(Args, Clone, Debug, Default)]
pub struct NotifyArgs {
    /// Send notifications about rollouts and upgrades to this URL: an HTTP POST with a CloudEvent for each
    /// (`docs/guides/notifications.md`).
    #[arg(long, value_name = "URL")]
    pub notify_url: Option<HttpUrl>,
    /// File with the bearer token for the receiver of notifications; read again for each of them.
    #[arg(long, value_name = "FILE", requires = "notify_url")]
    pub notify_token_file: Option<PathBuf>,
    /// File with the certificate authorities of the receiver of notifications (PEM); without it, those of this machine count.
    #[arg(long, value_name = "FILE", requires = "notify_url")]
    pub notify_ca_file: Option<PathBuf>,
}

impl NotifyArgs {
    /// Returns where notifications are sent, if they are.
    pub(super) fn receiver(&self) -> Option<HttpEndpoint> {
        Some(HttpEndpoint {
            url: self.notify_url.clone()?,
            token_file: self.notify_token_file.clone(),
            ca_file: self.notify_ca_file.clone(),
        })
    }
}

/// Settings of the webhook.
#[derive(Args, Clone, Debug, Default)]
pub struct GateArgs {
    /// File that sets how findings are enforced, by rule, add-on and namespace: a YAML list of settings (`docs/enforcement.md`).
    ///
    /// For instance `[{rule: "rollout/*", action: Warn, addons: ["edge-*"]}]`; actions are Off, Audit, Warn and Deny, and
    /// the last setting that matches counts. Without the file every rule has its documented action.
    #[arg(long, value_name = "FILE")]
    pub enforcement: Option<PathBuf>,
    /// Folder of policies (YAML), in addition to those on the hub.
    ///
    /// `tidegate serve` reads changed files again. Reads AddOnPolicy, and Kubernetes' ValidatingAdmissionPolicy and MutatingAdmissionPolicy with their bindings. If a
    /// policy does not compile, its last valid version stays in effect (`docs/policies.md`).
    #[arg(long, value_name = "DIR")]
    pub policies: Option<PathBuf>,
    /// Warn if one edit removes or updates an add-on on more than this percentage of its clusters at once (default 50).
    #[arg(long, value_name = "PERCENT", value_parser = blast_radius)]
    pub blast_radius: Option<BlastRadius>,
}

fn blast_radius(text: &str) -> Result<BlastRadius, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let percent = number.parse().ok().and_then(BlastRadius::percent);
    percent.ok_or_else(|| "must be a share from 0 to 100 percent".to_owned())
}

/// Parses a service account, and returns its user name on a hub.
fn account(text: &str) -> Result<Name, String> {
    match text.split_once('/') {
        Some((namespace, name)) if is_dns1123_label(namespace) && is_dns1123_subdomain(name) => {
            Ok(service_account(namespace, name))
        }
        Some(_) | None => Err("write the namespace and the name of a service account".to_owned()),
    }
}

/// Settings of the controllers.
#[derive(Args, Clone, Debug)]
pub struct TideArgs {
    /// Reasons and messages in statuses. Use `ocm` if programs or tests on the hub expect those of OCM
    /// (`docs/ocm/compat.md`).
    ///
    /// `ocm` writes the same statuses as OCM's add-on manager, and implies `--progressing-reasons ocm`, `--failures deadline`,
    /// `--empty-lifecycle self`, `--cluster-configs at-once`, `--agent-groups stock`, `--discovery-labels off` and
    /// `--unset-variables empty`, unless they are given.
    #[arg(long, value_name = "MANAGER", default_value = "tidegate", value_parser = one_of(COMPAT))]
    pub compat: Compat,
    /// What counts as a failure in a rollout: `health` (default) or, as in OCM, `deadline`.
    #[arg(long, value_name = "CRITERION", value_parser = one_of(FAILURES))]
    pub failures: Option<Failures>,
    /// Reasons of the `Progressing` condition: `lifecycle` (default) or `ocm`.
    #[arg(long, value_name = "REASONS", value_parser = one_of(REASONS))]
    pub progressing_reasons: Option<Vocabulary>,
    /// How long an add-on remains on a cluster that is no longer selected, for example `10s` or `2m`; 0 removes it at once.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = length)]
    pub decision_grace: Duration,
    /// How many instances of an add-on may be removed per minute: a number, a percentage, or the larger of both (`20,10%`).
    /// The limit does not apply to add-ons with at most that number of instances. `unlimited` disables the limit.
    #[arg(long, value_name = "BUDGET", default_value = "20,10%", value_parser = removal_budget)]
    pub removal_budget: RemovalBudget,
    /// How an empty lifecycle annotation of a ClusterManagementAddOn is interpreted: `managed` (default) or `self`.
    #[arg(long, value_name = "MANAGER", value_parser = one_of(EMPTY_LIFECYCLE))]
    pub empty_lifecycle: Option<EmptyLifecycle>,
    /// Which ClusterManagementAddOns are managed: all that do not manage themselves, or only those with the annotation
    /// `addon.open-cluster-management.io/lifecycle: tidegate`, if another manager manages the others.
    #[arg(long, value_name = "ADDONS", default_value = "all", value_parser = one_of(MANAGE))]
    pub manage: Managing,
    /// Namespace of the Secrets of custom signers, if the template does not specify one.
    #[arg(long, value_name = "NAMESPACE", default_value = "open-cluster-management-hub")]
    pub signing_namespace: String,
    /// Service account of the hub's gRPC server: its certificate requests count as requests of the agents that they name.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "open-cluster-management-hub/grpc-server-sa", value_parser = account)]
    pub grpc_server_account: Name,
    /// How an edit of a configuration that a ManagedClusterAddOn references directly is rolled out: `at-once` (default) or
    /// `rollout`.
    #[arg(long, value_name = "MODE", value_parser = one_of(CLUSTER_CONFIGS))]
    pub cluster_configs: Option<ClusterConfigs>,
    /// Which group gets the permissions of an add-on's agent, in addition to its user: `cluster` (default) or `stock`.
    #[arg(long, value_name = "GROUP", value_parser = one_of(AGENT_GROUPS))]
    pub agent_groups: Option<AgentGroups>,
    /// What a variable of a template becomes that no configuration sets: `fail` (default) or, as in OCM, `empty`.
    #[arg(long, value_name = "MODE", value_parser = one_of(UNSET_VARIABLES))]
    pub unset_variables: Option<UnsetVariables>,
    /// Which AddOnTemplates with another `spec.addonName` an add-on may use: `without-access` (default) or, as in OCM, `with-access`
    /// (`docs/ocm/compat.md`).
    #[arg(long, value_name = "WHICH", default_value = "without-access", value_parser = one_of(TEMPLATE_SHARING))]
    pub template_sharing: TemplateSharing,
    /// How long an agent may be unavailable after a change before this counts as a failure, for instance `30s` or `2m`.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = length)]
    pub startup_time: Duration,
    /// Timeout of pre-delete hooks (`10m`, `1h30m`); 0: no timeout.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = hook_timeout)]
    pub hook_timeout: HookTimeout,
    /// How to handle an add-on whose pre-delete hooks have not completed before the timeout.
    #[arg(long, value_name = "POLICY", default_value = "release", value_parser = one_of(AFTER_HOOKS))]
    pub hook_timeout_policy: TimeoutPolicy,
    /// Whether to label clusters with their add-ons, `feature.open-cluster-management.io/addon-<name>`: `on` (default) or
    /// `off`. The default of `serve` is `off` if the hub serves `operator.open-cluster-management.io`, because OCM's
    /// registration controller sets these labels there.
    #[arg(long, value_name = "MODE", value_parser = one_of(DISCOVERY_LABELS))]
    pub discovery_labels: Option<DiscoveryLabels>,
}

const COMPAT: Choices<Compat> = &[
    (
        "tidegate",
        "Tidegate's own, which are more detailed",
        Compat::Tidegate,
    ),
    ("ocm", "Exactly those of OCM's add-on manager", Compat::Ocm),
];

const FAILURES: Choices<Failures> = &[
    (
        "health",
        "ManifestWorks that cannot be applied, agents that report Degraded, and agents that stay unavailable",
        Failures::Health,
    ),
    (
        "deadline",
        "Only an exceeded progressDeadline",
        Failures::Deadline,
    ),
];

const REASONS: Choices<Vocabulary> = &[
    (
        "lifecycle",
        "`Installing`, `InstallSucceed`, `Upgrading`, …",
        Vocabulary::Lifecycle,
    ),
    (
        "ocm",
        "`Progressing`, `Completed`, `Failed`, as current OCM writes them",
        Vocabulary::Ocm,
    ),
];

pub(super) const MANAGE: Choices<Managing> = &[
    ("all", "All that do not manage themselves", Managing::All),
    ("marked", "Only those with the annotation", Managing::Marked),
];

const EMPTY_LIFECYCLE: Choices<EmptyLifecycle> = &[
    (
        "managed",
        "The hub manages the add-on, as if there were no annotation",
        EmptyLifecycle::Managed,
    ),
    (
        "self",
        "The add-on manages itself, as in current OCM",
        EmptyLifecycle::Own,
    ),
];

const CLUSTER_CONFIGS: Choices<ClusterConfigs> = &[
    (
        "at-once",
        "To all affected clusters at once, regardless of the rollout strategy, as in OCM",
        ClusterConfigs::AtOnce,
    ),
    (
        "rollout",
        "According to the rollout strategy of the cluster's placement",
        ClusterConfigs::Rollout,
    ),
];

const UNSET_VARIABLES: Choices<UnsetVariables> = &[
    (
        "fail",
        "Nothing is rendered, and a condition names these variables",
        UnsetVariables::Fail,
    ),
    (
        "empty",
        "An empty text, as in OCM; also INSTALL_NAMESPACE without agentInstallNamespace",
        UnsetVariables::Empty,
    ),
];

const TEMPLATE_SHARING: Choices<TemplateSharing> = &[
    (
        "without-access",
        "Templates that request no hub permissions and no custom signer",
        TemplateSharing::WithoutAccess,
    ),
    (
        "with-access",
        "All templates: an author of an add-on can then give its agents the permissions in the template of any other add-on",
        TemplateSharing::WithAccess,
    ),
];

const AGENT_GROUPS: Choices<AgentGroups> = &[
    (
        "cluster",
        "The group of the add-on on the agent's cluster",
        AgentGroups::Cluster,
    ),
    (
        "stock",
        "Also the group of the add-on on all clusters, as in OCM: every agent then has the permissions of all agents of the add-on",
        AgentGroups::Stock,
    ),
];

const AFTER_HOOKS: Choices<TimeoutPolicy> = &[
    (
        "release",
        "The add-on is removed without completed hooks",
        TimeoutPolicy::Release,
    ),
    (
        "block",
        "The add-on is not removed until the hooks complete or are skipped",
        TimeoutPolicy::Block,
    ),
];

const DISCOVERY_LABELS: Choices<DiscoveryLabels> = &[
    ("on", "Label them", DiscoveryLabels::On),
    ("off", "Do not label them", DiscoveryLabels::Off),
];

fn removal_budget(text: &str) -> Result<RemovalBudget, String> {
    RemovalBudget::parse(text).ok_or_else(|| "write for instance 50, 5%, 20,10% or unlimited".to_owned())
}

fn hook_timeout(text: &str) -> Result<HookTimeout, String> {
    HookTimeout::parse(text)
        .ok_or_else(|| "must be a duration such as 90s, 10m or 1h30m, or 0 for no timeout".to_owned())
}

impl TideArgs {
    /// What `--compat` implies, overridden by the other flags.
    fn chosen(&self) -> Settings {
        let chosen = Settings::of(self.compat);
        Settings {
            failures: self.failures.unwrap_or(chosen.failures),
            reasons: self.progressing_reasons.unwrap_or(chosen.reasons),
            empty_lifecycle: self.empty_lifecycle.unwrap_or(chosen.empty_lifecycle),
            cluster_configs: self.cluster_configs.unwrap_or(chosen.cluster_configs),
            agent_groups: self.agent_groups.unwrap_or(chosen.agent_groups),
            discovery_labels: self.discovery_labels.unwrap_or(chosen.discovery_labels),
            unset_variables: self.unset_variables.unwrap_or(chosen.unset_variables),
            ..chosen
        }
    }
}

impl From<&TideArgs> for TideOptions {
    fn from(args: &TideArgs) -> Self {
        Self {
            settings: Settings {
                hook_timeout: args.hook_timeout,
                hook_timeout_policy: args.hook_timeout_policy,
                decision_grace: args.decision_grace,
                arrival_grace: Settings::default().arrival_grace,
                managing: args.manage,
                grpc_server: args.grpc_server_account.clone(),
                startup: args.startup_time,
                template_sharing: args.template_sharing,
                fence: Fence::default(),
                roll_ups: RollUps::InOwnKind,
                removal_budget: args.removal_budget,
                hub_namespaces: HubNamespaces::default(),
                reserved_signers: ReservedSigners::default(),
                ..args.chosen()
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
    /// Print webhook configurations for Kubernetes before 1.28: without match conditions, and without the webhook that fails
    /// closed, which would reject all changes of add-ons while the gate is unavailable.
    #[arg(long)]
    pub without_conditions: bool,
    /// Print webhook configurations that reject new and changed specs while the webhook is unavailable, as `tidegate install
    /// --while-unavailable refuse` does.
    #[arg(long, conflicts_with = "without_conditions")]
    pub fail_closed: bool,
    /// Enforcement file: the backstop has policies only for rules that the file sets to Deny everywhere.
    #[arg(long, value_name = "FILE")]
    pub enforcement: Option<PathBuf>,
    /// File with the secret at the end of the webhook's URL path, as for `tidegate serve --path-secret`; the first line is
    /// used.
    #[arg(long, value_name = "FILE")]
    pub path_secret: Option<PathBuf>,
    /// URL of the webhook, such as `https://gate.example:9443`, instead of the service `tidegate/tidegate`.
    ///
    /// The API server must be able to reach it, and must trust its certificate: pass --ca-bundle if its CA is not a system CA.
    #[arg(long, value_name = "URL", value_parser = gate_url)]
    pub url: Option<String>,
    /// PEM file with the CA of the webhook's certificate, for `caBundle` (default: none; the certificate process or cert-manager
    /// sets it).
    #[arg(long, value_name = "FILE")]
    pub ca_bundle: Option<PathBuf>,
}

/// Validates a webhook address for the API server: a host and an optional path.
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
    /// Every subcommand and flag (Markdown).
    Cli,
    /// Webhook configurations, for a service or for `--url` (YAML).
    Webhooks,
    /// ValidatingAdmissionPolicies for the API server, from Kubernetes 1.30 (YAML).
    Backstop,
    /// JSON Schema of the documents that commands print with `-o json` and `-o yaml`.
    Output,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        tide: TideArgs,
    }

    fn chosen(flags: &str) -> Settings {
        let words = std::iter::once("tidegate").chain(flags.split_whitespace());
        let line = Line::try_parse_from(words).expect("it parses");
        let settings = TideOptions::from(&line.tide).settings;
        assert_eq!(
            settings.roll_ups,
            RollUps::InOwnKind,
            "a manager that writes keeps them"
        );
        Settings {
            roll_ups: RollUps::default(),
            ..settings
        }
    }

    #[test]
    fn without_flags_everything_is_as_the_settings_have_it() {
        assert_eq!(chosen(""), Settings::default());
        assert_eq!(chosen("--compat tidegate"), Settings::default());
    }

    #[test]
    fn one_flag_chooses_ocms_words_and_rules_and_each_single_one_wins() {
        assert_eq!(chosen("--compat ocm"), Settings::of(Compat::Ocm));
        let single = [
            ("--failures health", "--failures deadline"),
            ("--progressing-reasons lifecycle", "--progressing-reasons ocm"),
            ("--empty-lifecycle managed", "--empty-lifecycle self"),
            ("--agent-groups cluster", "--agent-groups stock"),
            ("--discovery-labels on", "--discovery-labels off"),
            ("--unset-variables fail", "--unset-variables empty"),
        ];
        let all = single.map(|(ours, _)| ours).join(" ");
        let expected = Settings {
            compat: Compat::Ocm,
            ..Settings::default()
        };
        assert_eq!(chosen(&format!("--compat ocm {all}")), expected);
        let all = single.map(|(_, theirs)| theirs).join(" ");
        let expected = Settings {
            compat: Compat::Tidegate,
            ..Settings::of(Compat::Ocm)
        };
        assert_eq!(chosen(&all), expected);
        let rollout = chosen("--compat ocm --cluster-configs rollout");
        assert_eq!(rollout.cluster_configs, ClusterConfigs::Rollout);
    }
}
