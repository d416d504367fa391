//! Add-ons that depend on others: where a list leads back to itself.
//!
//! Finds cycles. Never knows what a dependency asks of a cluster.

use std::collections::{BTreeMap, VecDeque};

use super::names::Name;

/// Returns the shortest way from an add-on over those that it depends on back to itself, both ends included. `of` tells what another
/// add-on depends on.
pub fn dependency_circle<'n>(
    own: &'n str,
    direct: impl IntoIterator<Item = &'n str>,
    of: impl Fn(&str) -> Vec<&'n str>,
) -> Option<Vec<Name>> {
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut open = VecDeque::new();
    let mut from = own;
    let mut next: Vec<&str> = direct.into_iter().collect();
    loop {
        for name in next {
            if name == own {
                return Some(way(own, from, &before));
            }
            if !before.contains_key(name) {
                before.insert(name, from);
                open.push_back(name);
            }
        }
        from = open.pop_front()?;
        next = of(from);
    }
}

fn way(own: &str, last: &str, before: &BTreeMap<&str, &str>) -> Vec<Name> {
    let mut way = vec![Name::from(own)];
    let mut at = last;
    while at != own {
        way.push(Name::from(at));
        at = before.get(at).copied().unwrap_or(own);
    }
    way.push(Name::from(own));
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(all: &[(&'static str, &'static str)]) -> String {
        let of = |name: &str| -> Vec<&str> {
            let found = all.iter().find(|(of, _)| *of == name);
            found
                .into_iter()
                .flat_map(|(_, listed)| listed.split(", "))
                .collect()
        };
        let found = dependency_circle("a", of("a"), of);
        found.map_or_else(String::new, |way| way.join(" "))
    }

    #[test]
    fn the_shortest_cycle_is_reported() {
        assert_eq!(circle(&[("a", "b, c"), ("b", "c"), ("c", "d")]), "");
        assert_eq!(circle(&[("a", "a")]), "a a");
        assert_eq!(circle(&[("a", "b"), ("b", "c, a"), ("c", "a")]), "a b a");
        assert_eq!(circle(&[("a", "b"), ("b", "c"), ("c", "a")]), "a b c a");
        assert_eq!(
            circle(&[("a", "b"), ("b", "c"), ("c", "b")]),
            "",
            "a circle of others is theirs"
        );
    }
}
