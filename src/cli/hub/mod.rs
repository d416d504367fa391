//! Which hub is used, and the error of a hub that does not answer.

mod unreachable;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::words::request_timeout;
pub(super) use unreachable::Unreachable;

/// The hub and the account of the requests, with the flags of kubectl.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Hub")]
pub struct HubArgs {
    /// The connection.
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// Impersonate this user, for example `system:serviceaccount:NAMESPACE:NAME`. Requires the permission `impersonate`.
    #[arg(long = "as", id = "as", value_name = "USER")]
    pub as_user: Option<String>,
    /// Also impersonate this group. Can be repeated.
    #[arg(long = "as-group", id = "as_group", value_name = "GROUP", requires = "as")]
    pub as_groups: Vec<String>,
}

/// The connection to the hub.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Hub")]
pub struct ConnectionArgs {
    /// Kubeconfig of the hub (flag, else KUBECONFIG, else ~/.kube/config, else the service account of the pod).
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig (default: the current context).
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// User of the kubeconfig, instead of that of the context.
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Address of the API server, instead of that of the context.
    #[arg(long, value_name = "URL", value_parser = server)]
    pub server: Option<http::Uri>,
    /// Bearer token, instead of the credentials of the kubeconfig.
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Do not verify the certificate of the API server. Insecure: any server can then read the token.
    #[arg(long)]
    pub insecure_skip_tls_verify: bool,
    /// Time to wait for the API server, such as 10s; 0 waits without a limit.
    #[arg(long, value_name = "DURATION", value_parser = request_timeout)]
    pub request_timeout: Option<Duration>,
}

fn server(text: &str) -> Result<http::Uri, String> {
    let url = text.parse::<http::Uri>().ok();
    let is_whole =
        |url: &http::Uri| matches!(url.scheme_str(), Some("https" | "http")) && url.host().is_some();
    url.filter(is_whole)
        .ok_or_else(|| "must be an address such as https://hub.example.com:6443".to_owned())
}

impl HubArgs {
    /// Returns whether a flag for the hub is set.
    pub(in crate::cli) fn is_given(&self) -> bool {
        let connection = &self.connection;
        connection.kubeconfig.is_some()
            || connection.context.is_some()
            || connection.server.is_some()
            || self.as_user.is_some()
    }
}

/// The same, borrowed.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cli) struct HubPlace<'a> {
    pub(in crate::cli) kubeconfig: Option<&'a Path>,
    /// The flags of the connection, where a command has them.
    pub(in crate::cli) connection: Option<&'a ConnectionArgs>,
    pub(in crate::cli) as_user: Option<&'a str>,
    pub(in crate::cli) as_groups: &'a [String],
}

impl<'a> From<&'a HubArgs> for HubPlace<'a> {
    fn from(args: &'a HubArgs) -> Self {
        Self {
            as_user: args.as_user.as_deref(),
            as_groups: &args.as_groups,
            ..Self::from(&args.connection)
        }
    }
}

impl<'a> From<&'a ConnectionArgs> for HubPlace<'a> {
    fn from(args: &'a ConnectionArgs) -> Self {
        Self {
            kubeconfig: args.kubeconfig.as_deref(),
            connection: Some(args),
            ..Self::default()
        }
    }
}

impl<'a> From<Option<&'a Path>> for HubPlace<'a> {
    fn from(kubeconfig: Option<&'a Path>) -> Self {
        Self {
            kubeconfig,
            ..Self::default()
        }
    }
}
