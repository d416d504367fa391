//! Whether spans are sent, and where to.
//!
//! Decides only how words become a sender; `telemetry` sends.

use clap::Args;

use crate::cli::CliError;
use crate::telemetry::{Collector, Metrics, Ratio, Sending};

/// Whether spans are sent.
#[derive(Args, Clone, Debug)]
pub struct TraceArgs {
    /// Send traces of admission requests and of plans to this collector: OTLP over HTTP in the binary form, such as
    /// `http://collector:4318`. Off without it.
    #[arg(long, value_name = "URL", value_parser = Collector::parse)]
    pub otlp: Option<Collector>,
    /// The part of the traces that begin here which is kept, from 0 to 1; where the API server traces its requests, it decides.
    #[arg(long, value_name = "RATIO", default_value = "1", requires = "otlp", value_parser = Ratio::parse)]
    pub otlp_ratio: Ratio,
}

impl TraceArgs {
    /// Starts to send spans where that is asked for.
    pub(super) fn start(&self, metrics: &Metrics) -> Result<Option<Sending>, CliError> {
        let Some(collector) = &self.otlp else {
            return Ok(None);
        };
        let started = Sending::start(collector.clone(), self.otlp_ratio, metrics.traces());
        started.map(Some).map_err(|error| CliError::Start {
            part: "the sender of traces",
            source: Box::new(error),
        })
    }
}
