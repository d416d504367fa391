//! Decoding rollout strategies: with the parsers that the gate uses, and more patience.
//!
//! Decides what is left out because it has no effect anyway. A strategy that is invalid comes back as the text of
//! what is wrong with it: a change must not be rolled out without the strategy that was set for it.

use jiff::Timestamp;

use crate::record::rollout::{ApprovalTerms, Paused, Promoted};
use crate::terms;
use api::v1alpha1 as wire;
use kubernetes::field::{Path, Violation};
use model::rule::ROLLOUT_APPROVAL;
use model::{
    ApprovalBefore, Approvals, ConfigRollout, Limit, Name, RawConfigRollout, RawStrategy, RolloutStrategy,
    Scalar,
};

/// Reads the strategy of the placement at `index`.
pub(crate) fn rollout(
    strategy: Option<&wire::RolloutStrategy>,
    index: usize,
) -> Result<RolloutStrategy, Name> {
    let Some(strategy) = strategy else {
        return Ok(RolloutStrategy::default());
    };
    let path = Path::parse("spec.installStrategy.placements").index(index);
    let mut raw = RawStrategy::from(strategy);
    // Both are refused at admission; where they came in earlier, they have no effect.
    raw.drop_other_blocks();
    raw.drop_repeated_groups();
    RolloutStrategy::parse(&raw, &path.key("rolloutStrategy")).map_err(|wrong| text_of(&wrong))
}

/// Reads how changes of `spec.configuration.configs` are rolled out.
pub(crate) fn configuration_rollout(
    strategy: Option<&wire::ConfigurationRollout>,
) -> Result<ConfigRollout, Name> {
    let Some(strategy) = strategy else {
        return Ok(ConfigRollout::default());
    };
    let mut raw = RawConfigRollout::from(strategy);
    raw.drop_other_blocks();
    let path = Path::parse("spec.configuration.rolloutStrategy");
    ConfigRollout::parse(&raw, &path).map_err(|wrong| text_of(&wrong))
}

fn text_of(wrong: &[Violation]) -> Name {
    let each: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    Name::from(each.join("; "))
}

/// Reads the annotation that pauses rollouts: `<namespace>/<name>` of placements, or `*`.
pub(crate) fn paused(annotation: Option<&str>) -> Paused {
    let listed = annotation.into_iter().flat_map(|text| text.split(','));
    let places = listed.map(str::trim).filter(|place| !place.is_empty());
    Paused(places.map(Name::from).collect())
}

/// Reads one entry of the annotation that ends soaks: a place, and the time.
pub fn promotion(entry: &str) -> Option<(&str, Timestamp)> {
    let (place, time) = entry.trim().split_once('=')?;
    Some((place.trim(), time.trim().parse().ok()?))
}

/// Reads the annotation that ends soaks: `<namespace>/<name>=<time>` of placements, or `*=<time>`. What is invalid ends nothing.
pub(crate) fn promoted(annotation: Option<&str>) -> Promoted {
    let listed = annotation.into_iter().flat_map(|text| text.split(','));
    let entries = listed.filter_map(promotion);
    Promoted(entries.map(|(place, at)| (Name::from(place), at)).collect())
}

/// Reads the annotations about approvals. What asks and is invalid is kept with its fault; what approves and has none approves of
/// nothing.
pub(crate) fn approval_terms<'a>(says: impl Fn(&str) -> Option<&'a str>) -> ApprovalTerms {
    let before = |text: &str| {
        ApprovalBefore::parse(text).map_err(|wrong| {
            let path = Path::root().key("metadata").key("annotations");
            let path = path.entry(terms::APPROVAL_BEFORE);
            let faults = wrong.into_iter();
            let all: Vec<Violation> = faults
                .map(|fault| fault.at(path.clone(), ROLLOUT_APPROVAL))
                .collect();
            text_of(&all)
        })
    };
    ApprovalTerms {
        before: says(terms::APPROVAL_BEFORE).map(before),
        given: says(terms::APPROVED).map(Approvals::read).unwrap_or_default(),
    }
}

/// Reads `decisionStrategy.groupStrategy.clustersPerDecisionGroup`; a size that is invalid is no size.
pub(crate) fn group_size(spec: &api::cluster::PlacementSpec) -> Option<Limit> {
    let strategy = spec.decision_strategy.as_ref()?.group_strategy.as_ref()?;
    let size = strategy.clusters_per_decision_group.as_ref()?;
    Limit::parse(Scalar::from(size)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::RolloutKind;
    use serde_json::json;

    fn read(strategy: serde_json::Value) -> Result<RolloutStrategy, String> {
        let strategy: wire::RolloutStrategy =
            serde_json::from_value(strategy).map_err(|error| error.to_string())?;
        rollout(Some(&strategy), 1).map_err(|text| text.to_string())
    }

    #[test]
    fn a_setting_without_effect_holds_no_cluster() {
        let block = json!({"maxConcurrency": "130%"});
        let rows = [
            json!({"type": "All", "progressive": block}),
            json!({"progressivePerGroup": {"maxFailures": -1}}),
        ];
        for strategy in rows {
            assert_eq!(
                read(strategy.clone()),
                Ok(RolloutStrategy::default()),
                "{strategy}"
            );
        }
        let group = json!({"groupName": "canary"});
        let twice =
            json!({"type": "Progressive", "progressive": {"mandatoryDecisionGroups": [group, group]}});
        assert!(read(twice).is_ok());
        assert_eq!(RolloutKind::default().name(), "All");
    }

    #[test]
    fn what_has_no_meaning_is_quoted() {
        let strategy = json!({"type": "Progressive", "progressive": {"maxConcurrency": "130%", "minSuccessTime": "soon"}});
        let text = read(strategy).expect_err("two faults");
        let start = "spec.installStrategy.placements[1].rolloutStrategy.progressive.maxConcurrency: Invalid value: \"130%\"";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains("minSuccessTime"), "{text}");
        assert!(read(json!({"type": "Quickly"})).is_err());
    }

    #[test]
    fn a_promotion_is_a_place_and_a_time() {
        let (early, late) = ("2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z");
        let all = promoted(Some(&format!(
            "default/all={late}, *={early} ,default/odd=soon,{late}"
        )));
        let time = |text: &str| text.parse::<Timestamp>().ok();
        assert_eq!(all.placement("default", "all"), time(late));
        assert_eq!(all.placement("default", "odd"), time(early));
        assert_eq!(promoted(None).placement("default", "all"), None);
    }

    #[test]
    fn the_annotation_lists_placements_or_everything() {
        let paused = |text: &str| paused(Some(text));
        assert!(paused(" default/all ,default/canary").placement("default", "canary"));
        assert!(!paused("default/all").placement("default", "al"));
        assert!(paused("*").placement("default", "all") && paused("*").everything());
        assert!(!super::paused(None).everything());
    }
}
