//! Order and width of what people read.
//!
//! Decides that numbers within names count as numbers, and where a line is folded. Never changes a word.

use std::cmp::Ordering;

/// How far the rest of a folded line is set in.
const SET_IN: usize = 4;

/// Compares names as people do: `cluster2` stands before `cluster10`. Different names are never equal.
pub fn natural(one: &str, other: &str) -> Ordering {
    let (mut these, mut those) = (one, other);
    loop {
        match (these.is_empty(), those.is_empty()) {
            (true, true) => return one.cmp(other),
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        let (this, rest) = piece(these);
        let (that, others) = piece(those);
        let numbers = [this, that].map(|piece| piece.trim_start_matches('0'));
        let both = [this, that]
            .iter()
            .all(|piece| piece.starts_with(|letter: char| letter.is_ascii_digit()));
        let order = if both {
            let [this, that] = numbers;
            this.len().cmp(&that.len()).then_with(|| this.cmp(that))
        } else {
            this.cmp(that)
        };
        if order.is_ne() {
            return order;
        }
        (these, those) = (rest, others);
    }
}

/// Splits digits, or what is none, off the front.
fn piece(text: &str) -> (&str, &str) {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let begins = text.starts_with(is_digit);
    let end = text
        .find(|letter| is_digit(letter) != begins)
        .unwrap_or(text.len());
    text.split_at(end)
}

/// Folds the lines of a page at blanks to fit into a width. A word that is longer stays whole, so that it can be copied.
pub fn folded(page: &str, width: usize) -> String {
    let mut out = String::with_capacity(page.len());
    for line in page.lines() {
        fold(line, width, &mut out);
        out.push('\n');
    }
    out
}

fn fold(line: &str, width: usize, out: &mut String) {
    if line.chars().count() <= width {
        out.push_str(line);
        return;
    }
    let letters = line.trim_start();
    let before = line.len() - letters.len();
    let indent = " ".repeat((before + SET_IN).min(width / 2));
    out.push_str(&" ".repeat(before));
    let mut used = before;
    let mut is_first = true;
    for word in letters.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        if !is_first && used + length > width {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&indent);
            used = indent.len();
            // Blanks that kept columns apart mean nothing on a new line.
            if word == " " {
                continue;
            }
        }
        out.push_str(word);
        used += word.chars().count();
        is_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_within_names_count_as_numbers() {
        let mut names = [
            "cluster10",
            "cluster2",
            "cluster1",
            "edge-007",
            "edge-7",
            "cluster",
            "a2b10",
            "a2b9",
        ];
        names.sort_by(|one, other| natural(one, other));
        assert_eq!(
            names,
            [
                "a2b9",
                "a2b10",
                "cluster",
                "cluster1",
                "cluster2",
                "cluster10",
                "edge-007",
                "edge-7"
            ]
        );
    }

    #[test]
    fn lines_are_folded_at_blanks_and_words_stay_whole() {
        let page = "  one two three four\nshort\naverylongwordthatstays whole\n";
        assert_eq!(
            folded(page, 14),
            "  one two\n      three\n      four\nshort\naverylongwordthatstays\n    whole\n"
        );
        assert_eq!(folded(page, 100), page);
    }
}
