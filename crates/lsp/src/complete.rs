//! What may stand where something is being typed.
//!
//! Decides which names and values are offered, and how they are written into the text. A field that the object has already is not offered.

use gen_lsp_types::{
    CompletionItem, CompletionItemKind, CompletionItemTextEdit, Documentation, Position, Range, TextEdit,
};

use super::names;
use super::sheet::units;
use super::typed::{self, Typed};
use check::File;
use explain::Offer;

/// What every object has, whatever its kind is.
const OF_OBJECTS: [(&str, &str, bool); 4] = [
    ("apiVersion", "Group and version of the kind.", false),
    ("kind", "The kind.", false),
    ("metadata", "Name, namespace, labels and annotations.", true),
    ("spec", "What is wanted.", true),
];
const OF_METADATA: [(&str, &str, bool); 4] = [
    ("name", "Its name.", false),
    ("namespace", "Its namespace.", false),
    ("labels", "Words by which it is selected.", true),
    ("annotations", "Words for programs.", true),
];

/// Returns what may stand at a place of a text.
pub(super) fn at<'f>(
    text: &str,
    position: Position,
    files: impl Iterator<Item = &'f File>,
) -> Vec<CompletionItem> {
    let Some(typed) = typed::at(text, position) else {
        return Vec::new();
    };
    let start = position.character.saturating_sub(units(&typed.word));
    let range = Range::new(Position::new(position.line, start), position);
    if typed.is_name {
        let offers = fields(&typed);
        if !offers.is_empty() {
            return offers.iter().map(|offer| field(offer, &typed, range)).collect();
        }
    }
    let caret = &typed.caret;
    let values = explain::values_at(caret.kind(), &caret.path);
    let values = values
        .into_iter()
        .map(|word| value(word, CompletionItemKind::EnumMember, range));
    let names = names::of(caret, files).into_iter();
    let names = names.map(|word| value(word, CompletionItemKind::Reference, range));
    names.chain(values).collect()
}

/// The fields that may stand beside what is typed.
fn fields(typed: &Typed) -> Vec<Offer> {
    let caret = &typed.caret;
    let path: Vec<&str> = caret.path.iter().map(String::as_str).collect();
    let fixed = |rows: [(&str, &str, bool); 4]| {
        let all = rows.into_iter().map(|(name, about, is_block)| Offer {
            name: name.to_owned(),
            kind: if is_block { "object" } else { "string" }.to_owned(),
            required: matches!(name, "apiVersion" | "kind" | "metadata" | "name"),
            is_block,
            about: about.to_owned(),
        });
        all.collect()
    };
    let all: Vec<Offer> = match path.as_slice() {
        [] => fixed(OF_OBJECTS),
        ["metadata"] => fixed(OF_METADATA),
        ["metadata", "annotations"] => explain::annotations()
            .map(|(name, about)| Offer {
                name: name.to_owned(),
                kind: "annotation".to_owned(),
                required: false,
                is_block: false,
                about: about.to_owned(),
            })
            .collect(),
        _ => explain::fields_below(caret.kind(), &caret.path),
    };
    let beside = caret.around.last();
    let is_there = |name: &str| beside.is_some_and(|fields| fields.get(name).is_some());
    all.into_iter().filter(|offer| !is_there(&offer.name)).collect()
}

fn field(offer: &Offer, typed: &Typed, range: Range) -> CompletionItem {
    let end = match (typed.has_colon, offer.is_block) {
        (true, _) => "",
        (false, true) => ":",
        (false, false) => ": ",
    };
    let required = if offer.required { ", required" } else { "" };
    CompletionItem {
        // What an object must have comes first.
        sort_text: Some(format!("{}{}", u8::from(!offer.required), offer.name)),
        detail: Some(format!("{}{required}", offer.kind)),
        documentation: (!offer.about.is_empty()).then(|| Documentation::String(offer.about.clone())),
        ..item(
            offer.name.clone(),
            CompletionItemKind::Field,
            format!("{}{end}", offer.name),
            range,
        )
    }
}

fn value(word: String, kind: CompletionItemKind, range: Range) -> CompletionItem {
    item(word.clone(), kind, word, range)
}

fn item(label: String, kind: CompletionItemKind, new_text: String, range: Range) -> CompletionItem {
    CompletionItem {
        filter_text: Some(label.clone()),
        label,
        kind: Some(kind),
        text_edit: Some(CompletionItemTextEdit::TextEdit(TextEdit { range, new_text })),
        ..CompletionItem::default()
    }
}
