//! A time in which no change starts, and what it applies to.
//!
//! Decides which values of a RolloutFreeze have a meaning, and whether it is in force. What it stops is decided by the planners.

use std::collections::BTreeSet;

use api::RolloutFreezeSpec;
use jiff::Timestamp;
use kubernetes::field::{Class, Fault, Path, Violation, quoted, selector_fault};
use kubernetes::labels::Selector;

use crate::rule;

/// The form of a time.
const FORM: &str = "must be a time such as \"2026-12-20T00:00:00Z\"";

/// A time in which no change starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Freeze {
    /// Why, in the words of its author.
    pub reason: String,
    from: Option<Timestamp>,
    until: Option<Timestamp>,
    /// The clusters; every cluster if absent.
    pub clusters: Option<Selector>,
    addons: Option<BTreeSet<String>>,
    upgrades: bool,
}

impl Freeze {
    /// Reads the spec that stands at `path`, or tells everything that is wrong with it.
    ///
    /// # Errors
    ///
    /// A time is none, the end is not after the begin, or the selector is invalid.
    pub fn parse(raw: &RolloutFreezeSpec, path: &Path) -> Result<Self, Vec<Violation>> {
        let mut wrong = Vec::new();
        let from = time(raw.from.as_deref(), &path.key("from"), &mut wrong);
        let until = time(raw.until.as_deref(), &path.key("until"), &mut wrong);
        if let (Some(from), Some(until)) = (from, until)
            && until <= from
        {
            let text = raw.until.as_deref().unwrap_or_default();
            let fault = Fault::of_text(
                Class::Invalid,
                text,
                format!("must be after from, {}", quoted(&from.to_string())),
            );
            wrong.push(fault.at(path.key("until"), rule::FREEZE_TIMES));
        }
        let clusters = raw
            .cluster_selector
            .as_ref()
            .map(Selector::from_object)
            .transpose();
        let clusters = clusters.unwrap_or_else(|faults| {
            wrong.extend(faults.iter().map(|fault| {
                let (at, fault) = selector_fault(fault, &path.key("clusterSelector"));
                fault.at(at, rule::FREEZE_SELECTOR)
            }));
            None
        });
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(Self {
            reason: raw.reason.clone(),
            from,
            until,
            clusters,
            addons: raw.add_ons.as_ref().map(|names| names.iter().cloned().collect()),
            upgrades: raw.upgrades.unwrap_or(true),
        })
    }

    /// Returns whether it is in force.
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= now) && !self.has_ended(now)
    }

    /// Returns whether its end has passed.
    pub fn has_ended(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// Returns its begin.
    pub fn from(&self) -> Option<Timestamp> {
        self.from
    }

    /// Returns its end.
    pub fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// Returns whether it stops the changes of an add-on.
    pub fn stops_addon(&self, addon: &str) -> bool {
        self.addons.as_ref().is_none_or(|names| names.contains(addon))
    }

    /// Returns whether it stops upgrades of clusters.
    pub fn stops_upgrades(&self) -> bool {
        self.upgrades
    }
}

fn time(raw: Option<&str>, path: &Path, wrong: &mut Vec<Violation>) -> Option<Timestamp> {
    let text = raw?;
    let read = text.parse().ok();
    if read.is_none() {
        wrong.push(Fault::of_text(Class::Invalid, text, FORM).at(path.clone(), rule::FREEZE_TIMES));
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(spec: Value) -> Result<Freeze, Vec<String>> {
        let raw: RolloutFreezeSpec = serde_json::from_value(spec).map_err(|error| vec![error.to_string()])?;
        let read = Freeze::parse(&raw, &Path::root().key("spec"));
        read.map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn it_is_in_force_from_its_begin_until_its_end() {
        let both = read(
            json!({"reason": "r", "from": "2026-12-20T00:00:00Z", "until": "2026-12-21T00:00:00+01:00"}),
        )
        .expect("a freeze");
        for (now, is_in_force, has_ended) in [
            ("2026-12-19T23:59:59Z", false, false),
            ("2026-12-20T00:00:00Z", true, false),
            ("2026-12-20T22:59:59Z", true, false),
            ("2026-12-20T23:00:00Z", false, true),
        ] {
            assert_eq!(
                (both.is_in_force(at(now)), both.has_ended(at(now))),
                (is_in_force, has_ended),
                "{now}"
            );
        }
        let open = read(json!({"reason": "r"})).expect("a freeze");
        assert!(
            open.is_in_force(Timestamp::MIN) && open.is_in_force(Timestamp::MAX) && open.until().is_none()
        );
    }

    #[test]
    fn an_absent_list_is_every_add_on_and_an_empty_one_is_none() {
        let row = |spec: Value| {
            let freeze = read(spec).expect("a freeze");
            (
                freeze.stops_addon("one"),
                freeze.stops_addon("two"),
                freeze.stops_upgrades(),
            )
        };
        assert_eq!(row(json!({"reason": "r"})), (true, true, true));
        assert_eq!(
            row(json!({"reason": "r", "addOns": ["one"], "upgrades": false})),
            (true, false, false)
        );
        assert_eq!(row(json!({"reason": "r", "addOns": []})), (false, false, true));
    }

    #[test]
    fn every_fault_is_reported_at_once() {
        let wrong = read(json!({"reason": "r", "from": "tomorrow", "until": "2026",
            "clusterSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}))
        .expect_err("three faults");
        let paths: Vec<&str> = wrong
            .iter()
            .map(|one| one.split(':').next().unwrap_or_default())
            .collect();
        assert_eq!(
            paths,
            [
                "spec.from",
                "spec.until",
                "spec.clusterSelector.matchExpressions[0].operator"
            ]
        );
        let turned =
            read(json!({"reason": "r", "from": "2026-12-20T00:00:00Z", "until": "2026-12-20T00:00:00Z"}));
        let expected = "spec.until: Invalid value: \"2026-12-20T00:00:00Z\": must be after from, \"2026-12-20T00:00:00Z\" [freeze/times]";
        assert_eq!(turned, Err(vec![expected.to_owned()]));
    }
}
