//! `tidegate install`: prints the manifests that install Tidegate.
//!
//! Decides only how flags become a choice; `kit` decides what is installed. Writes nothing to a hub: the administrator sees first what it
//! is. Reads the hub's version, and whether it keeps match conditions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::PostParams;
use kube::{Api, Client};
use kubernetes::names::is_dns1123_label;
use tokio::time::timeout;

use super::connect;
use super::print::{complain, note, print};
use super::rulebook::left_out_of_backstop;
use super::words::{Choices, one_of};
use super::{CliError, HubArgs};
use crate::files::read_text;
use crate::server::ClientAuthority;
use admission::{BACKSTOP_SINCE_MINOR, CONDITIONS_SINCE_MINOR};
use kubernetes::field::Shown;
use kubernetes::server_version::minor_version;
use operate::kit::{
    Backstop, Certificates, Choice, Definitions, Extra, KitError, MatchConditions, Place, Webhooks,
    WhileUnavailable, Workloads, objects,
};

/// Tidegate's default namespace.
const TIDEGATE: &str = "tidegate";
/// The image of a release without its tag. The release pipeline sets it; the sources name no registry.
const RELEASED_REPOSITORY: Option<&str> = option_env!("TIDEGATE_IMAGE_REPOSITORY");
/// Namespaces that every cluster or hub has, with objects of other programs.
const OF_OTHERS: [&str; 6] = [
    "default",
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "open-cluster-management",
    "open-cluster-management-hub",
];

/// Timeout for both questions to the hub.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// Version of this binary, and of the image of its release.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Maximum size of the CA bundle, in bytes.
const LARGEST: u64 = 1 << 20;

/// Print the manifests that install Tidegate on a hub, as in `manifests/deploy` and the Helm chart (`docs/operate/install.md`).
///
/// Example: `tidegate install --print --certificates self-managed | kubectl apply -f -`. `tidegate uninstall` deletes what this
/// creates.
#[derive(Args, Clone, Debug)]
pub struct InstallArgs {
    /// Print the manifests; nothing is applied.
    #[arg(long, required = true)]
    pub print: bool,
    /// Namespace to install into.
    ///
    /// The manifests include the default namespace. Any other namespace must exist, is not changed, and stays when Tidegate
    /// is uninstalled.
    #[arg(long, value_name = "NAMESPACE", default_value = TIDEGATE, value_parser = namespace)]
    pub namespace: String,
    /// Include the Namespace object (default: only for the namespace `tidegate`).
    ///
    /// An included namespace is deleted together with the manifests, and with all objects in it.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub create_namespace: Option<bool>,
    /// Image of the program, by version tag or by digest (default: the image of the release that this binary is from).
    #[arg(long, value_name = "IMAGE", value_parser = image)]
    pub image: Option<String>,
    /// How the certificate of the webhook is provided.
    #[arg(long, value_enum, value_name = "SOURCE", default_value_t = CertifierArg::SelfManaged)]
    pub certificates: CertifierArg,
    /// CA bundle (PEM) of the certificate in the Secret `tidegate-tls`, with `--certificates secret`.
    #[arg(long, value_name = "FILE")]
    pub ca_bundle: Option<PathBuf>,
    /// Deployments to create: one each for the webhook and the controllers, one for both, or only one for the webhook.
    #[arg(long, value_name = "WORKLOADS", default_value = "two", value_parser = one_of(WORKLOADS))]
    pub workloads: Workloads,
    /// Optional components; repeatable, or separated by commas.
    #[arg(long, value_name = "COMPONENTS", value_delimiter = ',', value_parser = one_of(EXTRAS))]
    pub with: Vec<Extra>,
    /// Whether to include the webhook configurations, omit them, or print only them.
    #[arg(long, value_name = "MODE", default_value = "with", value_parser = one_of(WEBHOOKS))]
    pub webhooks: Webhooks,
    /// What happens to new and changed specs while the webhook is unavailable.
    ///
    /// `admit` stores them, unless the backstop or the webhook `guard` rejects them; `refuse` rejects all of them.
    #[arg(long, value_name = "ACTION", default_value = "admit", value_parser = one_of(UNAVAILABLE))]
    pub while_unavailable: WhileUnavailable,
    /// Whether to include the policies of the backstop; Kubernetes before 1.30 does not serve them.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = BackstopArg::Auto)]
    pub backstop: BackstopArg,
    /// Whether the webhooks have match conditions.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = ConditionsArg::Auto)]
    pub match_conditions: ConditionsArg,
    /// Enforcement file (`docs/enforcement.md`): the backstop has policies only for rules that the file sets to Deny everywhere.
    #[arg(long, value_name = "FILE")]
    pub enforcement: Option<PathBuf>,
    /// Whether to include the CRDs of Tidegate's kinds; omit them for a downgrade to an older version.
    #[arg(long, value_name = "MODE", default_value = "with", value_parser = one_of(DEFINITIONS))]
    pub definitions: Definitions,
    /// Hub whose version decides what is included.
    #[command(flatten)]
    pub hub: HubArgs,
}

/// How the certificate of the webhook is provided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CertifierArg {
    /// Tidegate creates it, in a Deployment with its own service account.
    SelfManaged,
    /// cert-manager creates it; cert-manager must be installed.
    CertManager,
    /// An administrator provides it in the Secret `tidegate-tls`.
    Secret,
}

impl CertifierArg {
    /// Returns the choice of an installation; `authority` is that of a certificate in a Secret.
    pub(super) fn with_authority(self, authority: Option<String>) -> Certificates {
        match self {
            Self::SelfManaged => Certificates::SelfManaged,
            Self::CertManager => Certificates::CertManager,
            Self::Secret => Certificates::Secret { authority },
        }
    }
}

/// Whether to include the ValidatingAdmissionPolicies of the backstop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BackstopArg {
    /// Include them, unless the hub of the kubeconfig (KUBECONFIG, else the service account of the pod) answers and is older
    /// than Kubernetes 1.30.
    Auto,
    /// Include them, without contacting a hub.
    With,
    /// Omit them, without contacting a hub.
    Without,
}

/// Whether the webhooks have match conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ConditionsArg {
    /// Include them, unless the hub of the kubeconfig answers and drops them: it is older than Kubernetes 1.28, or it is older than
    /// 1.30 and drops them from a webhook configuration that is sent as a dry run.
    Auto,
    /// Include them, without contacting a hub.
    With,
    /// Omit them, and omit the webhook that fails closed: without its match condition it would block every change of an add-on while the
    /// webhook is unavailable.
    Without,
}

/// The kinds of Deployments that an installation can have.
pub(super) const WORKLOADS: Choices<Workloads> = &[
    (
        "two",
        "The webhook and the controllers, each with its own service account",
        Workloads::Two,
    ),
    (
        "one",
        "Both in one, for a small hub: one service account has the permissions of all parts, and with self-managed certificates it can gain all permissions on the hub",
        Workloads::One,
    ),
    (
        "gate",
        "Only the webhook; another manager manages the add-ons",
        Workloads::Gate,
    ),
];

/// The optional components of an installation.
pub(super) const EXTRAS: Choices<Extra> = &[
    (
        "high-availability",
        "Three replicas of the webhook on three nodes, spread over zones",
        Extra::HighAvailability,
    ),
    (
        "network-policy",
        "NetworkPolicies for the traffic to and from Tidegate",
        Extra::NetworkPolicy,
    ),
    (
        "monitoring",
        "ServiceMonitor and PrometheusRule for the Prometheus operator, dashboards for Grafana",
        Extra::Monitoring,
    ),
    (
        "openshift",
        "Pods without fixed user and group, which OpenShift assigns",
        Extra::OpenShift,
    ),
    (
        "web-page",
        "The web page, for users who forward its port and sign in with a token (docs/web.md)",
        Extra::WebPage,
    ),
];

const WEBHOOKS: Choices<Webhooks> = &[
    ("with", "Include them with the other manifests", Webhooks::With),
    ("without", "Omit them", Webhooks::Without),
    (
        "only",
        "Print only the webhook configurations: apply them last, and delete them first",
        Webhooks::Only,
    ),
];

const UNAVAILABLE: Choices<WhileUnavailable> = &[
    (
        "admit",
        "Store them, unless the backstop or the webhook `guard` rejects them",
        WhileUnavailable::Admit,
    ),
    ("refuse", "Reject them (fail closed)", WhileUnavailable::Refuse),
];

const DEFINITIONS: Choices<Definitions> = &[
    ("with", "Include them", Definitions::With),
    (
        "without",
        "Omit them; CRDs on the hub are not changed",
        Definitions::Without,
    ),
];

fn image(text: &str) -> Result<String, String> {
    let is_odd = |byte: u8| !(byte.is_ascii_alphanumeric() || b"./:@_-".contains(&byte));
    let parts = text.split(['/', ':', '@']);
    let fits = |part: &str| part.starts_with(|first: char| first.is_ascii_alphanumeric());
    let name = text.rsplit('/').next().unwrap_or_default();
    let is_fixed = name.contains('@') || name.split_once(':').is_some_and(|(_, tag)| tag != "latest");
    if name.ends_with(":latest") {
        return Err(format!(
            "the image of the tag `latest` changes, so pods that start later could run another version: use a version tag such as \
             {VERSION}, or a digest"
        ));
    }
    if !text.bytes().any(is_odd) && parts.into_iter().all(fits) && !text.contains("..") && is_fixed {
        return Ok(text.to_owned());
    }
    Err(format!(
        "must be an image with a version tag or a digest, such as registry.example.com/tidegate:{VERSION}"
    ))
}

pub(super) fn namespace(text: &str) -> Result<String, String> {
    if is_dns1123_label(text) {
        return Ok(text.to_owned());
    }
    Err("must be the name of a namespace: lowercase letters, digits and dashes".to_owned())
}

pub(super) fn run(args: &InstallArgs) -> Result<(), CliError> {
    let mut choice = args.choice()?;
    let asks = [
        args.backstop == BackstopArg::Auto,
        args.match_conditions == ConditionsArg::Auto,
    ];
    if choice.webhooks != Webhooks::Without && asks.contains(&true) {
        adapt(&mut choice, asks, &args.hub);
    }
    if choice.webhooks != Webhooks::Without
        && matches!(choice.certificates, Certificates::Secret { authority: None })
    {
        note(
            "the webhook configurations have no caBundle, so the API server calls the webhook only if it trusts the certificate; use \
             --ca-bundle FILE, or set caBundle before you apply them (docs/operate/certificates.md)",
        );
    }
    let mut text = String::new();
    for object in objects(&choice).map_err(refused)? {
        let body = serde_saphyr::to_string(&object).map_err(CliError::serving("the YAML writer"))?;
        text.push_str("---\n");
        text.push_str(&body);
    }
    print(&Shown::page(&text))
}

impl InstallArgs {
    /// Returns the requested manifests.
    pub fn choice(&self) -> Result<Choice, CliError> {
        choice(self)
    }
}

fn choice(args: &InstallArgs) -> Result<Choice, CliError> {
    if args.ca_bundle.is_some() && args.certificates != CertifierArg::Secret {
        let words = "--ca-bundle requires --certificates secret: otherwise the program that creates the certificate sets the CA bundle";
        return Err(CliError::Refused(words.into()));
    }
    let bundle = args.ca_bundle.as_deref().map(authority).transpose()?;
    let certificates = args.certificates.with_authority(bundle);
    let is_made = args.create_namespace.unwrap_or(args.namespace == TIDEGATE);
    if is_made && OF_OTHERS.contains(&args.namespace.as_str()) {
        let words = format!(
            "the namespace {} contains objects of other programs, which would be deleted with it: remove --create-namespace",
            args.namespace
        );
        return Err(CliError::Refused(words.into()));
    }
    Ok(Choice {
        namespace: args.namespace.clone(),
        place: if is_made { Place::Own } else { Place::Existing },
        image: image_of(args)?,
        certificates,
        workloads: args.workloads,
        extras: args.with.iter().copied().collect(),
        webhooks: args.webhooks,
        definitions: args.definitions,
        while_unavailable: args.while_unavailable,
        match_conditions: match args.match_conditions {
            ConditionsArg::Auto | ConditionsArg::With => MatchConditions::With,
            ConditionsArg::Without => MatchConditions::Without,
        },
        backstop: backstop(args)?,
    })
}

/// Returns the image of the installation. Webhook configurations have none.
fn image_of(args: &InstallArgs) -> Result<String, CliError> {
    let released = || RELEASED_REPOSITORY.map(|repository| format!("{repository}:{VERSION}"));
    match args.image.clone().or_else(released) {
        Some(image) => Ok(image),
        None if args.webhooks == Webhooks::Only => Ok(String::new()),
        None => Err(CliError::Refused(
            format!(
                "--image is required: this binary is not from a release, so it has no default image; use the image in your registry, such \
                 as --image registry.example.com/tidegate:{VERSION}"
            )
            .into(),
        )),
    }
}

fn backstop(args: &InstallArgs) -> Result<Backstop, CliError> {
    if args.backstop == BackstopArg::Without {
        return Ok(Backstop::Without);
    }
    let left_out = left_out_of_backstop(args.enforcement.as_deref())?;
    Ok(Backstop::Except(left_out.into_iter().collect()))
}

/// What the hub of the kubeconfig serves.
struct Served {
    /// Its version, for messages.
    version: String,
    /// Whether it serves the policies of the backstop.
    backstop: bool,
    /// Whether it keeps the match conditions of webhooks.
    conditions: bool,
}

/// Omits what the hub of the kubeconfig does not serve of that which `asks` leaves to it, the backstop and match conditions, and prints it. A
/// hub that does not answer counts as new.
fn adapt(choice: &mut Choice, [backstop, conditions]: [bool; 2], hub: &HubArgs) {
    let found = connect::runtime()
        .ok()
        .and_then(|runtime| runtime.block_on(async { timeout(ANSWERED_WITHIN, served(hub)).await.ok()? }));
    let Some(found) = found else { return };
    if backstop && !found.backstop {
        choice.backstop = Backstop::Without;
        complain(&Shown::line(&format!(
            "the backstop is omitted: the hub of the kubeconfig runs Kubernetes {}, and 1.{BACKSTOP_SINCE_MINOR} is the first version that \
             serves its policies (--backstop with includes them)",
            found.version
        )));
    }
    if conditions && !found.conditions {
        choice.match_conditions = MatchConditions::Without;
        complain(&Shown::line(&format!(
            "match conditions and the webhook that fails closed are omitted: the hub of the kubeconfig, Kubernetes {}, drops match conditions \
             of webhooks (--match-conditions with prints them)",
            found.version
        )));
    }
}

/// Asks the hub of the kubeconfig; `None` if it does not answer or is no Kubernetes 1.
async fn served(hub: &HubArgs) -> Option<Served> {
    let config = connect::config_of(hub).await.ok()?;
    let client = connect::client(config).ok()?;
    let version = client.apiserver_version().await.ok()?;
    let minor = minor_version(&version.major, &version.minor)?;
    // From 1.30 on no feature gate turns match conditions off.
    let conditions = minor >= BACKSTOP_SINCE_MINOR
        || minor >= CONDITIONS_SINCE_MINOR && keeps_conditions(client).await.unwrap_or(true);
    Some(Served {
        version: version.git_version,
        backstop: minor >= BACKSTOP_SINCE_MINOR,
        conditions,
    })
}

/// Sends the validating webhook configuration as a dry run, and reads from the answer whether its match conditions would be stored; `None`
/// if the user may not create it.
async fn keeps_conditions(client: Client) -> Option<bool> {
    let nowhere = admission::Endpoint::Url("https://127.0.0.1:1".to_owned());
    let [_, validating] = admission::configurations(&nowhere, None);
    let mut probe: ValidatingWebhookConfiguration = serde_json::from_value(validating).ok()?;
    probe.metadata.name = None;
    probe.metadata.generate_name = Some("tidegate-dry-run-".to_owned());
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let stored = Api::all(client).create(&dry_run, &probe).await.ok()?;
    let webhooks: Vec<_> = stored.webhooks.into_iter().flatten().collect();
    Some(webhooks.iter().all(|webhook| {
        webhook
            .match_conditions
            .as_ref()
            .is_some_and(|all| !all.is_empty())
    }))
}

/// Reads the CA bundle for the API servers.
pub(super) fn authority(path: &Path) -> Result<String, CliError> {
    let text = read_text(path, LARGEST).map_err(CliError::reading(path))?;
    ClientAuthority::from_pem(&text).map_err(|error| CliError::ReadDocument {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    Ok(text)
}

fn refused(error: KitError) -> CliError {
    match error {
        KitError::NoControllersForWebPage | KitError::NoConditionsForFailClosed => {
            CliError::Refused(error.to_string().into())
        }
        KitError::Missing(_) | KitError::Parse { .. } | KitError::Patch { .. } => CliError::Serve {
            part: "the manifests",
            source: Box::new(error),
        },
    }
}
