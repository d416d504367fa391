//! Sharing manifests out over works, so that no work is larger than the hub accepts.
//!
//! Decides only which manifest goes where. A manifest stays in the work that holds it: moving one to another work lets an
//! agent delete and create the object again. Only a work that has outgrown what the hub accepts gives manifests away, as few as
//! will do; works that others have filled up to there stay.

use std::collections::{BTreeMap, BTreeSet};

use crate::size_budget::{HELD, WORK};

/// Largest spec of one work in bytes: 80 % of what the hub accepts.
pub(crate) const LARGEST: usize = WORK;

/// Most bytes of manifests that a work keeps which has them already.
pub(crate) const MOST_HELD: usize = HELD;

/// How much works hold, in bytes of manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Up to here manifests are put into a work.
    pub filled: usize,
    /// Up to here a work keeps its current configuration; no less than `filled`.
    pub kept: usize,
}

/// A work as the hub has it: its number and the manifests in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExistingWork {
    /// Its number.
    pub number: u32,
    /// Its manifests, by index.
    pub manifests: Vec<usize>,
}

/// A work as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Share {
    /// Its number.
    pub number: u32,
    /// Its manifests by index, ascending; never empty.
    pub manifests: Vec<usize>,
    /// Whether it gets a manifest that it does not hold yet.
    pub gains: bool,
}

/// A work in the making.
struct Filling {
    share: Share,
    used: usize,
    is_new: bool,
}

impl Filling {
    fn put(&mut self, manifest: usize, weight: usize) {
        self.share.manifests.push(manifest);
        self.share.gains = true;
        self.used = self.used.saturating_add(weight);
    }
}

/// Shares manifests out over works. `order` lists the manifests in the order in which new ones find their place; each weighs
/// at most what works are filled up to.
pub(crate) fn split(
    weights: &BTreeMap<usize, usize>,
    order: &[usize],
    bounds: Bounds,
    held: &[ExistingWork],
) -> Vec<Share> {
    let weight = |manifest: usize| weights.get(&manifest).copied().unwrap_or_default();
    let mut fillings = kept(weights, bounds.kept, held);
    let placed: BTreeSet<usize> = fillings
        .iter()
        .flat_map(|filling| filling.share.manifests.iter().copied())
        .collect();
    for manifest in order
        .iter()
        .copied()
        .filter(|manifest| !placed.contains(manifest))
    {
        let fits = |filling: &Filling| filling.used.saturating_add(weight(manifest)) <= bounds.filled;
        if let Some(index) = find_work(&fillings, fits) {
            if let Some(filling) = fillings.get_mut(index) {
                filling.put(manifest, weight(manifest));
            }
            continue;
        }
        let mut filling = Filling {
            share: Share {
                number: free_number(&fillings),
                manifests: Vec::new(),
                gains: true,
            },
            used: 0,
            is_new: true,
        };
        filling.put(manifest, weight(manifest));
        fillings.push(filling);
    }
    let mut shares: Vec<Share> = fillings
        .into_iter()
        .map(|filling| filling.share)
        .filter(|share| !share.manifests.is_empty())
        .collect();
    shares.sort_by_key(|share| share.number);
    for share in &mut shares {
        share.manifests.sort_unstable();
    }
    shares
}

/// Returns the works with what they may keep.
fn kept(weights: &BTreeMap<usize, usize>, capacity: usize, held: &[ExistingWork]) -> Vec<Filling> {
    let mut seen = BTreeSet::new();
    let keep = |work: &ExistingWork| {
        let known = work
            .manifests
            .iter()
            .filter(|manifest| weights.contains_key(manifest));
        let mut manifests: Vec<usize> = known.copied().filter(|manifest| seen.insert(*manifest)).collect();
        let mut used = evict(&mut manifests, weights, capacity);
        if manifests.is_empty() {
            used = 0;
        }
        Filling {
            share: Share {
                number: work.number,
                manifests,
                gains: false,
            },
            used,
            is_new: false,
        }
    };
    held.iter().map(keep).collect()
}

/// Takes manifests out of a work that has outgrown its capacity: the smallest one that makes the rest fit, else the largest
/// one and so on. Returns how many bytes stay.
fn evict(manifests: &mut Vec<usize>, weights: &BTreeMap<usize, usize>, capacity: usize) -> usize {
    let weight = |manifest: &usize| weights.get(manifest).copied().unwrap_or_default();
    loop {
        let used = manifests.iter().map(weight).fold(0, usize::saturating_add);
        let excess = used.saturating_sub(capacity);
        if excess == 0 {
            return used;
        }
        let enough = manifests.iter().filter(|manifest| weight(manifest) >= excess);
        let leaving = enough
            .min_by_key(|manifest| (weight(manifest), **manifest))
            .or_else(|| {
                manifests
                    .iter()
                    .max_by_key(|manifest| (weight(manifest), **manifest))
            })
            .copied();
        manifests.retain(|manifest| Some(*manifest) != leaving);
    }
}

/// A work that exists and has the most free capacity, else the first new one that is large enough.
fn find_work(fillings: &[Filling], fits: impl Fn(&Filling) -> bool) -> Option<usize> {
    let fitting = || fillings.iter().enumerate().filter(|(_, filling)| fits(filling));
    let existing = fitting().filter(|(_, filling)| !filling.is_new);
    existing
        .min_by_key(|(_, filling)| (filling.used, filling.share.number))
        .or_else(|| fitting().find(|(_, filling)| filling.is_new))
        .map(|(index, _)| index)
}

fn free_number(fillings: &[Filling]) -> u32 {
    let taken: BTreeSet<u32> = fillings.iter().map(|filling| filling.share.number).collect();
    (0..=u32::MAX)
        .find(|number| !taken.contains(number))
        .unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CAPACITY: usize = 10;
    const BOUNDS: Bounds = Bounds {
        filled: CAPACITY,
        kept: 12,
    };

    /// Shares manifests of these weights out; the largest go first.
    fn shares(weights: &[usize], held: &[(u32, &[usize])]) -> Vec<Share> {
        let weights: BTreeMap<usize, usize> = weights.iter().copied().enumerate().collect();
        let mut order: Vec<usize> = weights.keys().copied().collect();
        order.sort_by_key(|manifest| std::cmp::Reverse(weights[manifest]));
        let held: Vec<ExistingWork> = held
            .iter()
            .map(|(number, manifests)| ExistingWork {
                number: *number,
                manifests: manifests.to_vec(),
            })
            .collect();
        split(&weights, &order, BOUNDS, &held)
    }

    fn told(shares: &[Share]) -> String {
        let one = |share: &Share| {
            let manifests: Vec<String> = share.manifests.iter().map(usize::to_string).collect();
            let gains = if share.gains { "+" } else { "" };
            format!("{}{gains}:{}", share.number, manifests.join(","))
        };
        shares.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    /// Weights, what works hold, the shares, and the reason.
    type Row = (
        &'static [usize],
        &'static [(u32, &'static [usize])],
        &'static str,
        &'static str,
    );

    const ROWS: [Row; 14] = [
        (&[], &[], "", "nothing needs no work"),
        (&[], &[(0, &[4])], "", "a work without manifests is not kept"),
        (&[3, 3, 3], &[], "0+:0,1,2", "what fits goes into one work"),
        (
            &[4, 9, 6],
            &[],
            "0+:1 1+:0,2",
            "the largest first, each into the first work with free capacity",
        ),
        (
            &[4, 9, 6],
            &[(0, &[0, 2]), (1, &[1])],
            "0:0,2 1:1",
            "nothing moves",
        ),
        (
            &[4, 4],
            &[(0, &[0]), (1, &[1])],
            "0:0 1:1",
            "not even to save a work",
        ),
        (
            &[4, 5, 3],
            &[(0, &[0]), (1, &[1])],
            "0+:0,2 1:1",
            "a new one goes to the work with the most free capacity",
        ),
        (
            &[4, 5, 3],
            &[(0, &[0]), (3, &[1, 2])],
            "0:0 3:1,2",
            "a hole in the numbers stays",
        ),
        (
            &[8, 8, 8],
            &[(0, &[0]), (2, &[1])],
            "0:0 1+:2 2:1",
            "and is the next number that is used",
        ),
        (
            &[8, 1, 5],
            &[(0, &[0, 1, 2])],
            "0:0,1 1+:2",
            "the smallest that suffices leaves a work that has grown",
        ),
        (
            &[8, 4],
            &[(0, &[0, 1])],
            "0:0,1",
            "a work that others have filled stays whole",
        ),
        (&[8, 3, 1], &[(0, &[0, 1])], "0:0,1 1+:2", "and gets nothing more"),
        (&[8, 7, 7], &[(0, &[0, 1, 2])], "0:2 1+:0 2+:1", "as many as must"),
        (
            &[2, 2],
            &[(0, &[0, 1]), (1, &[1])],
            "0:0,1",
            "a manifest in two works stays in the first",
        ),
    ];

    #[test]
    fn manifests_stay_in_their_work_and_the_rest_is_placed() {
        for (weights, held, expected, why) in ROWS {
            assert_eq!(told(&shares(weights, held)), expected, "{why}");
        }
    }

    proptest! {
        /// No work is too large, every manifest has exactly one place, and the next plan finds nothing to move.
        #[test]
        fn shares_are_whole_and_stay(
            weights in prop::collection::vec(1..=CAPACITY, 0..30),
            places in prop::collection::vec(0..6_u32, 30),
        ) {
            let numbered = |number: u32| -> Vec<usize> {
                (0..weights.len()).filter(|manifest| places[*manifest] == number).collect()
            };
            let held: Vec<(u32, Vec<usize>)> = (0..4).map(|number| (number, numbered(number))).collect();
            let held: Vec<(u32, &[usize])> = held.iter().map(|(number, all)| (*number, all.as_slice())).collect();
            let first = shares(&weights, &held);
            let mut all: Vec<usize> = first.iter().flat_map(|share| share.manifests.clone()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..weights.len()).collect::<Vec<_>>());
            for share in &first {
                let capacity = if share.gains { BOUNDS.filled } else { BOUNDS.kept };
                prop_assert!(share.manifests.iter().map(|manifest| weights[*manifest]).sum::<usize>() <= capacity);
            }
            let now: Vec<(u32, &[usize])> =
                first.iter().map(|share| (share.number, share.manifests.as_slice())).collect();
            let second = shares(&weights, &now);
            prop_assert!(second.iter().all(|share| !share.gains));
            prop_assert_eq!(told(&second).replace('+', ""), told(&first).replace('+', ""));
        }
    }
}
