//! The JSON grammar with the error texts of the Go decoder, and the names of members that stand twice.
//!
//! Decides whether a text is JSON and how a fault in it reads.

use std::collections::BTreeSet;

/// Nesting that is followed before the text is refused; below the limit of the value parser nothing is lost.
const MAX_DEPTH: usize = 200;

/// Checks that `text` is one JSON value and returns the paths of duplicate members, such as `metadata.labels.a`.
///
/// The error is the text that Go's decoder gives, for instance `unexpected end of JSON input`.
pub fn check(text: &[u8]) -> Result<Vec<String>, String> {
    let mut scanner = Scanner {
        text,
        at: 0,
        depth: 0,
        path: Vec::new(),
        duplicates: Vec::new(),
    };
    scanner.value()?;
    scanner.blanks();
    match scanner.peek() {
        None => Ok(scanner.duplicates),
        Some(byte) => Err(unexpected(byte, "after top-level value")),
    }
}

/// Returns the name that Go's decoder has for the type of `value` in its texts.
pub fn type_name(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "bool",
        serde_json::Value::Number(_) => "number",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "array",
        serde_json::Value::Object(_) => "object",
    }
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    path: Vec<String>,
    duplicates: Vec<String>,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self) -> Result<u8, String> {
        let byte = self.peek().ok_or_else(end_of_input)?;
        self.at += 1;
        Ok(byte)
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Takes the next byte that is no blank.
    fn token(&mut self) -> Result<u8, String> {
        self.blanks();
        self.take()
    }

    fn value(&mut self) -> Result<(), String> {
        match self.token()? {
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::array),
            b'"' => self.string(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            byte @ (b'-' | b'0'..=b'9') => self.number(byte),
            byte => Err(unexpected(byte, "looking for beginning of value")),
        }
    }

    fn nested(&mut self, content: fn(&mut Self) -> Result<(), String>) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("exceeded max depth".to_owned());
        }
        let outcome = content(self);
        self.depth -= 1;
        outcome
    }

    fn object(&mut self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        let mut byte = self.token()?;
        if byte == b'}' {
            return Ok(());
        }
        loop {
            if byte != b'"' {
                return Err(unexpected(byte, "looking for beginning of object key string"));
            }
            let name = self.key()?;
            match self.token()? {
                b':' => {}
                other => return Err(unexpected(other, "after object key")),
            }
            self.path.push(if self.path.is_empty() {
                name.clone()
            } else {
                format!(".{name}")
            });
            if !seen.insert(name) {
                self.duplicates.push(self.path.concat());
            }
            self.value()?;
            self.path.pop();
            match self.token()? {
                b',' => byte = self.token()?,
                b'}' => return Ok(()),
                other => return Err(unexpected(other, "after object key:value pair")),
            }
        }
    }

    fn array(&mut self) -> Result<(), String> {
        self.blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        for index in 0_usize.. {
            self.path.push(format!("[{index}]"));
            self.value()?;
            self.path.pop();
            match self.token()? {
                b',' => {}
                b']' => break,
                other => return Err(unexpected(other, "after array element")),
            }
        }
        Ok(())
    }

    fn key(&mut self) -> Result<String, String> {
        let start = self.at.saturating_sub(1);
        self.string()?;
        let raw = self.text.get(start..self.at).unwrap_or_default();
        Ok(serde_json::from_slice(raw).unwrap_or_else(|_| String::from_utf8_lossy(raw).into_owned()))
    }

    fn string(&mut self) -> Result<(), String> {
        loop {
            match self.take()? {
                b'"' => return Ok(()),
                b'\\' => self.escape()?,
                byte @ 0..=0x1f => return Err(unexpected(byte, "in string literal")),
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        match self.take()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => (0..4).try_for_each(|_| self.hex_digit()),
            byte => Err(unexpected(byte, "in string escape code")),
        }
    }

    fn hex_digit(&mut self) -> Result<(), String> {
        let byte = self.take()?;
        if byte.is_ascii_hexdigit() {
            Ok(())
        } else {
            Err(unexpected(byte, "in \\u hexadecimal character escape"))
        }
    }

    fn literal(&mut self, word: &'static str) -> Result<(), String> {
        for expected in word.bytes().skip(1) {
            let byte = self.take()?;
            if byte != expected {
                let place = format!("in literal {word} (expecting {})", quoted(expected));
                return Err(unexpected(byte, &place));
            }
        }
        Ok(())
    }

    fn number(&mut self, first: u8) -> Result<(), String> {
        let lead = if first == b'-' {
            self.digit("in numeric literal")?
        } else {
            first
        };
        if lead != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(())
    }

    fn digit(&mut self, place: &str) -> Result<u8, String> {
        let byte = self.take()?;
        if byte.is_ascii_digit() {
            Ok(byte)
        } else {
            Err(unexpected(byte, place))
        }
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }
}

fn end_of_input() -> String {
    "unexpected end of JSON input".to_owned()
}

fn unexpected(byte: u8, place: &str) -> String {
    format!("invalid character {} {place}", quoted(byte))
}

fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        0..=0x1f | 0x7f => format!(r"'\x{byte:02x}'"),
        0x80..=0xa0 | 0xad => format!(r"'\u{byte:04x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_read_as_go_writes_them() {
        for (text, expected) in [
            ("", "unexpected end of JSON input"),
            ("[{", "unexpected end of JSON input"),
            (r#"{"spec":"#, "unexpected end of JSON input"),
            ("hello", "invalid character 'h' looking for beginning of value"),
            ("notjson", "invalid character 'o' in literal null (expecting 'u')"),
            (
                "{a}",
                "invalid character 'a' looking for beginning of object key string",
            ),
            (r#"{"a" 1}"#, "invalid character '1' after object key"),
            (
                r#"{"a":1 "b":2}"#,
                "invalid character '\"' after object key:value pair",
            ),
            ("[1 2]", "invalid character '2' after array element"),
            ("1 2", "invalid character '2' after top-level value"),
            ("01", "invalid character '1' after top-level value"),
            (
                "1.x",
                "invalid character 'x' after decimal point in numeric literal",
            ),
            ("\"\\q\"", "invalid character 'q' in string escape code"),
            ("\"\n\"", "invalid character '\\n' in string literal"),
        ] {
            assert_eq!(check(text.as_bytes()), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn accepts_what_the_value_parser_accepts() {
        for text in [
            "null",
            " {} ",
            "[]",
            "[1, -0.5e+3, \"\\u00e4\", true, {\"a\": []}]",
        ] {
            assert_eq!(check(text.as_bytes()), Ok(vec![]), "{text}");
        }
    }

    #[test]
    fn duplicate_members_are_named_by_path() {
        let text = r#"{"metadata":{"labels":{"a":"1","a":"2"}},"spec":{"l":[{"x":1},{"x":1,"x":2}],"size":1,"size":2}}"#;
        assert_eq!(
            check(text.as_bytes()),
            Ok(vec![
                "metadata.labels.a".into(),
                "spec.l[1].x".into(),
                "spec.size".into()
            ])
        );
    }

    #[test]
    fn deep_nesting_is_refused_and_not_followed() {
        assert_eq!(
            check("[".repeat(100_000).as_bytes()),
            Err("exceeded max depth".to_owned())
        );
    }
}
