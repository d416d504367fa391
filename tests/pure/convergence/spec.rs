//! The ClusterManagementAddOns of a scenario: their install strategies, rollouts, and versions, and how they look on the hub.

use serde_json::{Value, json};

use super::dice::Dice;
use super::user::{ADDON, GROUP, config};

/// The label that a selector asks for.
pub(crate) const LABEL: &str = "env";

/// So many clusters, or such a share of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    Count(u8),
    Share(u8),
}

impl Amount {
    fn json(self) -> Value {
        match self {
            Self::Count(count) => json!(count),
            Self::Share(percent) => json!(format!("{percent}%")),
        }
    }
}

/// Returns how many of `total` an amount of the API is; shares are rounded up.
pub(crate) fn amount_of(value: &Value, total: usize) -> Option<usize> {
    if let Some(count) = value.as_u64() {
        return usize::try_from(count).ok();
    }
    let percent: usize = value.as_str()?.strip_suffix('%')?.parse().ok()?;
    Some((total * percent).div_ceil(100))
}

/// How the changes of a placement travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    All,
    /// So many at once, soak in seconds, deadline in seconds (0: none), how many may fail, canaries first.
    Progressive(Amount, u8, u8, Amount, bool),
    /// Soak in seconds, deadline in seconds (0: none), how many may fail.
    PerGroup(u8, u8, Amount),
}

use Amount::{Count, Share};

/// The paces of a story.
pub(crate) const PACES: [Pace; 14] = [
    Pace::All,
    Pace::Progressive(Count(1), 0, 0, Count(0), false),
    Pace::Progressive(Count(1), 0, 0, Count(2), false),
    Pace::Progressive(Count(2), 0, 0, Count(1), false),
    Pace::Progressive(Count(2), 5, 0, Count(1), true),
    Pace::Progressive(Count(3), 0, 30, Count(1), false),
    Pace::Progressive(Share(30), 0, 0, Share(20), false),
    Pace::Progressive(Share(50), 0, 0, Count(1), true),
    Pace::Progressive(Share(25), 3, 0, Share(40), true),
    Pace::PerGroup(0, 0, Count(0)),
    Pace::PerGroup(3, 20, Count(1)),
    Pace::PerGroup(0, 0, Count(2)),
    Pace::PerGroup(0, 0, Count(1)),
    Pace::PerGroup(0, 0, Share(50)),
];

/// How an add-on finds its clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Install {
    Placements,
    /// The other two may keep the placements of before.
    Manual(bool),
    Labels(bool),
}

/// Whom a change of `spec.configuration` reaches: the clusters of p0, of p1 or of a placement that never was; so many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rolling(pub(crate) u8, pub(crate) Amount);

/// What becomes of a rollout that has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFailure {
    Stop,
    Undo,
}

/// What a ClusterManagementAddOn says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AddonSpec {
    /// The second placement, with a configuration of its own.
    pub(crate) second: bool,
    pub(crate) install: Install,
    pub(crate) pace: [Pace; 2],
    /// Whether clusters choose their version, and the highest is the default.
    pub(crate) versions: bool,
    pub(crate) rolling: Option<Rolling>,
    /// Which configuration is the default.
    pub(crate) default: u8,
    pub(crate) on_failure: OnFailure,
}

impl AddonSpec {
    pub(crate) fn any(dice: &mut Dice) -> Self {
        let kept = dice.happens(70);
        let rolling = Rolling(
            u8::try_from(dice.below(3)).unwrap_or(0),
            dice.pick(&[Count(1), Count(2), Share(30), Share(50)]),
        );
        Self {
            second: dice.happens(60),
            install: match dice.below(100) {
                0..=9 => Install::Manual(kept),
                10..=17 => Install::Labels(kept),
                _ => Install::Placements,
            },
            pace: [dice.pick(&PACES), dice.pick(&PACES)],
            versions: dice.happens(25),
            rolling: dice.happens(15).then_some(rolling),
            default: u8::from(dice.happens(40)),
            on_failure: dice.pick(&[OnFailure::Stop, OnFailure::Undo]),
        }
    }

    /// Returns the object.
    pub(crate) fn object(&self) -> Value {
        let default = json!({"group": GROUP, "resource": "addondeploymentconfigs",
            "defaultConfig": {"name": format!("config{}", self.default), "namespace": "default"}});
        let only_type = json!({"group": GROUP, "resource": "addondeploymentconfigs"});
        let template = if self.versions {
            json!({"group": GROUP, "resource": "addontemplates"})
        } else {
            json!({"group": GROUP, "resource": "addontemplates", "defaultConfig": {"name": ADDON}})
        };
        let mut spec = json!({"supportedConfigs": [template, if self.rolling.is_some() { only_type } else { default }],
            "installStrategy": self.strategy()});
        if let Some(Rolling(place, at_once)) = self.rolling {
            let name = ["p0", "p1", "nowhere"][usize::from(place)];
            let update =
                json!({"name": name, "namespace": "default", "maxConcurrentlyUpdating": at_once.json()});
            spec["configuration"] = json!({"configs": [config(0)],
                "rolloutStrategy": {"type": "RollingUpdateWithPlacement", "rollingUpdateWithPlacement": update}});
        }
        json!({"metadata": {"name": ADDON}, "spec": spec})
    }

    fn strategy(&self) -> Value {
        let mut placements =
            vec![json!({"name": "p0", "namespace": "default", "rolloutStrategy": strategy(self.pace[0])})];
        if self.second {
            placements.push(
                json!({"name": "p1", "namespace": "default", "configs": [config(1)],
                "rolloutStrategy": strategy(self.pace[1])}),
            );
        }
        let (kind, kept) = match self.install {
            Install::Placements => ("Placements", true),
            Install::Manual(kept) => ("Manual", kept),
            Install::Labels(kept) => ("ClusterLabelSelector", kept),
        };
        let mut strategy = json!({"type": kind});
        if kept {
            strategy["placements"] = json!(placements);
        }
        if matches!(self.install, Install::Labels(_)) {
            strategy["labelSelector"] = json!({"matchLabels": {(LABEL): "prod"}});
        }
        strategy
    }
}

fn strategy(pace: Pace) -> Value {
    let seconds = |field: &str, of: u8| (of > 0).then(|| (field.to_owned(), json!(format!("{of}s"))));
    let block = |soak: u8, deadline: u8, failures: Amount, more: Value| {
        let mut block = more;
        if let Some(fields) = block.as_object_mut() {
            fields.extend(seconds("minSuccessTime", soak));
            fields.extend(seconds("progressDeadline", deadline));
            fields.insert("maxFailures".to_owned(), failures.json());
        }
        block
    };
    match pace {
        Pace::All => json!({"type": "All"}),
        Pace::Progressive(at_once, soak, deadline, failures, canary) => {
            let groups = if canary {
                json!([{"groupName": "canary"}])
            } else {
                json!([])
            };
            let more = json!({"maxConcurrency": at_once.json(), "mandatoryDecisionGroups": groups});
            json!({"type": "Progressive", "progressive": block(soak, deadline, failures, more)})
        }
        Pace::PerGroup(soak, deadline, failures) => {
            json!({"type": "ProgressivePerGroup", "progressivePerGroup": block(soak, deadline, failures, json!({}))})
        }
    }
}
