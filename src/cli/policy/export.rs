//! `tidegate policy export --native`: policies as Kubernetes' own objects.
//!
//! Decides nothing; what cannot be converted is printed to standard error, with every reason.

use serde_json::Value;

use super::ExportArgs;
use super::files::read_all;
use super::{CommandOutput, DOES_NOT_COMPILE, FOUND};
use crate::cli::CliError;
use crate::cli::print::complain;
use kubernetes::field::{Shown, acts};
use lint::check::policy_faults;

pub(super) fn run(args: &ExportArgs) -> Result<CommandOutput, CliError> {
    let loaded = read_all(&args.paths)?.load();
    let mut said = CommandOutput::default();
    for exported in admission::policy::native(&loaded.set) {
        match exported {
            Ok(objects) => {
                for object in objects {
                    said.page.push(&Shown::page("---\n"));
                    said.page.push(&written(&object)?);
                }
            }
            Err(refused) => {
                said.status = FOUND;
                complain(&Shown::line(&format!(
                    "{}: cannot be converted: {}",
                    refused.policy,
                    refused.reasons.join("; ")
                )));
            }
        }
    }
    if let Some(faults) = policy_faults(&loaded.reports) {
        said.status = DOES_NOT_COMPILE;
        complain(&Shown::page(&faults));
    }
    Ok(said)
}

/// Writes an object as YAML; as JSON, which is YAML as well, when it holds what would act on a terminal: there it can be written by
/// number, and means the same.
pub(in crate::cli) fn written(object: &Value) -> Result<Shown, CliError> {
    let body = serde_saphyr::to_string(object).map_err(CliError::serving("the YAML writer"))?;
    let page = Shown::page(&body);
    if page.as_str() == body && !body.chars().any(|letter| letter != '\n' && acts(letter)) {
        return Ok(page);
    }
    Ok(Shown::json(&format!("{object:#}\n")))
}
