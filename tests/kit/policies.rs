//! Rulebooks of policies.

use admission::Rulebook;
use admission::policy::{Origin, PolicySet, Source};
use serde_json::Value;

/// Returns a rulebook of these policies; panics with the faults of one that is not in force.
pub(crate) fn rulebook(policies: &[Value]) -> Rulebook {
    let source = |document: &Value| Source {
        origin: Origin::Hub,
        document: document.clone(),
    };
    let sources: Vec<Source> = policies.iter().map(source).collect();
    let loaded = PolicySet::load(&sources, &[], &PolicySet::default());
    for report in &loaded.reports {
        assert!(report.faults.is_empty(), "{}: {:?}", report.name, report.faults);
    }
    assert_eq!(loaded.set.len(), policies.len(), "{:?}", loaded.reports);
    Rulebook {
        policies: loaded.set,
        ..Rulebook::default()
    }
}
