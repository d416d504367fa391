//! From a text to its documents.
//!
//! Decides what is no YAML. A fault of one document does not hide the documents before it, nor those behind it as long as
//! the text can be read on. JSON is read by the same reader: it is YAML.

use granit_parser::{Event, Parser, ScanError, options};

use super::build::Builder;
use super::lines::Lines;
use super::node::{Mark, Node};
use super::stand_in::StandIn;

/// The most documents in one text, empty ones among them.
const MOST_DOCUMENTS: usize = 100_000;
/// The most values in all documents of one text.
const MOST_NODES: usize = 2_000_000;
/// The most lists, maps and commas in one text. In one line of them the parser keeps all of it until it knows that none is a key.
const MOST_IN_FLOW: usize = 1_000_000;
/// A text that nests deeper is not read on, not even to find its next document: whatever reads it keeps every level that is open, and
/// two bytes open one.
const DEEPEST: usize = 10_000;

/// A text that cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub at: Mark,
    /// What is wrong.
    pub message: String,
}

/// Everything that could be read of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The documents, empty ones left out.
    pub documents: Vec<Node>,
    /// What could not be read.
    pub faults: Vec<Fault>,
}

/// Reads a text of one or several documents.
pub fn read(text: &str) -> Reading {
    read_lines(&Lines::of(text))
}

/// Reads a text whose lines are known.
pub fn read_lines(lines: &Lines<'_>) -> Reading {
    let mut reading = Reading::default();
    if let Some(message) = too_much_in_flow(lines.text()) {
        let at = Mark { line: 1, column: 1 };
        reading.faults.push(Fault { at, message });
        return reading;
    }
    let limits = options! { block_nesting_limit: DEEPEST + 1, flow_nesting_limit: DEEPEST + 1 };
    let stand_in = StandIn::of(lines.text());
    let mut parser = Parser::new_from_str_with_options(stand_in.text(), limits);
    let (mut documents, mut nodes) = (0, 0);
    let mut depth: usize = 0;
    let mut builder = Builder::of(lines);
    while let Some(next) = parser.next_event() {
        let (event, span) = match next {
            Ok(next) => next,
            Err(error) => {
                reading.faults.push(fault(&error));
                break;
            }
        };
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the enum is non-exhaustive; all other events have no value"
        )]
        match event {
            Event::DocumentStart(..) => {
                documents += 1;
                if let Some(message) = too_much(documents, nodes) {
                    let at = mark(&span.start);
                    reading.faults.push(Fault { at, message });
                    break;
                }
                builder = Builder::of(lines);
            }
            Event::DocumentEnd => {
                nodes += builder.nodes();
                match std::mem::replace(&mut builder, Builder::of(lines)).finish() {
                    Ok(document) => reading.documents.extend(document),
                    Err(fault) => reading.faults.push(fault),
                }
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                depth += 1;
                builder.take(event, span);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                depth = depth.saturating_sub(1);
                builder.take(event, span);
            }
            Event::Alias(_) => builder.take(event, span),
            Event::Scalar(text, style, anchor, tag) => {
                builder.take(Event::Scalar(stand_in.original(text), style, anchor, tag), span);
            }
            _ => {}
        }
        if depth > DEEPEST {
            reading.faults.extend(builder.finish().err());
            break;
        }
    }
    reading
}

fn too_much_in_flow(text: &str) -> Option<String> {
    let marks = text
        .bytes()
        .filter(|byte| matches!(byte, b',' | b'[' | b'{'))
        .count();
    (marks > MOST_IN_FLOW)
        .then(|| format!("the file has more than {MOST_IN_FLOW} values; write them into several files"))
}

fn too_much(documents: usize, nodes: usize) -> Option<String> {
    if documents > MOST_DOCUMENTS {
        return Some(format!(
            "the file has more than {MOST_DOCUMENTS} documents; write them into several files"
        ));
    }
    let full = nodes >= MOST_NODES;
    full.then(|| {
        format!("the documents up to here have {MOST_NODES} values or more; write them into several files")
    })
}

fn mark(marker: &granit_parser::Marker) -> Mark {
    Mark {
        line: marker.line().max(1),
        column: marker.col() + 1,
    }
}

fn fault(error: &ScanError) -> Fault {
    Fault {
        at: mark(error.marker()),
        message: error.info(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(text: &str) -> Vec<serde_json::Value> {
        let reading = read(text);
        assert_eq!(reading.faults, [], "{text}");
        reading.documents.iter().map(Node::value).collect()
    }

    fn faults(text: &str) -> Vec<String> {
        let faults = read(text).faults.into_iter();
        faults
            .map(|fault| format!("{}:{} {}", fault.at.line, fault.at.column, fault.message))
            .collect()
    }

    #[test]
    fn several_documents_stand_in_one_text_and_empty_ones_do_not_count() {
        assert_eq!(
            values("a: 1\n---\n---\n# nothing\n---\nb: [x, 'y']\n"),
            [json!({"a": 1}), json!({"b": ["x", "y"]})]
        );
        assert_eq!(values(""), Vec::<serde_json::Value>::new());
    }

    #[test]
    fn json_is_read_as_well_tabs_included() {
        assert_eq!(
            values("{\n\t\"a\": [1, \"2\\n\"],\n\t\"b\": {\"c\": null}\n}\n"),
            [json!({"a": [1, "2\n"], "b": {"c": null}})]
        );
    }

    #[test]
    fn indentation_within_a_value_is_free_as_in_kubernetes() {
        let rows = [
            (
                "spec:\n  ops: [\n  a,\nb\n  ]\n",
                json!({"spec": {"ops": ["a", "b"]}}),
            ),
            (
                "spec:\n    a: {\n      b: 1,\n    }\n",
                json!({"spec": {"a": {"b": 1}}}),
            ),
            (
                "spec:\n  a: \"x\n  y\nz\"\n  b: 1\n",
                json!({"spec": {"a": "x y z", "b": 1}}),
            ),
            ("spec:\n  a: 'x\n  y'\n", json!({"spec": {"a": "x y"}})),
            ("- a: \"x\n  y\"\n", json!([{"a": "x y"}])),
        ];
        for (text, expected) in rows {
            assert_eq!(values(text), [expected], "{text}");
        }
    }

    #[test]
    fn json_may_contain_control_characters_and_yaml_may_not() {
        let odd = "\u{7f}\u{80}\u{85}\u{9b}2J\u{f_e09b}";
        assert_eq!(
            values(&json!({"a": odd, odd: [odd]}).to_string()),
            [json!({"a": odd, odd: [odd]})]
        );
        assert_eq!(faults("{\n  \"\u{9b}\": 1, }]\n"), faults("{\n  \"x\": 1, }]\n"));
        assert_eq!(faults("a: \"\u{9b}\"\n").len(), 1);
    }

    #[test]
    fn anchors_and_merges_are_followed() {
        assert_eq!(
            values("base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}\nsame: *b\n"),
            [json!({"base": {"x": 1, "y": 2}, "more": {"y": 3, "x": 1}, "same": {"x": 1, "y": 2}})]
        );
    }

    #[test]
    fn faults_tell_line_and_column_and_do_not_hide_other_documents() {
        let reading = read("a: 1\n---\nb: 1\nb: 2\n---\nc: 3\n");
        assert_eq!(reading.documents.len(), 2);
        assert_eq!(
            faults("a: 1\n---\nb: 1\nb: 2\n---\nc: 3\n"),
            ["4:1 the key \"b\" occurs twice in one mapping, first in line 3"]
        );
        assert_eq!(faults("a: *b\n").len(), 1);
        assert!(
            faults("spec:\n  a: [1, 2\n")[0].starts_with("2:6 "),
            "{:?}",
            faults("spec:\n  a: [1, 2\n")
        );
    }

    #[test]
    fn a_small_text_cannot_become_a_large_tree() {
        let mut bomb = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
        for (name, before) in ('b'..='j').zip('a'..='i') {
            let line = format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 9].join(","));
            bomb.push_str(&line);
        }
        assert_eq!(faults(&bomb).len(), 1);
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(faults(&deep).len(), 1);
    }

    #[test]
    fn an_object_has_as_many_values_as_it_may_have_and_a_list_of_objects_more() {
        let object = |items: usize| format!("{{\"kind\": \"A\", \"x\": [{}]}}", vec!["0"; items].join(","));
        assert_eq!(faults(&object(99_997)), Vec::<String>::new());
        let told = "Too many: an object must have at most 100000 values, and this one has 100001; hint: split it into several objects \
            [schema/bounds]";
        assert_eq!(
            faults(&format!("a: 1\n---\n{}", object(99_998))),
            [format!("3:1 {told}")]
        );
        let list = |last: usize| {
            let items = [object(90_000), object(90_000), object(last)].join(",");
            format!("{{\"kind\": \"List\", \"items\": [{items}]}}")
        };
        assert_eq!(faults(&list(90_000)), Vec::<String>::new());
        let found = faults(&list(99_998));
        assert!(found[0].ends_with(&format!("items[2]: {told}")), "{found:?}");
    }

    #[test]
    fn what_nests_without_end_is_not_read_on() {
        for opening in [": ", "? ", "- "] {
            let text = |levels: usize| format!("{}\n---\na: 1\n", opening.repeat(levels));
            let (deep, endless) = (read(&text(300)), read(&text(DEEPEST + 2)));
            assert_eq!((deep.faults.len(), deep.documents.len()), (1, 1), "{opening}");
            assert_eq!(
                (endless.faults.len(), endless.documents.len()),
                (1, 0),
                "{opening}"
            );
        }
    }

    #[test]
    fn nothing_panics_on_odd_texts() {
        for text in [
            "\u{0}",
            "%YAML 9.9\n---\n",
            "? [a]\n: b\n",
            "{a: 1, a: 2}",
            "- - - -",
            "<<: 1",
            "&a *a",
            "a: !!binary x",
            "\u{feff}a: 1",
            "'",
            "\"\\",
            "a:\n\t- b",
            "!<",
            "*",
            "&",
            "|\n a",
            "...",
            "---\n...\n---",
        ] {
            let _reading = read(text);
        }
    }
}
