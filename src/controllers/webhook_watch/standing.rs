//! What is wrong with the webhooks at this moment, and what of it is news.
//!
//! Decides what is reported again. What is wrong is decided by `doctor`, and nothing is before both kinds were listed. Has no clock
//! and no client.

use std::collections::{BTreeMap, BTreeSet};

use operate::doctor::{WebhookFault, WebhookLists, webhook_faults};
use serde_json::Value;

/// Which of the two kinds a configuration is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Mutating,
    Validating,
}

/// What is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Something is wrong that was not.
    Worse(WebhookFault),
    /// Something is right again.
    Fixed(WebhookFault),
}

/// The configurations of a hub, and what was said of them.
#[derive(Debug, Default)]
pub(super) struct Standing {
    mutating: BTreeMap<String, Value>,
    validating: BTreeMap<String, Value>,
    /// Which of the two were listed.
    listed: [bool; 2],
    told: Vec<WebhookFault>,
    /// The names of all configurations that were ever shown.
    shown: BTreeSet<String>,
    has_conditions: bool,
}

impl Standing {
    pub(super) fn new(has_conditions: bool) -> Self {
        Self {
            has_conditions,
            ..Self::default()
        }
    }

    fn of(&mut self, sort: Sort) -> &mut BTreeMap<String, Value> {
        match sort {
            Sort::Mutating => &mut self.mutating,
            Sort::Validating => &mut self.validating,
        }
    }

    /// Takes a whole list in.
    pub(super) fn list(&mut self, sort: Sort, all: BTreeMap<String, Value>) {
        self.shown.extend(all.keys().cloned());
        *self.of(sort) = all;
        self.listed[usize::from(sort == Sort::Validating)] = true;
    }

    /// Takes one configuration in, or its end.
    pub(super) fn see(&mut self, sort: Sort, name: &str, configuration: Option<Value>) {
        match configuration {
            Some(found) => {
                self.shown.insert(name.to_owned());
                drop(self.of(sort).insert(name.to_owned(), found));
            }
            None => drop(self.of(sort).remove(name)),
        }
    }

    /// Returns whether a configuration is there, or was since this process looks: one that has never been made was not altered,
    /// and every process that starts would tell of it again.
    pub(super) fn was_shown(&self, name: &str) -> bool {
        self.shown.contains(name)
    }

    pub(super) fn configuration(&self, kind: &str, name: &str) -> Option<&Value> {
        let all = if kind.starts_with("Mutating") {
            &self.mutating
        } else {
            &self.validating
        };
        all.get(name)
    }

    /// Returns how many faults of each sort there are; nothing before both kinds were listed.
    pub(super) fn counts(&self) -> Option<Vec<(&'static str, usize)>> {
        let faults = self.faults()?;
        let count = |word: &str| faults.iter().filter(|fault| fault.word() == word).count();
        let words = WebhookFault::WORDS.iter();
        Some(words.map(|word| (*word, count(word))).collect())
    }

    fn faults(&self) -> Option<Vec<WebhookFault>> {
        self.listed.iter().all(|listed| *listed).then(|| {
            let lists = WebhookLists {
                mutating: self.mutating.values().cloned().collect(),
                validating: self.validating.values().cloned().collect(),
            };
            webhook_faults(&lists, self.has_conditions)
        })
    }

    /// Returns what is new since the last call.
    pub(super) fn news(&mut self) -> Vec<News> {
        let Some(faults) = self.faults() else {
            return Vec::new();
        };
        let worse = faults.iter().filter(|fault| !self.told.contains(fault));
        let mut news: Vec<News> = worse.cloned().map(News::Worse).collect();
        let fixed = self.told.iter().filter(|fault| !faults.contains(fault));
        news.extend(fixed.cloned().map(News::Fixed));
        self.told = faults;
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn registered() -> [BTreeMap<String, Value>; 2] {
        let url = admission::Endpoint::Url("https://gate".to_owned());
        admission::configurations(&url, None).map(|one| {
            let name = one["metadata"]["name"].as_str().expect("a name").to_owned();
            BTreeMap::from([(name, one)])
        })
    }

    fn words(news: &[News]) -> Vec<String> {
        let words = news.iter().map(|one| match one {
            News::Worse(fault) => format!("worse: {}", fault.word()),
            News::Fixed(fault) => format!("fixed: {}", fault.word()),
        });
        words.collect()
    }

    #[test]
    fn what_was_never_there_was_not_altered() {
        let [mutating, validating] = registered();
        let name = mutating.keys().next().expect("one").clone();
        let mut standing = Standing::new(true);
        standing.list(Sort::Mutating, BTreeMap::new());
        standing.list(Sort::Validating, validating);
        assert!(words(&standing.news()).contains(&"worse: missing".to_owned()));
        assert!(!standing.was_shown(&name));
        standing.list(Sort::Mutating, mutating);
        standing.see(Sort::Mutating, &name, None);
        assert!(standing.was_shown(&name), "its end is reported");
    }

    #[test]
    fn what_is_edited_deleted_and_foreign_is_news_once_and_so_is_its_end() {
        let [mutating, validating] = registered();
        let mut standing = Standing::new(true);
        standing.list(Sort::Mutating, mutating);
        assert!(
            standing.news().is_empty() && standing.counts().is_none(),
            "half is not known yet"
        );
        standing.list(Sort::Validating, validating.clone());
        assert!(standing.news().is_empty());
        let mut edited = validating["tidegate-guard"].clone();
        edited["webhooks"][0]["failurePolicy"] = json!("Ignore");
        standing.see(Sort::Validating, "tidegate-guard", Some(edited));
        assert_eq!(words(&standing.news()), ["worse: edited"]);
        assert!(standing.news().is_empty(), "the same again is no news");
        assert_eq!(
            standing.counts(),
            Some(vec![
                ("missing", 0),
                ("edited", 1),
                ("duplicate", 0),
                ("added", 0),
                ("foreign", 0)
            ])
        );
        standing.see(Sort::Validating, "tidegate-guard", None);
        assert_eq!(
            words(&standing.news()),
            ["worse: missing", "worse: missing", "fixed: edited"]
        );
        assert!(
            standing
                .configuration("ValidatingWebhookConfiguration", "tidegate-guard")
                .is_none()
        );
        standing.see(
            Sort::Validating,
            "tidegate-guard",
            Some(validating["tidegate-guard"].clone()),
        );
        assert_eq!(words(&standing.news()), ["fixed: missing", "fixed: missing"]);
        let mut tapped = validating["tidegate-guard"].clone();
        let entries = tapped["webhooks"].as_array_mut().expect("webhooks");
        entries.push(json!({"name": "x.attacker.example",
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "operations": ["CREATE"]}]}));
        standing.see(Sort::Validating, "tidegate-guard", Some(tapped));
        assert_eq!(words(&standing.news()), ["worse: added"]);
        standing.see(
            Sort::Validating,
            "tidegate-guard",
            Some(validating["tidegate-guard"].clone()),
        );
        assert_eq!(words(&standing.news()), ["fixed: added"]);
        let foreign = json!({"metadata": {"name": "mesh"}, "webhooks": [{"name": "a.mesh",
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "operations": ["*"]}]}]});
        standing.see(Sort::Mutating, "mesh", Some(foreign));
        assert_eq!(words(&standing.news()), ["worse: foreign"]);
        assert!(
            standing
                .configuration("MutatingWebhookConfiguration", "mesh")
                .is_some()
        );
    }
}
