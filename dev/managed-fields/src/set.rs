//! Sets of paths into an object.
//!
//! Decides what union, intersection and difference mean for paths. Never looks at an object, except through its type
//! where that tells declared members from others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::element::Element;
use crate::types::Type;

/// A path into an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<Element>);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| write!(f, "{element}"))
    }
}

/// A set of paths. A path and what lies below it are members on their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    pub(crate) members: BTreeSet<Element>,
    pub(crate) children: BTreeMap<Element, Self>,
}

impl Set {
    /// Returns whether there is no path in it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// Adds a path; the empty one cannot be a member.
    pub fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Returns whether the path is a member.
    pub fn has(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|child| child.has(rest)),
        }
    }

    /// Returns what lies below one step.
    pub fn below(&self, element: &Element) -> Option<&Self> {
        self.children.get(element)
    }

    /// Returns the paths of both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.members.extend(other.members.iter().cloned());
        for (element, child) in &other.children {
            let merged = all
                .children
                .get(element)
                .map_or_else(|| child.clone(), |own| own.union(child));
            all.children.insert(element.clone(), merged);
        }
        all
    }

    /// Returns the paths that are in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let common = self.children.iter().filter_map(|(element, child)| {
            let both = child.intersection(other.children.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        });
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: common.collect(),
        }
    }

    /// Returns the paths that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let kept = self.children.iter().filter_map(|(element, child)| {
            let rest = match other.children.get(element) {
                Some(less) => child.difference(less),
                None => child.clone(),
            };
            (!rest.is_empty()).then(|| (element.clone(), rest))
        });
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: kept.collect(),
        }
    }

    /// Returns the paths that are neither in the other nor below one that is.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        let members = self.members.difference(&other.members).cloned().collect();
        let kept = self
            .children
            .iter()
            .filter(|(element, _)| !other.members.contains(element))
            .filter_map(|(element, child)| {
                let rest = match other.children.get(element) {
                    Some(less) => child.recursive_difference(less),
                    None => child.clone(),
                };
                (!rest.is_empty()).then(|| (element.clone(), rest))
            });
        Self {
            members,
            children: kept.collect(),
        }
    }

    /// Returns the set with every declared member that a path leads through. Sets of owners leave them out; without them
    /// an object whose last field is removed would keep its empty shell.
    #[must_use]
    pub fn with_declared(&self, of: &Type) -> Self {
        let mut members = self.members.clone();
        let mut children = BTreeMap::new();
        for (element, child) in &self.children {
            if let Element::Field(name) = element
                && of.declares(name)
            {
                members.insert(element.clone());
            }
            children.insert(element.clone(), child.with_declared(of.step(element)));
        }
        Self { members, children }
    }

    /// Returns every path: members of a place before what lies below them.
    pub fn paths(&self) -> Vec<Path> {
        let mut all = Vec::new();
        self.gather(&mut Vec::new(), &mut all);
        all
    }

    fn gather(&self, above: &mut Vec<Element>, all: &mut Vec<Path>) {
        for element in &self.members {
            above.push(element.clone());
            all.push(Path(above.clone()));
            above.pop();
        }
        for (element, child) in &self.children {
            above.push(element.clone());
            child.gather(above, all);
            above.pop();
        }
    }
}
