//! The catalogue of rules: the rule tables, joined and sorted, for `tidegate explain` and the reference page.

use std::collections::BTreeMap;

use super::approval_record;
use super::metadata;
use super::rules::Ruled;
use super::set_by_record;
use super::shape;
use super::subject::{
    Addon, AddonPolicy, Approval, ClusterAddon, DeploymentConfig, Freeze, HubConfig, Operations, Placement,
    Profile, ReplicaSet, Rollout, RolloutCheck, SetBinding, Template, Upgrade,
};

/// One rule in the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name of the rule: `family/what`.
    pub id: &'static str,
    /// The title: one sentence that is true for a valid object.
    pub summary: &'static str,
    /// The reason of the rule, its action, and the fix.
    pub text: &'static str,
    /// The resources that the rule checks; empty for rules that apply to every kind.
    pub resources: Vec<&'static str>,
    /// The operations that the rule checks.
    pub on: Operations,
    /// Whether the rule refuses by default; otherwise it warns.
    pub refuses: bool,
}

/// Returns every rule, sorted by id.
pub fn catalogue() -> Vec<Entry> {
    let mut entries: BTreeMap<&'static str, Entry> = BTreeMap::new();
    for (id, doc) in shape::DOCS
        .into_iter()
        .chain([metadata::DOC, approval_record::DOC, set_by_record::DOC])
    {
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
    collect::<RolloutCheck>(&mut entries);
    collect::<Freeze>(&mut entries);
    collect::<Rollout>(&mut entries);
    collect::<ReplicaSet>(&mut entries);
    collect::<Approval>(&mut entries);
    collect::<Profile>(&mut entries);
    collect::<AddonPolicy>(&mut entries);
    entries.into_values().collect()
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
                + docs::<RolloutCheck>(id)
                + docs::<Freeze>(id)
                + docs::<Rollout>(id)
                + docs::<ReplicaSet>(id)
                + docs::<Approval>(id)
                + docs::<Profile>(id)
                + docs::<AddonPolicy>(id)
        };
        for Entry { id, .. } in catalogue().iter().filter(|entry| {
            !["schema/", "metadata/", "approval/author", "rollout/author"]
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
}
