//! Texts in double quotes.
//!
//! Decides which letters are escaped.

/// Returns a text as `%q` prints it: what cannot be printed is escaped, in Go's spelling.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            _ if is_printable(letter) => out.push(letter),
            _ => out.push_str(&escaped(letter)),
        }
    }
    out.push('"');
    out
}

fn escaped(letter: char) -> String {
    match u32::from(letter) {
        code @ ..0x80 => format!("\\x{code:02x}"),
        code @ 0x80..0x1_0000 => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}

/// Letters, marks, numbers, punctuation, symbols, and of all spaces the ASCII one: Rust and Go agree, but that Rust escapes a
/// mark that begins a text.
fn is_printable(letter: char) -> bool {
    if letter.is_ascii() {
        return !letter.is_ascii_control();
    }
    let after_another: String = ['a', letter].iter().collect();
    after_another.escape_debug().nth(1) == Some(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_printed_is_escaped() {
        let rows = [
            ("a\n\"b\"\\\u{1}\u{7f}ä'", r#""a\n\"b\"\\\x01\x7fä'""#),
            ("\u{7}\u{8}\t\u{b}\u{c}\r", r#""\a\b\t\v\f\r""#),
            (
                "\u{85}\u{a0}\u{ad}\u{200b}\u{feff}",
                r#""\u0085\u00a0\u00ad\u200b\ufeff""#,
            ),
            ("e\u{301} 名 🦀", "\"e\u{301} 名 🦀\""),
            ("\u{e0001}", r#""\U000e0001""#),
        ];
        for (text, wanted) in rows {
            assert_eq!(quote(text), wanted);
        }
    }
}
