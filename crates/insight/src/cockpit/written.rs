//! What a verb has written, in lines.

use std::collections::BTreeSet;

use super::approve::Decision;
use super::line::{Line, Tone};
use super::picture::Target;
use super::revisions::{MOST_FIELDS, changed_lines};
use super::steer::Verb;
use super::writing::Writing;

/// Returns the page about what a verb has written, or would write.
pub fn written(
    target: &Target,
    verb: &Verb,
    writing: Writing,
    taken_from: &BTreeSet<String>,
    dry_run: bool,
) -> Vec<Line> {
    let (suffix, write, take) = if dry_run {
        (" (dry run)", "would set", "would remove")
    } else {
        ("", "set", "removed")
    };
    let head = format!(": {}{suffix}", done(verb));
    let mut page = vec![Line::of(Tone::Strong, target.told()).and(Tone::Plain, head)];
    for (act, fields) in [(write, writing.says), (take, writing.takes)] {
        let lines = fields
            .into_iter()
            .map(|field| Line::of(Tone::Faint, format!("  {act} ")).and(Tone::Plain, field));
        page.extend(lines);
    }
    page.extend(changed_lines(&writing.changes, MOST_FIELDS, "    ", ""));
    if !taken_from.is_empty() {
        let from = taken_from
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        page.push(Line::of(Tone::Faint, format!("  overwrites fields of {from}")));
    }
    let note = writing.note;
    page.extend(note.map(|note| Line::of(Tone::Faint, format!("  {note}"))));
    page
}

fn done(verb: &Verb) -> &'static str {
    match verb {
        Verb::Pause(_) => "paused",
        Verb::Resume(_) => "resumed",
        Verb::Promote(_) => "promoted",
        Verb::Approve(wish) => match wish.decision {
            Decision::Approve => "approved",
            Decision::Reject => "rejected",
        },
        Verb::Retry => "retry requested",
        Verb::Undo | Verb::UndoTo(_) => "rolled back",
    }
}
