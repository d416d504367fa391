//! Which hub is used, and the error of a hub that does not answer.

mod unreachable;

use std::path::{Path, PathBuf};

use clap::Args;

pub(super) use unreachable::Unreachable;

/// The hub and the user of the requests, with the flags of kubectl.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Hub")]
pub struct HubArgs {
    /// Kubeconfig of the hub (flag, else KUBECONFIG, else ~/.kube/config, else the service account of the pod).
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig (default: the current context).
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Impersonate this user, for example `system:serviceaccount:NAMESPACE:NAME`. Requires the permission `impersonate`.
    #[arg(long = "as", id = "as", value_name = "USER")]
    pub as_user: Option<String>,
    /// Also impersonate this group. Can be repeated.
    #[arg(long = "as-group", id = "as_group", value_name = "GROUP", requires = "as")]
    pub as_groups: Vec<String>,
}

impl HubArgs {
    /// Returns whether a flag for the hub is set.
    pub(in crate::cli) fn is_given(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some() || self.as_user.is_some()
    }
}

/// The same, borrowed.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cli) struct HubPlace<'a> {
    pub(in crate::cli) kubeconfig: Option<&'a Path>,
    pub(in crate::cli) context: Option<&'a str>,
    pub(in crate::cli) as_user: Option<&'a str>,
    pub(in crate::cli) as_groups: &'a [String],
}

impl<'a> From<&'a HubArgs> for HubPlace<'a> {
    fn from(args: &'a HubArgs) -> Self {
        Self {
            kubeconfig: args.kubeconfig.as_deref(),
            context: args.context.as_deref(),
            as_user: args.as_user.as_deref(),
            as_groups: &args.as_groups,
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
