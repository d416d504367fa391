//! The pages in `tests/rules/` are documentation and tests in one: every example's answer is the webhook's.
//!
//! A page is Markdown. `yaml facts` blocks contain the known facts (before the first example: for the whole page); `yaml old`,
//! `yaml object`, `yaml delete` and `yaml status` blocks make a request; the `text answer` block is the expected answer.
//! `<450 KiB of text>` and `<10,001 empty objects>` in an object are replaced by such values.
//! Each page is a test: `cargo test --workspace --test suite -- rule_pages::naming`. With `UPDATE_EXPECT=1` its answers are written;
//! read them before you keep them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use admission::{RequestContext, Rulebook, UnknownFacts, Verdict, Webhook, catalogue};
use kubernetes::field::{Path, Segment, Violation};
use serde_json::Value;
use store::Kind;

use crate::kit::asked::{Asked, DEFINITIONS, resource};
use crate::kit::each::{self, test_each};
use crate::kit::manifests::repository;
use crate::kit::pages::{Example, page, pages};

test_each! {
    every_example_gets_its_answer, "tests/rules", "md":
    approval
    blast_radius
    check
    config
    config_objects
    config_protected
    config_types
    defaults
    deletion
    dependency
    deployment_config
    field_owner
    freeze
    in_place
    install
    install_namespace
    install_strategy
    lifecycle
    manifest
    metadata
    naming
    permission
    placing
    policy
    profile
    registration
    rolling_update
    rollout
    rollout_progress
    rollout_settings
    same_object
    schema
    steering
    template
    updates
    upgrade
    v1beta1
    version
    version_order
    version_reference
}

fn every_example_gets_its_answer(name: &str) {
    let page = page(repository("tests/rules").join(name).with_extension("md"));
    let mut wrong = String::new();
    let mut text = page.text.clone();
    for example in &page.examples {
        let given = answer(example);
        if given != example.answer {
            let place = format!("{}: {}", page.path.display(), example.title);
            write!(
                wrong,
                "{place}\n--- expected\n{}--- given\n{given}\n",
                example.answer
            )
            .expect("a string");
        }
        text = with_answer(&text, &example.title, &given);
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&page.path, text).expect("the page can be written");
        return;
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_rule_is_shown_on_a_page() {
    let answers = answers();
    let spoken: BTreeSet<&str> = answers.iter().flat_map(|(_, verdict)| verdict.rules()).collect();
    for entry in catalogue() {
        assert!(
            spoken.contains(entry.id),
            "{} has no example in tests/rules",
            entry.id
        );
    }
    let known: BTreeSet<&str> = catalogue().iter().map(|entry| entry.id).collect();
    assert!(
        spoken.is_subset(&known),
        "every rule that speaks is in the catalogue"
    );
}

#[test]
fn every_path_leads_to_a_field_of_the_schema() {
    for (asked, verdict) in answers() {
        for violation in spoken(&verdict) {
            // A field that no schema knows must at least stand in an object that the schema knows.
            let unknown = violation.rule() == "schema/unknown-field";
            let path = if unknown {
                parent(violation.path())
            } else {
                violation.path().clone()
            };
            assert!(is_known(&asked.object, &path), "{path} of {violation}");
        }
    }
}

/// `docs/rules/README.md`: each rule with what it checks, why, its shortest example, and how to configure it.
#[test]
fn the_reference_page_is_current() {
    let mut examples: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for page in pages() {
        let file = page
            .path
            .file_name()
            .expect("a file")
            .to_string_lossy()
            .into_owned();
        for example in &page.examples {
            let verdict = example.asked.at(Webhook::Mutate, &example.facts);
            let rules: BTreeSet<&str> = verdict.rules().into_iter().collect();
            for rule in rules {
                let text = shown(rule, example, &verdict, &file);
                let others = spoken(&verdict).filter(|one| one.rule() != rule).count();
                let length = text.lines().count() + 100 * others;
                let known = examples.get(rule).map_or(usize::MAX, |(length, _)| *length);
                if length < known {
                    examples.insert(rule.to_owned(), (length, text));
                }
            }
        }
    }
    let mut page = String::from(
        "# Rules\n\n\
         <!-- Generated from crates/admission/src/rules and tests/rules by tests/pure/rule_pages.rs; change those instead. -->\n\n\
         Every message of the webhook ends in the id of its rule. For each rule, this page shows what it checks, why, and a message that it\n\
         prints. The fix is the hint of the message, or follows from it. `tidegate explain RULE` prints the same in a terminal.\n\n\
         To change what a rule does, add an entry to the [enforcement file](../enforcement.md), for example\n\
         `{rule: naming/unknown-addon, action: Deny}`. To exempt an add-on or a namespace, see [exempt](../guides/exempt.md).\n",
    );
    for entry in catalogue() {
        let kinds: Vec<String> = entry.resources.iter().map(|kind| format!("`{kind}`")).collect();
        let kinds = if kinds.is_empty() {
            "every kind".to_owned()
        } else {
            kinds.join(", ")
        };
        let default = if entry.refuses { "`Deny`" } else { "`Warn`" };
        write!(
            page,
            "\n## {}\n\n**{}**\n\n{}\n\n{}Default action: {default}. Checked on {} of {kinds}.\n",
            entry.id,
            entry.summary,
            entry.text,
            examples.get(entry.id).map_or("", |(_, text)| text),
            entry.on.words(),
        )
        .expect("a string");
    }
    let path = repository("docs/rules/README.md");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).expect("the page");
    assert!(
        found == page,
        "docs/rules/README.md is out of date; UPDATE_EXPECT=1 writes it"
    );
}

/// An example as the reference page shows it: the request, the messages of one rule, and where more examples are.
fn shown(rule: &str, example: &Example, verdict: &Verdict, file: &str) -> String {
    let mut text = String::new();
    let is_update = example.request.iter().any(|(kind, _)| kind == "old");
    for (kind, body) in &example.request {
        let label = match (kind.as_str(), is_update) {
            ("old", _) => "Example, stored:",
            ("object", true) => "Applied:",
            ("object", false) => "Example:",
            ("delete", _) => "Example, deleted:",
            _ => "Example, a write of the status:",
        };
        writeln!(text, "{label}\n\n```yaml\n{body}```\n").expect("a string");
    }
    text.push_str("```text\n");
    for violation in spoken(verdict).filter(|one| one.rule() == rule) {
        writeln!(text, "{violation}").expect("a string");
    }
    write!(text, "```\n\n[More examples](../../tests/rules/{file}). ").expect("a string");
    text
}

#[test]
fn permissions_of_the_author_are_undecided_without_a_hub() {
    let alone = RequestContext {
        unknown: UnknownFacts::SetAside,
        ..RequestContext::default()
    };
    let mut open = 0;
    for page in pages() {
        for Example {
            title, asked, facts, ..
        } in page.examples
        {
            let facts = facts.entitled(BTreeMap::new());
            let verdict = asked.as_told(&Rulebook::default(), (Webhook::Mutate, alone), &facts);
            let about = |one: &&Violation| one.rule() == "permission/author";
            assert_eq!(verdict.violations().iter().filter(about).count(), 0, "{title}");
            open += verdict.undecided().iter().filter(about).count();
        }
    }
    assert!(open > 5, "{open}");
}

#[test]
fn every_message_has_the_common_form() {
    for (_, verdict) in answers() {
        for violation in spoken(&verdict) {
            let text = violation.to_string();
            assert!(text.ends_with(&format!(" [{}]", violation.rule())), "{text}");
            assert!(!text.contains('\n'), "{text}");
            for phrase in [Some(violation.detail()), violation.hint()].into_iter().flatten() {
                assert!(!phrase.ends_with('.'), "{text}");
                assert!(!phrase.starts_with(char::is_uppercase), "{text}");
            }
        }
        for warning in verdict.warnings() {
            assert!(warning.to_string().chars().count() <= 256, "{warning}");
        }
    }
}

#[test]
fn both_webhooks_agree_and_additions_are_made_once() {
    for page in pages() {
        for Example {
            title, asked, facts, ..
        } in page.examples
        {
            let (first, second) = (
                asked.at(Webhook::Mutate, &facts),
                asked.at(Webhook::Validate, &facts),
            );
            assert!(second.patch().0.is_empty(), "{title}: the guard changes nothing");
            assert_eq!(
                first,
                asked.at(Webhook::Mutate, &facts),
                "{title}: the same answer every time"
            );
            if first.patch().0.is_empty() {
                // Only the mutating webhook requests facts for defaults.
                let asks = first.asks().iter().filter(|key| key.kind != Kind::Instance);
                let asks = asks.cloned().collect();
                assert_eq!(first.asking(asks), second, "{title}");
                continue;
            }
            let mut after = asked.clone();
            json_patch::patch(&mut after.object, first.patch()).expect("the addition fits the object");
            assert!(
                after.at(Webhook::Mutate, &facts).patch().0.is_empty(),
                "{title}: nothing is added twice"
            );
            assert!(
                after.at(Webhook::Validate, &facts).allowed(),
                "{title}: the result is accepted"
            );
        }
    }
}

fn answers() -> Vec<(Asked, Verdict)> {
    let examples = pages().into_iter().flat_map(|page| page.examples);
    examples
        .map(|example| {
            (
                example.asked.clone(),
                example.asked.at(Webhook::Mutate, &example.facts),
            )
        })
        .collect()
}

fn spoken(verdict: &Verdict) -> impl Iterator<Item = &Violation> {
    verdict.violations().iter().chain(
        verdict
            .warnings()
            .iter()
            .map(kubernetes::field::Warning::violation),
    )
}

fn parent(path: &Path) -> Path {
    path.split_last().map(|(parent, _)| parent).unwrap_or_default()
}

fn is_known(object: &Value, path: &Path) -> bool {
    // The API server looks after metadata itself, so that its schema says nothing about it.
    let metadata = [
        "metadata.name",
        "metadata.namespace",
        "metadata.labels[",
        "metadata.annotations[",
        "metadata.finalizers",
        "metadata.ownerReferences",
    ];
    if metadata.iter().any(|known| path.to_string().starts_with(known)) {
        return true;
    }
    // Our CRDs have one version; the property of the conversion tests the other one.
    let told = path.to_string();
    if let Some(rest) = told.strip_prefix("spec.defaultConfigs[") {
        let field = rest.split_once(']').map_or("", |(_, field)| field);
        return ["", ".group", ".resource", ".name", ".namespace"].contains(&field);
    }
    let text = |name: &str| {
        object
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let api_version = text("apiVersion");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let plural = resource(group, &text("kind"));
    let crd = DEFINITIONS
        .iter()
        .find(|crd| crd.spec.names.plural == plural)
        .expect("a kind of ours");
    let schema = crd.spec.versions[0]
        .schema
        .as_ref()
        .and_then(|schema| schema.open_api_v3_schema.as_ref());
    let mut schema = &serde_json::to_value(schema).expect("a schema is JSON");
    for segment in path.segments() {
        // Manifests of a template are objects of any kind.
        if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
            return true;
        }
        let next = match segment {
            Segment::Index(_) => schema.get("items"),
            Segment::Key(name) => schema
                .get("properties")
                .and_then(|properties| properties.get(name.as_ref()))
                .or_else(|| schema.get("additionalProperties")),
            Segment::Entry(_) => schema.get("additionalProperties"),
        };
        match next {
            Some(next) => schema = next,
            None => return false,
        }
    }
    true
}

fn answer(example: &Example) -> String {
    let verdict = example.asked.at(Webhook::Mutate, &example.facts);
    let mut text = String::from(if verdict.allowed() {
        "allowed\n"
    } else {
        "refused\n"
    });
    for violation in verdict.violations() {
        writeln!(text, "- {violation}").expect("a string");
    }
    for warning in verdict.warnings() {
        writeln!(text, "warning: {warning}").expect("a string");
    }
    for operation in &verdict.patch().0 {
        writeln!(
            text,
            "patch: {}",
            serde_json::to_string(operation).expect("an operation is JSON")
        )
        .expect("a string");
    }
    text
}

fn with_answer(page: &str, title: &str, answer: &str) -> String {
    const OPEN: &str = "```text answer\n";
    let (before, section) = page
        .split_once(&format!("\n### {title}\n"))
        .expect("the section of the example");
    let (question, rest) = section.split_once(OPEN).expect("an answer block");
    let (_, after) = rest.split_once("```").expect("the end of the block");
    format!("{before}\n### {title}\n{question}{OPEN}{answer}```{after}")
}
