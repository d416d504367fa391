//! Mistakes in policies that no case notices.
//!
//! Decides what counts as noticed: a case that passes with the policy as it is and fails with the mistake in it. A mistake that
//! keeps the policy from compiling teaches nothing and is not counted.

use std::path::Path;

use super::case;
use super::suite::Suite;
use super::{PolicyFiles, TestFiles};
use admission::Rulebook;
use admission::policy::{InForce, Mutant, PolicySet, Source, mutants};

/// What became of mistakes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mutation {
    /// How many were tried.
    pub tried: usize,
    /// Those that no case noticed: where, what stands there, and what could as well.
    pub survivors: Vec<String>,
}

impl Mutation {
    /// Runs the cases of a file with every mistake in its policies.
    pub(super) fn look<F: TestFiles>(
        &mut self,
        files: &F,
        suite: &Suite,
        file: &Path,
        folder: &PolicyFiles,
    ) -> Result<(), F::Error> {
        for (index, source) in folder.sources.iter().enumerate() {
            for mutant in mutants(&source.document) {
                let Some(policies) = compiled(folder, index, source, &mutant) else {
                    continue;
                };
                self.tried += 1;
                if !is_noticed(files, suite, file, policies)? {
                    self.survivors.push(told(file, &mutant));
                }
            }
        }
        Ok(())
    }
}

fn compiled(folder: &PolicyFiles, index: usize, source: &Source, mutant: &Mutant) -> Option<PolicySet> {
    let mut folder = folder.clone();
    *folder.sources.get_mut(index)? = Source {
        origin: source.origin.clone(),
        document: mutant.document.clone(),
    };
    let loaded = folder.load();
    let whole = loaded
        .reports
        .iter()
        .all(|report| report.in_force == InForce::This);
    whole.then_some(loaded.set)
}

fn is_noticed<F: TestFiles>(
    files: &F,
    suite: &Suite,
    file: &Path,
    policies: PolicySet,
) -> Result<bool, F::Error> {
    let rulebook = Rulebook {
        policies,
        ..Rulebook::default()
    };
    for case in &suite.cases {
        let (faults, _) = case::run(files, case, &suite.given, file, &rulebook)?;
        if !faults.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn told(file: &Path, mutant: &Mutant) -> String {
    let instead = if mutant.instead.is_empty() {
        "nothing"
    } else {
        &mutant.instead
    };
    format!(
        "{instead:?} instead of {:?} at {}:{} of {} in \"{}\" ({})",
        mutant.was,
        mutant.line,
        mutant.column,
        mutant.path,
        mutant.policy,
        file.display()
    )
}
