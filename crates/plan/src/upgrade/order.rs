//! The order in which people count clusters: `cluster2` before `cluster10`.
//!
//! Decides order only. Numbers compare as numbers, whatever their length; of equal ones the shorter text goes first.

use std::cmp::Ordering;

use model::Name;

/// Returns names in the order of their numbers.
pub(crate) fn natural<'a>(names: impl IntoIterator<Item = &'a Name>) -> Vec<&'a Name> {
    let mut all: Vec<&Name> = names.into_iter().collect();
    all.sort_by(|one, other| compare(one, other));
    all
}

/// Sorts into the order of the values of a label; what has none is last, and what has the same one keeps its order.
pub(crate) fn by_label<T>(all: &mut [T], label: impl Fn(&T) -> Option<Name>) {
    all.sort_by(|one, other| match (label(one), label(other)) {
        (Some(one), Some(other)) => compare(&one, &other),
        (one, other) => one.is_none().cmp(&other.is_none()),
    });
}

/// Compares two names in that order.
pub fn compare(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one, other);
    while !left.is_empty() && !right.is_empty() {
        let (a, rest_of_a) = piece(left);
        let (b, rest_of_b) = piece(right);
        let are_numbers = is_number(a) && is_number(b);
        let found = if are_numbers { numbers(a, b) } else { a.cmp(b) };
        if found != Ordering::Equal {
            return found;
        }
        (left, right) = (rest_of_a, rest_of_b);
    }
    let ended = left.len().cmp(&right.len());
    ended
        .then(one.len().cmp(&other.len()))
        .then_with(|| one.cmp(other))
}

/// The digits, or whatever is none, at the beginning.
fn piece(text: &str) -> (&str, &str) {
    let first = is_number(text);
    let end = text.find(|letter: char| letter.is_ascii_digit() != first);
    text.split_at(end.unwrap_or(text.len()))
}

fn is_number(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_digit())
}

fn numbers(one: &str, other: &str) -> Ordering {
    let (a, b) = (one.trim_start_matches('0'), other.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_numbers() {
        let sorted = [
            "a", "a1", "a01", "a2", "a2b", "a10", "b1-2", "b1-10", "b2", "é1", "é12",
        ];
        for (at, one) in sorted.iter().enumerate() {
            for (beside, other) in sorted.iter().enumerate() {
                assert_eq!(compare(one, other), at.cmp(&beside), "{one} and {other}");
            }
        }
        let names = ["c10", "c9", "c1"].map(Name::from);
        assert_eq!(natural(&names), [&names[2], &names[1], &names[0]]);
    }
}
