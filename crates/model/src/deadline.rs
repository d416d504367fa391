//! How long a rollout waits: for success (`progressDeadline`) and after it (`minSuccessTime`).
//!
//! Decides which texts are deadlines and soak times. A text that is accepted here passes OCM's CRD pattern and both of
//! its parsers as well.

use std::time::Duration;

use kubernetes::duration::{DurationError, GoDuration};

use super::scalar::Scalar;
use super::slip::probably_meant;
use kubernetes::field::{Class, Fault, quoted};

/// How long a cluster may take until it counts as failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgressDeadline {
    /// Any time.
    #[default]
    None,
    /// So long, and never zero: with zero every cluster would have failed before it began.
    After(Duration),
}

const DEADLINE: &str = "must be \"None\" or a duration in h, m and s, such as \"10m\" or \"1h30m\"";

impl ProgressDeadline {
    /// Reads `None`, `10m`, `1h30m`.
    pub fn parse(value: Scalar<'_>) -> Result<Self, Fault> {
        let text = value.text("10m")?;
        if text == "None" {
            return Ok(Self::None);
        }
        if text.eq_ignore_ascii_case("none") {
            return Err(value
                .fault(Class::Invalid, DEADLINE)
                .hint("did you mean \"None\"?"));
        }
        if !starts_like_the_pattern(text) {
            return Err(not_a_duration(value, text, DEADLINE));
        }
        match GoDuration::parse(text).map(GoDuration::length) {
            Ok(Some(length)) if !length.is_zero() => Ok(Self::After(length)),
            Ok(Some(_)) => Err(value
                .fault(
                    Class::Invalid,
                    "must be longer than zero, or every cluster times out at once",
                )
                .hint("write \"None\" for no deadline")),
            Ok(None) | Err(_) => Err(not_a_duration(value, text, DEADLINE)),
        }
    }
}

/// How long a cluster must stay successful before the rollout goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Soak(Duration);

const SOAK: &str = "must be a duration such as \"5m\" or \"1h30m\"";

impl Soak {
    /// Reads a Go duration that is not negative.
    pub fn parse(value: Scalar<'_>) -> Result<Self, Fault> {
        let text = value.text("5m")?;
        match GoDuration::parse(text) {
            Ok(duration) => match duration.length() {
                Some(length) => Ok(Self(length)),
                None => Err(value.fault(Class::Invalid, "must be 0 or longer, such as \"5m\"")),
            },
            Err(DurationError::MissingUnit) => Err(value
                .fault(Class::Invalid, SOAK)
                .hint("add a unit: h, m, s or ms")),
            Err(DurationError::Overflow) => {
                Err(value.fault(Class::Invalid, "must be shorter than 292 years"))
            }
            Err(DurationError::Invalid | DurationError::UnknownUnit(_)) => {
                Err(not_a_duration(value, text, SOAK))
            }
        }
    }

    /// Returns the soak time.
    pub fn length(self) -> Duration {
        self.0
    }
}

fn not_a_duration(value: Scalar<'_>, text: &str, detail: &str) -> Fault {
    let meant = probably_meant(text).map(|meant| format!("did you mean {}?", quoted(&meant)));
    value.fault(Class::Invalid, detail).hint_if(meant)
}

// OCM's pattern is `^(([0-9])+[h|m|s])|None$`: digits, then one of h, m, s; whatever follows is left to the parser.
fn starts_like_the_pattern(text: &str) -> bool {
    let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    unit.len() < text.len() && unit.starts_with(['h', 'm', 's'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn deadline(text: &str) -> Result<ProgressDeadline, String> {
        ProgressDeadline::parse(Scalar::Text(text))
            .map_err(|fault| fault.at(kubernetes::field::Path::parse("d"), "a/b").to_string())
    }

    #[test]
    fn deadlines_may_be_compound() {
        assert_eq!(deadline("None"), Ok(ProgressDeadline::None));
        assert_eq!(
            deadline("90m"),
            Ok(ProgressDeadline::After(Duration::from_mins(90)))
        );
        assert_eq!(
            deadline("1h30m"),
            Ok(ProgressDeadline::After(Duration::from_mins(90)))
        );
        assert_eq!(
            deadline("100ms"),
            Ok(ProgressDeadline::After(Duration::from_millis(100)))
        );
    }

    #[test]
    fn what_the_crd_pattern_lets_through_is_still_read_exactly() {
        for text in [
            "5m-garbage",
            "lolNone",
            "10|",
            "1.5h",
            "-5m",
            "+5m",
            "",
            "0s",
            "500us",
            "5",
            "3000000h",
        ] {
            let message = deadline(text).expect_err(text);
            assert!(message.contains("must be"), "{message}");
        }
        assert!(
            deadline("none")
                .expect_err("lower case")
                .contains("did you mean \"None\"?")
        );
        assert!(
            deadline("10min")
                .expect_err("min")
                .contains("did you mean \"10m\"?")
        );
    }

    #[test]
    fn soak_times_are_go_durations_without_a_sign() {
        assert_eq!(
            Soak::parse(Scalar::Text("0")).map(Soak::length),
            Ok(Duration::ZERO)
        );
        assert_eq!(
            Soak::parse(Scalar::Text("1.5h")).map(Soak::length),
            Ok(Duration::from_mins(90))
        );
        for text in ["banana", "", "-5m", "5", "1d", "3000000h"] {
            assert!(Soak::parse(Scalar::Text(text)).is_err(), "{text}");
        }
        assert!(Soak::parse(Scalar::Int(5)).is_err());
    }

    proptest! {
        #[test]
        fn an_accepted_deadline_passes_the_crd_pattern(text in "[0-9]{0,3}[hms|N.]{0,3}[0-9]{0,2}[hmsone]{0,4}") {
            let pattern = regex::Regex::new(r"^(([0-9])+[h|m|s])|None$").expect("OCM's pattern compiles");
            if deadline(&text).is_ok() {
                prop_assert!(pattern.is_match(&text));
                prop_assert!(text == "None" || GoDuration::parse(&text).is_ok());
            }
        }
    }
}
