//! The page of `tidegate top` as a state: what is shown, and what a key does. Draws nothing, reads nothing, writes nothing.

use std::sync::Arc;

use super::approve::Approve;
use super::cluster::ClusterView;
use super::gallery::Pictures;
use super::line::{Line, Tone};
use super::picture::{Picture, Target};
use super::steer::Verb;

/// A key, as far as it means something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the first line.
    First,
    /// To the last line.
    Last,
    /// Open what is chosen.
    Open,
    /// Back to where this was opened from.
    Back,
    /// End the page.
    Quit,
    /// Any other letter.
    Letter(char),
}

/// What is to be done outside of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Nothing,
    /// The page ends.
    End,
    /// The user asks why a cluster is not ready.
    Why(Target, String),
    /// The user asks what a verb would write.
    Ask(Target, Verb),
    /// The user has confirmed the write.
    Do(Target, Verb),
}

/// Where one is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// All rollouts.
    Rollouts,
    /// One rollout.
    Rollout(Target),
    /// One cluster of a rollout.
    Cluster(Target, String),
}

/// A question that is answered with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The rollout.
    pub target: Target,
    /// The verb.
    pub verb: Verb,
    /// What would be written; absent until the hub has said so.
    pub lines: Option<Vec<Line>>,
}

/// The page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Where one is.
    pub place: View,
    /// Every rollout.
    pub pictures: Pictures,
    /// Whether the hub has been read.
    pub is_there: bool,
    /// The chosen line of the list, and of the clusters.
    pub chosen: [usize; 2],
    /// The first line that is shown of a text.
    pub scrolled: usize,
    /// Why the cluster is not ready; absent until it is known.
    pub why: Option<Vec<Line>>,
    /// The question that waits for a key.
    pub question: Option<Question>,
    /// What was done or went wrong last.
    pub said: Option<Line>,
    /// Whether the list of keys is shown.
    pub shows_keys: bool,
    /// Number of lines of the list that fit on the page.
    pub rows: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self {
            place: View::Rollouts,
            pictures: Vec::new(),
            is_there: false,
            chosen: [0, 0],
            scrolled: 0,
            why: None,
            question: None,
            said: None,
            shows_keys: false,
            rows: 10,
        }
    }
}

impl Page {
    /// Takes in new pictures. The chosen rollout and cluster stay chosen, by name.
    pub fn see(&mut self, pictures: Pictures) {
        let chosen = self
            .pictures
            .get(self.chosen[0])
            .map(|picture| picture.target.clone());
        let cluster = self.cluster().map(|cluster| cluster.name.clone());
        self.pictures = pictures;
        self.is_there = true;
        let at = self
            .pictures
            .iter()
            .position(|picture| Some(&picture.target) == chosen.as_ref());
        self.chosen[0] = at.unwrap_or(self.chosen[0]);
        let clusters = self.clusters();
        let at = clusters
            .iter()
            .position(|one| Some(&one.name) == cluster.as_ref());
        let last = [self.pictures.len(), clusters.len()].map(|count| count.saturating_sub(1));
        self.chosen[1] = at.unwrap_or(self.chosen[1]);
        for (chosen, last) in self.chosen.iter_mut().zip(last) {
            *chosen = (*chosen).min(last);
        }
    }

    /// Returns the picture of the rollout that is shown, or that is chosen in the list.
    pub fn picture(&self) -> Option<&Arc<Picture>> {
        match &self.place {
            View::Rollouts => self.pictures.get(self.chosen[0]),
            View::Rollout(target) | View::Cluster(target, _) => {
                self.pictures.iter().find(|picture| picture.target == *target)
            }
        }
    }

    /// Returns the clusters of the rollout that is shown: those in trouble first, those that are done last.
    pub fn clusters(&self) -> Vec<&ClusterView> {
        let Some(picture) = self.picture() else {
            return Vec::new();
        };
        let mut all: Vec<&ClusterView> = picture.clusters.iter().collect();
        // Those that need an administrator come first.
        all.sort_by_key(|cluster| (cluster.healthy && !cluster.state.is_trouble(), cluster.state));
        all
    }

    /// Returns the chosen cluster.
    pub fn cluster(&self) -> Option<&ClusterView> {
        match &self.place {
            View::Cluster(_, name) => {
                let picture = self.picture()?;
                picture.clusters.iter().find(|cluster| cluster.name == *name)
            }
            View::Rollouts | View::Rollout(_) => self.clusters().get(self.chosen[1]).copied(),
        }
    }

    /// Does what a key means.
    pub fn press(&mut self, key: Key) -> Effect {
        if let Some(question) = self.question.take() {
            return self.answer(question, key);
        }
        if self.shows_keys {
            self.shows_keys = false;
            return Effect::Nothing;
        }
        self.said = None;
        match key {
            Key::Quit => Effect::End,
            Key::Up => self.step(-1),
            Key::Down => self.step(1),
            Key::PageUp => self.step(-self.page()),
            Key::PageDown => self.step(self.page()),
            Key::First => self.step(isize::MIN),
            Key::Last => self.step(isize::MAX),
            Key::Open => self.open(),
            Key::Back => self.back(),
            Key::Letter(letter) => self.letter(letter),
        }
    }

    fn page(&self) -> isize {
        isize::try_from(self.rows).unwrap_or(1).max(1)
    }

    fn step(&mut self, by: isize) -> Effect {
        let (slot, count) = match &self.place {
            View::Rollouts => (0, self.pictures.len()),
            View::Rollout(_) => (1, self.clusters().len()),
            View::Cluster(..) => {
                let lines = self.why.as_ref().map_or(0, Vec::len);
                self.scrolled = moved(self.scrolled, by, lines);
                return Effect::Nothing;
            }
        };
        if let Some(chosen) = self.chosen.get_mut(slot) {
            *chosen = moved(*chosen, by, count);
        }
        Effect::Nothing
    }

    fn open(&mut self) -> Effect {
        match self.place.clone() {
            View::Rollouts => {
                let target = self.picture().map(|picture| picture.target.clone());
                if let Some(target) = target {
                    self.place = View::Rollout(target);
                    self.chosen[1] = 0;
                }
                Effect::Nothing
            }
            View::Rollout(target) => {
                let name = self.cluster().map(|cluster| cluster.name.clone());
                name.map_or(Effect::Nothing, |name| self.ask_why(target, name))
            }
            View::Cluster(target, name) => self.ask_why(target, name),
        }
    }

    fn ask_why(&mut self, target: Target, name: String) -> Effect {
        self.place = View::Cluster(target.clone(), name.clone());
        self.why = None;
        self.scrolled = 0;
        Effect::Why(target, name)
    }

    fn back(&mut self) -> Effect {
        match self.place.clone() {
            View::Rollouts => return Effect::End,
            View::Rollout(_) => self.place = View::Rollouts,
            View::Cluster(target, _) => self.place = View::Rollout(target),
        }
        Effect::Nothing
    }

    fn letter(&mut self, letter: char) -> Effect {
        let verb = match letter {
            'p' => Verb::Pause(None),
            'r' => Verb::Resume(None),
            'm' => Verb::Promote(None),
            'a' => self.approval(),
            'u' => Verb::Undo,
            't' => Verb::Retry,
            'w' => return self.open(),
            '?' => {
                self.shows_keys = true;
                return Effect::Nothing;
            }
            _ => return Effect::Nothing,
        };
        let Some(target) = self.picture().map(|picture| picture.target.clone()) else {
            return Effect::Nothing;
        };
        self.question = Some(Question {
            target: target.clone(),
            verb: verb.clone(),
            lines: None,
        });
        Effect::Ask(target, verb)
    }

    /// Approves of what is on the page, and of nothing that takes its place before the user says yes.
    fn approval(&self) -> Verb {
        let asked = self.picture().map(|picture| picture.approvals.as_slice());
        let contents = asked.unwrap_or_default().iter().map(|one| one.hash.clone());
        Verb::Approve(Approve {
            contents: contents.collect(),
            ..Approve::default()
        })
    }

    fn answer(&mut self, question: Question, key: Key) -> Effect {
        match (key, &question.lines) {
            (Key::Letter('y'), Some(_)) => {
                self.said = Some(Line::of(Tone::Faint, format!("{} …", question.verb.word())));
                Effect::Do(question.target, question.verb)
            }
            // What would be written is not known yet: there is nothing to say yes to.
            (Key::Letter('y'), None) => {
                self.question = Some(question);
                Effect::Nothing
            }
            (_, _) => {
                self.said = Some(Line::of(Tone::Faint, "nothing was written"));
                Effect::Nothing
            }
        }
    }

    /// Hears what a verb would write, or why it makes no sense.
    pub fn hear_question(&mut self, target: &Target, verb: &Verb, answer: Result<Vec<Line>, String>) {
        let is_it = |question: &Question| question.target == *target && question.verb == *verb;
        let Some(question) = self.question.as_mut().filter(|question| is_it(question)) else {
            return;
        };
        match answer {
            Ok(lines) => question.lines = Some(lines),
            Err(why) => {
                self.question = None;
                self.said = Some(Line::of(Tone::Bad, why));
            }
        }
    }

    /// Hears what was written.
    pub fn hear_done(&mut self, answer: Result<Vec<Line>, String>) {
        self.said = Some(match answer {
            Ok(lines) => {
                let text: Vec<String> = lines.iter().map(|line| line.text().trim().to_owned()).collect();
                Line::of(Tone::Good, text.join("; "))
            }
            Err(why) => Line::of(Tone::Bad, why),
        });
    }

    /// Hears why a cluster is not ready.
    pub fn hear_why(&mut self, target: &Target, cluster: &str, lines: Vec<Line>) {
        if self.place == View::Cluster(target.clone(), cluster.to_owned()) {
            self.why = Some(lines);
        }
    }
}

fn moved(from: usize, by: isize, count: usize) -> usize {
    from.saturating_add_signed(by).min(count.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cockpit::{API_VERSION, ClusterState, Counts, Phase, RolloutHealth};
    use jiff::Timestamp;

    fn cluster(name: &str, state: ClusterState) -> ClusterView {
        ClusterView {
            name: name.to_owned(),
            wave: 0,
            state,
            reason: String::new(),
            message: String::new(),
            since: None,
            until: None,
            percent: None,
            version: String::new(),
            healthy: true,
            offline: false,
        }
    }

    fn picture(name: &str, clusters: &[(&str, ClusterState)]) -> Arc<Picture> {
        let clusters: Vec<ClusterView> = clusters
            .iter()
            .map(|(name, state)| cluster(name, *state))
            .collect();
        Arc::new(Picture {
            api_version: API_VERSION,
            kind: "Rollout",
            at: Timestamp::UNIX_EPOCH,
            target: Target::addon(name),
            phase: Phase::Progressing,
            message: String::new(),
            health: RolloutHealth::default(),
            counts: Counts {
                total: clusters.len(),
                ..Counts::default()
            },
            paused: None,
            approvals: Vec::new(),
            next: None,
            eta: None,
            eta_unknown: None,
            undone: Vec::new(),
            changes: Vec::new(),
            waves: Vec::new(),
            clusters,
            notices: Vec::new(),
        })
    }

    fn app() -> Page {
        let mut app = Page::default();
        app.see(vec![
            picture("a", &[]),
            picture(
                "b",
                &[
                    ("c1", ClusterState::Done),
                    ("c2", ClusterState::Moving),
                    ("c10", ClusterState::Failed),
                ],
            ),
        ]);
        app
    }

    #[test]
    fn one_goes_from_rollouts_to_a_cluster_and_back() {
        let mut app = app();
        assert_eq!(app.press(Key::Down), Effect::Nothing);
        assert_eq!(app.press(Key::Open), Effect::Nothing);
        assert_eq!(app.place, View::Rollout(Target::addon("b")));
        let shown: Vec<&str> = app
            .clusters()
            .iter()
            .map(|cluster| cluster.name.as_str())
            .collect();
        assert_eq!(shown, ["c10", "c2", "c1"], "trouble first");
        let why = Effect::Why(Target::addon("b"), "c10".to_owned());
        assert_eq!(app.press(Key::Open), why);
        app.hear_why(&Target::addon("a"), "c10", vec![Line::plain("another")]);
        assert_eq!(app.why, None);
        app.hear_why(&Target::addon("b"), "c10", vec![Line::plain("because")]);
        assert_eq!(app.why, Some(vec![Line::plain("because")]));
        for expected in [Effect::Nothing, Effect::Nothing, Effect::End] {
            assert_eq!(app.press(Key::Back), expected);
        }
    }

    #[test]
    fn the_selection_stays_when_others_change() {
        let mut app = app();
        app.press(Key::Last);
        app.press(Key::Open);
        app.press(Key::Down);
        assert_eq!(app.cluster().map(|one| one.name.as_str()), Some("c2"));
        app.see(vec![picture(
            "b",
            &[("c1", ClusterState::Failed), ("c2", ClusterState::Done)],
        )]);
        assert_eq!(app.cluster().map(|one| one.name.as_str()), Some("c2"));
        app.see(vec![picture("b", &[])]);
        assert_eq!((app.cluster(), app.chosen), (None, [0, 0]));
    }

    #[test]
    fn nothing_is_written_before_one_has_seen_what() {
        let mut app = app();
        let target = Target::addon("a");
        let asked = Effect::Ask(target.clone(), Verb::Pause(None));
        assert_eq!(app.press(Key::Letter('p')), asked);
        assert_eq!(
            app.press(Key::Letter('y')),
            Effect::Nothing,
            "the hub has not answered"
        );
        app.hear_question(&target, &Verb::Pause(None), Ok(vec![Line::plain("wrote x")]));
        let done = Effect::Do(target.clone(), Verb::Pause(None));
        assert_eq!(app.press(Key::Letter('y')), done);
        assert_eq!(
            app.press(Key::Letter('u')),
            Effect::Ask(target.clone(), Verb::Undo)
        );
        app.hear_question(&target, &Verb::Undo, Ok(vec![]));
        assert_eq!(app.press(Key::Letter('x')), Effect::Nothing);
        assert_eq!(app.question, None);
        app.press(Key::Letter('t'));
        app.hear_question(&target, &Verb::Retry, Err("no".to_owned()));
        assert_eq!(
            (app.question.as_ref(), app.said),
            (None, Some(Line::of(Tone::Bad, "no")))
        );
    }
}
