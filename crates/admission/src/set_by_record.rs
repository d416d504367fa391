//! Who set a pause or a freeze, and when: the webhook records both in the annotation [`SET_BY`].
//!
//! The value is computed from the stored object, the new object, and the user and time of the request.

use std::collections::BTreeMap;

use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation};
use serde_json::{Value, json};

use super::author::Author;
use super::request::{Request, Webhook};
use super::subject::{Freeze, Kind as _, Profile, Rollout};
use api::names::annotations::SET_BY;
use kubernetes::field::{Class, Fault, Findings, Path, Violation, quoted};
use kubernetes::json_pointer::escape;
use store::set_by::{MOST_BYTES, SetByLine, WHOLE, lines};

pub(super) const SETTER: &str = "rollout/author";
/// The resources whose authors are recorded.
pub(super) const RESOURCES: [&str; 3] = [Rollout::RESOURCE, Profile::RESOURCE, Freeze::RESOURCE];

/// Id and documentation of the rule.
pub(super) const DOC: (&str, &str) = (
    SETTER,
    "The webhook records who has set a pause or a freeze, and when.\n\n\
     The annotation `tidegate.io/set-by` of an AddOnRollout, RolloutProfile or RolloutFreeze has a line for each pause, or for the freeze: \
     the part, the time and the user. The webhook sets a line when the part is set or changed, keeps it while the part is unchanged, and \
     removes it with the part. It replaces any other value, and warns: omit the annotation from manifests. A wrong line that another webhook \
     sets later is refused. While the webhook is unavailable, no line is set, and the backstop refuses a line with another user.",
);

/// Returns the metadata that decides whether the record has to be checked.
pub(super) fn metadata_read(resource: &str) -> Option<(&'static str, &'static str)> {
    RESOURCES.contains(&resource).then_some(("annotations", SET_BY))
}

/// Returns the change that makes the annotation right.
pub(super) fn addition(request: &Request<'_>, object: &Value, old: Option<&Value>) -> Patch {
    if !RESOURCES.contains(&request.resource) || request.webhook != Webhook::Mutate {
        return Patch::default();
    }
    let Some(author) = Author::of(request) else {
        return Patch::default();
    };
    let record = Record::of(request, object, old);
    let right = record.written(&author);
    let given = annotation(object);
    let key = format!("/metadata/annotations/{}", escape(SET_BY));
    let operation = match given {
        Some(given) if given == right => None,
        Some(_) if right.is_empty() => key
            .parse()
            .ok()
            .map(|path| PatchOperation::Remove(RemoveOperation { path })),
        None if right.is_empty() => None,
        Some(_) | None => {
            let has_annotations = object
                .pointer("/metadata/annotations")
                .is_some_and(Value::is_object);
            let (path, value) = if has_annotations {
                (key, Value::from(right))
            } else {
                ("/metadata/annotations".to_owned(), json!({SET_BY: right}))
            };
            path.parse()
                .ok()
                .map(|path| PatchOperation::Add(AddOperation { path, value }))
        }
    };
    Patch(operation.into_iter().collect())
}

/// Returns the finding about the annotation as it was received. The mutating webhook replaces it and warns; after that it is refused.
pub(super) fn findings(request: &Request<'_>, object: &Value, old: Option<&Value>) -> Findings {
    let mut findings = Findings::new();
    match (fault(request, object, old), request.webhook) {
        (Some(fault), Webhook::Mutate) => findings.warn(fault),
        (Some(fault), Webhook::Validate) => findings.deny(fault),
        (None, _) => {}
    }
    findings
}

/// Returns what is wrong with the annotation: a line that is new and not that of the request.
fn fault(request: &Request<'_>, object: &Value, old: Option<&Value>) -> Option<Violation> {
    let is_recorded = RESOURCES.contains(&request.resource);
    let given = annotation(object).filter(|_| is_recorded)?;
    let author = Author::of(request)?;
    let before = old.and_then(annotation);
    let record = Record::of(request, object, old);
    let is_wrong = |line: &&str| {
        !before.is_some_and(|before| before.split('\n').any(|known| known == *line))
            && !SetByLine::parse(line).is_some_and(|line| record.is_new(line.part) && is_of(&author, &line))
    };
    let wrong = given.split('\n').find(is_wrong);
    wrong.map(|line| {
        let right = format!(
            "must be a new or changed part, the time of the request, and its user {}",
            quoted(&author.name)
        );
        let path = Path::root().key("metadata").key("annotations").entry(SET_BY);
        Fault::of_text(Class::Invalid, line, right)
            .hint("remove the annotation; the webhook sets it")
            .at(path, SETTER)
    })
}

fn annotation(object: &Value) -> Option<&str> {
    let annotations = object.get("metadata")?.get("annotations")?;
    annotations.get(SET_BY)?.as_str()
}

fn is_of(author: &Author, line: &SetByLine<'_>) -> bool {
    line.user == author.name && author.is_now(line.at)
}

/// The parts of an object, and the lines that it and the stored object have.
struct Record<'a> {
    parts: BTreeMap<String, &'a Value>,
    before: BTreeMap<String, &'a Value>,
    given: BTreeMap<&'a str, SetByLine<'a>>,
    stored: BTreeMap<&'a str, SetByLine<'a>>,
}

impl<'a> Record<'a> {
    fn of(request: &Request<'_>, object: &'a Value, old: Option<&'a Value>) -> Self {
        let lines_of = |object: &'a Value| annotation(object).map(lines).unwrap_or_default();
        Self {
            parts: parts(request.resource, object),
            before: old.map(|old| parts(request.resource, old)).unwrap_or_default(),
            given: lines_of(object),
            stored: old.map(lines_of).unwrap_or_default(),
        }
    }

    /// Returns whether a part is set or changed by the request.
    fn is_new(&self, part: &str) -> bool {
        self.parts.contains_key(part) && self.parts.get(part) != self.before.get(part)
    }

    /// Returns the right annotation; lines that do not fit are left out.
    fn written(&self, author: &Author) -> String {
        let mut text = String::new();
        for part in self.parts.keys() {
            let Some(line) = self.line(part, author) else {
                continue;
            };
            let line = line.to_string();
            let length = text.len().saturating_add(line.len()).saturating_add(1);
            if length > MOST_BYTES {
                break;
            }
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&line);
        }
        text
    }

    fn line<'s>(&'s self, part: &'s str, author: &'s Author) -> Option<SetByLine<'s>> {
        let stored = self.stored.get(part).copied();
        if !self.is_new(part) {
            return stored;
        }
        let given = self.given.get(part).copied();
        // A second call of the webhook for the same request keeps the time of the first one.
        let first = given.filter(|line| Some(*line) != stored && is_of(author, line));
        let line = SetByLine {
            part,
            at: author.now,
            user: &author.name,
        };
        // The name of a user that a line cannot have is not recorded.
        first.or_else(|| SetByLine::parse(&line.to_string()).is_some().then_some(line))
    }
}

/// Returns the parts of an object whose author is recorded, with their content.
fn parts<'a>(resource: &str, object: &'a Value) -> BTreeMap<String, &'a Value> {
    let Some(spec) = object.get("spec") else {
        return BTreeMap::new();
    };
    if resource == Freeze::RESOURCE {
        return BTreeMap::from([(WHOLE.to_owned(), spec)]);
    }
    let pause = |level: &'a Value| level.get("pause").filter(|pause| !pause.is_null());
    let listed = spec.get("placements").and_then(Value::as_array);
    let of_placements = listed.into_iter().flatten().filter_map(|level| {
        let text = |key: &str| level.get(key).and_then(Value::as_str);
        let part = format!("{}/{}", text("namespace")?, text("name")?);
        let is_plain = !part.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        Some((part, pause(level).filter(|_| is_plain)?))
    });
    let of_all = pause(spec).map(|pause| (WHOLE.to_owned(), pause));
    of_all.into_iter().chain(of_placements).collect()
}
