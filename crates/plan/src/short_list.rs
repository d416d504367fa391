//! A number of things of which the first are named: messages stay short whatever the fleet.
//!
//! Decides how many names a message has, and never which come first: that is the order in which they are added.

use store::Name;

/// How many names a message has.
const NAMED: usize = 3;

/// A number of things, the first of them by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShortList {
    count: usize,
    named: Vec<Name>,
}

impl ShortList {
    /// Adds one.
    pub(super) fn add(&mut self, name: &Name) {
        self.count = self.count.saturating_add(1);
        if self.named.len() < NAMED {
            self.named.push(name.clone());
        }
    }

    /// Takes one back that was added before.
    pub(super) fn remove(&mut self, name: &Name) {
        self.count = self.count.saturating_sub(1);
        self.named.retain(|named| named != name);
    }

    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<'n> FromIterator<&'n Name> for ShortList {
    fn from_iter<I: IntoIterator<Item = &'n Name>>(names: I) -> Self {
        names.into_iter().fold(Self::default(), |mut few, name| {
            few.add(name);
            few
        })
    }
}

impl std::fmt::Display for ShortList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named: Vec<&str> = self.named.iter().map(|name| &**name).collect();
        match self.count.saturating_sub(named.len()) {
            others if named.is_empty() => write!(f, "{others} others"),
            0 => f.write_str(&named.join(", ")),
            _ => write!(f, "{}, …", named.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_named_and_the_others_are_hinted_at() {
        let names: Vec<Name> = (1..=5).map(|n| Name::from(format!("c{n}"))).collect();
        let told = |count: usize| names.iter().take(count).collect::<ShortList>().to_string();
        assert_eq!(told(1), "c1");
        assert_eq!(told(3), "c1, c2, c3");
        assert_eq!(told(5), "c1, c2, c3, …");
        let mut few: ShortList = names.iter().take(4).collect();
        few.remove(&names[1]);
        assert_eq!((few.count(), few.to_string().as_str()), (3, "c1, c3, …"));
    }
}
