//! What becomes of a rollout that stops because too many clusters failed: the list of an add-on's annotation.
//!
//! Decides how the list is read, and which entry counts for a placement. Never decides when a rollout has failed.

use std::collections::BTreeMap;

use kubernetes::field::{Class, Fault, nearest, quoted};

use crate::names::Name;

/// What an entry looks like.
const FORM: &str =
    "must be \"undo\" or \"stop\", or list placements as <namespace>/<name>=undo or <namespace>/<name>=stop";
const WORDS: [&str; 2] = ["undo", "stop"];
/// So many entries are read.
const MOST: usize = 100;

/// What becomes of the clusters of a rollout that has stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// They keep their current configuration; going back is left to a user.
    #[default]
    Stop,
    /// They go back to what was last known to be good.
    Undo,
}

impl OnFailure {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "stop" => Some(Self::Stop),
            "undo" => Some(Self::Undo),
            _ => None,
        }
    }
}

/// What becomes of the rollouts of an add-on that have stopped. Without an entry they stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureModes {
    others: OnFailure,
    places: BTreeMap<Name, OnFailure>,
}

impl FailureModes {
    /// Reads a list whose entries are separated by commas; an empty one says nothing.
    ///
    /// # Errors
    ///
    /// Returns everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        let entries = || text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let mut wrong = Vec::new();
        let mut all: BTreeMap<Option<&str>, OnFailure> = BTreeMap::new();
        for entry in entries().take(MOST) {
            match self::entry(entry) {
                Err(fault) => wrong.push(fault),
                Ok((place, _)) if all.contains_key(&place) => {
                    let detail = "repeats or contradicts an earlier entry of the list; keep one of them";
                    wrong.push(Fault::of_text(Class::Invalid, entry, detail));
                }
                Ok((place, mode)) => {
                    all.insert(place, mode);
                }
            }
        }
        if entries().count() > MOST {
            wrong.push(Fault::bare(
                Class::TooMany,
                format!("must have at most {MOST} entries"),
            ));
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(Self {
            others: all.remove(&None).unwrap_or_default(),
            places: all
                .into_iter()
                .filter_map(|(place, mode)| Some((Name::from(place?), mode)))
                .collect(),
        })
    }

    /// Returns what becomes of the rollout over a placement.
    pub fn placement(&self, namespace: &str, name: &str) -> OnFailure {
        let is_this = |place: &Name| place.split_once('/') == Some((namespace, name));
        let own = self.places.iter().find(|(place, _)| is_this(place));
        own.map_or(self.others, |(_, mode)| *mode)
    }

    /// Returns the placements that have an entry of their own.
    pub fn places(&self) -> impl Iterator<Item = &Name> {
        self.places.keys()
    }
}

/// Reads one entry: the placement, or none for all others.
fn entry(entry: &str) -> Result<(Option<&str>, OnFailure), Fault> {
    let (place, word) = match entry.split_once('=') {
        Some((place, word)) => (Some(place.trim()), word.trim()),
        None => (None, entry),
    };
    let is_place = |place: &str| {
        let parts = place.split_once('/');
        parts
            .is_some_and(|(namespace, name)| !namespace.is_empty() && !name.is_empty() && !name.contains('/'))
    };
    if let Some(place) = place.filter(|place| !is_place(place)) {
        let hint = (place == "*").then(|| format!("for all placements write {} alone", quoted(word)));
        return Err(Fault::of_text(Class::Invalid, entry, FORM).hint_if(hint));
    }
    let Some(mode) = OnFailure::parse(word) else {
        let near = nearest(word, WORDS);
        let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
        return Err(Fault::of_text(Class::Invalid, entry, FORM).hint_if(hint));
    };
    Ok((place, mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_a_placement_outweighs_the_word_for_all() {
        let rows = [
            ("", false, false),
            ("undo", true, true),
            ("stop", false, false),
            ("default/all=undo", true, false),
            (" undo , default/all = stop ,", false, true),
        ];
        for (text, all, other) in rows {
            let modes = FailureModes::parse(text).expect(text);
            let undoes = |name| modes.placement("default", name) == OnFailure::Undo;
            assert_eq!((undoes("all"), undoes("other")), (all, other), "{text}");
        }
        assert_eq!(FailureModes::default().placement("a", "b"), OnFailure::Stop);
    }

    #[test]
    fn invalid_entries_are_reported_one_by_one() {
        let rows = [
            ("und", "did you mean \"undo\"?"),
            ("*=undo", "for all placements write \"undo\" alone"),
            ("all=undo", "<namespace>/<name>=undo"),
            ("default/all=", "<namespace>/<name>=undo"),
            ("undo,stop", "keep one of them"),
            ("default/all=undo,default/all=undo", "keep one of them"),
        ];
        for (text, expected) in rows {
            let wrong = FailureModes::parse(text).expect_err(text);
            assert_eq!(wrong.len(), 1, "{text}");
            let told = format!("{:?}", wrong.first());
            assert!(
                told.contains(&expected.replace('"', "\\\"")) || told.contains(expected),
                "{text}: {told}"
            );
        }
        assert_eq!(FailureModes::parse("a,b=c").expect_err("two").len(), 2);
    }
}
