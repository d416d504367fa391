//! The queue of owners that wait to be planned, under the names that Kubernetes' own controllers have.
//!
//! Decides names and buckets. Ages are worked out at every scrape: a loop that has come to a stop shows by them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The label of every line: there is one queue.
const NAME: [(&str, &str); 1] = [("name", "owners")];

/// From a tenth of a millisecond, an idle loop, to minutes, one that is far behind.
fn buckets() -> Histogram {
    Histogram::new([0.000_1, 0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0])
}

/// What is in the queue, and what was taken out of it and is not done.
#[derive(Clone, Debug, Default)]
struct State {
    due: usize,
    oldest: Option<Instant>,
    running: Vec<Instant>,
}

type ByName<M, C = fn() -> M> = Family<[(&'static str, &'static str); 1], M, C>;

/// What is counted of the queue. Clones count into the same place.
#[derive(Clone, Debug)]
pub struct QueueMetrics {
    adds: ByName<Counter>,
    retries: ByName<Counter>,
    waited: ByName<Histogram>,
    worked: ByName<Histogram>,
    state: Arc<Mutex<State>>,
}

impl Default for QueueMetrics {
    fn default() -> Self {
        Self {
            adds: Family::new_with_constructor(Counter::default),
            retries: Family::new_with_constructor(Counter::default),
            waited: Family::new_with_constructor(buckets),
            worked: Family::new_with_constructor(buckets),
            state: Arc::default(),
        }
    }
}

impl QueueMetrics {
    /// Registers what Kubernetes has a name for among `plain`, and the rest among `own`.
    pub(super) fn register(&self, plain: &mut Registry, own: &mut Registry) {
        plain.register(
            "workqueue_adds",
            "Owners added to the queue; an owner that is already queued is not added again",
            self.adds.clone(),
        );
        plain.register(
            "workqueue_retries",
            "Owners added to the queue again after a failure",
            self.retries.clone(),
        );
        plain.register_with_unit(
            "workqueue_queue_duration",
            "Time from when an owner was due until it was taken from the queue",
            Unit::Seconds,
            self.waited.clone(),
        );
        plain.register_with_unit(
            "workqueue_work_duration",
            "Time to plan an owner and to apply its plan",
            Unit::Seconds,
            self.worked.clone(),
        );
        plain.register_collector(Box::new(Ages(Arc::clone(&self.state))));
        own.register_collector(Box::new(Oldest(Arc::clone(&self.state))));
        for counter in [&self.adds, &self.retries] {
            drop(counter.get_or_create(&NAME));
        }
        for histogram in [&self.waited, &self.worked] {
            drop(histogram.get_or_create(&NAME));
        }
    }

    /// Counts an owner that is put into the queue.
    pub fn added(&self) {
        self.adds.get_or_create(&NAME).inc();
    }

    /// Counts an owner that is put into it again because something failed.
    pub fn retried(&self) {
        self.retries.get_or_create(&NAME).inc();
    }

    /// Counts an owner that is taken out.
    pub fn taken(&self, waited: Duration) {
        self.waited.get_or_create(&NAME).observe(waited.as_secs_f64());
    }

    /// Counts an owner that is done.
    pub fn done(&self, worked: Duration) {
        self.worked.get_or_create(&NAME).observe(worked.as_secs_f64());
    }

    /// Notes how many owners are due, since when the first of them is, and since when others are being seen to.
    pub fn stands(&self, due: usize, oldest: Option<Instant>, running: impl IntoIterator<Item = Instant>) {
        let mut state = lock(&self.state);
        state.due = due;
        state.oldest = oldest;
        state.running.clear();
        state.running.extend(running);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The gauges that Kubernetes has a name for.
#[derive(Debug)]
struct Ages(Arc<Mutex<State>>);

impl Collector for Ages {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let (state, now) = (lock(&self.0).clone(), Instant::now());
        let ages = || {
            state
                .running
                .iter()
                .map(|since| now.saturating_duration_since(*since))
        };
        #[expect(clippy::cast_precision_loss, reason = "owners are fewer than that")]
        let due = state.due as f64;
        let seconds = Some(&Unit::Seconds);
        let gauges = [
            ("workqueue_depth", "Owners that are due and waiting", None, due),
            (
                "workqueue_unfinished_work",
                "Total time of the reconciliations in progress",
                seconds,
                ages().sum::<Duration>().as_secs_f64(),
            ),
            (
                "workqueue_longest_running_processor",
                "Time of the longest reconciliation in progress",
                seconds,
                ages().max().unwrap_or_default().as_secs_f64(),
            ),
        ];
        for (name, help, unit, value) in gauges {
            let mut metric = encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?;
            ConstGauge::new(value).encode(metric.encode_family(&NAME)?)?;
        }
        Ok(())
    }
}

/// The gauge that Kubernetes has no name for.
#[derive(Debug)]
struct Oldest(Arc<Mutex<State>>);

impl Collector for Oldest {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let oldest = lock(&self.0).oldest;
        let age = oldest.map(|since| Instant::now().saturating_duration_since(since));
        let metric = encoder.encode_descriptor(
            "workqueue_oldest",
            "Waiting time of the owner that has been due longest",
            Some(&Unit::Seconds),
            MetricType::Gauge,
        )?;
        ConstGauge::new(age.unwrap_or_default().as_secs_f64()).encode(metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;

    #[test]
    fn a_loop_that_has_stopped_shows_by_ages_that_grow() {
        let (mut plain, mut own) = (Registry::default(), Registry::with_prefix("tidegate"));
        let queue = QueueMetrics::default();
        queue.register(&mut plain, &mut own);
        let past = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds));
        queue.added();
        queue.stands(2, past(50), [past(30), past(10)].into_iter().flatten());
        let number = |all: &Registry, name: &str| -> Option<f64> {
            let mut text = String::new();
            encode(&mut text, all).expect("text");
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        let of_owners = |name: &str| number(&plain, &format!("{name}{{name=\"owners\"}}")).expect("a number");
        assert!((of_owners("workqueue_depth") - 2.0).abs() < 0.01);
        assert!((of_owners("workqueue_adds_total") - 1.0).abs() < 0.01);
        assert!((of_owners("workqueue_unfinished_work_seconds") - 40.0).abs() < 5.0);
        assert!((of_owners("workqueue_longest_running_processor_seconds") - 30.0).abs() < 5.0);
        let oldest = number(&own, "tidegate_workqueue_oldest_seconds").expect("a number");
        assert!((oldest - 50.0).abs() < 5.0, "{oldest}");
    }
}
