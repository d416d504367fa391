//! How many clusters: at once, and failed.
//!
//! Decides what `5`, `"25%"` and their misspellings mean. Percentages round up, and no limit exceeds the total.

use std::fmt;
use std::num::NonZeroU32;

use super::scalar::Scalar;
use kubernetes::field::{Class, Fault};

/// A share of the clusters, from 0 % to 100 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u8);

impl Percent {
    /// Returns the share, unless it is more than everything.
    pub const fn new(percent: u8) -> Option<Self> {
        if percent <= 100 { Some(Self(percent)) } else { None }
    }

    /// Returns the share of `total`, rounded up.
    pub fn of(self, total: usize) -> usize {
        // Split so that no total overflows: total = 100 * hundreds + rest.
        let (hundreds, rest) = (total / 100, total % 100);
        hundreds * usize::from(self.0) + (rest * usize::from(self.0)).div_ceil(100)
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

/// How many clusters may update at the same time. Zero parses to `All`: upstream reads it so, and a rule warns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// No limit.
    All,
    /// A number of clusters.
    Clusters(NonZeroU32),
    /// A share of the clusters, never 0 %.
    Percent(Percent),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("100%"),
            Self::Clusters(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}"),
        }
    }
}

impl Limit {
    /// Reads a number from 0 up or a text from `"0%"` to `"100%"`.
    pub fn parse(value: Scalar<'_>) -> Result<Self, Fault> {
        Ok(match amount(value, &AT_ONCE)? {
            Amount::Clusters(count) => NonZeroU32::new(count).map_or(Self::All, Self::Clusters),
            Amount::Percent(Percent(0)) => Self::All,
            Amount::Percent(percent) => Self::Percent(percent),
        })
    }

    /// Reads the same, and refuses zero: for limits of our own, where upstream gives zero no meaning.
    pub fn parse_positive(value: Scalar<'_>) -> Result<Self, Fault> {
        match Self::parse(value)? {
            Self::All => Err(value.fault(
                Class::Invalid,
                "must be 1 or more, otherwise no cluster is ever updated",
            )),
            limit @ (Self::Clusters(_) | Self::Percent(_)) => Ok(limit),
        }
    }

    /// Returns how many of `total` clusters that is.
    pub fn of(self, total: usize) -> usize {
        match self {
            Self::All => total,
            Self::Clusters(count) => usize::try_from(count.get()).map_or(total, |count| count.min(total)),
            Self::Percent(percent) => percent.of(total),
        }
    }
}

/// How many clusters may fail before a rollout stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tolerance {
    /// A number of clusters; zero stops at the first failure.
    Clusters(u32),
    /// A share of the clusters.
    Percent(Percent),
}

impl Default for Tolerance {
    fn default() -> Self {
        Self::Clusters(0)
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clusters(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}"),
        }
    }
}

impl Tolerance {
    /// Reads a number from 0 up or a text from `"0%"` to `"100%"`.
    pub fn parse(value: Scalar<'_>) -> Result<Self, Fault> {
        Ok(match amount(value, &FAILED)? {
            Amount::Clusters(count) => Self::Clusters(count),
            Amount::Percent(percent) => Self::Percent(percent),
        })
    }

    /// Returns how many of `total` clusters may fail. More than all is all, not none as upstream has it.
    pub fn of(self, total: usize) -> usize {
        match self {
            Self::Clusters(count) => usize::try_from(count).map_or(total, |count| count.min(total)),
            Self::Percent(percent) => percent.of(total),
        }
    }
}

enum Amount {
    Clusters(u32),
    Percent(Percent),
}

/// What a message says would be right.
struct Cure {
    count: &'static str,
    share: &'static str,
}

const AT_ONCE: Cure = Cure {
    count: "must be 1 or more, or a percentage such as \"25%\"",
    share: "must be between 1% and 100%",
};
const FAILED: Cure = Cure {
    count: "must be 0 or more, or a percentage such as \"10%\"",
    share: "must be between 0% and 100%",
};

const FORM: &str = "must be a whole number or a percentage such as \"25%\"";

fn amount(value: Scalar<'_>, cure: &Cure) -> Result<Amount, Fault> {
    match value {
        Scalar::Int(number) => count(number, cure)
            .map(Amount::Clusters)
            .map_err(|detail| value.fault(Class::Invalid, detail)),
        Scalar::Text(text) => share(value, text, cure).map(Amount::Percent),
        Scalar::Other(_) => Err(value.fault(Class::TypeInvalid, FORM)),
    }
}

// The managers beside us decode the number into 32 bits; a larger one stops their watch of every object.
fn count(number: i64, cure: &Cure) -> Result<u32, &'static str> {
    if number < 0 {
        return Err(cure.count);
    }
    i32::try_from(number)
        .ok()
        .and_then(|number| u32::try_from(number).ok())
        .ok_or("must be at most 2147483647")
}

fn share(value: Scalar<'_>, text: &str, cure: &Cure) -> Result<Percent, Fault> {
    let Some(digits) = text.strip_suffix('%') else {
        return Err(not_a_share(value, text, cure));
    };
    if digits.starts_with('-') {
        return Err(value.fault(Class::Invalid, cure.share));
    }
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(not_a_share(value, text, cure));
    }
    let percent = digits.parse::<u8>().ok().and_then(Percent::new);
    // Three digits are for 100 alone: OCM's pattern refuses "025%".
    let percent = percent.filter(|percent| digits.len() <= 2 || percent.0 == 100 && digits.len() == 3);
    percent.ok_or_else(|| value.fault(Class::Invalid, cure.share))
}

fn not_a_share(value: Scalar<'_>, text: &str, cure: &Cure) -> Fault {
    let bare: String = text
        .chars()
        .filter(|letter| !letter.is_whitespace() && *letter != '%')
        .collect();
    let number = bare.parse::<i64>().ok();
    match number {
        Some(number) if number < 0 => value.fault(Class::Invalid, cure.count),
        Some(number) if number <= 100 => value
            .fault(Class::Invalid, "must end in \"%\" if it is a string")
            .hint(format!(
                "write {number} for a number of clusters, or \"{number}%\" for a percentage"
            )),
        Some(number) => value
            .fault(Class::Invalid, "must end in \"%\" if it is a string")
            .hint(format!("write {number} without quotes for a number of clusters")),
        None => value.fault(Class::Invalid, FORM),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubernetes::field::Path;
    use proptest::prelude::*;
    use serde_json::json;

    fn limit(value: &serde_json::Value) -> Result<Limit, String> {
        Limit::parse(Scalar::from(value)).map_err(|fault| fault.at(Path::parse("n"), "a/b").to_string())
    }

    fn percent(percent: u8) -> Limit {
        Limit::Percent(Percent::new(percent).expect("at most 100"))
    }

    #[test]
    fn percent_limits_round_up() {
        for (share, total, clusters) in [
            (1, 3, 1),
            (34, 3, 2),
            (100, 0, 0),
            (25, 12, 3),
            (25, 13, 4),
            (100, 7, 7),
        ] {
            assert_eq!(percent(share).of(total), clusters, "{share}% of {total}");
        }
        assert_eq!(percent(100).of(usize::MAX), usize::MAX);
    }

    #[test]
    fn zero_is_read_as_all_the_way_upstream_reads_it() {
        assert_eq!(limit(&json!(0)), Ok(Limit::All));
        assert_eq!(limit(&json!("0%")), Ok(Limit::All));
        assert!(Limit::parse_positive(Scalar::Int(0)).is_err());
    }

    #[test]
    fn limits_that_have_no_meaning_are_refused() {
        for (value, text) in [
            (
                json!(-5),
                "n: Invalid value: -5: must be 1 or more, or a percentage such as \"25%\" [a/b]",
            ),
            (
                json!("-5"),
                "n: Invalid value: \"-5\": must be 1 or more, or a percentage such as \"25%\" [a/b]",
            ),
            (
                json!("130%"),
                "n: Invalid value: \"130%\": must be between 1% and 100% [a/b]",
            ),
            (
                json!("-3%"),
                "n: Invalid value: \"-3%\": must be between 1% and 100% [a/b]",
            ),
            (
                json!("25"),
                "n: Invalid value: \"25\": must end in \"%\" if it is a string; hint: write 25 for a number of \
                 clusters, or \"25%\" for a percentage [a/b]",
            ),
            (
                json!("25 %"),
                "n: Invalid value: \"25 %\": must end in \"%\" if it is a string; hint: write 25 for a number of \
                 clusters, or \"25%\" for a percentage [a/b]",
            ),
            (
                json!("half"),
                "n: Invalid value: \"half\": must be a whole number or a percentage such as \"25%\" [a/b]",
            ),
            (
                json!(2.5),
                "n: Invalid value: 2.5: must be a whole number or a percentage such as \"25%\" [a/b]",
            ),
            (
                json!(3_000_000_000_i64),
                "n: Invalid value: 3000000000: must be at most 2147483647 [a/b]",
            ),
        ] {
            assert_eq!(limit(&value), Err(text.to_owned()), "{value}");
        }
    }

    #[test]
    fn more_failures_than_clusters_are_all_clusters() {
        assert_eq!(Tolerance::Clusters(9).of(4), 4);
        assert_eq!(
            Tolerance::parse(Scalar::Text("0%")).map(|tolerance| tolerance.of(100)),
            Ok(0)
        );
        assert!(Tolerance::parse(Scalar::Int(-1)).is_err());
    }

    proptest! {
        #[test]
        fn a_share_never_exceeds_the_total(share in 0_u8..=100, total in 0_usize..100_000) {
            let clusters = Percent::new(share).map_or(0, |percent| percent.of(total));
            prop_assert!(clusters <= total);
            prop_assert_eq!(clusters == 0, share == 0 || total == 0);
        }

        #[test]
        fn an_accepted_text_passes_the_crd_pattern(text in "[-0-9 %.]{0,6}") {
            let pattern = regex::Regex::new(r"^((100|[0-9]{1,2})%|[0-9]+)$").expect("OCM's pattern compiles");
            if Limit::parse(Scalar::Text(&text)).is_ok() {
                prop_assert!(pattern.is_match(&text), "{}", text);
            }
        }
    }
}
