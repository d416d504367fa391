//! `tidegate crds`: prints the custom resource definitions.
//!
//! Never decides what they contain; `api` does.

use std::fs;
use std::io::Write;

use super::{CliError, CrdsArgs};
use crate::api;

pub(super) fn run(args: &CrdsArgs) -> Result<(), CliError> {
    let files: Vec<(String, String)> = api::crd_names()
        .into_iter()
        .filter_map(|name| api::crds_yaml(&name).map(|text| (format!("{name}.yaml"), text)))
        .collect();
    let Some(dir) = &args.output else {
        let mut out = std::io::stdout().lock();
        for (_, text) in &files {
            write!(out, "---\n{text}").map_err(CliError::Print)?;
        }
        return out.flush().map_err(CliError::Print);
    };
    fs::create_dir_all(dir).map_err(|source| CliError::PrepareFolder {
        dir: dir.clone(),
        source,
    })?;
    for (name, text) in &files {
        let path = dir.join(name);
        fs::write(&path, text).map_err(|source| CliError::WriteFile { path, source })?;
    }
    Ok(())
}
