//! One case, derived from a seed: objects, a scenario, and faults.

use store::{Compat, DiscoveryLabels, EmptyLifecycle, Failures, Managing, Settings};

use super::agents::Mood;
use super::dice::Dice;
use super::mutant::Mutant;
use super::spec::{AddonSpec, Install, OnFailure, PACES, Pace};
use super::user::{Ending, Step, groups, random};
use crate::kit::drawn_settings::drawn;

/// What may go wrong between the manager and the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process is killed between two writes and restarts from lists.
    Crash,
    /// A watch loses an event; a list repairs it later.
    LostEvent,
    /// A watch delivers an event twice.
    RepeatedEvent,
    /// A watch breaks (410) and lists again.
    BrokenWatch,
    /// A list is older than events that the watch has already delivered.
    StaleList,
    /// A write is answered with 409, 429 or 500 and has not happened.
    RefusedWrite,
    /// A write is answered with 500 and has happened.
    LostAnswer,
    /// A write of a process that died arrives when the next process is at work.
    LateWrite,
    /// Some watches are much slower than others.
    SlowWatch,
}

pub(crate) const FAULTS: [Fault; 9] = [
    Fault::Crash,
    Fault::LostEvent,
    Fault::RepeatedEvent,
    Fault::BrokenWatch,
    Fault::StaleList,
    Fault::RefusedWrite,
    Fault::LostAnswer,
    Fault::LateWrite,
    Fault::SlowWatch,
];

/// One case.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) clusters: usize,
    /// Steps, with the milliseconds that pass before each.
    pub(crate) steps: Vec<(u32, Step)>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) mutant: Mutant,
    pub(crate) ending: Ending,
    /// The settings of the manager.
    pub(crate) settings: Settings,
    /// What the add-on's annotation says about who manages it, where it has one: always that the manager does.
    pub(crate) lifecycle: Option<&'static str>,
}

/// The settings of a seed, and who manages the add-on by its annotation. The story of the seed does not depend on them.
fn settings(seed: u64) -> (Settings, Option<&'static str>) {
    let mut dice = Dice::seeded(seed ^ 0x05e7);
    let managing = dice.pick(&[Managing::All, Managing::Marked]);
    let settings = Settings {
        managing,
        ..drawn(|sides| dice.below(sides))
    };
    let lifecycle = match (managing, settings.empty_lifecycle) {
        (Managing::Marked, _) => Some("tidegate"),
        (Managing::All, EmptyLifecycle::Managed) => dice.pick(&[None, Some(""), Some("addon-manager")]),
        (Managing::All, EmptyLifecycle::Own) => dice.pick(&[None, Some("addon-manager")]),
    };
    (settings, lifecycle)
}

/// Where only a deadline is a failure, a cluster that fails without one keeps its slot. In OCM's words a failure hides for what
/// else a cluster waits.
fn ending_with(settings: &Settings, ending: Ending) -> Ending {
    let is_judged = settings.failures == Failures::Health && settings.compat == Compat::Tidegate;
    if ending == Ending::Failing && !is_judged {
        return Ending::Well;
    }
    ending
}

/// A change by name after everything was good, and clusters that fail with it: what chance alone seldom brings about.
fn failed_change(dice: &mut Dice, clusters: usize, spec: &AddonSpec) -> Vec<(u32, Step)> {
    let good = AddonSpec {
        rolling: None,
        on_failure: OnFailure::Undo,
        ..*spec
    };
    let changed = AddonSpec {
        default: 1 - good.default,
        ..good
    };
    let failing: Vec<usize> = (0..clusters).filter(|_| dice.happens(60)).collect();
    let each = |mood: Mood| failing.iter().map(move |n| (20, Step::Feel(*n, mood)));
    let mut steps = vec![(0, Step::Addon(good))];
    steps.push((20_000, Step::Pause(0)));
    steps.extend(each(Mood::Failing));
    steps.push((20, Step::Addon(changed)));
    steps.push((9_000, Step::Pause(0)));
    if dice.happens(70) {
        steps.extend(each(Mood::Well));
        steps.push((9_000, Step::Pause(0)));
    }
    steps
}

impl Case {
    /// Returns the case of a seed.
    pub(crate) fn new(seed: u64, mutant: Mutant) -> Self {
        let mut dice = Dice::seeded(seed);
        let clusters = 3 + dice.below(6);
        // Each kind of fault is there or not: faults that are always there would hide each other.
        let faults = FAULTS.into_iter().filter(|_| dice.happens(50)).collect();
        let mut steps: Vec<(u32, Step)> = (0..clusters).map(|n| (0, Step::Join(n))).collect();
        let all_clusters = u8::try_from(dice.below(256)).unwrap_or(0) | 1;
        let spec = AddonSpec {
            install: Install::Placements,
            ..AddonSpec::any(&mut dice)
        };
        // What a human made stays on a cluster that opts out.
        if dice.happens(30) {
            let n = dice.below(clusters);
            steps.extend([Step::Make(n), Step::OptOut(n, true)].map(|step| (0, step)));
        }
        let start = [
            Step::Config(0, 1),
            Step::Config(1, 1),
            Step::Template(0, 1),
            Step::Newer(1),
            Step::Decide(0, all_clusters, groups(&mut dice)),
            Step::Addon(spec.clone()),
        ];
        steps.extend(start.map(|step| (0, step)));
        if dice.happens(25) {
            steps.extend(failed_change(&mut dice, clusters, &spec));
        }
        for edition in 2..(6 + u32::try_from(dice.below(14)).unwrap_or(0)) {
            let pause = dice.pick(&[0, 20, 200, 1_500, 4_000, 9_000, 20_000]);
            steps.push((pause, random(&mut dice, clusters, edition)));
        }
        let ending = dice.pick(&[
            Ending::Well,
            Ending::Well,
            Ending::Well,
            Ending::Failing,
            Ending::Failing,
            Ending::Paused,
        ]);
        let (settings, lifecycle) = settings(seed);
        Self {
            seed,
            clusters,
            steps,
            faults,
            mutant,
            ending: ending_with(&settings, ending),
            settings,
            lifecycle,
        }
    }

    /// Returns a case in which all clusters ran well, and nearly all of them fail permanently with the next change.
    pub(crate) fn with_failed_change(seed: u64, mutant: Mutant) -> Self {
        let case = Self::new(seed, mutant);
        let mut dice = Dice::seeded(seed ^ 0x0bad);
        let good = AddonSpec {
            second: false,
            install: Install::Placements,
            pace: [dice.pick(&PACES[1..]), Pace::All],
            versions: false,
            rolling: None,
            default: 0,
            on_failure: OnFailure::Undo,
        };
        let changed = AddonSpec { default: 1, ..good };
        let joins = (0..case.clusters).map(Step::Join);
        let start = [
            Step::Config(0, 1),
            Step::Config(1, 1),
            Step::Template(0, 1),
            Step::Decide(0, 255, groups(&mut dice)),
            Step::Addon(good),
        ];
        let fail = (0..case.clusters).map(|n| Step::Feel(n, Mood::Failing));
        let mut steps: Vec<(u32, Step)> = joins.chain(start).map(|step| (0, step)).collect();
        steps.push((300_000, Step::Pause(0)));
        steps.extend(fail.filter(|_| dice.happens(90)).map(|step| (0, step)));
        steps.extend([(20, Step::Addon(changed)), (300_000, Step::Pause(0))]);
        // A change is undone where what agents report is a failure.
        let settings = Settings {
            compat: Compat::Tidegate,
            failures: Failures::Health,
            ..case.settings
        };
        Self {
            steps,
            ending: Ending::Failing,
            settings,
            ..case
        }
    }

    /// Returns the same case with the words and rules of OCM's manager; what no story is about stays as it is.
    pub(crate) fn in_ocm_words(self) -> Self {
        let settings = Settings {
            discovery_labels: DiscoveryLabels::On,
            ..Settings::of(Compat::Ocm)
        };
        Self {
            ending: ending_with(&settings, self.ending),
            settings,
            lifecycle: None,
            ..self
        }
    }

    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// Returns whether views of the hub are only ever late, never wrong.
    pub(crate) fn is_ordered(&self) -> bool {
        !self.has(Fault::StaleList) && !self.has(Fault::LostEvent)
    }

    /// Writes the case as a plan script.
    pub(crate) fn script(&self) -> String {
        let mut lines = vec![format!(
            "# seed {}, faults: {:?}, bug put in: {:?}, ending: {:?}",
            self.seed, self.faults, self.mutant, self.ending
        )];
        lines.push(format!("# lifecycle: {:?}, {:?}", self.lifecycle, self.settings));
        for (pause, step) in &self.steps {
            if *pause > 0 {
                lines.push(format!("tick {pause}ms"));
            }
            if !matches!(step, Step::Feel(_, Mood::Offline)) {
                lines.push("settle".to_owned());
            }
            lines.extend(super::script::lines(step));
        }
        lines.push("settle".to_owned());
        lines.dedup();
        lines.join("\n")
    }
}
