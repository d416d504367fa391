//! The rulebook of the gate, from the files that flags name.
//!
//! Decides nothing about rules; what a file may say is decided by `admission`. A wrong file is the user's mistake: it is
//! told before anything starts.

use std::path::Path;
use std::time::Duration;

use arc_swap::ArcSwap;
use tracing::{info, warn};

use super::{CliError, GateArgs, RightsArgs, policies};
use crate::files;
use admission::{Enforcement, Rulebook};

/// The largest enforcement file, in bytes.
const LARGEST: u64 = 1 << 20;
/// How often the file is looked at; a mounted one takes a minute to change anyway.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Reads what the flags name.
pub(super) fn read(args: &GateArgs, rights: &RightsArgs) -> Result<Rulebook, CliError> {
    let enforcement = args.enforcement.as_deref().map(enforcement).transpose()?;
    Ok(Rulebook {
        enforcement: enforcement.unwrap_or_default(),
        policies: policies::compiled(args.policies.as_deref())?,
        blast_radius: args.blast_radius.unwrap_or_default(),
        hub_namespaces: rights.namespaces(),
        reserved_signers: rights.signers(),
        ..Rulebook::default()
    })
}

/// Applies every new enforcement file; an invalid one is logged, and the last valid one stays. Runs until it is dropped.
pub(super) async fn follow(args: &GateArgs, rulebook: &ArcSwap<Rulebook>) {
    let Some(path) = args.enforcement.as_deref() else {
        return std::future::pending().await;
    };
    let mut told = None;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let fault = take_up(path, rulebook).err();
        if let Some(fault) = fault.as_ref().filter(|fault| told.as_ref() != Some(*fault)) {
            warn!(
                fault,
                "the new enforcement file is invalid; the current one remains in use"
            );
        }
        told = fault;
    }
}

/// Reads the file and puts it in force, if it says something new.
fn take_up(path: &Path, rulebook: &ArcSwap<Rulebook>) -> Result<(), String> {
    let read = enforcement(path).map_err(|error| error.one_line())?;
    if rulebook.load().enforcement != read {
        rulebook.rcu(|old| Rulebook {
            enforcement: read.clone(),
            ..Rulebook::clone(old)
        });
        info!("enforcement file replaced");
    }
    Ok(())
}

/// Returns the names of the policies of the backstop whose rules do not refuse everywhere under an enforcement file.
pub(super) fn left_out_of_backstop(file: Option<&Path>) -> Result<Vec<String>, CliError> {
    let settings = file.map(enforcement).transpose()?.unwrap_or_default();
    let left_out = admission::backstop()
        .into_iter()
        .filter(|one| !settings.always_denies(one.rule));
    Ok(left_out.map(|one| one.name).collect())
}

fn enforcement(path: &Path) -> Result<Enforcement, CliError> {
    let wrong = |reason: String| CliError::ReadFlag {
        flag: "enforcement",
        reason: format!("file \"{}\": {reason}", path.display()),
    };
    let text = files::read_text(path, LARGEST).map_err(|error| wrong(error.to_string()))?;
    Enforcement::parse(&text).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("enforcement.yaml");
        std::fs::write(&path, text).expect("writable");
        let args = GateArgs {
            enforcement: Some(path),
            ..GateArgs::default()
        };
        match read(&args, &RightsArgs::default()) {
            Ok(_) => "read".to_owned(),
            Err(error) => error.one_line(),
        }
    }

    #[test]
    fn a_wrong_file_is_reported_with_its_faults() {
        assert_eq!(told("[{rule: config/*, action: Warn}]"), "read");
        let wrong = told("[{rule: confg/*, action: Warn}]");
        assert!(
            wrong.contains("--enforcement") && wrong.contains("did you mean \"config/*\"?"),
            "{wrong}"
        );
        let large = told(&"#".repeat(1 << 21));
        assert!(large.contains("more than 1 MiB"), "{large}");
    }

    #[test]
    fn a_replaced_file_comes_into_force_and_a_wrong_one_does_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("enforcement.yaml");
        let rulebook = ArcSwap::from_pointee(Rulebook::default());
        let action = || {
            let scope = admission::Scope::default();
            rulebook.load().enforcement.action("config/duplicate", &scope)
        };
        let put = |text: &str| {
            std::fs::write(&path, text).expect("writable");
            take_up(&path, &rulebook)
        };
        assert_eq!(action(), None);
        assert_eq!(put("[{rule: config/*, action: Warn}]"), Ok(()));
        assert_eq!(action(), Some(admission::Action::Warn));
        let wrong = put("[{rule: confg/*, action: Warn}]").expect_err("no such rule");
        assert!(wrong.contains("config/*"), "{wrong}");
        assert_eq!(action(), Some(admission::Action::Warn), "the last good one stays");
        assert_eq!(put(""), Ok(()));
        assert_eq!(action(), None);
    }

    #[test]
    fn a_missing_file_is_reported_with_its_name() {
        let args = GateArgs {
            enforcement: Some("/nowhere/enforcement.yaml".into()),
            ..GateArgs::default()
        };
        let error = read(&args, &RightsArgs::default()).expect_err("there is no file");
        assert!(
            error.one_line().contains("/nowhere/enforcement.yaml"),
            "{}",
            error.one_line()
        );
        assert_eq!(error.exit_status(), 2);
        assert!(
            read(&GateArgs::default(), &RightsArgs::default()).is_ok(),
            "no flag, no file"
        );
    }
}
