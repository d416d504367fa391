//! The decision groups of a placement.
//!
//! Decides which cluster is in which of them, and which go before which. Never decides who moves.

use std::collections::{BTreeMap, BTreeSet};

use crate::install::Selected;
use crate::short_list::ShortList;
use ::model::engine::{Course, Group, Stages, Unit, Verdict};
use store::{Name, View};

/// The decision groups of a placement, by their own indices: a gap is a gap, and a decision without labels is in group 0.
pub(super) struct Groups<'v> {
    /// The groups, sorted.
    pub(super) list: Vec<Group<'v>>,
    of: BTreeMap<&'v Name, usize>,
}

impl<'v> Groups<'v> {
    pub(super) fn of(view: &View<'v>, selected: &Selected<'_>, needed: bool) -> Self {
        let by = selected.by;
        let mut by_key: BTreeMap<Group<'v>, Vec<&'v Name>> = BTreeMap::new();
        let decisions = view.decisions(&by.namespace, &by.name).filter(|_| needed);
        for decision in decisions {
            let key = Group {
                index: decision.group_index,
                name: &decision.group_name,
            };
            let clusters = decision.clusters.iter().filter(|cluster| view.is_within(cluster));
            by_key.entry(key).or_default().extend(clusters);
        }
        let mut groups = Self {
            list: Vec::new(),
            of: BTreeMap::new(),
        };
        for (position, (group, clusters)) in by_key.into_iter().enumerate() {
            groups.list.push(group);
            for cluster in clusters {
                groups.of.entry(cluster).or_insert(position);
            }
        }
        groups
    }

    /// Each group with the stage in which it goes.
    pub(super) fn staged(&self, course: &Course) -> Vec<(u32, Name, usize)> {
        let stages = Stages::new(course, &self.list);
        let each = self.list.iter().enumerate();
        each.map(|(position, group)| (group.index, Name::from(group.name), stages.at(position)))
            .collect()
    }

    /// For each group those that go before it, by name where they have one.
    pub(super) fn before(&self, course: &Course) -> Vec<ShortList> {
        let stages = Stages::new(course, &self.list);
        let mut sorted: Vec<(usize, usize)> = (0..self.list.len())
            .map(|position| (stages.at(position), position))
            .collect();
        sorted.sort_unstable();
        let mut before = vec![ShortList::default(); self.list.len()];
        let (mut passed, mut reached) = (ShortList::default(), ShortList::default());
        let mut present = 0;
        for (stage, position) in sorted {
            if stage > present {
                passed = reached.clone();
                present = stage;
            }
            if let (Some(slot), Some(group)) = (before.get_mut(position), self.list.get(position)) {
                slot.clone_from(&passed);
                reached.add(&group.told());
            }
        }
        before
    }

    /// The groups with units in progress or soaking.
    pub(super) fn open(&self, units: &[Unit], verdicts: &[Verdict]) -> ShortList {
        let is_open =
            |verdict: &Verdict| matches!(verdict, Verdict::Start | Verdict::Going | Verdict::Soaking);
        let open = units.iter().zip(verdicts).filter(|(_, verdict)| is_open(verdict));
        let positions: BTreeSet<usize> = open.map(|(unit, _)| unit.group).collect();
        let groups = positions
            .into_iter()
            .filter_map(|position| self.list.get(position));
        let names: Vec<Name> = groups.map(Group::told).collect();
        names.iter().collect()
    }

    pub(super) fn of_cluster(&self, cluster: &Name) -> usize {
        self.of.get(cluster).copied().unwrap_or_default()
    }
}
