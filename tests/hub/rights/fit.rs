//! Compares the requests of an account with the table of calls: none may be forbidden, every request has a row, and every row was used
//! or has a reason.

use std::collections::BTreeSet;

use operate::doctor::calls::{CALLS, Role, Sent};

use super::recorder::Record;
use crate::kit::waiting::eventually_or;

/// Group, resource with its subresource, and verb.
type Granted = (String, String, String);

fn used(record: &Record) -> BTreeSet<Granted> {
    let calls = record.calls().into_iter();
    calls.map(|call| (call.group, call.resource, call.verb)).collect()
}

/// The calls of roles of which this is true.
fn rows(roles: &[Role], is_it: impl Fn(Sent) -> bool) -> BTreeSet<Granted> {
    let rows = CALLS
        .iter()
        .filter(|call| roles.contains(&call.role) && is_it(call.sent));
    let each = rows.flat_map(|call| {
        let one = |verb: &&str| {
            (
                call.group.to_owned(),
                call.resource.to_owned(),
                (*verb).to_owned(),
            )
        };
        call.verbs.iter().map(one)
    });
    each.collect()
}

/// Asserts that nothing was forbidden, and that no call was sent without a row of these roles.
pub(crate) fn assert_granted(record: &Record, roles: &[Role]) {
    assert!(
        record.forbidden().is_empty(),
        "needed and not granted: {:#?}",
        record.forbidden()
    );
    let table = rows(roles, |sent| !matches!(sent, Sent::Never(_)));
    let strange: Vec<Granted> = used(record)
        .into_iter()
        .filter(|call| !table.contains(call))
        .collect();
    assert!(
        strange.is_empty(),
        "sent, and not in the table of calls: {strange:#?}"
    );
}

/// Asserts that, and that everything was sent that is always sent.
pub(crate) fn assert_fit(record: &Record, roles: &[Role]) {
    assert_granted(record, roles);
    let idle = idle(record, roles);
    assert!(
        idle.is_empty(),
        "in the table of calls and not sent: {idle:#?}\nsent: {:#?}",
        used(record)
    );
}

/// What is always sent, and was not so far.
fn idle(record: &Record, roles: &[Role]) -> BTreeSet<Granted> {
    let always = rows(roles, |sent| sent == Sent::Always);
    always.difference(&used(record)).cloned().collect()
}

/// Waits until everything is sent that is always sent: a watch begins a moment after the list that a story waits for.
pub(crate) async fn all_used(record: &Record, roles: &[Role]) {
    let missing = || idle(record, roles);
    eventually_or(
        "all that is granted is used",
        async || missing(),
        async || missing().is_empty(),
    )
    .await;
}
