//! What may be asked, in the words of `devhub --help`.
//!
//! Decides only how words become values, and tells every value that makes no sense at once.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use kubernetes::duration::GoDuration;

use crate::controllers::Controller;
use crate::faults::Faults;
use crate::rights::Authz;

/// A Kubernetes API server for tests and demos, ready in milliseconds. Not for production.
#[derive(Clone, Debug, Parser)]
#[command(name = "devhub", version, max_term_width = 100, after_long_help = AFTER_HELP)]
pub struct Args {
    /// Folder for the kubeconfig and the certificate of the hub; made where it is absent, readable by its owner only.
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Port on 127.0.0.1; 0 takes any free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Custom resource definitions to load before a client can connect: a YAML or JSON file, or a folder of such files.
    #[arg(long, value_name = "PATH")]
    pub crds: Vec<PathBuf>,
    /// Who may do what: allow (every authenticated user everything) or rbac (roles and bindings decide).
    #[arg(long, value_name = "MODE", default_value = "allow")]
    pub authz: String,
    /// Folder in which objects, keys and tokens are kept over the end of the hub; without it everything is in memory.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Which controllers run: all, none, or a list of garbage, namespaces, accounts, events, roles, policies.
    #[arg(long, value_name = "LIST", default_value = "all")]
    pub controllers: String,
    /// What goes wrong on purpose, for tests of clients: seed=7,409=0.01,410=0.01,429=0.01,500=0.01,watch-drop=0.1,delay=5ms,crd-delay=2s.
    #[arg(long, value_name = "SPEC", default_value = "")]
    pub faults: String,
    /// How long an event lives that is not written again, such as 1h or 30s.
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    pub event_ttl: String,
}

const AFTER_HELP: &str = "\
Try it:
  devhub --dir .devhub --port 6443 --crds my-crds/
  kubectl --kubeconfig .devhub/kubeconfig api-resources

When the hub serves, one line is printed: READY kubeconfig=<path> hub=<url>. SIGINT and SIGTERM end it.
Exit status: 0 ended as asked, 1 it failed on the way, 2 it could not start as asked (flag, port, folder, file).
Logs go to standard error; DEVHUB_LOG=debug shows more (syntax: tracing filter directives).";

/// The values of the flags that have a syntax of their own.
#[derive(Clone, Debug)]
pub(super) struct Wishes {
    pub(super) authz: Authz,
    pub(super) controllers: BTreeSet<Controller>,
    pub(super) faults: Faults,
    pub(super) event_ttl: Duration,
}

impl Args {
    /// Reads the flags; every one that makes no sense adds a fault.
    pub(super) fn wishes(&self, faults: &mut Vec<String>) -> Wishes {
        let mut told = |flag: &str, fault: String| faults.push(format!("--{flag}: {fault}"));
        let authz = Authz::parse(&self.authz).unwrap_or_else(|fault| {
            told("authz", fault);
            Authz::Allow
        });
        let controllers = Controller::parse_list(&self.controllers).unwrap_or_else(|fault| {
            told("controllers", fault);
            BTreeSet::new()
        });
        let faults = Faults::parse(&self.faults).unwrap_or_else(|fault| {
            told("faults", fault);
            Faults::default()
        });
        let event_ttl = duration(&self.event_ttl).unwrap_or_else(|fault| {
            told("event-ttl", fault);
            Duration::ZERO
        });
        Wishes {
            authz,
            controllers,
            faults,
            event_ttl,
        }
    }
}

/// Reads a duration such as `1h30m` or `200ms`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("\"{text}\" is no duration of at least 1ms; right is for instance 1h, 30s or 200ms");
    let read = GoDuration::parse(text).ok().and_then(GoDuration::length);
    read.filter(|read| *read >= Duration::from_millis(1))
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_kubernetes_writes_them() {
        assert_eq!(duration("1h"), Ok(Duration::from_hours(1)));
        assert_eq!(duration("200ms"), Ok(Duration::from_millis(200)));
        for wrong in ["", "0s", "-1s", "5", "soon"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_wrong_flag_is_told_at_once() {
        let args = Args::parse_from([
            "devhub",
            "--dir=x",
            "--authz=no",
            "--faults=418=1",
            "--controllers=nodes",
            "--event-ttl=soon",
        ]);
        let mut faults = Vec::new();
        args.wishes(&mut faults);
        assert_eq!(faults.len(), 4, "{faults:?}");
    }
}
