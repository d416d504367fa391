//! The scheduler: selects who acts next, and the time.
//!
//! Runs a case to its end: first with edits and faults, then without until nothing is left to do. Watchdogs check every write.

use std::collections::VecDeque;
use std::sync::Arc;

use api::names::annotations::LIFECYCLE;
use jiff::{SignedDuration, Timestamp};
use plan::Action;
use serde_json::json;
use store::{Kind, Name, ObjectKey};

use super::agents::Agents;
use super::case::{Case, Fault};
use super::dice::Dice;
use super::hub::{Hub, Part};
use super::manager::{Answer, Manager, Seen, Tried, send};
use super::mutant::Mutant;
use super::user::{ADDON, Step, act, closing};
use super::watchdog;

/// Turns after which a world that does not come to rest is given up.
const TURNS: usize = 30_000;
/// Turns with faults after the last step of the user.
const AFTERMATH: usize = 60;
/// Times that the clock may jump ahead without anything being written afterwards.
const JUMPS: usize = 60;
/// Turns that are remembered for a report.
const TRAIL: usize = 60;

/// Who can act next.
#[derive(Debug, Clone)]
enum Turn {
    Deliver(Kind),
    Plan(Name),
    Write,
    Agent(ObjectKey),
    Sweep,
    /// A write of a process that has died arrives.
    Late,
    User,
}

/// A write that outlives the process that sent it.
#[derive(Debug)]
struct Late {
    at: Timestamp,
    action: Action,
    seen: Arc<Seen>,
}

/// A world that runs.
#[derive(Debug)]
pub(crate) struct Sim {
    pub(crate) hub: Hub,
    pub(crate) agents: Agents,
    manager: Manager,
    case: Case,
    dice: Dice,
    story: VecDeque<(Timestamp, Step)>,
    calm: bool,
    slow: Option<Kind>,
    late: Option<Late>,
    pub(crate) trail: VecDeque<String>,
    pub(crate) writes: usize,
}

impl Sim {
    /// Returns a world in which the case has not begun yet.
    pub(crate) fn new(case: &Case) -> Self {
        let mut dice = Dice::seeded(case.seed ^ 0x5eed);
        let slow = case.has(Fault::SlowWatch).then(|| dice.pick(&Kind::ALL));
        let mut sim = Self::bare(Hub::new(), case.clone(), dice);
        sim.slow = slow;
        let mut at = sim.hub.now;
        for (pause, step) in &case.steps {
            at += SignedDuration::from_millis(i64::from(*pause));
            sim.story.push_back((at, step.clone()));
        }
        sim
    }

    /// Returns a world without chance and without faults.
    pub(crate) fn canonical(hub: Hub, case: &Case) -> Self {
        let mut sim = Self::bare(
            hub,
            Case {
                faults: Vec::new(),
                mutant: Mutant::None,
                ..case.clone()
            },
            Dice::Steady,
        );
        sim.calm = true;
        sim
    }

    fn bare(hub: Hub, case: Case, dice: Dice) -> Self {
        Self {
            hub,
            agents: Agents::default(),
            manager: Manager::start(case.settings.clone(), case.mutant),
            case,
            dice,
            story: VecDeque::new(),
            calm: false,
            slow: None,
            late: None,
            trail: VecDeque::new(),
            writes: 0,
        }
    }

    /// Runs the story, then the closing steps, then until nothing is left to do.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        let mut turns = 0;
        while !self.story.is_empty() {
            turns += 1;
            if turns > TURNS {
                return Err("restless: the story does not come to its end".to_owned());
            }
            self.turn()?;
        }
        let steps: Vec<Step> = self.case.steps.iter().map(|(_, step)| step.clone()).collect();
        for step in closing(&steps, self.case.clusters, self.case.ending) {
            self.user(&step);
        }
        // The storm outlives the user: what fails now, no event will bring up again.
        for _ in 0..AFTERMATH {
            self.turn()?;
        }
        self.calm = true;
        let lame: Vec<Kind> = self
            .manager
            .watches
            .iter()
            .filter(|(_, one)| one.lame)
            .map(|(kind, _)| *kind)
            .collect();
        for kind in lame {
            self.manager.break_watch(kind);
        }
        self.rest()
    }

    /// Runs until nothing is left to do.
    pub(crate) fn rest(&mut self) -> Result<(), String> {
        let (mut jumps, mut writes) = (0, self.writes);
        for _ in 0..TURNS {
            if self.writes != writes {
                (jumps, writes) = (0, self.writes);
            }
            self.agents.notice(&mut self.hub, &mut self.dice);
            if self.turns().is_empty() {
                let Some(next) = self.next() else { return Ok(()) };
                jumps += 1;
                if jumps > JUMPS {
                    return Err(
                        "restless: the manager wakes up again and again, and writes nothing".to_owned(),
                    );
                }
                self.hub.now = self.hub.now.max(next);
                continue;
            }
            self.turn()?;
        }
        Err("restless: plans do not come to an end".to_owned())
    }

    /// A new process finds nothing to do.
    pub(crate) fn restart(&mut self) -> Result<(), String> {
        self.tell(|| "restart".to_owned());
        self.crash();
        let writes = self.writes;
        self.rest()?;
        if self.writes == writes {
            return Ok(());
        }
        Err("restless: a new process writes to a hub that is settled".to_owned())
    }

    fn turns(&self) -> Vec<Turn> {
        let now = self.hub.now;
        let mut turns: Vec<Turn> = self
            .manager
            .pending(&self.hub)
            .into_iter()
            .map(Turn::Deliver)
            .collect();
        turns.extend(self.manager.due(now).into_iter().map(Turn::Plan));
        if self.manager.is_writing() {
            turns.extend([Turn::Write, Turn::Write]);
        }
        turns.extend(self.agents.ready(now).into_iter().map(Turn::Agent));
        if self.hub.is_restless() {
            turns.push(Turn::Sweep);
        }
        if self.late.as_ref().is_some_and(|late| late.at <= now) {
            turns.push(Turn::Late);
        }
        if self.story.front().is_some_and(|(at, _)| *at <= now) {
            turns.push(Turn::User);
        }
        turns
    }

    fn next(&self) -> Option<Timestamp> {
        let story = self.story.front().map(|(at, _)| *at);
        let late = self.late.as_ref().map(|late| late.at);
        [self.manager.next(), self.agents.next(), story, late]
            .into_iter()
            .flatten()
            .min()
    }

    fn turn(&mut self) -> Result<(), String> {
        self.agents.notice(&mut self.hub, &mut self.dice);
        let storm = !self.calm;
        if storm && self.case.has(Fault::Crash) && self.dice.happens(1) {
            self.tell(|| "crash".to_owned());
            self.crash();
        }
        if storm && self.dice.happens(20) {
            let ahead = i64::try_from(self.dice.below(300)).unwrap_or(0);
            self.hub.now += SignedDuration::from_millis(ahead);
        }
        let mut turns = self.turns();
        if let Some(slow) = self.slow.filter(|_| storm && self.dice.happens(90)) {
            turns.retain(|turn| !matches!(turn, Turn::Deliver(kind) if *kind == slow));
        }
        if turns.is_empty() {
            if let Some(next) = self.next() {
                self.hub.now = self.hub.now.max(next);
            }
            return Ok(());
        }
        let turn = turns.swap_remove(self.dice.below(turns.len()));
        let now = self.hub.now;
        self.tell(|| format!("{now} {turn:?}"));
        match turn {
            Turn::Deliver(kind) => self.deliver(kind),
            Turn::Plan(addon) => {
                self.manager.plan(&self.hub, &addon)?;
            }
            Turn::Write => self.write()?,
            Turn::Agent(work) => self.agents.act(&mut self.hub, &work),
            Turn::Sweep => self.hub.sweep(),
            Turn::Late => self.arrive()?,
            Turn::User => {
                if let Some((_, step)) = self.story.pop_front() {
                    self.user(&step);
                }
            }
        }
        Ok(())
    }

    fn user(&mut self, step: &Step) {
        self.tell(|| format!("user: {step:?}"));
        act(&mut self.hub, &mut self.agents, step);
        if let (Step::Addon(_), Some(lifecycle)) = (step, self.case.lifecycle) {
            let patch = json!({"metadata": {"annotations": {(LIFECYCLE): lifecycle}}});
            let addon = ObjectKey::new(Kind::AddOn, "", ADDON);
            self.hub.patch(&addon, &patch, Part::Main, None).ok();
        }
    }

    /// Writes in flight when the process was killed may still arrive after the next process has started.
    fn crash(&mut self) {
        if self.case.has(Fault::LateWrite) && self.late.is_none() {
            let delay = i64::try_from(self.dice.below(3_000)).unwrap_or(0);
            let at = self.hub.now + SignedDuration::from_millis(delay);
            let choice = self.dice.below(64);
            self.late = self
                .manager
                .last_words(choice)
                .map(|(action, seen)| Late { at, action, seen });
        }
        self.manager = Manager::start(self.case.settings.clone(), self.case.mutant);
    }

    fn arrive(&mut self) -> Result<(), String> {
        let Some(Late { action, seen, .. }) = self.late.take() else {
            return Ok(());
        };
        let before = self.hub.get(action.object()).cloned();
        let result = send(&mut self.hub, &action, self.case.mutant).map(|_| ());
        self.writes += usize::from(result.is_ok());
        let line = format!("  late: {} {result:?} {}", action.object(), what(&action));
        let tried = Tried {
            action,
            before,
            result,
            met_own: false,
            seen,
        };
        self.tell(|| line);
        // What it was planned from is true of the object, but no longer of everything else.
        watchdog::look(&self.hub, &tried, false)
    }

    fn deliver(&mut self, kind: Kind) {
        let faulty = |fault: Fault, of: &Self| !of.calm && of.case.has(fault);
        if !self.manager.is_streaming(kind) {
            let behind = if faulty(Fault::StaleList, self) {
                self.dice.below(6)
            } else {
                0
            };
            self.manager.deliver(&self.hub, kind, behind);
            return;
        }
        if faulty(Fault::BrokenWatch, self) && self.dice.happens(2) {
            self.manager.break_watch(kind);
            return;
        }
        if faulty(Fault::LostEvent, self) && self.dice.happens(4) {
            self.manager.lose(kind);
            return;
        }
        if self.manager.watches[&kind].lame && self.dice.happens(10) {
            self.manager.break_watch(kind);
            return;
        }
        self.manager.deliver(&self.hub, kind, 0);
        if faulty(Fault::RepeatedEvent, self) && self.dice.happens(5) {
            self.manager.repeat(&self.hub, kind);
        }
    }

    fn write(&mut self) -> Result<(), String> {
        let faulty = |fault: Fault| !self.calm && self.case.has(fault);
        let (refused, lost) = (faulty(Fault::RefusedWrite), faulty(Fault::LostAnswer));
        let answer = if refused && self.dice.happens(8) {
            Answer::Refused
        } else if lost && self.dice.happens(8) {
            Answer::Lost
        } else {
            Answer::Honest
        };
        let choice = self.dice.below(64);
        let Some(tried) = self.manager.write(&mut self.hub, choice, answer) else {
            return Ok(());
        };
        self.writes += usize::from(tried.result.is_ok() && answer != Answer::Refused);
        let (action, result) = (&tried.action, &tried.result);
        let object = action.object().clone();
        let line = format!("  {object}: {answer:?} {result:?} {}", what(action));
        let verdict = watchdog::look(&self.hub, &tried, self.case.is_ordered());
        self.tell(|| line);
        verdict
    }

    fn tell(&mut self, line: impl FnOnce() -> String) {
        if self.trail.len() >= TRAIL {
            self.trail.pop_front();
        }
        self.trail.push_back(line());
    }
}

/// The fields that a write reaches.
fn what(action: &Action) -> String {
    let fields = |patch: &serde_json::Value| {
        let each = |(key, value): (&String, &serde_json::Value)| {
            let inner = value
                .as_object()
                .map(|fields| fields.keys().cloned().collect::<Vec<_>>());
            format!("{key} {}", inner.unwrap_or_default().join(","))
        };
        let all = patch.as_object().into_iter().flatten();
        all.map(each).collect::<Vec<_>>().join("; ")
    };
    match action {
        Action::Create { .. } => "created".to_owned(),
        Action::Certify { .. } => "answered".to_owned(),
        Action::Delete { why, .. } => format!("deleted, {why}"),
        Action::Replace { patch, .. } | Action::Status { patch, .. } => fields(&patch.value()),
    }
}
