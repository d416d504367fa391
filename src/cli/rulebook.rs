//! The rulebook of the gate, from the files that flags name.
//!
//! Decides nothing about rules; what a file may say is decided by `admission`. A wrong file is the user's mistake: it is
//! told before anything starts.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::{CliError, GateArgs, policies};
use crate::admission::{Enforcement, Rulebook};

/// The largest enforcement file, in bytes.
const LARGEST: u64 = 1 << 20;

/// Reads what the flags name.
pub(super) fn read(args: &GateArgs) -> Result<Rulebook, CliError> {
    let enforcement = args.enforcement.as_deref().map(enforcement).transpose()?;
    Ok(Rulebook {
        enforcement: enforcement.unwrap_or_default(),
        policies: policies::compiled(args.policies.as_deref())?,
    })
}

fn enforcement(path: &Path) -> Result<Enforcement, CliError> {
    let wrong = |reason: String| CliError::ReadFlag {
        flag: "enforcement",
        reason: format!("file \"{}\": {reason}", path.display()),
    };
    let mut text = String::new();
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    // One byte more than allowed tells a file that is too large from one that just fits.
    let read = file.take(LARGEST.saturating_add(1)).read_to_string(&mut text);
    read.map_err(|error| wrong(error.to_string()))?;
    if text.len() as u64 > LARGEST {
        return Err(wrong(format!("must have at most {LARGEST} bytes")));
    }
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
        match read(&args) {
            Ok(_) => "read".to_owned(),
            Err(error) => error.one_line(),
        }
    }

    #[test]
    fn a_wrong_file_is_told_with_its_faults() {
        assert_eq!(told("[{rule: config/*, action: Warn}]"), "read");
        let wrong = told("[{rule: confg/*, action: Warn}]");
        assert!(
            wrong.contains("--enforcement") && wrong.contains("did you mean \"config/*\"?"),
            "{wrong}"
        );
        let large = told(&"#".repeat(1 << 21));
        assert!(large.contains("at most 1048576 bytes"), "{large}");
    }

    #[test]
    fn a_missing_file_is_told_with_its_name() {
        let args = GateArgs {
            enforcement: Some("/nowhere/enforcement.yaml".into()),
            ..GateArgs::default()
        };
        let error = read(&args).expect_err("there is no file");
        assert!(
            error.one_line().contains("/nowhere/enforcement.yaml"),
            "{}",
            error.one_line()
        );
        assert_eq!(error.exit_status(), 2);
        assert!(read(&GateArgs::default()).is_ok(), "no flag, no file");
    }
}
