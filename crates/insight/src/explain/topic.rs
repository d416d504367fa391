//! From a word to its explanation.
//!
//! Decides what a word names: an id of the form `family/what`, or a field of a kind.

use std::fmt::Write as _;

use super::fields::{self, Meaning};
use super::glossary;
use super::own::{self, Words};
use super::render;
use super::words::{NAMES, Term, term, terms};
use crate::why::CAUSES;
use admission::{Entry, catalogue};
use api::reason::Reason;
use kubernetes::field::{listed, nearest};

/// A word that names nothing.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("no topic has the name {topic:?}{}", meant(.near))]
pub struct Unknown {
    /// The word.
    pub topic: String,
    /// What was probably meant.
    pub near: Vec<String>,
}

fn meant(near: &[String]) -> String {
    if near.is_empty() {
        return "; `tidegate explain --list` shows every rule, cause, reason, annotation, word and kind"
            .to_owned();
    }
    format!("; did you mean {}?", listed(near.iter().map(String::as_str)))
}

/// Returns the explanation of a rule, a cause, a word or a field.
pub fn explain(topic: &str) -> Result<String, Unknown> {
    let topic = topic.trim().trim_matches(['[', ']']);
    if let Some(entry) = catalogue().into_iter().find(|entry| entry.id == topic) {
        return Ok(rule(&entry));
    }
    if let Some(cause) = CAUSES.iter().find(|cause| cause.id == topic) {
        return Ok(page(
            cause.id,
            cause.summary,
            cause.text,
            "a cause that `tidegate why` reports",
        ));
    }
    if let Some(Words { summary, text }) = own::words(topic) {
        return Ok(page(
            topic,
            &summary,
            &text,
            "an id of messages, not of a built-in rule",
        ));
    }
    if let Some(Term { word, kind, says }) = term(topic) {
        let about = format!("{kind}; `tidegate why` shows what it means for one cluster");
        return Ok(format!("{word}\n\n{}\n\n({about})\n", render::wrapped(says, "")));
    }
    let is_id = topic.contains('/') && (!topic.contains(['.', '[']) || is_name(topic));
    if is_id {
        return Err(Unknown {
            topic: topic.to_owned(),
            near: near_id(topic),
        });
    }
    match fields::ask(topic) {
        Meaning::Found(found) => Ok(found.iter().map(render::field).collect::<Vec<_>>().join("\n")),
        Meaning::Unknown(mut near) => {
            if let Some(text) = glossary::ask(topic) {
                return Ok(text);
            }
            near.extend(near_id(topic));
            Err(Unknown {
                topic: topic.to_owned(),
                near,
            })
        }
    }
}

/// Returns everything that can be explained: rules, causes, words and kinds, one line each.
pub fn list() -> String {
    let mut text = String::from("Rules of the gate:\n");
    let rules = catalogue();
    let rows = rules.iter().map(|entry| (entry.id, entry.summary));
    put(&mut text, rows);
    text.push_str("\nCauses that `tidegate why` reports:\n");
    put(&mut text, CAUSES.iter().map(|cause| (cause.id, cause.summary)));
    text.push_str("\nReasons of conditions:\n");
    put(
        &mut text,
        Reason::ALL.iter().map(|reason| (reason.as_str(), reason.says())),
    );
    text.push_str("\nAnnotations, labels and finalizers:\n");
    put(&mut text, NAMES.iter().map(|term| (term.word, term.says)));
    text.push_str("\nTerms of this program (also found under the Kubernetes term):\n");
    put(&mut text, glossary::rows().map(|row| (row.words, row.meaning)));
    text.push_str(
        "\nKinds (a field is KIND.path, for instance ClusterManagementAddOn.spec.installStrategy):\n",
    );
    let kinds = fields::kinds();
    put(
        &mut text,
        kinds
            .iter()
            .map(|(kind, summary)| (kind.as_str(), summary.as_str())),
    );
    text
}

/// Returns the names of everything that can be explained, for a shell that completes a line.
pub fn topics() -> Vec<String> {
    let all = catalogue();
    let rules = all.iter().map(|entry| entry.id.to_owned());
    let causes = CAUSES.iter().map(|cause| cause.id.to_owned());
    let reasons = Reason::ALL.iter().map(|reason| reason.as_str().to_owned());
    let names = NAMES.iter().map(|term| term.word.to_owned());
    let kinds = fields::kinds().into_iter().map(|(kind, _)| kind);
    rules
        .chain(causes)
        .chain(reasons)
        .chain(names)
        .chain(kinds)
        .collect()
}

/// Whether a word looks like the name of an annotation or label: a domain, a slash, a name.
fn is_name(topic: &str) -> bool {
    topic
        .split_once('/')
        .is_some_and(|(domain, name)| domain.contains('.') && !domain.contains('[') && !name.contains('/'))
}

fn put<'a>(text: &mut String, rows: impl Iterator<Item = (&'a str, &'a str)>) {
    for (id, summary) in rows {
        writeln!(text, "  {id:34} {summary}").expect("writing to a string cannot fail");
    }
}

fn near_id(topic: &str) -> Vec<String> {
    let rules = catalogue();
    let ids: Vec<&str> = rules
        .iter()
        .map(|entry| entry.id)
        .chain(CAUSES.iter().map(|cause| cause.id))
        .chain(terms().map(|term| term.word))
        .collect();
    if let Some(near) = nearest(topic, ids.iter().copied()) {
        return vec![near.to_owned()];
    }
    let part = |id: &&&str| id.split('/').any(|part| part == topic);
    let parts: Vec<String> = ids.iter().filter(part).map(|id| (*id).to_owned()).collect();
    if parts.is_empty() { related(topic) } else { parts }
}

/// The most topics that are proposed for a word that is a part of them.
const MOST_RELATED: usize = 4;

/// Returns topics whose name has the word, whatever its ending: `approve` is related to `rollout/approval`.
fn related(word: &str) -> Vec<String> {
    let stem = word.to_lowercase();
    let stem = stem.trim_end_matches(['e', 's']);
    if stem.len() < 4 || !stem.chars().all(char::is_alphabetic) {
        return Vec::new();
    }
    let mut found: Vec<String> = topics();
    found.retain(|topic| topic.to_lowercase().contains(stem));
    found.sort_by_key(String::len);
    found.truncate(MOST_RELATED);
    found
}

fn rule(entry: &Entry) -> String {
    let resources = if entry.resources.is_empty() {
        "every kind".to_owned()
    } else {
        entry.resources.join(", ")
    };
    page(
        entry.id,
        entry.summary,
        entry.text,
        &format!("{resources}; {}", entry.on.words()),
    )
}

fn page(id: &str, summary: &str, text: &str, about: &str) -> String {
    let text = render::wrapped(text, "");
    format!(
        "{id}\n\n{}\n\n{text}\n\n({about})\n",
        render::wrapped(summary, "")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_rule_is_explained_by_its_own_words() {
        let text = explain("[rollout/max-concurrency]").expect("a rule");
        assert!(text.starts_with("rollout/max-concurrency\n\n"), "{text}");
        assert!(text.contains("create and update"));
        let text = explain("why/config-missing").expect("a cause");
        assert!(text.starts_with("why/config-missing\n\n"), "{text}");
    }

    #[test]
    fn an_id_of_a_policy_of_a_user_says_where_to_look() {
        let text = explain("[policy/teams.example.com/team]").expect("an id of a message");
        assert!(
            text.starts_with("policy/teams.example.com/team\n\n")
                && text.contains("kubectl get addonpolicy teams.example.com"),
            "{text}"
        );
        for id in ["policy/teams/match", "policy/compile", "audit/left-out"] {
            assert!(explain(id).is_ok(), "{id}");
        }
        for id in ["policy", "policy/", "policy//x", "policy/teams/", "policy/a/b/c"] {
            assert!(explain(id).is_err(), "{id}");
        }
    }

    #[test]
    fn a_field_is_explained_by_its_definition() {
        expect![[r#"
            KIND:     ClusterManagementAddOn (addon.open-cluster-management.io/v1alpha1)
            FIELD:    spec.installStrategy.placements[].rolloutStrategy.type
            TYPE:     string
            REQUIRED: no
            DEFAULT:  "All"
            ALLOWED:  "All", "Progressive", "ProgressivePerGroup"

            All updates every cluster at once, Progressive cluster by cluster, ProgressivePerGroup decision
            group by group.
        "#]]
        .assert_eq(&explain("cma.spec.installStrategy.placements[0].rolloutStrategy.type").expect("a field"));
        let text = explain("ManagedClusterAddOn").expect("a kind");
        assert!(text.contains("FIELDS") && text.contains("spec"), "{text}");
        let text = explain("spec.desiredVersion").expect("a field of several kinds");
        assert!(
            text.contains("ManagedClusterAddOn") && text.contains("AddOnHubConfig"),
            "{text}"
        );
    }

    #[test]
    fn a_word_of_a_status_is_explained() {
        for (topic, says) in [
            ("WaitingForSlot", "`tidegate why` names them"),
            ("installfailed", "first installation failed"),
            ("tidegate.io/deletion-guard", "rejects its deletion"),
            ("tidegate.io/deletion-guard=", "rejects its deletion"),
            ("feature.open-cluster-management.io/addon-hello", "`unreachable`"),
        ] {
            let text = explain(topic).expect(topic).replace('\n', " ");
            assert!(text.contains(says), "{text}");
        }
    }

    #[test]
    fn a_word_of_this_program_is_found_under_kubernetes_word_for_it() {
        for (topic, says) in [
            ("admission webhook", "gate\n"),
            ("slot", "in Kubernetes: `maxConcurrency`"),
        ] {
            let text = explain(topic).expect(topic);
            assert!(text.contains(says), "{text}");
        }
        assert!(list().contains("  slot "), "the list has the words");
    }

    #[test]
    fn an_unknown_topic_gets_a_suggestion() {
        for (topic, near) in [
            ("WaitingForSlots", "WaitingForSlot"),
            ("approve", "RolloutApproval"),
            ("tidegate.io/deletion-guards", "tidegate.io/deletion-guard"),
            ("rolout/max-concurrency", "rollout/max-concurrency"),
            (
                "ClusterManagementAddon.spec.instalStrategy",
                "ClusterManagementAddOn.spec.installStrategy",
            ),
            ("ManagedClusterAddO.spec", "ManagedClusterAddOn"),
            ("max-concurrency", "rollout/max-concurrency"),
        ] {
            let unknown = explain(topic).expect_err(topic);
            assert!(unknown.near.iter().any(|known| known == near), "{unknown}");
        }
        assert!(explain("").is_err());
        assert!(explain("....").is_err());
    }

    #[test]
    fn the_list_has_every_rule_cause_and_kind() {
        let text = list();
        for id in catalogue().iter().map(|entry| entry.id) {
            assert!(text.contains(id), "{id}");
        }
        assert!(text.contains("why/work-not-applied") && text.contains("AddOnDeploymentConfig"));
    }
}
