//! `tidegate policy bench`: how long policies take on one object.
//!
//! Decides nothing; measures what the gate does, policy by policy and all together.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::BenchArgs;
use super::files::{documents, files, read_all};
use super::{CommandOutput, DOES_NOT_COMPILE};
use crate::cli::CliError;
use admission::policy::PolicySet;
use admission::{Operation, RequestContext, Rulebook, try_policies};
use kubernetes::field::{Shown, one_line};
use lint::check::{Extent, ObjectForm, PolicyFiles, facts, policy_faults};
use store::Facts;

pub(super) fn run(args: &BenchArgs) -> Result<CommandOutput, CliError> {
    let folder = read_all(&args.paths)?;
    let loaded = folder.load();
    if let Some(text) = policy_faults(&loaded.reports) {
        return Ok(CommandOutput {
            page: Shown::page(&text),
            status: DOES_NOT_COMPILE,
        });
    }
    let object = documents(&args.object)?.into_iter().next().unwrap_or_default();
    let mut known = Vec::new();
    for file in files(args.facts.as_slice())? {
        known.extend(documents(&file)?);
    }
    let facts = facts(&known, Extent::Whole);
    let mut text = format!("{:<40} {:>10} {:>10} {:>10}\n", "policy", "p50", "p95", "p99");
    for name in loaded.set.names() {
        let own: Vec<_> = folder
            .sources
            .iter()
            .filter(|source| belongs(&source.document, name))
            .cloned()
            .collect();
        let one = PolicyFiles {
            sources: own,
            objects: folder.objects.clone(),
        };
        row(
            &mut text,
            name,
            &measure(one.load().set, &object, &facts, args.rounds),
        );
    }
    let all = format!("all {}", loaded.set.len());
    row(
        &mut text,
        &all,
        &measure(loaded.set, &object, &facts, args.rounds),
    );
    Ok(CommandOutput {
        page: Shown::page(&text),
        status: 0,
    })
}

/// Returns whether a document is the policy of a name, or a binding of it.
fn belongs(document: &Value, name: &str) -> bool {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str);
    text("/metadata/name") == Some(name) || text("/spec/policyName") == Some(name)
}

/// Returns how long each round took, sorted.
#[expect(clippy::disallowed_methods, reason = "measuring is what this is for")]
fn measure(policies: PolicySet, object: &Value, facts: &Facts, rounds: u32) -> Vec<Duration> {
    let form = ObjectForm::of(object, None);
    let rulebook = Rulebook {
        policies,
        ..Rulebook::default()
    };
    let circumstances = RequestContext {
        now: Some(jiff::Timestamp::now()),
        ..RequestContext::default()
    };
    let request = form.request(Operation::Create, circumstances);
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            let trial = try_policies(&request, object, None, facts, &rulebook);
            let time = start.elapsed();
            drop(trial);
            time
        })
        .collect();
    times.sort();
    times
}

fn row(text: &mut String, name: &str, times: &[Duration]) {
    let at = |percent: usize| {
        let index = (times.len().saturating_sub(1) * percent) / 100;
        times.get(index).map_or(0.0, Duration::as_secs_f64) * 1e6
    };
    let name = one_line(name);
    writeln!(
        text,
        "{name:<40} {:>8.1}us {:>8.1}us {:>8.1}us",
        at(50),
        at(95),
        at(99)
    )
    .expect("writing to a string cannot fail");
}
