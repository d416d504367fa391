//! The catalogue of rules: what `explain` prints and the reference page shows.
//!
//! Decides nothing; it is the rule tables, joined and sorted.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::metadata;
use super::rules::Ruled;
use super::shape;
use super::subject::{
    Addon, AddonPolicy, ClusterAddon, DeploymentConfig, HubConfig, Operations, Placement, SetBinding,
    Template, Upgrade,
};

/// One rule, as people look it up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name of the rule: `family/what`.
    pub id: &'static str,
    /// One sentence: what holds when the rule is kept.
    pub summary: &'static str,
    /// Why, what is refused or warned of, and the cure.
    pub text: &'static str,
    /// Resources that the rule looks at; empty for the schema, which every kind has.
    pub resources: Vec<&'static str>,
    /// Operations that the rule looks at.
    pub on: Operations,
    /// Whether a breach is refused; otherwise it is told as a warning.
    pub refuses: bool,
}

/// Returns every rule, sorted by id.
pub fn catalogue() -> Vec<Entry> {
    let mut entries: BTreeMap<&'static str, Entry> = BTreeMap::new();
    for (id, doc) in shape::DOCS.into_iter().chain([metadata::DOC]) {
        entries.insert(id, entry(id, doc, Operations::CreateAndUpdate, true));
    }
    collect::<Addon>(&mut entries);
    collect::<ClusterAddon>(&mut entries);
    collect::<DeploymentConfig>(&mut entries);
    collect::<HubConfig>(&mut entries);
    collect::<Template>(&mut entries);
    collect::<Placement>(&mut entries);
    collect::<SetBinding>(&mut entries);
    collect::<Upgrade>(&mut entries);
    collect::<AddonPolicy>(&mut entries);
    entries.into_values().collect()
}

/// Returns the reference page of all rules in Markdown: the text of `docs/rules/README.md`.
pub fn reference_page() -> String {
    let mut page = String::from(
        "# Rules of the gate\n\n\
         <!-- Generated from the rule tables in crates/admission/src/rules; change those instead. -->\n\n\
         Every denial and warning ends in the id of its rule. Examples of each rule, which are also its tests, are on \
         the pages in [tests/rules](../../tests/rules).\n",
    );
    for Entry {
        id,
        summary,
        text,
        resources,
        on,
        ..
    } in catalogue()
    {
        let resources = if resources.is_empty() {
            "every kind".to_owned()
        } else {
            resources.join(", ")
        };
        let when = on.words();
        write!(
            page,
            "\n## {id}\n\n**{summary}**\n\n{text}\n\n*{resources}; {when}*\n"
        )
        .expect("writing to a string cannot fail");
    }
    page
}

fn collect<K: Ruled>(entries: &mut BTreeMap<&'static str, Entry>) {
    for rule in K::RULES.iter().copied().flatten() {
        let found = entries
            .entry(rule.id)
            .or_insert_with(|| entry(rule.id, rule.doc, rule.on, rule.refuses));
        if found.summary.is_empty() {
            *found = Entry {
                resources: found.resources.clone(),
                ..entry(rule.id, rule.doc, rule.on, rule.refuses)
            };
        }
        if !found.resources.contains(&K::RESOURCE) {
            found.resources.push(K::RESOURCE);
        }
    }
}

fn entry(id: &'static str, doc: &'static str, on: Operations, refuses: bool) -> Entry {
    let (summary, text) = doc.split_once("\n\n").unwrap_or((doc, ""));
    Entry {
        id,
        summary,
        text,
        resources: Vec::new(),
        on,
        refuses,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect_file;

    fn docs<K: Ruled>(id: &str) -> usize {
        let rules = K::RULES.iter().copied().flatten();
        let own = rules.filter(|rule| rule.id == id && !rule.doc.is_empty());
        own.count()
    }

    #[test]
    fn every_rule_is_documented_once() {
        for Entry {
            id, summary, text, ..
        } in catalogue()
        {
            assert!(summary.ends_with('.'), "{id} has a summary of one sentence");
            assert!(!text.is_empty(), "{id} says why");
        }
        let documented = |id: &str| {
            docs::<Addon>(id)
                + docs::<ClusterAddon>(id)
                + docs::<DeploymentConfig>(id)
                + docs::<HubConfig>(id)
                + docs::<Template>(id)
                + docs::<Placement>(id)
                + docs::<SetBinding>(id)
                + docs::<Upgrade>(id)
                + docs::<AddonPolicy>(id)
        };
        for Entry { id, .. } in catalogue().iter().filter(|entry| {
            !["schema/", "metadata/"]
                .iter()
                .any(|family| entry.id.starts_with(family))
        }) {
            assert_eq!(documented(id), 1, "{id}");
        }
    }

    #[test]
    fn rule_ids_are_slugs_of_a_family() {
        for Entry { id, .. } in catalogue() {
            let (family, what) = id.split_once('/').expect("family/what");
            for part in [family, what] {
                assert!(
                    part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'),
                    "{id}"
                );
            }
        }
    }

    #[test]
    fn the_reference_page_is_up_to_date() {
        expect_file!["../../../docs/rules/README.md"].assert_eq(&reference_page());
    }
}
