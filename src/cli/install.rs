//! `tidegate install`: prints the manifests that install Tidegate.
//!
//! Decides only how flags become a choice; `kit` decides what is installed. Writes nothing to a hub, and reads nothing but its version:
//! the administrator sees first what it is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use kubernetes::names::is_dns1123_label;
use tokio::time::timeout;

use super::CliError;
use super::connect;
use super::hub::HubPlace;
use super::print::{complain, print};
use super::rulebook::left_out_of_backstop;
use super::words::{Choices, one_of};
use crate::files::read_text;
use crate::server::ClientAuthority;
use admission::BACKSTOP_SINCE_MINOR;
use kubernetes::field::Shown;
use operate::kit::{
    Backstop, Certificates, Choice, Definitions, Extra, KitError, Place, Webhooks, WhileUnavailable,
    Workloads, objects,
};

/// Tidegate's default namespace.
const TIDEGATE: &str = "tidegate";
/// Namespaces that every cluster or hub has, with objects of other programs.
const OF_OTHERS: [&str; 6] = [
    "default",
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "open-cluster-management",
    "open-cluster-management-hub",
];

/// Timeout for reading the version of the hub.
const VERSION_WITHIN: Duration = Duration::from_secs(5);

/// Maximum size of the CA bundle, in bytes.
const LARGEST: u64 = 1 << 20;

/// Print the manifests that install Tidegate on a hub, as in `manifests/deploy` and the Helm chart (`docs/operate/install.md`).
///
/// Example: `tidegate install --print --certificates self-managed | kubectl apply -f -`; to uninstall, pipe the output to
/// `kubectl delete -f -`.
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
    /// A namespace that is included is deleted with the manifests, with everything in it.
    #[arg(long, value_name = "WHETHER", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub create_namespace: Option<bool>,
    /// Image of the program, by tag or by digest.
    #[arg(long, value_name = "IMAGE", default_value = "tidegate:latest", value_parser = image)]
    pub image: String,
    /// How the certificate of the webhook is provided.
    #[arg(long, value_enum, value_name = "WHO", default_value_t = CertifierArg::SelfManaged)]
    pub certificates: CertifierArg,
    /// CA bundle (PEM) of the certificate in the Secret `tidegate-tls`, with `--certificates secret`.
    #[arg(long, value_name = "FILE")]
    pub ca_bundle: Option<PathBuf>,
    /// Deployments to create: the webhook and the controllers, both in one, or only the webhook.
    #[arg(long, value_name = "WHAT", default_value = "two", value_parser = one_of(WORKLOADS))]
    pub workloads: Workloads,
    /// Optional components; repeatable, or separated by commas.
    #[arg(long, value_name = "PARTS", value_delimiter = ',', value_parser = one_of(EXTRAS))]
    pub with: Vec<Extra>,
    /// Whether to include the webhook configurations: with the other manifests, omitted, or nothing else.
    #[arg(long, value_name = "WHETHER", default_value = "with", value_parser = one_of(WEBHOOKS))]
    pub webhooks: Webhooks,
    /// What happens to new and changed specs while the webhook is unavailable.
    ///
    /// `admit` stores them, unless the backstop or the webhook `guard` rejects them; `refuse` rejects all of them.
    #[arg(long, value_name = "WHAT", default_value = "admit", value_parser = one_of(UNAVAILABLE))]
    pub while_unavailable: WhileUnavailable,
    /// Whether to include the ValidatingAdmissionPolicies of the backstop; Kubernetes before 1.30 does not serve them.
    #[arg(long, value_enum, value_name = "WHETHER", default_value_t = BackstopArg::Auto)]
    pub backstop: BackstopArg,
    /// Enforcement file (`docs/enforcement.md`): the backstop has policies only for rules that the file denies everywhere.
    #[arg(long, value_name = "FILE")]
    pub enforcement: Option<PathBuf>,
    /// Whether to include the CRDs of Tidegate's kinds; omit them for a downgrade to an older version.
    #[arg(long, value_name = "WHETHER", default_value = "with", value_parser = one_of(DEFINITIONS))]
    pub definitions: Definitions,
}

/// How the certificate of the webhook is provided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CertifierArg {
    /// Tidegate, in a Deployment with its own service account.
    SelfManaged,
    /// cert-manager, which must be installed.
    CertManager,
    /// An administrator, in the Secret `tidegate-tls`.
    Secret,
}

/// Whether to include the ValidatingAdmissionPolicies of the backstop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BackstopArg {
    /// Include them, unless the hub of the kubeconfig (KUBECONFIG, else the service account of the pod) answers and is older
    /// than Kubernetes 1.30. Nothing else is read from the hub.
    Auto,
    /// Include them, without contacting a hub.
    With,
    /// Omit them, without contacting a hub.
    Without,
}

const WORKLOADS: Choices<Workloads> = &[
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

const EXTRAS: Choices<Extra> = &[
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
        "ServiceMonitor and PrometheusRule for Prometheus' operator, dashboards for Grafana",
        Extra::Monitoring,
    ),
    (
        "web-page",
        "The web page, for users who forward its port and sign in with a token (docs/web.md)",
        Extra::WebPage,
    ),
];

const WEBHOOKS: Choices<Webhooks> = &[
    ("with", "With the other manifests", Webhooks::With),
    ("without", "Not yet", Webhooks::Without),
    (
        "only",
        "Only the webhook configurations: apply them last, and delete them first",
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
    ("with", "They do", Definitions::With),
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
    if !text.bytes().any(is_odd) && parts.into_iter().all(fits) && !text.contains("..") {
        return Ok(text.to_owned());
    }
    Err("must be an image with its tag or digest, such as registry.example.com/tidegate:0.2.0".to_owned())
}

fn namespace(text: &str) -> Result<String, String> {
    if is_dns1123_label(text) {
        return Ok(text.to_owned());
    }
    Err("must be the name of a namespace: lower case letters, digits and dashes".to_owned())
}

pub(super) fn run(args: &InstallArgs) -> Result<(), CliError> {
    let mut choice = args.choice()?;
    if args.backstop == BackstopArg::Auto && choice.webhooks != Webhooks::Without && is_too_old() {
        choice.backstop = Backstop::Without;
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
    let certificates = match (args.certificates, &args.ca_bundle) {
        (CertifierArg::SelfManaged, None) => Certificates::SelfManaged,
        (CertifierArg::CertManager, None) => Certificates::CertManager,
        (CertifierArg::Secret, bundle) => Certificates::Secret {
            authority: bundle.as_deref().map(authority).transpose()?,
        },
        (CertifierArg::SelfManaged | CertifierArg::CertManager, Some(_)) => {
            let words = "--ca-bundle requires --certificates secret: otherwise the program that creates the certificate sets the CA bundle";
            return Err(CliError::Refused(words.into()));
        }
    };
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
        image: args.image.clone(),
        certificates,
        workloads: args.workloads,
        extras: args.with.iter().copied().collect(),
        webhooks: args.webhooks,
        definitions: args.definitions,
        while_unavailable: args.while_unavailable,
        backstop: backstop(args)?,
    })
}

fn backstop(args: &InstallArgs) -> Result<Backstop, CliError> {
    if args.backstop == BackstopArg::Without {
        return Ok(Backstop::Without);
    }
    let left_out = left_out_of_backstop(args.enforcement.as_deref())?;
    Ok(Backstop::Except(left_out.into_iter().collect()))
}

/// Returns whether the hub of the kubeconfig does not serve the policies, and prints it. A hub that does not answer counts as
/// new.
fn is_too_old() -> bool {
    let version = async {
        let config = connect::config_of(HubPlace::default()).await.ok()?;
        let client = connect::client(config).ok()?;
        client.apiserver_version().await.ok()
    };
    let found = connect::runtime()
        .ok()
        .and_then(|runtime| runtime.block_on(async { timeout(VERSION_WITHIN, version).await.ok()? }));
    let Some(found) = found.filter(|found| found.major == "1") else {
        return false;
    };
    let minor = found.minor.trim_end_matches(|one: char| !one.is_ascii_digit());
    let is_too_old = minor
        .parse::<u32>()
        .is_ok_and(|minor| minor < BACKSTOP_SINCE_MINOR);
    if is_too_old {
        complain(&Shown::line(&format!(
            "the backstop is left out: the hub of the kubeconfig is Kubernetes {}, and 1.{BACKSTOP_SINCE_MINOR} is the first version that serves \
             its policies (--backstop with prints them)",
            found.git_version
        )));
    }
    is_too_old
}

/// Reads the CA bundle for the API servers.
fn authority(path: &Path) -> Result<String, CliError> {
    let text = read_text(path, LARGEST).map_err(CliError::reading(path))?;
    ClientAuthority::from_pem(&text).map_err(|error| CliError::ReadDocument {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    Ok(text)
}

fn refused(error: KitError) -> CliError {
    match error {
        KitError::NoControllersForWebPage => CliError::Refused(error.to_string().into()),
        KitError::Missing(_) | KitError::Parse { .. } | KitError::Patch { .. } => CliError::Serve {
            part: "the manifests",
            source: Box::new(error),
        },
    }
}
