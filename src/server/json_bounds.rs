//! Bounds of a JSON text, checked before anybody builds a tree of it.
//!
//! Decides in one pass and without memory of its own whether a text nests too deep, has too long lists or too long
//! strings. Never decides whether the text is JSON.

/// How deep, wide and long a JSON text may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonBounds {
    /// How deep objects and lists may nest.
    pub depth: usize,
    /// How many items a list, and fields an object, may have.
    pub items: usize,
    /// How many bytes a string may have.
    pub string_bytes: usize,
}

impl Default for JsonBounds {
    fn default() -> Self {
        // A manifest of a template may hold a file, and the API server stores objects of up to 1.5 MiB.
        Self {
            depth: 64,
            items: 10_000,
            string_bytes: 1536 << 10,
        }
    }
}

impl JsonBounds {
    /// Returns what a text has too much of, if anything.
    pub fn exceeded_by(&self, text: &[u8]) -> Option<&'static str> {
        let mut open: Vec<usize> = Vec::with_capacity(self.depth);
        let mut bytes = text.iter();
        while let Some(byte) = bytes.next() {
            let items = match byte {
                b'"' if !self.string_fits(&mut bytes) => return Some("a string of the body is too long"),
                b'[' | b'{' if open.len() == self.depth => return Some("the body nests too deep"),
                b'[' | b'{' => {
                    open.push(1);
                    continue;
                }
                b']' | b'}' => {
                    open.pop();
                    continue;
                }
                b',' => open.last_mut(),
                _ => continue,
            };
            let Some(items) = items else { continue };
            *items += 1;
            if *items > self.items {
                return Some("a list of the body is too long");
            }
        }
        None
    }

    fn string_fits(self, bytes: &mut std::slice::Iter<'_, u8>) -> bool {
        let mut length = 0;
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' => break,
                // What is escaped is one byte of the string, or starts one letter of it.
                b'\\' => {
                    bytes.next();
                }
                _ => {}
            }
            length += 1;
            if length > self.string_bytes {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: JsonBounds = JsonBounds {
        depth: 3,
        items: 3,
        string_bytes: 4,
    };

    #[test]
    fn bounds_are_met_exactly() {
        for text in [
            r#"{"a":[{}]}"#,
            "[1,2,3]",
            r#""abcd""#,
            r#""\"\\\"\\""#,
            "]]]]",
            "",
            r#"{"a":1,"b":2,"c":3}"#,
            r#"["[[[[",",,,,"]"#,
        ] {
            assert_eq!(SMALL.exceeded_by(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn one_more_is_too_much() {
        for (text, told) in [
            (r#"{"a":[{"b":[]}]}"#, "the body nests too deep"),
            ("[1,2,3,4]", "a list of the body is too long"),
            (r#"{"a":1,"b":2,"c":3,"d":4}"#, "a list of the body is too long"),
            (r#"["abcde"]"#, "a string of the body is too long"),
            (r#"["abcde"#, "a string of the body is too long"),
        ] {
            assert_eq!(SMALL.exceeded_by(text.as_bytes()), Some(told), "{text}");
        }
    }
}
