//! Text that is safe to show: no line of a file can move the cursor or turn the direction of what follows.
//!
//! Decides which characters are shown as a dot. Never changes how many there are, so that columns stay right.

/// Returns a text on one line with everything replaced that a terminal would act upon.
pub(super) fn plain(text: &str) -> String {
    let acts = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .map(|letter| match letter {
            '\t' => ' ',
            _ if acts(letter) => '\u{b7}',
            _ => letter,
        })
        .collect()
}

/// Returns `1 object`, `2 objects`.
pub(super) fn counted(count: usize, word: &str) -> String {
    if count == 1 {
        format!("1 {word}")
    } else {
        format!("{count} {word}s")
    }
}
