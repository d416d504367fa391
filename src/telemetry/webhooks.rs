//! What is wrong with the webhook configurations, as a metric.
//!
//! Decides names and labels. Never decides what is wrong.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FaultLabel {
    fault: &'static str,
}

/// What is wrong with the webhooks. Clones note into the same place.
#[derive(Clone, Debug, Default)]
pub struct WebhookMetrics {
    faults: Family<FaultLabel, Gauge>,
}

impl WebhookMetrics {
    pub(super) fn register(&self, all: &mut Registry) {
        all.register(
            "webhook_faults",
            "Webhooks that are not registered as they should be, and mutating ones of others that are asked about add-ons",
            self.faults.clone(),
        );
    }

    /// Notes how many faults of each sort there are; sorts without any count 0.
    pub fn told(&self, faults: impl IntoIterator<Item = (&'static str, usize)>) {
        for (fault, count) in faults {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.faults.get_or_create(&FaultLabel { fault }).set(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;

    #[test]
    fn each_sort_of_fault_is_counted() {
        let webhooks = WebhookMetrics::default();
        webhooks.told([("missing", 2), ("foreign", 1)]);
        webhooks.told([("missing", 0), ("foreign", 1)]);
        let mut all = Registry::default();
        webhooks.register(&mut all);
        let mut text = String::new();
        encode(&mut text, &all).expect("text");
        for line in [
            "webhook_faults{fault=\"missing\"} 0",
            "webhook_faults{fault=\"foreign\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
