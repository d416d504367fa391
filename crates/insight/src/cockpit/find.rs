//! Which rollouts a hub has, and which one a name means.
//!
//! Decides what was probably meant.

use super::picture::Target;
use kubernetes::field::nearest;
use store::{Owner, Store};

/// The kinds that may stand before a name, as kubectl spells them.
const UPGRADES: [&str; 3] = ["mcu", "managedclustersupgrade", "managedclustersupgrades"];
const ADDONS: [&str; 3] = ["cma", "clustermanagementaddon", "clustermanagementaddons"];

/// The rollouts of a hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollouts(pub Vec<Target>);

/// Why a name means no rollout: there is none of that name, or there are several.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// There is no such rollout.
    #[error("no rollout has the name {name:?}{near}")]
    NoSuch {
        /// The name.
        name: String,
        /// What was probably meant, or what there is.
        near: String,
    },
    /// There are several.
    #[error("several rollouts have the name {name:?}: use {}", .all.join(" or "))]
    Ambiguous {
        /// The name.
        name: String,
        /// What can be said.
        all: Vec<String>,
    },
}

impl Rollouts {
    /// Returns all that a store knows, sorted.
    pub fn of(store: &Store) -> Self {
        let addons = store.addons().map(|name| Target::addon(&**name));
        let upgrades = store.upgrades();
        let upgrades = upgrades.map(|Owner { namespace, name, .. }| Target::upgrade(&*namespace, &*name));
        let mut all: Vec<Target> = addons.chain(upgrades).collect();
        all.sort();
        Self(all)
    }
}

/// Returns the rollout that a name means: `helloworld`, `mcu/to-4-12`, `mcu/default/to-4-12`.
pub fn find(rollouts: &Rollouts, text: &str) -> Result<Target, Unknown> {
    let (kind, name) = match text.split_once('/') {
        Some((kind, name)) if UPGRADES.contains(&kind.to_lowercase().as_str()) => ("mcu", name),
        Some((kind, name)) if ADDONS.contains(&kind.to_lowercase().as_str()) => ("cma", name),
        Some(_) | None => ("", text),
    };
    let is_meant = |target: &&Target| {
        let is_kind = kind.is_empty() || (kind == "cma") == target.namespace.is_empty();
        let whole = format!("{}/{}", target.namespace, target.name);
        is_kind && (target.name == name || whole == name)
    };
    let mut found: Vec<&Target> = rollouts.0.iter().filter(is_meant).collect();
    // An add-on needs no kind before its name.
    if let [first, ..] = found.as_slice()
        && kind.is_empty()
        && first.namespace.is_empty()
    {
        found.truncate(1);
    }
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(Unknown::NoSuch {
            name: text.to_owned(),
            near: near(rollouts, text),
        }),
        all => Err(Unknown::Ambiguous {
            name: text.to_owned(),
            all: all.iter().map(|target| target.told()).collect(),
        }),
    }
}

fn near(rollouts: &Rollouts, text: &str) -> String {
    let told: Vec<String> = rollouts.0.iter().map(Target::told).collect();
    let bare = text.rsplit_once('/').map_or(text, |(_, bare)| bare);
    let by_name = nearest(bare, rollouts.0.iter().map(|target| target.name.as_str()));
    if let Some(near) = by_name {
        let whole = rollouts.0.iter().find(|target| target.name == near);
        let whole = whole.map_or_else(|| near.to_owned(), Target::told);
        return format!("; did you mean {whole:?}?");
    }
    if told.is_empty() {
        return "; the hub has none".to_owned();
    }
    let listed = kubernetes::field::listed(told.iter().map(String::as_str));
    format!("; the hub has {listed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> String {
        let all = Rollouts(vec![
            Target::addon("hello"),
            Target::addon("to-4-12"),
            Target::upgrade("a", "to-4-12"),
            Target::upgrade("b", "to-4-12"),
            Target::upgrade("b", "only"),
        ]);
        match find(&all, text) {
            Ok(target) => target.told(),
            Err(unknown) => unknown.to_string(),
        }
    }

    #[test]
    fn a_name_means_one_rollout() {
        let rows = [
            ("hello", "hello"),
            ("cma/hello", "hello"),
            ("only", "mcu/b/only"),
            ("MCU/only", "mcu/b/only"),
            ("b/to-4-12", "mcu/b/to-4-12"),
            ("to-4-12", "to-4-12"),
            (
                "mcu/to-4-12",
                "several rollouts have the name \"mcu/to-4-12\": use mcu/a/to-4-12 or mcu/b/to-4-12",
            ),
            (
                "helo",
                "no rollout has the name \"helo\"; did you mean \"hello\"?",
            ),
        ];
        for (text, told) in rows {
            assert_eq!(asked(text), told);
        }
        let none = find(&Rollouts::default(), "x").map_err(|unknown| unknown.to_string());
        assert_eq!(
            none,
            Err("no rollout has the name \"x\"; the hub has none".to_owned())
        );
    }
}
