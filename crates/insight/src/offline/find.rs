//! Many texts at once, found in others.
//!
//! Decides nothing about what they are. Looks at every place of a text once, however many are looked for.

use std::collections::BTreeMap;

/// What every text begins with that is looked for; shorter ones are not.
const PREFIX: usize = 8;

/// Texts, and what takes their place.
#[derive(Clone, Debug, Default)]
pub(super) struct Finder {
    /// The pairs of bytes with which the texts begin: most positions are excluded by these alone.
    pairs: Vec<bool>,
    /// By what they begin with, the longest first.
    known: BTreeMap<[u8; PREFIX], Vec<(String, String)>>,
}

impl Finder {
    /// Looks for these; texts of fewer than eight bytes are left out.
    pub(super) fn of(all: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut finder = Self {
            pairs: vec![false; usize::from(u16::MAX) + 1],
            known: BTreeMap::new(),
        };
        for (text, instead) in all {
            let bytes = text.as_bytes();
            if let (Some(pair), Some(prefix)) = (bytes.first_chunk(), bytes.first_chunk()) {
                if let Some(known) = finder.pairs.get_mut(number(*pair)) {
                    *known = true;
                }
                finder.known.entry(*prefix).or_default().push((text, instead));
            }
        }
        for texts in finder.known.values_mut() {
            texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        }
        finder
    }

    /// Tells whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns what is in a text: where, and which.
    pub(super) fn find<'a>(&'a self, text: &str) -> Vec<(usize, &'a (String, String))> {
        let mut found = Vec::new();
        let mut next = 0;
        for (place, window) in text.as_bytes().windows(PREFIX).enumerate() {
            let begins = window.first_chunk().copied().map(number);
            if place < next || begins.is_none_or(|pair| self.pairs.get(pair) != Some(&true)) {
                continue;
            }
            let texts = window.first_chunk().and_then(|prefix| self.known.get(prefix));
            let rest = text.as_bytes().get(place..).unwrap_or_default();
            let here = texts
                .into_iter()
                .flatten()
                .find(|(known, _)| rest.starts_with(known.as_bytes()));
            if let Some(pair) = here {
                found.push((place, pair));
                next = place + pair.0.len();
            }
        }
        found
    }

    /// Returns a text with everything replaced; nothing when nothing is in it.
    pub(super) fn replaced(&self, text: &str) -> Option<String> {
        let found = self.find(text);
        if found.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = 0;
        for (place, (known, instead)) in found {
            out.push_str(text.get(rest..place).unwrap_or_default());
            out.push_str(instead);
            rest = place + known.len();
        }
        out.push_str(text.get(rest..).unwrap_or_default());
        Some(out)
    }
}

fn number(pair: [u8; 2]) -> usize {
    usize::from(u16::from_be_bytes(pair))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_replaced_wherever_it_stands() {
        let pairs = [
            ("password1", "A"),
            ("password1234", "B"),
            ("größe-123", "C"),
            ("short", "D"),
        ];
        let finder = Finder::of(pairs.map(|(text, instead)| (text.to_owned(), instead.to_owned())));
        for (text, expected) in [
            ("a password1234 b password1", Some("a B b A")),
            ("ägröße-123ä", Some("äCä")),
            ("short passwor", None),
            ("", None),
            ("password1password1", Some("AA")),
        ] {
            assert_eq!(finder.replaced(text).as_deref(), expected, "{text}");
        }
    }
}
