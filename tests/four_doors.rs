//! The corpus through every door: each example of `tests/admission/*.md` gets the identical verdict from `decide`, from the
//! webhook over TLS, and from `check` on a folder.
//!
//! The facts of an example become objects of a hub for `check`: what it works out from them must be what the page says.

#[path = "admission/asked.rs"]
mod asked;
#[path = "four_doors/doors.rs"]
mod doors;
#[path = "four_doors/hub.rs"]
mod hub;
#[path = "admission/pages.rs"]
mod pages;
#[path = "four_doors/webhook.rs"]
mod webhook;

use std::fmt::Write as _;

use doors::{Answer, at_check, at_decide};
use pages::{Example, pages};
use tidegate::snapshot::Facts;
use webhook::Webhook;

/// A way to the gate. An audit of stored objects is one more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The function itself.
    Decide,
    /// An API server, over TLS.
    Webhook,
    /// A folder of manifests.
    Check,
}

const WAYS: [Way; 3] = [Way::Decide, Way::Webhook, Way::Check];

impl Way {
    /// A folder has no subresources: a status is not what it says.
    fn can_ask(self, example: &Example) -> bool {
        match self {
            Self::Decide | Self::Webhook => true,
            Self::Check => example.asked.subresource.is_empty(),
        }
    }

    /// Files are all there is: nobody else can be asked whether an object exists, so that what is absent is absent.
    fn facts(self, example: &Example) -> Facts {
        match self {
            Self::Decide | Self::Webhook => example.facts.clone(),
            Self::Check => example.facts.clone().without_doubt(),
        }
    }

    async fn answer(self, webhook: &Webhook, example: &Example) -> Answer {
        match self {
            Self::Decide => at_decide(example, &example.facts),
            Self::Webhook => webhook.answer(example).await,
            Self::Check => at_check(example),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_gets_the_same_verdict_at_every_door() {
    let webhook = Webhook::start().await;
    let (mut wrong, mut asked) = (String::new(), 0);
    for page in pages() {
        for example in &page.examples {
            for way in WAYS.into_iter().filter(|way| way.can_ask(example)) {
                asked += 1;
                let expected = at_decide(example, &way.facts(example));
                let given = way.answer(&webhook, example).await;
                if let Some(difference) = expected.difference(&given) {
                    let place = format!("{}: {}", page.path.display(), example.title);
                    writeln!(wrong, "{place}: {way:?}\n{difference}").expect("a string");
                }
            }
        }
    }
    webhook.stop().await;
    assert!(asked > 200, "the corpus is gone: {asked} questions");
    assert!(wrong.is_empty(), "{wrong}");
}
