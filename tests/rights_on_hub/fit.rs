//! What an account was granted, held against what it did.
//!
//! Decides nothing: nothing may have been forbidden, and what was granted was used or has a reason.

use std::collections::BTreeSet;

use super::Reason;
use super::manifests::Granted;
use super::recorder::Record;
use crate::testkit::waiting::eventually_or;

fn used(record: &Record) -> BTreeSet<Granted> {
    let calls = record.calls().into_iter();
    calls.map(|call| (call.group, call.resource, call.verb)).collect()
}

/// Asserts that nothing was forbidden, and that everything granted was used or has a reason.
pub(crate) fn assert_fit(record: &Record, granted: &BTreeSet<Granted>, reasons: &[Reason]) {
    assert!(
        record.forbidden().is_empty(),
        "needed and not granted: {:#?}",
        record.forbidden()
    );
    for one in excused(reasons) {
        assert!(
            granted.contains(&one),
            "nobody grants {one:?}, which has a reason"
        );
    }
    let idle = idle(record, granted, reasons);
    let used = used(record);
    assert!(
        idle.is_empty(),
        "granted and not used: {idle:#?}\nused: {used:#?}"
    );
}

/// What need not be used, because it has a reason.
fn excused(reasons: &[Reason]) -> BTreeSet<Granted> {
    let all = reasons.iter().flat_map(|(group, resource, verbs, why)| {
        assert!(!why.is_empty());
        let one = |verb: &&str| ((*group).to_owned(), (*resource).to_owned(), (*verb).to_owned());
        verbs.iter().map(one)
    });
    all.collect()
}

/// What is granted, has no reason, and was not used so far.
fn idle(record: &Record, granted: &BTreeSet<Granted>, reasons: &[Reason]) -> BTreeSet<Granted> {
    let (used, excused) = (used(record), excused(reasons));
    let needed = granted.difference(&excused);
    needed.filter(|one| !used.contains(*one)).cloned().collect()
}

/// Waits until everything is used that is granted: a watch begins a moment after the list that a story waits for.
pub(crate) async fn all_used(record: &Record, granted: &BTreeSet<Granted>, reasons: &[Reason]) {
    let missing = || idle(record, granted, reasons);
    eventually_or(
        "all that is granted is used",
        async || missing(),
        async || missing().is_empty(),
    )
    .await;
}
