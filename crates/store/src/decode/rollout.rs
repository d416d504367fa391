//! Decoding rollout strategies: with the parsers that the gate uses, and more patience.
//!
//! Decides what is left out because it has no effect anyway. A strategy that is invalid comes back as the text of
//! what is wrong with it: a change must not be rolled out without the strategy that was set for it.

use api::v1alpha1 as wire;
use kubernetes::field::{Path, Violation};
use model::{ConfigRollout, Limit, Name, RawConfigRollout, RawStrategy, RolloutStrategy, Scalar};

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

pub(crate) fn text_of(wrong: &[Violation]) -> Name {
    let each: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    Name::from(each.join("; "))
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
}
