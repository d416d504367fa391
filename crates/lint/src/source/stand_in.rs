//! Characters that JSON allows and YAML does not.
//!
//! Kubernetes reads a file that begins with `{` as JSON, where a text may contain control characters above 0x7E. The YAML parser reads
//! characters of the private use areas in their place, which have the same columns, and the texts get the originals back.

use std::borrow::Cow;

/// The first characters of places that can stand for others; a text contains at most a few of them.
const PLACES: [u32; 4] = [0xF_E000, 0xF_D000, 0x10_E000, 0x10_D000];

/// The text for the parser.
pub(super) struct StandIn<'t> {
    text: Cow<'t, str>,
    /// What is added to a character that is replaced; 0 if none is.
    added: u32,
}

impl<'t> StandIn<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let unchanged = Self {
            text: Cow::Borrowed(text),
            added: 0,
        };
        if !text.trim_start().starts_with('{') || !text.chars().any(is_unprintable) {
            return unchanged;
        }
        let is_free = |place: &u32| {
            !text
                .chars()
                .any(|one| (place + 0x7F..=place + 0x9F).contains(&u32::from(one)))
        };
        let Some(added) = PLACES.into_iter().find(is_free) else {
            return unchanged;
        };
        let stand_in = |one: char| char::from_u32(u32::from(one) + added).filter(|_| is_unprintable(one));
        Self {
            text: Cow::Owned(text.chars().map(|one| stand_in(one).unwrap_or(one)).collect()),
            added,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text of a value with its original characters.
    pub(super) fn original<'v>(&self, text: Cow<'v, str>) -> Cow<'v, str> {
        let original = |one: char| {
            u32::from(one)
                .checked_sub(self.added)
                .and_then(char::from_u32)
                .filter(|one| is_unprintable(*one))
        };
        if self.added == 0 || !text.chars().any(|one| original(one).is_some()) {
            return text;
        }
        Cow::Owned(text.chars().map(|one| original(one).unwrap_or(one)).collect())
    }
}

/// YAML 1.2, production 1: the characters that are not printable, of those that JSON allows in a text.
fn is_unprintable(one: char) -> bool {
    matches!(one, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}')
}
