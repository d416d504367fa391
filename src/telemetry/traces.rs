//! Traces: what a span says, and the queue to the task that sends them.
//!
//! Decides that nothing waits for a collector: a span for which the queue is full is dropped and counted. A span has words of small sets
//! and ids of rules, never the name of an object, a user or a cluster, and never anything of a body.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tokio::sync::mpsc;

use super::trace_context::{Parent, Place, Ratio};
use super::trace_wire::SpanKind;
use super::words::words;

/// So many spans wait to be sent.
const QUEUE_CAPACITY: usize = 2048;

/// What a span says of what was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A word of a small set.
    Word(&'static str),
    /// Ids of rules.
    Text(String),
    /// Yes or no.
    Whether(bool),
    /// How many.
    Number(i64),
}

/// A span that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) place: Place,
    pub(super) name: &'static str,
    pub(super) kind: SpanKind,
    /// Nanoseconds since 1970.
    pub(super) begun: u64,
    /// Nanoseconds since 1970.
    pub(super) ended: u64,
    pub(super) facts: Vec<(&'static str, Fact)>,
    pub(super) is_broken: bool,
}

/// What became of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpanEnd {
    /// A collector has it.
    Sent,
    /// The queue was full.
    Dropped,
    /// The collector did not take it, or not in time.
    Failed,
}

words!(SpanEnd {
    Sent => "sent",
    Dropped => "dropped",
    Failed => "failed",
});

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SpanLabels {
    outcome: SpanEnd,
}

/// What became of spans. Clones count into the same place.
#[derive(Clone, Debug, Default)]
pub(super) struct SpanCounts(Family<SpanLabels, Counter>);

impl SpanCounts {
    pub(super) fn count(&self, outcome: SpanEnd, spans: usize) {
        let spans = u64::try_from(spans).unwrap_or(u64::MAX);
        self.0.get_or_create(&SpanLabels { outcome }).inc_by(spans);
    }
}

/// What is counted of spans, and where they are made. Clones are the same place.
#[derive(Clone, Debug, Default)]
pub struct TraceMetrics {
    pub(super) spans: SpanCounts,
    tracer: Arc<OnceLock<Tracer>>,
}

impl TraceMetrics {
    pub(super) fn register(&self, all: &mut Registry) {
        all.register(
            "trace_spans",
            "Spans by result, if tracing is enabled",
            self.spans.0.clone(),
        );
    }

    /// Has spans made from now on; the first tracer stays.
    pub(super) fn trace_with(&self, tracer: Tracer) {
        self.tracer.get_or_init(|| tracer);
    }

    /// Returns where spans are created, if tracing is enabled.
    pub fn tracer(&self) -> Option<&Tracer> {
        self.tracer.get()
    }

    /// Begins a span, if tracing is enabled and this one is sampled.
    pub fn open(&self, parent: impl FnOnce() -> Option<Parent>) -> Option<Open> {
        self.tracer()?.open(parent())
    }
}

/// A span that has begun.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    place: Place,
    begun: Timestamp,
    since: std::time::Instant,
}

/// Where spans are begun and ended.
#[derive(Clone, Debug)]
pub struct Tracer {
    queue: mpsc::Sender<Span>,
    ratio: Ratio,
    counts: SpanCounts,
}

impl Tracer {
    /// Returns a tracer, and what waits to be sent.
    pub(super) fn new(ratio: Ratio, counts: SpanCounts) -> (Self, mpsc::Receiver<Span>) {
        let (queue, waiting) = mpsc::channel(QUEUE_CAPACITY);
        let tracer = Self { queue, ratio, counts };
        (tracer, waiting)
    }

    /// Begins a span, if it is kept.
    pub fn open(&self, parent: Option<Parent>) -> Option<Open> {
        Some(Open {
            place: Place::new(parent, self.ratio)?,
            begun: Timestamp::now(),
            since: std::time::Instant::now(),
        })
    }

    /// Ends what was done for a caller.
    pub fn served(&self, open: Open, name: &'static str, facts: Vec<(&'static str, Fact)>) {
        self.end(open, name, SpanKind::Server, facts);
    }

    /// Ends what was done unasked.
    pub fn done(&self, open: Open, name: &'static str, facts: Vec<(&'static str, Fact)>) {
        self.end(open, name, SpanKind::Internal, facts);
    }

    fn end(&self, open: Open, name: &'static str, kind: SpanKind, facts: Vec<(&'static str, Fact)>) {
        let begun = u64::try_from(open.begun.as_nanosecond()).unwrap_or_default();
        let span = Span {
            place: open.place,
            name,
            kind,
            begun,
            ended: begun.saturating_add(nanoseconds(open.since.elapsed())),
            is_broken: facts.iter().any(|(_, fact)| *fact == Fact::Word(BROKEN)),
            facts,
        };
        if self.queue.try_send(span).is_err() {
            self.counts.count(SpanEnd::Dropped, 1);
        }
    }
}

/// The word of what is a bug of ours; a refusal is none.
const BROKEN: &str = "broken";

fn nanoseconds(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::trace_wire::export;

    #[test]
    fn a_full_queue_drops_and_counts_and_blocks_no_caller() {
        let metrics = TraceMetrics::default();
        let ratio = Ratio::parse("1").expect("a ratio");
        let (tracer, waiting) = Tracer::new(ratio, metrics.spans.clone());
        for _ in 0..QUEUE_CAPACITY + 3 {
            let open = tracer.open(None).expect("it is kept");
            tracer.done(open, "plan", Vec::new());
        }
        assert_eq!(waiting.len(), QUEUE_CAPACITY);
        let mut all = Registry::default();
        metrics.register(&mut all);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &all).expect("text");
        assert!(
            text.contains("trace_spans_total{outcome=\"dropped\"} 3"),
            "{text}"
        );
    }

    #[test]
    fn the_bytes_are_those_that_were_read_by_opentelemetrys_own_library() {
        let span = Span {
            place: Place {
                trace: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
                span: 0xb7ad_6b71_6920_3331,
                parent: Some(1),
            },
            name: "validate",
            kind: SpanKind::Server,
            begun: 1_000_000_001,
            ended: 2_000_000_002,
            facts: vec![
                ("a", Fact::Word("b")),
                ("c", Fact::Whether(true)),
                ("d", Fact::Number(-1)),
                ("e", Fact::Text("f".to_owned())),
            ],
            is_broken: true,
        };
        let hex: String = export(&[span])
            .iter()
            .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        expect_test::expect!["0ab5010a380a1a0a0c736572766963652e6e616d65120a0a0874696465676174650a1a0a0f736572766963652e76657273696f6e12070a05302e322e30127912770a100af7651916cd43dd8448eb211c80319c1208b7ad6b7169203331220800000000000000012a0876616c696461746530023901ca9a3b000000004102943577000000004a080a016112030a01624a070a0163120210014a100a0164120b18ffffffffffffffffff014a080a016512030a01667a021802"].assert_eq(&hex);
    }
}
