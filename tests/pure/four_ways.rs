//! Each example of `tests/rules/*.md` gets the identical verdict from `decide`, from the webhook over TLS, from `check` on a folder,
//! and from an audit of stored objects.
//!
//! For `check` the facts of an example become objects of a hub: what it derives from them must be what the page says. An audit has no
//! request: examples that it cannot evaluate are counted below, so that none is skipped silently.

mod answers;
mod hub;
mod webhook;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use admission::{FieldsKnownBy, Operation, UnknownFacts, is_policy};
use answers::{Answer, at_audit, at_check, at_decide, audited_kind};
use expect_test::expect;
use serde_json::Value;
use store::Facts;
use webhook::Webhook;

use crate::kit::pages::{Example, pages};

/// A way to evaluate the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The function itself.
    Decide,
    /// An API server, over TLS.
    Webhook,
    /// A folder of manifests.
    Check,
    /// What is stored already.
    Audit,
}

const WAYS: [Way; 4] = [Way::Decide, Way::Webhook, Way::Check, Way::Audit];

impl Way {
    /// Returns why something cannot be asked here. A folder has no subresources: a status is not what it says. An audit sees
    /// what is stored, never a change or a deletion.
    fn cannot_ask(self, example: &Example) -> Option<&'static str> {
        let asked = &example.asked;
        match self {
            Self::Check | Self::Audit if !asked.subresource.is_empty() => Some("is about a status"),
            Self::Check | Self::Audit if asked.operation == Operation::Create && tells_a_move(example) => {
                Some("is about what its creation moves: here it is there already")
            }
            Self::Check if gives_a_version_away(example) => {
                Some("takes a version from its add-on: a folder has it as it is to be")
            }
            Self::Check if is_policy(&asked.object) => {
                Some("is a policy: its faults are shown at their letter of the file")
            }
            Self::Decide | Self::Webhook | Self::Check => None,
            Self::Audit => match asked.operation {
                Operation::Update => Some("is an update: it compares with what was there before"),
                Operation::Delete => Some("is a deletion"),
                Operation::Connect => Some("is a connection"),
                Operation::Create if audited_kind(&asked.object).is_none() => {
                    Some("is about a kind that is not audited")
                }
                Operation::Create => None,
            },
        }
    }

    /// Files are all there is: no hub can be asked whether an object exists, so that what is absent is absent. An audit
    /// refuses nothing and looks again.
    fn facts(self, example: &Example) -> Facts {
        match self {
            Self::Decide | Self::Webhook => example.facts.clone(),
            Self::Check | Self::Audit => example.facts.clone().without_doubt().entitled(BTreeMap::new()),
        }
    }

    /// The webhook must decide; for a folder and in an audit, unknown facts are reported.
    fn unknown(self) -> UnknownFacts {
        match self {
            Self::Decide | Self::Webhook => UnknownFacts::Fail,
            Self::Check | Self::Audit => UnknownFacts::SetAside,
        }
    }

    /// What an API server sends, and what it has stored, has no field that its definition does not have.
    fn fields(self) -> FieldsKnownBy<'static> {
        match self {
            Self::Decide | Self::Check => FieldsKnownBy::OurDefinition,
            Self::Webhook | Self::Audit => FieldsKnownBy::TheHub,
        }
    }

    async fn answer(self, webhook: &Webhook, example: &Example) -> Answer {
        match self {
            Self::Decide => at_decide(example, &example.facts, (UnknownFacts::Fail, self.fields())),
            Self::Webhook => webhook.answer(example).await,
            Self::Check => at_check(example),
            Self::Audit => at_audit(example),
        }
    }
}

/// Whether a template of a version is assigned to another add-on, or loses the version.
fn gives_a_version_away(example: &Example) -> bool {
    let label = "addon.open-cluster-management.io/version";
    let owner = |object: &Value| object["spec"]["addonName"].clone();
    let before = example.asked.old.as_ref();
    let goes = before.is_some_and(|old| {
        old["metadata"]["labels"].get(label).is_some() && owner(old) != owner(&example.asked.object)
    });
    goes || tells(example, "[version/withdrawn]")
}

/// Whether the answer speaks of a change, and not of the object.
fn tells_a_move(example: &Example) -> bool {
    tells(example, "[blast-radius/")
}

fn tells(example: &Example, rule: &str) -> bool {
    let known = (UnknownFacts::Fail, FieldsKnownBy::OurDefinition);
    let answer = at_decide(example, &example.facts, known);
    let mut warnings = answer.warnings.iter().flatten();
    warnings.any(|warning| warning.contains(rule))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_gets_the_same_verdict_everywhere() {
    // Read first: the gate waits two seconds for the first question of a connection.
    let pages = pages();
    let webhook = Webhook::start().await;
    let (mut wrong, mut asked) = (String::new(), BTreeMap::new());
    for page in pages {
        for example in &page.examples {
            for way in WAYS {
                let why_not = way.cannot_ask(example);
                *asked.entry((way as usize, why_not)).or_insert(0_usize) += 1;
                if why_not.is_some() {
                    continue;
                }
                let expected = at_decide(example, &way.facts(example), (way.unknown(), way.fields()));
                let given = way.answer(&webhook, example).await;
                if let Some(difference) = expected.difference(&given) {
                    let place = format!("{}: {}", page.path.display(), example.title);
                    writeln!(wrong, "{place}: {way:?}\n{difference}").expect("a string");
                }
            }
        }
    }
    webhook.stop().await;
    assert!(wrong.is_empty(), "{wrong}");
    let mut counted = String::new();
    for (way, why_not) in asked.keys() {
        let (count, what) = (asked[&(*way, *why_not)], why_not.unwrap_or("the same verdict"));
        writeln!(counted, "{:?}: {count} {what}", WAYS[*way]).expect("a string");
    }
    expect![["
        Decide: 526 the same verdict
        Webhook: 526 the same verdict
        Check: 515 the same verdict
        Check: 6 is a policy: its faults are shown at their letter of the file
        Check: 1 is about a status
        Check: 1 is about what its creation moves: here it is there already
        Check: 3 takes a version from its add-on: a folder has it as it is to be
        Audit: 367 the same verdict
        Audit: 33 is a deletion
        Audit: 26 is about a kind that is not audited
        Audit: 1 is about a status
        Audit: 1 is about what its creation moves: here it is there already
        Audit: 98 is an update: it compares with what was there before
    "]]
    .assert_eq(&counted);
}
