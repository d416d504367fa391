//! `tidegate policy export --native`: policies as Kubernetes' own objects.
//!
//! Decides nothing; what has no such form is told on standard error, with every reason.

use super::ExportArgs;
use super::files::read_all;
use super::run::{DOES_NOT_COMPILE, FOUND, Said, faults};
use crate::cli::CliError;
use crate::policy;

#[expect(clippy::print_stderr, reason = "standard output is the objects")]
pub(super) fn run(args: &ExportArgs) -> Result<Said, CliError> {
    let loaded = read_all(&args.paths)?.load();
    let mut said = Said::default();
    for exported in policy::native(&loaded.set) {
        match exported {
            Ok(objects) => {
                for object in objects {
                    let body = serde_saphyr::to_string(&object).map_err(|error| CliError::Serve {
                        part: "the YAML writer",
                        source: Box::new(error),
                    })?;
                    said.text.push_str("---\n");
                    said.text.push_str(&body);
                }
            }
            Err(refused) => {
                said.status = FOUND;
                eprintln!(
                    "{}: has no native form: {}",
                    refused.policy,
                    refused.reasons.join("; ")
                );
            }
        }
    }
    if let Some(faults) = faults(&loaded.reports) {
        said.status = DOES_NOT_COMPILE;
        eprint!("{faults}");
    }
    Ok(said)
}
