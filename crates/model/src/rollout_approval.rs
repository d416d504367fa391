//! Which contents are approved of: an annotation.
//!
//! Decides how it is read, and what it means for a decision group.

use std::collections::BTreeSet;

use kubernetes::field::{Class, Fault};

/// What an entry of the annotation looks like that approves.
const APPROVE: &str = "must be <namespace>/<placement>/<group>=<hash>; <group> is the name of a decision group (its index if it has no name), or \"*\" for all; <hash> is the hash of the approved content (32 digits), which `tidegate rollout status` shows";
/// Everything, as a place or as a group.
const ALL: &str = "*";
/// So many entries are read: each is asked for every decision group.
const MOST: usize = 500;
/// Digits of the hash of a content.
const DIGITS: usize = 32;

/// Which contents are approved of, for which decision groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvals(BTreeSet<Approval>);

/// An approval: a placement as `namespace/name`, a decision group of it, and the hash of the content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Approval {
    /// The placement.
    pub place: String,
    /// The decision group: its name, or its index where it has none, or `*` for all.
    pub group: String,
    /// The hash of the content.
    pub hash: String,
}

impl Approvals {
    /// Reads a list whose entries are separated by commas; one without entries approves of nothing.
    ///
    /// # Errors
    ///
    /// Returns everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        parsed(text, APPROVE, approval).map(|all| Self(all.into_iter().collect()))
    }

    /// Reads what has a meaning of a list that was stored: the rest approves of nothing.
    pub fn read(text: &str) -> Self {
        Self(entries(text).take(MOST).filter_map(approval).collect())
    }

    /// Returns whether a content is approved of for a decision group, known by its name, or by its index where it has none.
    pub fn has(&self, (namespace, name): (&str, &str), group: &str, hash: &str) -> bool {
        let place = format!("{namespace}/{name}");
        [group, ALL].into_iter().any(|group| {
            self.0.contains(&Approval {
                place: place.clone(),
                group: group.to_owned(),
                hash: hash.to_owned(),
            })
        })
    }

    /// Returns the approvals, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &Approval> {
        self.0.iter()
    }
}

impl std::fmt::Display for Approval {
    /// Writes it as the annotation lists it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}={}", self.place, self.group, self.hash)
    }
}

/// Reads one entry of the annotation that approves. Only the whole hash counts: of half of it another content may be made.
pub fn approval(entry: &str) -> Option<Approval> {
    let (target, hash) = entry.trim().split_once('=')?;
    let (place, group) = target.trim().rsplit_once('/')?;
    let hash = hash.trim();
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_hash = hash.len() == DIGITS && hash.bytes().all(is_digit);
    (is_placement(place) && is_group(group) && is_hash).then(|| Approval {
        place: place.to_owned(),
        group: group.to_owned(),
        hash: hash.to_owned(),
    })
}

fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

fn parsed<T>(text: &str, form: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, Vec<Fault>> {
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for entry in entries(text).take(MOST) {
        match read(entry) {
            Some(one) => found.push(one),
            None => wrong.push(Fault::of_text(Class::Invalid, entry, form)),
        }
    }
    if entries(text).nth(MOST).is_some() {
        wrong.push(Fault::bare(
            Class::TooMany,
            format!("must have at most {MOST} entries"),
        ));
    }
    if wrong.is_empty() { Ok(found) } else { Err(wrong) }
}

fn is_placement(text: &str) -> bool {
    let parts = text.split_once('/');
    let is_word = |word: &str| {
        !word.is_empty() && !word.contains(|sign: char| "/*=".contains(sign) || sign.is_whitespace())
    };
    parts.is_some_and(|(namespace, name)| is_word(namespace) && is_word(name))
}

fn is_group(text: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
    text == ALL || (!text.is_empty() && text.chars().all(is_sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn an_approval_is_for_one_group_and_the_whole_hash() {
        let given = Approvals::parse(&format!("default/all/prod={HASH},default/all/2={HASH}")).expect("two");
        let all = ("default", "all");
        assert!(given.has(all, "prod", HASH) && given.has(all, "2", HASH));
        assert!(!given.has(all, "eu", HASH) && !given.has(("default", "edge"), "prod", HASH));
        assert!(!given.has(all, "prod", "0123456789abcdef0123456789abcdee"));
        let every = Approvals::read(&format!("default/all/*={HASH},nonsense,default/all/eu=0123"));
        assert!(every.has(all, "prod", HASH) && !every.has(all, "prod", "0123"));
        let listed: Vec<String> = every.iter().map(ToString::to_string).collect();
        assert_eq!(listed, [format!("default/all/*={HASH}")]);
    }

    #[test]
    fn invalid_entries_are_reported_one_by_one() {
        let upper = HASH.to_uppercase();
        for text in [
            format!("default/all={HASH}"),
            format!("default/all/prod={upper}"),
            "default/all/prod=0123456789".to_owned(),
            format!("*/prod={HASH}"),
            format!("default/all/prod={HASH}0"),
        ] {
            assert_eq!(
                Approvals::parse(&text).expect_err("no meaning").len(),
                1,
                "{text}"
            );
        }
        let many = vec![format!("a/b/c={HASH}"); MOST + 1].join(",");
        let wrong = Approvals::parse(&many).expect_err("too many");
        assert_eq!(wrong.len(), 1);
    }
}
