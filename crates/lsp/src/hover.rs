//! What is shown of the word under a pointer.
//!
//! Decides which words it is: those of the rules that found something there, of a name that Tidegate gives a meaning, and of the field.

use gen_lsp_types::{Code, Contents, Diagnostic, Hover, MarkupContent, MarkupKind, Position, Range};

use super::caret::{self, Caret};
use super::sheet::Sheet;
use source::read;

/// Returns what is said of a place in a text in which this was found.
pub(super) fn at(text: &str, found: &[Diagnostic], position: Position) -> Option<Hover> {
    let mut sheet = Sheet::of(text);
    let (mark, _) = sheet.mark(position);
    let caret = caret::at(&read(text), mark);
    let here = found
        .iter()
        .filter(|one| one.range.start <= position && position < one.range.end);
    let mut pages: Vec<String> = here.filter_map(rule).collect();
    pages.dedup();
    pages.extend(caret.as_ref().and_then(of_field));
    let range =
        caret.map(|caret| Range::new(sheet.position(caret.span.start), sheet.position(caret.span.end)));
    let value = pages.join("\n---\n\n");
    (!value.is_empty()).then_some(Hover {
        contents: Contents::MarkupContent(MarkupContent {
            kind: MarkupKind::Markdown,
            value,
        }),
        range,
    })
}

fn rule(found: &Diagnostic) -> Option<String> {
    match found.code.as_ref()? {
        Code::String(id) => page(id),
        Code::Int(_) => None,
    }
}

fn of_field(caret: &Caret) -> Option<String> {
    let path: Vec<&str> = caret.path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["metadata", "annotations" | "labels", name] if !caret.on_value => page(name),
        ["metadata", "finalizers"] if caret.on_value => {
            let of = caret.around.last().and_then(|around| around.get("finalizers"));
            // Which of them the pointer is on only matters where there are several.
            of.and_then(|all| page(all.as_array()?.first()?.as_str()?))
        }
        _ => explain::field_page(caret.kind(), &caret.path),
    }
}

/// What `tidegate explain` says of a word: its first line is the word itself.
fn page(word: &str) -> Option<String> {
    let text = explain::explain(word).ok()?;
    let (title, rest) = text.split_once('\n').unwrap_or((&text, ""));
    Some(format!("**{title}**\n{rest}"))
}
