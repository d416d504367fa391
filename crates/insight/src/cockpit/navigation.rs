//! The page of `tidegate top` as a state: what is shown, and what a key does. Draws nothing, reads nothing, writes nothing.

use std::sync::Arc;

use super::approve::Approve;
use super::cluster::ClusterView;
use super::cluster_rollouts::{ClusterRollouts, of_cluster};
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
    /// Removes the last letter of a filter; elsewhere, goes back.
    Erase,
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
    /// The user asks for the history of a rollout.
    History(Target),
    /// The user asks for freezes, approvals, checks and profiles.
    Objects,
    /// The user asks what a verb would write.
    Ask(VerbRequest),
    /// The user has confirmed the write.
    Do(VerbRequest),
}

/// A verb for a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerbRequest {
    /// The rollout.
    pub target: Target,
    /// The verb.
    pub verb: Verb,
    /// The reason of the user, or "".
    pub reason: String,
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
    /// Everything that one cluster has.
    Fleet(String),
    /// The history of a rollout.
    History(Target),
    /// Freezes, approvals, checks and profiles.
    Objects,
}

/// The order of the rollouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Those that need an administrator first.
    #[default]
    Attention,
    /// By name.
    Name,
    /// Those with most clusters that are not done first.
    Remaining,
}

impl Order {
    /// Returns its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Name => "name",
            Self::Remaining => "remaining",
        }
    }

    const fn next(self) -> Self {
        match self {
            Self::Attention => Self::Name,
            Self::Name => Self::Remaining,
            Self::Remaining => Self::Attention,
        }
    }
}

/// A question that is answered with keys: first the reason, then whether to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is asked about.
    pub request: VerbRequest,
    /// Whether letters go into the reason.
    pub is_typing: bool,
    /// What would be written; absent until the hub has responded.
    pub lines: Option<Vec<Line>>,
}

/// The longest reason, in characters.
const LONGEST_REASON: usize = 1_000;

/// The page.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they do not depend on each other")]
pub struct Page {
    /// Where one is.
    pub place: View,
    /// Every rollout, in the chosen order.
    pub pictures: Pictures,
    /// The order of the rollouts.
    pub order: Order,
    /// Only rows that have this text are shown.
    pub filter: String,
    /// Whether letters go into the filter.
    pub is_typing: bool,
    /// Whether the hub has been read.
    pub is_there: bool,
    /// The chosen line of the list, and of the clusters.
    pub chosen: [usize; 2],
    /// The first line that is shown of a text.
    pub scrolled: usize,
    /// Why the cluster is not ready, the history of the rollout, or objects; absent until it is known.
    pub why: Option<Vec<Line>>,
    /// Whether the arrow keys scroll the waves above the clusters, and the first line of them that is shown.
    pub waves: Option<usize>,
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
            order: Order::default(),
            filter: String::new(),
            is_typing: false,
            is_there: false,
            chosen: [0, 0],
            scrolled: 0,
            why: None,
            waves: None,
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
        self.is_there = true;
        self.keeping_chosen(|page| {
            page.pictures = pictures;
            page.sort();
        });
    }

    fn sort(&mut self) {
        let order = self.order;
        self.pictures.sort_by(|one, other| {
            let by_name = || one.target.cmp(&other.target);
            match order {
                Order::Attention => one.attention.cmp(&other.attention).then_with(by_name),
                Order::Name => by_name(),
                Order::Remaining => {
                    let left = |picture: &Picture| picture.counts.total.saturating_sub(picture.counts.done);
                    left(other).cmp(&left(one)).then_with(by_name)
                }
            }
        });
    }

    /// Changes what is listed; the chosen rollout and cluster stay chosen, by name.
    fn keeping_chosen(&mut self, change: impl FnOnce(&mut Self)) {
        let chosen = self
            .listed()
            .get(self.chosen[0])
            .map(|picture| picture.target.clone());
        let cluster = self.cluster().map(|cluster| cluster.name.clone());
        change(self);
        let rollouts = self.listed();
        let at = rollouts
            .iter()
            .position(|picture| Some(&picture.target) == chosen.as_ref());
        let count = rollouts.len();
        self.chosen[0] = at.unwrap_or(self.chosen[0]);
        let clusters = self.clusters();
        let at = clusters
            .iter()
            .position(|one| Some(&one.name) == cluster.as_ref());
        let last = [count, clusters.len()].map(|count| count.saturating_sub(1));
        self.chosen[1] = at.unwrap_or(self.chosen[1]);
        for (chosen, last) in self.chosen.iter_mut().zip(last) {
            *chosen = (*chosen).min(last);
        }
    }

    /// Returns the rollouts that the filter leaves.
    pub fn listed(&self) -> Vec<&Arc<Picture>> {
        let all = self.pictures.iter();
        all.filter(|picture| !matches!(self.place, View::Rollouts) || self.fits_rollout(picture))
            .collect()
    }

    fn fits_rollout(&self, picture: &Picture) -> bool {
        let words = [picture.phase.word(), picture.health.state.word()];
        self.fits(&picture.target.told()) || words.iter().any(|word| self.fits(word))
    }

    fn fits(&self, text: &str) -> bool {
        self.filter.is_empty() || text.to_lowercase().contains(&self.filter.to_lowercase())
    }

    /// Returns what the cluster that is shown has of every rollout.
    pub fn of_cluster(&self, name: &str) -> ClusterRollouts {
        of_cluster(&self.pictures, name)
    }

    /// Returns the picture of the rollout that is shown, or that is chosen in the list.
    pub fn picture(&self) -> Option<&Arc<Picture>> {
        match &self.place {
            View::Objects => None,
            View::Rollouts => self.listed().get(self.chosen[0]).copied(),
            View::Fleet(name) => {
                let items = self.of_cluster(name).items;
                let target = &items.get(self.chosen[1])?.target;
                self.pictures.iter().find(|picture| picture.target == *target)
            }
            View::Rollout(target) | View::Cluster(target, _) | View::History(target) => {
                self.pictures.iter().find(|picture| picture.target == *target)
            }
        }
    }

    /// Returns the clusters of the rollout that is shown: those in trouble first, those that are done last.
    pub fn clusters(&self) -> Vec<&ClusterView> {
        let Some(picture) = self.picture() else {
            return Vec::new();
        };
        let is_listed = matches!(self.place, View::Rollout(_));
        let fits = |cluster: &&ClusterView| {
            !is_listed || self.fits(&cluster.name) || self.fits(cluster.state.told())
        };
        let mut all: Vec<&ClusterView> = picture.clusters.iter().filter(fits).collect();
        // Those that need an administrator come first.
        all.sort_by_key(|cluster| cluster.attention());
        all
    }

    /// Returns the chosen cluster.
    pub fn cluster(&self) -> Option<&ClusterView> {
        match &self.place {
            View::Cluster(_, name) | View::Fleet(name) => {
                let picture = self.picture()?;
                picture.clusters.iter().find(|cluster| cluster.name == *name)
            }
            View::Rollouts | View::Rollout(_) | View::History(_) | View::Objects => {
                self.clusters().get(self.chosen[1]).copied()
            }
        }
    }

    /// Returns whether letters are text: a filter, or the reason of a verb.
    pub fn takes_text(&self) -> bool {
        self.is_typing || self.question.as_ref().is_some_and(|question| question.is_typing)
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
        if self.is_typing {
            return self.type_filter(key);
        }
        match key {
            Key::Quit => Effect::End,
            Key::Up => self.step(-1),
            Key::Down => self.step(1),
            Key::PageUp => self.step(-self.page()),
            Key::PageDown => self.step(self.page()),
            Key::First => self.step(isize::MIN),
            Key::Last => self.step(isize::MAX),
            Key::Open => self.open(),
            Key::Back | Key::Erase => self.back(),
            Key::Letter(letter) => self.letter(letter),
        }
    }

    /// Letters go into the filter until it is confirmed or dropped.
    fn type_filter(&mut self, key: Key) -> Effect {
        match key {
            Key::Open => self.is_typing = false,
            Key::Quit => return Effect::End,
            Key::Back => {
                self.is_typing = false;
                self.keeping_chosen(|page| page.filter.clear());
            }
            Key::Erase => self.keeping_chosen(|page| {
                page.filter.pop();
            }),
            Key::Letter(letter) => self.keeping_chosen(|page| page.filter.push(letter)),
            Key::Up => return self.step(-1),
            Key::Down => return self.step(1),
            Key::PageUp | Key::PageDown | Key::First | Key::Last => {}
        }
        Effect::Nothing
    }

    fn page(&self) -> isize {
        isize::try_from(self.rows).unwrap_or(1).max(1)
    }

    fn step(&mut self, by: isize) -> Effect {
        if let (View::Rollout(_), Some(first)) = (&self.place, self.waves) {
            self.waves = Some(first.saturating_add_signed(by));
            return Effect::Nothing;
        }
        let (slot, count) = match &self.place {
            View::Rollouts => (0, self.listed().len()),
            View::Rollout(_) => (1, self.clusters().len()),
            View::Fleet(name) => (1, self.of_cluster(name).items.len()),
            View::Cluster(..) | View::History(_) | View::Objects => {
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
                    self.go(View::Rollout(target));
                }
                Effect::Nothing
            }
            View::Rollout(target) => {
                let name = self.cluster().map(|cluster| cluster.name.clone());
                name.map_or(Effect::Nothing, |name| self.ask_why(target, name))
            }
            View::Cluster(target, name) => self.ask_why(target, name),
            View::Fleet(name) => {
                let target = self.picture().map(|picture| picture.target.clone());
                target.map_or(Effect::Nothing, |target| self.ask_why(target, name))
            }
            View::History(target) => self.ask_history(target),
            View::Objects => self.ask_objects(),
        }
    }

    /// Shows another page without a filter. The rollout of the page before stays chosen in the list.
    fn go(&mut self, place: View) {
        if let View::Rollout(target) | View::Cluster(target, _) | View::History(target) = self.place.clone() {
            self.choose(&target);
        }
        self.keeping_chosen(|page| {
            page.place = place;
            page.filter.clear();
        });
        self.waves = None;
        self.chosen[1] = 0;
        self.scrolled = 0;
    }

    /// Chooses a rollout in the list of all.
    fn choose(&mut self, target: &Target) {
        let at = self.pictures.iter().position(|picture| picture.target == *target);
        self.chosen[0] = at.unwrap_or(self.chosen[0]);
    }

    fn ask_history(&mut self, target: Target) -> Effect {
        self.go(View::History(target.clone()));
        self.why = None;
        Effect::History(target)
    }

    fn ask_objects(&mut self) -> Effect {
        self.go(View::Objects);
        self.why = None;
        Effect::Objects
    }

    fn ask_why(&mut self, target: Target, name: String) -> Effect {
        self.place = View::Cluster(target.clone(), name.clone());
        self.why = None;
        self.scrolled = 0;
        Effect::Why(target, name)
    }

    fn back(&mut self) -> Effect {
        let is_filtered = matches!(self.place, View::Rollouts | View::Rollout(_)) && !self.filter.is_empty();
        if is_filtered {
            self.keeping_chosen(|page| page.filter.clear());
            return Effect::Nothing;
        }
        match self.place.clone() {
            // `q` ends the program.
            View::Rollouts => {}
            View::Rollout(target) => {
                self.waves = None;
                self.place = View::Rollouts;
                self.choose(&target);
            }
            View::Fleet(_) | View::Objects => {
                self.waves = None;
                self.place = View::Rollouts;
            }
            View::Cluster(target, name) => {
                self.place = View::Rollout(target);
                let clusters = self.clusters();
                let at = clusters.iter().position(|cluster| cluster.name == name);
                self.chosen[1] = at.unwrap_or_default();
            }
            View::History(target) => self.place = View::Rollout(target),
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
            '/' => {
                self.is_typing = matches!(self.place, View::Rollouts | View::Rollout(_));
                return Effect::Nothing;
            }
            's' => {
                self.keeping_chosen(|page| {
                    page.order = page.order.next();
                    page.sort();
                });
                return Effect::Nothing;
            }
            'v' => {
                self.waves = match self.waves {
                    None => Some(0),
                    Some(_) => None,
                };
                return Effect::Nothing;
            }
            'c' => {
                let name = self.cluster().map(|cluster| cluster.name.clone());
                if let Some(name) = name {
                    self.go(View::Fleet(name));
                }
                return Effect::Nothing;
            }
            'y' => {
                let target = self.picture().map(|picture| picture.target.clone());
                return target.map_or(Effect::Nothing, |target| self.ask_history(target));
            }
            'o' => return self.ask_objects(),
            '?' => {
                self.shows_keys = true;
                return Effect::Nothing;
            }
            _ => return Effect::Nothing,
        };
        let Some(target) = self.picture().map(|picture| picture.target.clone()) else {
            return Effect::Nothing;
        };
        let request = VerbRequest {
            target,
            verb,
            reason: String::new(),
        };
        self.question = Some(Question {
            request,
            is_typing: true,
            lines: None,
        });
        Effect::Nothing
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

    /// Letters go into the reason until Enter, which reads from the hub what would be written.
    fn type_reason(&mut self, mut question: Question, key: Key) -> Effect {
        let reason = &mut question.request.reason;
        let mut effect = Effect::Nothing;
        match key {
            Key::Quit => return Effect::End,
            Key::Back => {
                self.said = Some(Line::of(Tone::Faint, "nothing was written"));
                return Effect::Nothing;
            }
            Key::Letter(letter) if reason.chars().count() < LONGEST_REASON => reason.push(letter),
            Key::Erase => {
                reason.pop();
            }
            Key::Open => {
                question.is_typing = false;
                *reason = reason.trim().to_owned();
                effect = Effect::Ask(question.request.clone());
            }
            Key::Letter(_) | Key::Up | Key::Down | Key::PageUp | Key::PageDown | Key::First | Key::Last => {}
        }
        self.question = Some(question);
        effect
    }

    fn answer(&mut self, question: Question, key: Key) -> Effect {
        if question.is_typing {
            return self.type_reason(question, key);
        }
        match (key, &question.lines) {
            (Key::Letter('y'), Some(_)) => {
                let word = question.request.verb.word();
                self.said = Some(Line::of(Tone::Faint, format!("{word} …")));
                Effect::Do(question.request)
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
    pub fn hear_question(&mut self, request: &VerbRequest, answer: Result<Vec<Line>, String>) {
        let is_it = |question: &Question| !question.is_typing && question.request == *request;
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

    /// Hears the history of a rollout.
    pub fn hear_history(&mut self, target: &Target, lines: Vec<Line>) {
        if self.place == View::History(target.clone()) {
            self.why = Some(lines);
        }
    }

    /// Hears freezes, approvals, checks and profiles.
    pub fn hear_objects(&mut self, lines: Vec<Line>) {
        if self.place == View::Objects {
            self.why = Some(lines);
        }
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
    use crate::cockpit::{API_VERSION, Attention, ClusterState, Counts, HealthState, Phase, RolloutHealth};
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
            attention: Attention::of(Phase::Progressing, HealthState::Unknown),
            counts: Counts {
                total: clusters.len(),
                ..Counts::default()
            },
            paused: None,
            pauses: Vec::new(),
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
        for expected in [View::Rollout(Target::addon("b")), View::Rollouts, View::Rollouts] {
            assert_eq!(app.press(Key::Back), Effect::Nothing);
            assert_eq!(app.place, expected);
        }
        assert_eq!(app.press(Key::Quit), Effect::End);
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
    fn the_rollout_of_a_page_is_chosen_after_it() {
        let mut app = app();
        app.place = View::Rollout(Target::addon("b"));
        app.press(Key::Back);
        assert_eq!(app.place, View::Rollouts);
        assert_eq!(app.picture().map(|one| one.target.told()), Some("b".to_owned()));
    }

    #[test]
    fn what_a_page_showed_is_chosen_after_it() {
        let mut app = app();
        app.place = View::Rollout(Target::addon("b"));
        app.press(Key::Letter('o'));
        app.press(Key::Back);
        assert_eq!(app.picture().map(|one| one.target.told()), Some("b".to_owned()));
        app.press(Key::Open);
        for key in [
            Key::Letter('/'),
            Key::Letter('c'),
            Key::Open,
            Key::Last,
            Key::Open,
        ] {
            app.press(key);
        }
        assert_eq!(app.place, View::Cluster(Target::addon("b"), "c1".to_owned()));
        app.see(vec![picture(
            "b",
            &[("c1", ClusterState::Failed), ("c10", ClusterState::Done)],
        )]);
        app.press(Key::Back);
        assert_eq!(app.place, View::Rollout(Target::addon("b")), "one key is enough");
        assert_eq!(app.cluster().map(|one| one.name.as_str()), Some("c1"));
    }

    #[test]
    fn a_filter_and_an_order_change_what_is_listed() {
        let mut app = app();
        let listed = |app: &Page| -> Vec<String> {
            app.listed().iter().map(|picture| picture.target.told()).collect()
        };
        app.press(Key::Down);
        for key in [Key::Letter('/'), Key::Letter('B')] {
            assert_eq!(app.press(key), Effect::Nothing);
        }
        assert_eq!(listed(&app), ["b"]);
        assert_eq!(
            app.picture().map(|one| one.target.told()),
            Some("b".to_owned()),
            "it stays chosen"
        );
        app.press(Key::Letter('x'));
        assert_eq!(listed(&app), [] as [&str; 0]);
        app.press(Key::Erase);
        app.press(Key::Open);
        assert_eq!(
            app.press(Key::Letter('q')),
            Effect::Nothing,
            "a letter without a meaning"
        );
        app.press(Key::Back);
        assert_eq!(
            (listed(&app), app.filter.as_str()),
            (vec!["a".to_owned(), "b".to_owned()], "")
        );
        app.press(Key::Letter('s'));
        app.press(Key::Letter('s'));
        assert_eq!(
            (app.order, listed(&app)),
            (Order::Remaining, vec!["b".to_owned(), "a".to_owned()])
        );
    }

    #[test]
    fn one_cluster_and_the_history_have_pages() {
        let mut app = app();
        app.press(Key::Down);
        app.press(Key::Open);
        app.press(Key::Letter('c'));
        assert_eq!(app.place, View::Fleet("c10".to_owned()));
        let why = Effect::Why(Target::addon("b"), "c10".to_owned());
        assert_eq!(app.press(Key::Open), why);
        app.press(Key::Back);
        assert_eq!(app.press(Key::Letter('y')), Effect::History(Target::addon("b")));
        app.hear_history(&Target::addon("b"), vec![Line::plain("revision 1")]);
        assert_eq!(app.why, Some(vec![Line::plain("revision 1")]));
        app.press(Key::Back);
        assert_eq!(app.press(Key::Letter('o')), Effect::Objects);
        app.hear_objects(vec![Line::plain("RolloutFreezes")]);
        assert_eq!(app.why, Some(vec![Line::plain("RolloutFreezes")]));
        assert_eq!(
            app.press(Key::Letter('p')),
            Effect::Nothing,
            "no rollout is chosen"
        );
        app.press(Key::Back);
        assert_eq!(app.place, View::Rollouts);
        app.press(Key::Open);
        app.press(Key::Letter('v'));
        app.press(Key::Down);
        assert_eq!(app.waves, Some(1));
    }

    #[test]
    fn nothing_is_written_before_one_has_seen_what() {
        let mut app = app();
        let request = |verb: Verb, reason: &str| VerbRequest {
            target: Target::addon("a"),
            verb,
            reason: reason.to_owned(),
        };
        let pause = request(Verb::Pause(None), "INC y");
        assert_eq!(app.press(Key::Letter('p')), Effect::Nothing);
        assert!(app.takes_text());
        for letter in " INC yq".chars() {
            assert_eq!(app.press(Key::Letter(letter)), Effect::Nothing);
        }
        app.press(Key::Erase);
        assert_eq!(app.press(Key::Open), Effect::Ask(pause.clone()));
        assert_eq!(
            app.press(Key::Letter('y')),
            Effect::Nothing,
            "the hub has not answered"
        );
        app.hear_question(&request(Verb::Pause(None), ""), Ok(vec![Line::plain("wrote y")]));
        assert_eq!(app.press(Key::Letter('y')), Effect::Nothing, "another request");
        app.hear_question(&pause, Ok(vec![Line::plain("wrote x")]));
        assert_eq!(app.press(Key::Letter('y')), Effect::Do(pause));
        app.press(Key::Letter('u'));
        let undo = request(Verb::Undo, "");
        assert_eq!(app.press(Key::Open), Effect::Ask(undo.clone()));
        app.hear_question(&undo, Ok(vec![]));
        assert_eq!(app.press(Key::Letter('x')), Effect::Nothing);
        assert_eq!(app.question, None);
        app.press(Key::Letter('t'));
        app.press(Key::Back);
        assert_eq!((app.question.as_ref(), app.takes_text()), (None, false));
        app.press(Key::Letter('t'));
        app.press(Key::Open);
        app.hear_question(&request(Verb::Retry, ""), Err("no".to_owned()));
        assert_eq!(
            (app.question.as_ref(), app.said),
            (None, Some(Line::of(Tone::Bad, "no")))
        );
    }
}
