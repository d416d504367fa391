//! Words of this program with Kubernetes' words, from `docs/glossary.md`.
//!
//! A topic matches a row by its own word, or by Kubernetes' word.

use kubernetes::field::one_line;

use super::render::wrapped;

const PAGE: &str = include_str!("../../../../docs/glossary.md");

/// A row of the glossary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// One word, or several for one thing.
    pub(super) words: &'static str,
    pub(super) meaning: &'static str,
    /// Kubernetes' words; empty where there is none.
    common: &'static str,
}

/// Returns every row.
pub(super) fn rows() -> impl Iterator<Item = Row> {
    PAGE.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| **")?.split('|').map(str::trim);
        let (words, _) = cells.next()?.split_once("**")?;
        Some(Row {
            words,
            meaning: cells.next()?,
            common: cells.next()?,
        })
    })
}

/// Returns the glossary's text for a word; `None` if the glossary does not have it.
pub(super) fn ask(topic: &str) -> Option<String> {
    let topic = one_line(topic).to_lowercase();
    let is_meant = |list: &str| list.split(", ").any(|word| word.to_lowercase() == topic);
    let own: Vec<Row> = rows().filter(|row| is_meant(row.words)).collect();
    let found = if own.is_empty() {
        rows().filter(|row| says(row.common, &topic)).collect()
    } else {
        own
    };
    let pages: Vec<String> = found.iter().map(page).collect();
    (!pages.is_empty()).then(|| pages.join("\n"))
}

/// Tells whether the common words are or have this one; one of a letter or two would be in most of them.
fn says(common: &str, topic: &str) -> bool {
    let plain = |text: &str| {
        let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '.');
        let words = words.filter(|word| !word.is_empty());
        let words: Vec<String> = words
            .map(|word| format!(" {} ", word.strip_suffix('s').unwrap_or(word)))
            .collect();
        words.concat()
    };
    let wanted = plain(topic);
    wanted.trim().chars().count() >= SHORTEST && plain(&common.to_lowercase()).contains(&wanted)
}

/// The shortest word that is looked for among the common ones.
const SHORTEST: usize = 3;

fn page(row: &Row) -> String {
    let common = if row.common.is_empty() {
        "no Kubernetes term".to_owned()
    } else {
        format!("in Kubernetes: {}", row.common)
    };
    format!(
        "{}\n\n{}\n\n(a term of this program; {common})\n",
        row.words,
        wrapped(row.meaning, "")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_under_both_names() {
        for (topic, word) in [
            ("webhook", "gate"),
            ("admission webhooks", "gate"),
            ("backstop", "backstop"),
            ("spoke", "simulated cluster, spoke"),
            ("minSuccessTime", "soak"),
            ("informer", "facts"),
        ] {
            let text = ask(topic).unwrap_or_default();
            let found = text.lines().any(|line| line == word);
            assert!(found, "{topic}: {text}");
        }
        for nothing in ["", " ", "|", "**", "****", "a", "banana"] {
            assert_eq!(ask(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn every_row_of_the_page_has_its_three_cells() {
        let told = PAGE.lines().filter(|line| line.starts_with("| **")).count();
        assert!(told >= 15 && rows().count() == told, "{told}");
        assert!(rows().all(|row| !row.words.is_empty() && !row.meaning.is_empty()));
    }
}
