//! Spans in the form of OTLP 1: the messages of `opentelemetry/proto/trace/v1` and `collector/trace/v1`, as far as they are sent.
//!
//! Does not decide what a span contains. The numbers of fields never change, and a test compares with
//! bytes that OpenTelemetry's own library has read. Why no library: docs/decisions/0010-own-code-and-libraries.md.

use prost::{Enumeration, Message, Oneof};

use super::traces::{Fact, Span};

/// What a collector is sent.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Export {
    /// Spans by what has made them.
    #[prost(message, repeated, tag = "1")]
    pub resource_spans: Vec<ResourceSpans>,
}

/// Spans of one program.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct ResourceSpans {
    /// The program.
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    /// Its spans, by what of it has made them.
    #[prost(message, repeated, tag = "2")]
    pub scope_spans: Vec<ScopeSpans>,
}

/// A program.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Resource {
    /// What is said of it.
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

/// Spans of one part of a program.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct ScopeSpans {
    /// The spans.
    #[prost(message, repeated, tag = "2")]
    pub spans: Vec<WireSpan>,
}

/// A span.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct WireSpan {
    /// 16 bytes.
    #[prost(bytes = "vec", tag = "1")]
    pub trace_id: Vec<u8>,
    /// Eight bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub span_id: Vec<u8>,
    /// Eight bytes, or none.
    #[prost(bytes = "vec", tag = "4")]
    pub parent_span_id: Vec<u8>,
    /// What is done.
    #[prost(string, tag = "5")]
    pub name: String,
    /// For whom.
    #[prost(enumeration = "SpanKind", tag = "6")]
    pub kind: i32,
    /// Nanoseconds since 1970.
    #[prost(fixed64, tag = "7")]
    pub start_time_unix_nano: u64,
    /// Nanoseconds since 1970.
    #[prost(fixed64, tag = "8")]
    pub end_time_unix_nano: u64,
    /// What is said of it.
    #[prost(message, repeated, tag = "9")]
    pub attributes: Vec<KeyValue>,
    /// What became of it.
    #[prost(message, optional, tag = "15")]
    pub status: Option<Status>,
}

/// For whom something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum SpanKind {
    /// It is not said.
    Unspecified = 0,
    /// For the program itself.
    Internal = 1,
    /// For a caller.
    Server = 2,
}

/// What became of a span.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Status {
    /// 2 is an error.
    #[prost(int32, tag = "3")]
    pub code: i32,
}

/// A word and what it says.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct KeyValue {
    /// The word.
    #[prost(string, tag = "1")]
    pub key: String,
    /// What it says.
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// What a word says.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct AnyValue {
    /// In one of these forms.
    #[prost(oneof = "Form", tags = "1, 2, 3")]
    pub value: Option<Form>,
}

/// The forms of what a word says.
#[derive(Clone, PartialEq, Eq, Oneof)]
pub enum Form {
    /// A text.
    #[prost(string, tag = "1")]
    Text(String),
    /// Yes or no.
    #[prost(bool, tag = "2")]
    Whether(bool),
    /// A number.
    #[prost(int64, tag = "3")]
    Number(i64),
}

/// The code of a status that is an error.
const ERROR: i32 = 2;

/// Returns what a collector is sent.
pub(super) fn export(spans: &[Span]) -> Vec<u8> {
    let about = [
        ("service.name", Fact::Word("tidegate")),
        ("service.version", Fact::Word(env!("CARGO_PKG_VERSION"))),
    ];
    let program = ResourceSpans {
        resource: Some(Resource {
            attributes: about.iter().map(said).collect(),
        }),
        scope_spans: vec![ScopeSpans {
            spans: spans.iter().map(span).collect(),
        }],
    };
    let export = Export {
        resource_spans: vec![program],
    };
    export.encode_to_vec()
}

fn span(span: &Span) -> WireSpan {
    let Span {
        place,
        name,
        kind,
        begun,
        ended,
        facts,
        is_broken,
    } = span;
    WireSpan {
        trace_id: place.trace.to_be_bytes().to_vec(),
        span_id: place.span.to_be_bytes().to_vec(),
        parent_span_id: place
            .parent
            .map(|parent| parent.to_be_bytes().to_vec())
            .unwrap_or_default(),
        name: (*name).to_owned(),
        kind: i32::from(*kind),
        start_time_unix_nano: *begun,
        end_time_unix_nano: *ended,
        attributes: facts.iter().map(said).collect(),
        status: is_broken.then_some(Status { code: ERROR }),
    }
}

fn said((key, fact): &(&'static str, Fact)) -> KeyValue {
    let form = match fact {
        Fact::Word(word) => Form::Text((*word).to_owned()),
        Fact::Text(text) => Form::Text(text.clone()),
        Fact::Whether(whether) => Form::Whether(*whether),
        Fact::Number(number) => Form::Number(*number),
    };
    KeyValue {
        key: (*key).to_owned(),
        value: Some(AnyValue { value: Some(form) }),
    }
}
