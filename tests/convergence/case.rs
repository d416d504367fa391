//! One case: a world, a story, and what may go wrong. Everything follows from the seed.
//!
//! Decides what a seed means. Never runs anything.

use snapshot::{Compat, DiscoveryLabels, EmptyLifecycle, Settings};

use super::agents::Mood;
use super::dice::Dice;
use super::mutant::Mutant;
use super::spec::{AddonSpec, Install};
use super::user::{Ending, Step, groups, random};

/// What may go wrong between the manager and the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process dies between two writes and starts anew from lists.
    Crash,
    /// A watch loses an event; a list repairs it later.
    LostEvent,
    /// A watch tells an event twice.
    RepeatedEvent,
    /// A watch breaks (410) and lists anew.
    BrokenWatch,
    /// A list is older than what the watch has told already.
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
    /// Whose words and rules the manager follows.
    pub(crate) compat: Compat,
}

impl Case {
    /// Returns the case of a seed.
    pub(crate) fn new(seed: u64, mutant: Mutant) -> Self {
        let mut dice = Dice::seeded(seed);
        let clusters = 3 + dice.below(6);
        // Each kind of fault is there or not: faults that are always there would hide each other.
        let faults = FAULTS.into_iter().filter(|_| dice.happens(50)).collect();
        let mut steps: Vec<(u32, Step)> = (0..clusters).map(|n| (0, Step::Join(n))).collect();
        let everybody = u8::try_from(dice.below(256)).unwrap_or(0) | 1;
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
            Step::Decide(0, everybody, groups(&mut dice)),
            Step::Addon(spec),
        ];
        steps.extend(start.map(|step| (0, step)));
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
        Self {
            seed,
            clusters,
            steps,
            faults,
            mutant,
            ending,
            compat: Compat::Tidegate,
        }
    }

    /// Returns the same case with the words and rules of OCM's manager; what no story is about stays as it is.
    pub(crate) fn in_ocm_words(self) -> Self {
        Self {
            compat: Compat::Ocm,
            // Where only a deadline is a failure, who fails without one keeps its slot for ever.
            ending: match self.ending {
                Ending::Well | Ending::Failing => Ending::Well,
                Ending::Paused => Ending::Paused,
            },
            ..self
        }
    }

    /// Returns what the manager of the case was told.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            discovery_labels: DiscoveryLabels::On,
            empty_lifecycle: EmptyLifecycle::Managed,
            ..Settings::of(self.compat)
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
