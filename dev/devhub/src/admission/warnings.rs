//! The `Warning` headers of one answer, under Kubernetes' limits.
//!
//! Decides which warnings are sent and how long they may be.

/// All warnings together may have this many characters before they are cut.
const TOTAL_LIMIT: usize = 4 * 1024;
/// Once the total is exceeded every warning is cut to this many characters.
const ITEM_LIMIT: usize = 256;

/// The warnings of one request, in order, each text once.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    texts: Vec<String>,
}

impl Warnings {
    /// Returns an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a warning; empty and repeated texts are left out.
    pub fn add(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() && !self.texts.contains(&text) {
            self.texts.push(text);
        }
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns the texts to send: whole if they fit together, otherwise cut one by one until the total is full.
    pub fn texts(&self) -> Vec<String> {
        let total: usize = self.texts.iter().map(|text| text.chars().count()).sum();
        if total <= TOTAL_LIMIT {
            return self.texts.clone();
        }
        let mut written = 0;
        let mut sent = Vec::new();
        for text in &self.texts {
            if written >= TOTAL_LIMIT {
                break;
            }
            let cut: String = text.chars().take(ITEM_LIMIT).collect();
            written += cut.chars().count();
            sent.push(cut);
        }
        sent
    }

    /// Returns the values of the `Warning` headers: code, agent `-` and the quoted text without control characters.
    pub fn headers(&self) -> Vec<String> {
        self.texts()
            .iter()
            .map(|text| format!("299 - {}", quoted(text)))
            .collect()
    }
}

impl<T: Into<String>> Extend<T> for Warnings {
    fn extend<I: IntoIterator<Item = T>>(&mut self, texts: I) {
        for text in texts {
            self.add(text);
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            // A line break would end the header.
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::Warnings;

    #[test]
    fn sends_each_text_once_and_in_order() {
        let mut warnings = Warnings::new();
        warnings.extend(["b", "a", "b", ""]);
        assert_eq!(warnings.texts(), ["b", "a"]);
    }

    #[test]
    fn cuts_every_warning_when_all_together_are_too_long() {
        let mut warnings = Warnings::new();
        warnings.extend(["x".repeat(5000), "short".to_owned()]);
        assert_eq!(
            warnings.texts().iter().map(String::len).collect::<Vec<_>>(),
            [256, 5]
        );
        let mut many = Warnings::new();
        many.extend((0..30).map(|n| format!("{n:0>300}")));
        assert_eq!(
            many.texts().len(),
            16,
            "sixteen warnings of 256 characters fill the total"
        );
    }

    #[test]
    fn leaves_long_warnings_whole_while_they_fit() {
        let mut warnings = Warnings::new();
        warnings.add("y".repeat(4096));
        assert_eq!(warnings.texts().first().map(String::len), Some(4096));
    }

    #[test]
    fn quotes_the_header_text() {
        let mut warnings = Warnings::new();
        warnings.add("say \"no\"\nand \\ go");
        assert_eq!(warnings.headers(), [r#"299 - "say \"no\" and \\ go""#]);
    }
}
