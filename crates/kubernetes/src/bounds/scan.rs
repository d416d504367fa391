//! Which part of a text is too deep, too wide, too long or has too many values.
//!
//! One pass, and no memory but the way to the place that is read.

use super::size::{Size, behind_scalar, behind_text};
use super::{MOST_ITEMS, MOST_VALUES, RULE, too_many_values};
use crate::field::{Class, Fault, Path, Violation};

/// How deep, wide and long a part of an object may be, and how many values it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How deep maps and lists may nest.
    depth: usize,
    /// Whether a deeper text is reported here; where it is not, the reader of trees refuses it.
    reports_depth: bool,
    /// How many items a list may have.
    items: usize,
    /// How many bytes a text may have.
    text: usize,
    /// How many values there may be in all.
    values: usize,
}

/// How many steps of a path are shown; one may be as long as objects may be deep.
const TOLD_STEPS: usize = 8;
/// The longest name in a path, in letters.
const TOLD_LETTERS: usize = 80;

/// A list or a map that is open while a text is read.
enum Open {
    List {
        items: usize,
    },
    Map {
        /// Where the last name stands, without its quotes.
        name: (usize, usize),
        expects_name: bool,
    },
}

impl Bounds {
    /// What can be judged. An API server stores 1.5 MiB an object.
    pub const JUDGED: Self = Self {
        depth: 64,
        reports_depth: true,
        items: MOST_ITEMS,
        text: 1536 << 10,
        values: MOST_VALUES,
    };
    /// What can be read. The reader of trees ends at 128 levels and builds nothing behind that place.
    pub(crate) const READABLE: Self = Self {
        depth: 128,
        reports_depth: false,
        items: usize::MAX,
        text: usize::MAX,
        values: MOST_VALUES,
    };

    /// Returns the same bounds for a part of an object whose other parts have so many values.
    #[must_use]
    pub fn beside(self, values: usize) -> Self {
        Self {
            values: self.values.saturating_sub(values),
            ..self
        }
    }

    /// Returns what the text of a part has too much of, if anything. Of a part that has too much in several ways, that it has too
    /// many values is reported first.
    #[must_use]
    pub fn exceeded_by(self, text: &str, at: &Path) -> Option<Violation> {
        let has = Size::of(text.as_bytes()).values;
        Scan {
            bounds: self,
            text,
            at,
            // A scan that looks for the place of one value too many reports nothing that comes before it.
            crowded: (has > self.values).then_some(has),
        }
        .fault()
    }
}

struct Scan<'t> {
    bounds: Bounds,
    text: &'t str,
    at: &'t Path,
    /// How many values there are, where these are too many.
    crowded: Option<usize>,
}

impl Scan<'_> {
    fn fault(&self) -> Option<Violation> {
        let Bounds {
            depth, text: longest, ..
        } = self.bounds;
        let bytes = self.text.as_bytes();
        let mut open: Vec<Open> = Vec::new();
        let mut rest = bytes;
        let mut values = 0;
        while let Some((byte, behind)) = rest.split_first() {
            let place = bytes.len() - behind.len();
            rest = behind;
            match byte {
                b'"' => {
                    rest = behind_text(behind);
                    let length = behind.len().saturating_sub(rest.len() + 1);
                    values += usize::from(!take_name(&mut open, (place, place + length)));
                    if length > longest && self.crowded.is_none() {
                        return Some(self.too_long(&self.way(&open)));
                    }
                }
                b'[' | b'{' => {
                    values += 1;
                    if open.len() == depth {
                        return self.too_deep(&self.way(&open));
                    }
                    open.push(match byte {
                        b'[' => Open::List { items: 1 },
                        _ => Open::Map {
                            name: (0, 0),
                            expects_name: true,
                        },
                    });
                }
                b']' | b'}' => drop(open.pop()),
                b',' if !self.may_go_on(&mut open) => {
                    open.pop();
                    return Some(self.too_many_items(&self.way(&open)));
                }
                b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => {}
                _ => {
                    values += 1;
                    rest = behind_scalar(behind);
                }
            }
            if let Some(has) = self.crowded.filter(|_| values > self.bounds.values) {
                return Some(too_many_values(
                    has.saturating_add(self.beside()),
                    self.way(&open),
                ));
            }
        }
        None
    }

    /// How many values the other parts of the object have.
    fn beside(&self) -> usize {
        MOST_VALUES.saturating_sub(self.bounds.values)
    }

    /// Counts one more item; tells whether there may be one.
    fn may_go_on(&self, open: &mut [Open]) -> bool {
        match open.last_mut() {
            Some(Open::List { items }) => {
                *items += 1;
                *items <= self.bounds.items || self.crowded.is_some()
            }
            Some(Open::Map { expects_name, .. }) => {
                *expects_name = true;
                true
            }
            None => true,
        }
    }

    fn too_many_items(&self, path: &Path) -> Violation {
        let words = format!("must have at most {} items", self.bounds.items);
        Fault::bare(Class::TooMany, words)
            .hint("split it into several objects")
            .at(path.clone(), RULE)
    }

    fn too_deep(&self, path: &Path) -> Option<Violation> {
        let words = format!("must nest at most {} levels deep", self.bounds.depth);
        self.bounds.reports_depth.then(|| {
            Fault::bare(Class::TooMany, words)
                .hint("flatten it, or keep it as text")
                .at(path.clone(), RULE)
        })
    }

    fn too_long(&self, path: &Path) -> Violation {
        let words = format!("must have at most {} bytes", self.bounds.text);
        Fault::bare(Class::TooLong, words)
            .hint("keep it in an object of its own, such as a ConfigMap")
            .at(path.clone(), RULE)
    }

    /// Returns the way to what is being read.
    fn way(&self, open: &[Open]) -> Path {
        open.iter()
            .take(TOLD_STEPS)
            .fold(self.at.clone(), |path, one| match one {
                Open::List { items } => path.index(items.saturating_sub(1)),
                Open::Map {
                    name: (begin, end), ..
                } => step(&path, self.text.get(*begin..*end).unwrap_or_default()),
            })
    }
}

/// Takes a text as the name of a field, where one is expected; returns whether it was.
fn take_name(open: &mut [Open], text: (usize, usize)) -> bool {
    let Some(Open::Map {
        name, expects_name, ..
    }) = open.last_mut()
    else {
        return false;
    };
    if *expects_name {
        *name = text;
    }
    std::mem::replace(expects_name, false)
}

fn step(path: &Path, written: &str) -> Path {
    let name: String = serde_json::from_str(&format!("\"{written}\"")).unwrap_or_default();
    let short: String = name.chars().take(TOLD_LETTERS).collect();
    if short.chars().all(char::is_alphanumeric) {
        path.key(short)
    } else {
        path.entry(short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Bounds = Bounds {
        depth: 3,
        reports_depth: true,
        items: 3,
        text: 4,
        values: 10,
    };

    fn told(text: &str) -> Option<String> {
        let found = SMALL.exceeded_by(text, &Path::parse("spec"));
        found.map(|fault| format!("{}: {}", fault.path(), fault.detail()))
    }

    #[test]
    fn bounds_are_met_exactly() {
        for text in [
            r#"{"a":[{}]}"#,
            "[1,2,3]",
            r#""abcd""#,
            r#""\"\\""#,
            "",
            r#"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":"","h":true,"i":null}"#,
            r#"["[[[[",",,,,","]"]"#,
            "[[1,2,3],[1,2],[1]]",
        ] {
            assert_eq!(told(text), None, "{text}");
        }
    }

    #[test]
    fn one_more_is_too_much_and_told_with_its_place() {
        for (text, words) in [
            (
                r#"{"a":[{"b":[]}]}"#,
                "spec.a[0].b: must nest at most 3 levels deep",
            ),
            ("[1,2,3,4]", "spec: must have at most 3 items"),
            (
                r#"{"x":{"a":1},"list":[{},[1,2,3,4]]}"#,
                "spec.list[1]: must have at most 3 items",
            ),
            (
                r#"{"a":"b","c/d":["abcde"]}"#,
                "spec[c/d][0]: must have at most 4 bytes",
            ),
            (r#"{"a":{"aaaaa":1}}"#, "spec.a.aaaaa: must have at most 4 bytes"),
            (
                r#"{"a":[1,2,3],"b":[1,2,3],"c":{"d":4}}"#,
                "spec.c.d: an object must have at most 100000 values, and this one has 100001",
            ),
            (
                r#"[1,2,3,4,5,6,7,8,9,"aaaaa"]"#,
                "spec[9]: an object must have at most 100000 values, and this one has 100001",
            ),
        ] {
            assert_eq!(told(text).as_deref(), Some(words), "{text}");
        }
    }
}
