//! Merging conditions: ours are replaced by type, those of other writers stay, and time moves only with the status.
//!
//! Never writes a condition that says the same as before.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use api::reason::Reason;
use store::{Condition, ConditionText, Name, Status};

/// What a condition should say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wish<'a> {
    kind: &'static str,
    status: Status,
    reason: Reason,
    /// A reason that another program has given, which counts instead.
    quoted: Option<&'a str>,
    message: Cow<'a, str>,
    since: Option<Timestamp>,
    /// Whether it names no generation, as those of current Open Cluster Management.
    bare: bool,
}

/// Longest message that the API accepts, in bytes; longer ones are cut.
const LONGEST: usize = 32_000;

impl<'a> Wish<'a> {
    pub(crate) fn new(
        kind: &'static str,
        status: Status,
        reason: Reason,
        message: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self {
            kind,
            status,
            reason,
            quoted: None,
            message: cut(message.into()),
            since: None,
            bare: false,
        }
    }

    /// Gives the condition a time of its own, for the few that record when something began although the status stays.
    pub(crate) fn since(self, since: Timestamp) -> Self {
        Self {
            since: Some(since),
            ..self
        }
    }

    /// Gives the condition a time where it has none of its own.
    pub(crate) fn since_unless_given(self, since: Timestamp) -> Self {
        Self {
            since: self.since.or(Some(since)),
            ..self
        }
    }

    /// Returns the same wish with a reason that another program has given; an empty one does not count.
    pub(crate) fn quoting(mut self, reason: &'a str) -> Self {
        self.quoted = Some(reason).filter(|reason| !reason.is_empty());
        self
    }

    /// Returns the same wish without `observedGeneration` where that is what the operator chose.
    pub(crate) fn bare_if(self, bare: bool) -> Self {
        Self { bare, ..self }
    }

    fn generation(&self, present: Option<i64>) -> Option<i64> {
        present.filter(|_| !self.bare)
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    pub(crate) fn status(&self) -> Status {
        self.status
    }

    pub(crate) fn reason(&self) -> Reason {
        self.reason
    }

    fn words(&self) -> &str {
        self.quoted.unwrap_or(self.reason.as_str())
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

fn cut(message: Cow<'_, str>) -> Cow<'_, str> {
    if message.len() <= LONGEST {
        return message;
    }
    Cow::Owned(kubernetes::field::shortened(&message, LONGEST))
}

/// Returns the conditions after `wishes`, in a stable order: what is there keeps its place. Borrowed when nothing changes.
pub(crate) fn merge<'o>(
    observed: &'o [Condition],
    wishes: &[Wish<'_>],
    generation: Option<i64>,
    now: Timestamp,
) -> Cow<'o, [Condition]> {
    let stands = |wish: &Wish<'_>| {
        let stated = observed.iter().find(|condition| *condition.kind == *wish.kind);
        stated.is_some_and(|condition| {
            condition.status == wish.status
                && condition.generation() == wish.generation(generation)
                && condition.since().is_some()
                && wish.since.is_none_or(|since| condition.since() == Some(since))
                && *condition.reason == *wish.words()
                && *condition.message == *wish.message
        })
    };
    if wishes.iter().all(stands) {
        return Cow::Borrowed(observed);
    }
    let fulfilled = |condition: &Condition| match wishes.iter().find(|wish| *wish.kind == *condition.kind) {
        Some(wish) => fulfil(wish, Some(condition), generation, now),
        None => condition.clone(),
    };
    let is_new = |wish: &&Wish<'_>| !observed.iter().any(|condition| *condition.kind == *wish.kind);
    let new = wishes
        .iter()
        .filter(is_new)
        .map(|wish| fulfil(wish, None, generation, now));
    observed.iter().map(fulfilled).chain(new).collect()
}

fn fulfil(wish: &Wish<'_>, old: Option<&Condition>, generation: Option<i64>, now: Timestamp) -> Condition {
    let unchanged = old
        .filter(|old| old.status == wish.status)
        .and_then(Condition::since);
    let said = ConditionText {
        kind: Name::from(wish.kind),
        status: wish.status,
        reason: Name::from(wish.words()),
        message: Name::from(&*wish.message),
    };
    let since = wish.since.or(unchanged).unwrap_or(now);
    Condition::new(Arc::new(said), Some(since), wish.generation(generation))
}

/// Returns the conditions as JSON.
pub(crate) fn render(conditions: &[Condition]) -> Value {
    conditions.iter().map(render_one).collect()
}

fn render_one(condition: &Condition) -> Value {
    let mut rendered = json!({
        "type": &*condition.kind,
        "status": condition.status.as_str(),
        "reason": &*condition.reason,
        "message": &*condition.message,
    });
    if let Some(fields) = rendered.as_object_mut() {
        fields.extend(
            condition
                .since()
                .map(|since| ("lastTransitionTime".to_owned(), Value::from(since.to_string()))),
        );
        fields.extend(
            condition
                .generation()
                .map(|seen| ("observedGeneration".to_owned(), Value::from(seen))),
        );
    }
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn time_moves_only_when_the_status_flips() {
        let first = merge(
            &[],
            &[Wish::new("Ready", Status::False, Reason::Installing, "1")],
            Some(1),
            at(1),
        );
        let second = merge(
            &first,
            &[Wish::new("Ready", Status::False, Reason::Upgrading, "2")],
            Some(2),
            at(2),
        );
        assert_eq!(second[0].since(), Some(at(1)));
        assert_eq!(
            (&*second[0].reason, second[0].generation()),
            ("Upgrading", Some(2))
        );
        let third = merge(
            &second,
            &[Wish::new("Ready", Status::True, Reason::Ready, "")],
            Some(2),
            at(3),
        );
        assert_eq!(third[0].since(), Some(at(3)));
    }

    #[test]
    fn conditions_of_others_keep_their_place() {
        let theirs = merge(
            &[],
            &[Wish::new("Degraded", Status::False, Reason::NotStalled, "")],
            None,
            at(1),
        );
        let both = merge(
            &theirs,
            &[Wish::new("Ready", Status::True, Reason::Ready, "")],
            Some(1),
            at(2),
        );
        assert_eq!(both[0], theirs[0]);
        assert_eq!(&*both[1].kind, "Ready");
    }

    #[test]
    fn a_message_is_shortened_at_a_character_and_keeps_its_end() {
        let long = "é".repeat(LONGEST);
        let wish = Wish::new("Ready", Status::True, Reason::Ready, format!("x{long} the cause"));
        assert!(wish.message.len() <= LONGEST && wish.message.len() > LONGEST - 8);
        assert!(wish.message.ends_with("é the cause"));
    }
}
