//! The rollout of an add-on's own configurations: everywhere, or over the clusters of one placement.
//!
//! Decides what `spec.configuration.rolloutStrategy` means. Never decides which cluster moves.

use super::limit::Limit;
use super::rollout::keep;
use super::rule;
use super::scalar::Scalar;
use api::v1alpha1 as wire;
use kubernetes::field::{Class, Fault, Path, Violation, listed, nearest, quoted};

/// How many clusters move at once where a rolling update does not say.
pub const DEFAULT_AT_ONCE: &str = "25%";

const UPDATE_ALL: &str = "UpdateAll";
const ROLLING: &str = "RollingUpdateWithPlacement";
const BLOCK: &str = "rollingUpdateWithPlacement";

/// A rolling update over the clusters of one placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RollingUpdate {
    /// Namespace of the placement.
    pub namespace: String,
    /// Name of the placement.
    pub name: String,
    /// How many clusters move at once; never zero.
    pub at_once: Limit,
}

/// How a change of an add-on's own configurations is rolled out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConfigRollout {
    /// All clusters at once.
    #[default]
    UpdateAll,
    /// Only the clusters of a placement, a few at a time.
    RollingUpdateWithPlacement(RollingUpdate),
}

/// The leaves of `spec.configuration.rolloutStrategy`, as a document has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawConfigRollout<'a> {
    /// `type`.
    pub kind: Option<Scalar<'a>>,
    /// `rollingUpdateWithPlacement`.
    pub rolling: Option<RawRollingUpdate<'a>>,
}

/// The leaves of `rollingUpdateWithPlacement`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawRollingUpdate<'a> {
    /// `name`.
    pub name: Option<&'a str>,
    /// `namespace`.
    pub namespace: Option<&'a str>,
    /// `maxConcurrentlyUpdating`.
    pub at_once: Option<Scalar<'a>>,
}

impl ConfigRollout {
    /// Reads the strategy that stands at `path`, or tells everything that is wrong with it.
    pub fn parse(raw: &RawConfigRollout<'_>, path: &Path) -> Result<Self, Vec<Violation>> {
        let mut wrong = Vec::new();
        let rolling = keep(is_rolling(raw.kind, path), &mut wrong);
        let block = path.key(BLOCK);
        let update = match (rolling, raw.rolling) {
            (Some(true), None) => {
                wrong.push(required(
                    block,
                    "must name the placement whose clusters are updated",
                ));
                None
            }
            (Some(false), Some(given)) => {
                let detail = format!("has no effect while type is {}", quoted(UPDATE_ALL));
                let hint = format!("set type to {}, or remove this block", quoted(ROLLING));
                wrong.push(
                    Fault::bare(Class::Forbidden, detail)
                        .hint(hint)
                        .at(block.clone(), rule::TYPE_MISMATCH),
                );
                given.parse(&block, &mut wrong)
            }
            (Some(true) | None, Some(given)) => given.parse(&block, &mut wrong),
            (Some(false) | None, None) => None,
        };
        match (wrong.is_empty(), update) {
            (false, _) => Err(wrong),
            (true, None) => Ok(Self::UpdateAll),
            (true, Some(update)) => Ok(Self::RollingUpdateWithPlacement(update)),
        }
    }
}

impl RawConfigRollout<'_> {
    /// Takes away the block where the type is one without it: it has no effect.
    pub fn drop_other_blocks(&mut self) {
        if let Ok(false) = is_rolling(self.kind, &Path::root()) {
            self.rolling = None;
        }
    }
}

impl RawRollingUpdate<'_> {
    fn parse(self, path: &Path, wrong: &mut Vec<Violation>) -> Option<RollingUpdate> {
        let before = wrong.len();
        let mut named = |key: &'static str, value: Option<&str>| match value {
            Some(value) if !value.is_empty() => value.to_owned(),
            Some(_) | None => {
                wrong.push(required(
                    path.key(key),
                    &format!("must be the {key} of the placement whose clusters are updated"),
                ));
                String::new()
            }
        };
        let name = named("name", self.name);
        let namespace = named("namespace", self.namespace);
        let at_once = Limit::parse_positive(self.at_once.unwrap_or(Scalar::Text(DEFAULT_AT_ONCE)))
            .map_err(|fault| fault.at(path.key("maxConcurrentlyUpdating"), rule::ROLLING_UPDATE));
        let at_once = keep(at_once, wrong)?;
        (wrong.len() == before).then_some(RollingUpdate {
            namespace,
            name,
            at_once,
        })
    }
}

fn is_rolling(kind: Option<Scalar<'_>>, path: &Path) -> Result<bool, Violation> {
    let read = kind.map_or(Ok(UPDATE_ALL), |kind| kind.text(ROLLING));
    let fault = match read {
        Ok("" | UPDATE_ALL) => return Ok(false),
        Ok(ROLLING) => return Ok(true),
        Ok(text) => {
            let hint =
                nearest(text, [UPDATE_ALL, ROLLING]).map(|name| format!("did you mean {}?", quoted(name)));
            let detail = format!("supported values: {}", listed([UPDATE_ALL, ROLLING]));
            Fault::of_text(Class::NotSupported, text, detail).hint_if(hint)
        }
        Err(fault) => fault,
    };
    Err(fault.at(path.key("type"), rule::UNKNOWN_TYPE))
}

fn required(path: Path, detail: &str) -> Violation {
    Fault::bare(Class::Required, detail).at(path, rule::ROLLING_UPDATE)
}

impl<'a> From<&'a wire::ConfigurationRollout> for RawConfigRollout<'a> {
    fn from(strategy: &'a wire::ConfigurationRollout) -> Self {
        Self {
            kind: (!strategy.type_.is_empty()).then_some(Scalar::Text(&strategy.type_)),
            rolling: strategy
                .rolling_update_with_placement
                .as_ref()
                .map(|rolling| RawRollingUpdate {
                    name: Some(&rolling.name),
                    namespace: Some(&rolling.namespace),
                    at_once: rolling.max_concurrently_updating.as_ref().map(Scalar::from),
                }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Percent;

    fn rolling(at_once: Option<Scalar<'_>>) -> RawConfigRollout<'_> {
        RawConfigRollout {
            kind: Some(Scalar::Text(ROLLING)),
            rolling: Some(RawRollingUpdate {
                name: Some("canary"),
                namespace: Some("default"),
                at_once,
            }),
        }
    }

    fn rules(raw: &RawConfigRollout<'_>) -> Vec<String> {
        let wrong = ConfigRollout::parse(raw, &Path::parse("r")).expect_err("something is wrong");
        wrong
            .iter()
            .map(|violation| format!("{} {}", violation.path(), violation.rule()))
            .collect()
    }

    #[test]
    fn a_quarter_moves_at_once_unless_said_otherwise() {
        let Ok(ConfigRollout::RollingUpdateWithPlacement(update)) =
            ConfigRollout::parse(&rolling(None), &Path::root())
        else {
            panic!("a rolling update");
        };
        assert_eq!(Some(update.at_once), Percent::new(25).map(Limit::Percent));
        assert_eq!(update.at_once.of(10), 3);
    }

    #[test]
    fn a_rolling_update_needs_its_placement() {
        let raw = RawConfigRollout {
            kind: Some(Scalar::Text(ROLLING)),
            rolling: None,
        };
        assert_eq!(
            rules(&raw),
            ["r.rollingUpdateWithPlacement rollout/rolling-update"]
        );
        let raw = RawConfigRollout {
            rolling: Some(RawRollingUpdate::default()),
            ..raw
        };
        assert_eq!(
            rules(&raw),
            [
                "r.rollingUpdateWithPlacement.name rollout/rolling-update",
                "r.rollingUpdateWithPlacement.namespace rollout/rolling-update",
            ]
        );
    }

    #[test]
    fn limits_that_never_move_anything_are_refused() {
        for value in [
            Scalar::Int(0),
            Scalar::Text("0%"),
            Scalar::Int(-1),
            Scalar::Text("130%"),
            Scalar::Text("25"),
        ] {
            assert_eq!(
                rules(&rolling(Some(value))),
                ["r.rollingUpdateWithPlacement.maxConcurrentlyUpdating rollout/rolling-update"],
                "{value:?}"
            );
        }
    }

    #[test]
    fn a_block_without_its_type_is_a_mismatch() {
        let raw = RawConfigRollout {
            kind: None,
            ..rolling(None)
        };
        assert_eq!(
            rules(&raw),
            ["r.rollingUpdateWithPlacement rollout/type-mismatch"]
        );
    }
}
