//! `tidegate examples`: the manifests that this program's tips and pages speak of, as files.
//!
//! Decides where they lie. Never takes the place of a file that says something else.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::CliError;
use crate::cli::print::print;
use crate::files::{Access, read_text, write};
use kubernetes::field::Shown;

/// Write the example manifests into a folder: an add-on with everything it needs, a cluster upgrade, and two invalid manifests.
///
/// `kubectl apply -f DIR` installs the add-on; the webhook rejects what is in DIR/wrong.
#[derive(Args, Clone, Debug)]
pub struct ExamplesArgs {
    /// Output folder; created if it does not exist.
    #[arg(value_name = "DIR", default_value = "examples")]
    pub dir: PathBuf,
    /// Overwrite existing files that differ.
    #[arg(long)]
    pub force: bool,
}

macro_rules! examples {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../manifests/examples/", $name)))),*]
    };
}

/// The add-on, in the order in which `kubectl apply -f` sends it.
pub(in crate::cli) const ADDON: &[(&str, &str)] = examples![
    "01-namespace.yaml",
    "02-cluster-set.yaml",
    "03-placement.yaml",
    "04-addon-template.yaml",
    "05-addon-deployment-config.yaml",
    "06-cluster-management-addon.yaml",
];

/// The cluster upgrade.
pub(in crate::cli) const UPGRADE: &[(&str, &str)] =
    examples!["upgrade/01-cluster-set-binding.yaml", "upgrade/02-upgrade.yaml",];

/// Maximum number of bytes of a file that are compared.
const LARGEST: u64 = 1 << 20;

/// Invalid manifests.
const WRONG: &[(&str, &str)] = examples!["wrong/01-rollout.yaml", "wrong/02-config-type.yaml"];

pub(in crate::cli) fn run(args: &ExamplesArgs) -> Result<(), CliError> {
    let count = write_all(
        &args.dir,
        if args.force {
            Others::Replaced
        } else {
            Others::Refused
        },
    )?;
    let dir = args.dir.display();
    print(&Shown::page(&format!(
        "{count} in {dir}\n\nTry with a hub:\n  kubectl apply -f {dir}\n  kubectl apply -f {dir}/wrong/01-rollout.yaml\nor without:\n  tidegate check {dir}\n",
        count = kubernetes::field::counted(count, "file"),
    )))
}

/// How to handle existing files that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Others {
    /// Write no file at all.
    Refused,
    /// Overwrite them.
    Replaced,
    /// Keep them.
    Kept,
}

/// Writes the files; returns their number.
pub(in crate::cli) fn write_all(dir: &Path, others: Others) -> Result<usize, CliError> {
    let all = || ADDON.iter().chain(UPGRADE).chain(WRONG);
    let changed = all().filter(|(name, text)| {
        let there = read_text(&dir.join(name), LARGEST);
        there.is_ok_and(|there| there != *text)
    });
    let changed: Vec<&str> = changed.map(|(name, _)| *name).collect();
    if others == Others::Refused && !changed.is_empty() {
        let words = format!(
            "\"{}\" has files that differ: {}; use --force to overwrite them",
            dir.display(),
            kubernetes::field::listed(changed.iter().copied())
        );
        return Err(CliError::Refused(words.into()));
    }
    for folder in [dir.to_owned(), dir.join("upgrade"), dir.join("wrong")] {
        std::fs::create_dir_all(&folder).map_err(|source| CliError::PrepareFolder { dir: folder, source })?;
    }
    for (name, text) in all().filter(|(name, _)| others != Others::Kept || !changed.contains(name)) {
        let path = dir.join(name);
        write(&path, text, Access::Shared).map_err(CliError::writing(&path))?;
    }
    Ok(all().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_files_are_kept_unless_force_is_set() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path().join("examples");
        let count = write_all(&dir, Others::Refused).expect("written");
        assert_eq!(count, ADDON.len() + UPGRADE.len() + WRONG.len());
        assert_eq!(write_all(&dir, Others::Refused).expect("the same again"), count);
        let changed = dir.join("wrong/01-rollout.yaml");
        std::fs::write(&changed, "mine").expect("writable");
        let refused = write_all(&dir, Others::Refused).expect_err("refused").one_line();
        assert!(refused.contains("wrong/01-rollout.yaml"), "{refused}");
        assert_eq!(std::fs::read_to_string(&changed).expect("text"), "mine");
        write_all(&dir, Others::Kept).expect("kept");
        assert_eq!(std::fs::read_to_string(&changed).expect("text"), "mine");
        write_all(&dir, Others::Replaced).expect("written over");
        assert_ne!(std::fs::read_to_string(&changed).expect("text"), "mine");
    }

    #[test]
    fn every_example_of_the_repository_is_among_them() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/examples");
        let mut there = Vec::new();
        for folder in ["", "upgrade/", "wrong/"] {
            for entry in std::fs::read_dir(root.join(folder))
                .expect("the folder")
                .flatten()
            {
                let name = entry.file_name().to_string_lossy().into_owned();
                if Path::new(&name)
                    .extension()
                    .is_some_and(|ending| ending == "yaml")
                {
                    there.push(format!("{folder}{name}"));
                }
            }
        }
        there.sort();
        let mut known: Vec<&str> = ADDON
            .iter()
            .chain(UPGRADE)
            .chain(WRONG)
            .map(|(name, _)| *name)
            .collect();
        known.sort_unstable();
        assert_eq!(known, there);
    }
}
