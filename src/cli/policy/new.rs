//! `tidegate policy new`: a policy that compiles, and a test beside it that passes, to begin with.
//!
//! Decides what is in the two files, and that nothing is overwritten. What a policy may say is decided elsewhere: both files go
//! through the tools like any other.

use std::path::Path;

use super::CommandOutput;
use super::NewArgs;
use crate::cli::CliError;
use crate::files::create;
use kubernetes::field::{Shown, quoted};
use lint::starter::{StarterError, starter};

pub(super) fn run(args: &NewArgs) -> Result<CommandOutput, CliError> {
    let starter = starter(&args.name, &args.kind).map_err(|error| match error {
        StarterError::Kind(reason) => CliError::ReadFlag { flag: "kind", reason },
        StarterError::Name(words) => CliError::Refused(words.into()),
    })?;
    let policy = args.dir.join(format!("{}.yaml", args.name));
    let test = args.dir.join(format!("{}.test.yaml", args.name));
    for path in [&policy, &test] {
        if std::fs::symlink_metadata(path).is_ok() {
            let words = format!(
                "{} already exists: choose another name, or another --dir",
                quoted(&path.display().to_string())
            );
            return Err(CliError::Refused(words.into()));
        }
    }
    std::fs::create_dir_all(&args.dir).map_err(CliError::writing(&args.dir))?;
    put(&policy, &starter.policy)?;
    put(&test, &starter.test)?;
    let (policy, test) = (policy.display(), test.display());
    let page = format!(
        "wrote {policy}\nwrote {test}\n\nWrite the expression, and the cases that it rejects and admits. Then run:\n  \
         tidegate policy lint {policy}\n  tidegate policy test {test} --watch\n  tidegate policy test {test} --mutate\n  kubectl apply -f {policy}\n"
    );
    Ok(CommandOutput {
        page: Shown::page(&page),
        status: 0,
    })
}

fn put(path: &Path, text: &str) -> Result<(), CliError> {
    create(path, text).map_err(CliError::writing(path))
}
