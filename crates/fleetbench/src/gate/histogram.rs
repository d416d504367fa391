//! What the gate says of itself: the histogram of its own answering times, read from its metrics.
//!
//! Decides how buckets become a share: the bound below which that share of the answers lies. Never guesses inside a bucket.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::error::BenchError;

/// The metric: seconds from the whole request to its answer.
const METRIC: &str = "tidegate_admission_duration_seconds_bucket";

/// How many answers took at most so many nanoseconds, over all doors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Histogram(BTreeMap<u64, u64>);

impl Histogram {
    /// Reads it from a gate.
    pub(super) async fn read(address: SocketAddr) -> Result<Self, BenchError> {
        let failed = |error: &dyn std::fmt::Display| BenchError::Gate(format!("its metrics: {error}"));
        let stream = TcpStream::connect(address)
            .await
            .map_err(|error| failed(&error))?;
        let (mut sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(&error))?;
        let connection = tokio::spawn(connection);
        let request = Request::get("/metrics").header("host", address.to_string());
        let request = request
            .body(Empty::<Bytes>::new())
            .map_err(|error| failed(&error))?;
        let response = sender
            .send_request(request)
            .await
            .map_err(|error| failed(&error))?;
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(|error| failed(&error))?;
        connection.abort();
        Ok(Self::parse(&String::from_utf8_lossy(&body.to_bytes())))
    }

    fn parse(text: &str) -> Self {
        let mut buckets = BTreeMap::new();
        let lines = text.lines().filter(|line| line.starts_with(METRIC));
        for line in lines {
            let bound = line.split("le=\"").nth(1).and_then(|rest| rest.split('"').next());
            let count = line
                .rsplit("} ")
                .next()
                .and_then(|rest| rest.split_whitespace().next());
            let (Some(bound), Some(count)) = (
                bound.and_then(nanos),
                count.and_then(|count| count.parse::<u64>().ok()),
            ) else {
                continue;
            };
            let known: &mut u64 = buckets.entry(bound).or_default();
            *known = known.saturating_add(count);
        }
        Self(buckets)
    }

    /// Returns the answers that came after an earlier look.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let grown = self.0.iter().map(|(bound, count)| {
            let before = earlier.0.get(bound).copied().unwrap_or_default();
            (*bound, count.saturating_sub(before))
        });
        Self(grown.collect())
    }

    /// Returns the bound, in nanoseconds, within which this many of a thousand answers came; `None` beyond the last bucket.
    pub(super) fn within(&self, of_thousand: u64) -> Option<u64> {
        let all = self.0.values().copied().max()?;
        let wanted = all.saturating_mul(of_thousand).div_ceil(1000);
        let found = self.0.iter().find(|(_, count)| **count >= wanted && wanted > 0);
        found.map(|(bound, _)| *bound).filter(|bound| *bound != u64::MAX)
    }
}

/// Returns a bound in nanoseconds; the last bucket has no bound.
fn nanos(text: &str) -> Option<u64> {
    if text == "+Inf" {
        return Some(u64::MAX);
    }
    let seconds: f64 = text.parse().ok()?;
    u64::try_from(std::time::Duration::try_from_secs_f64(seconds).ok()?.as_nanos()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "tidegate_admission_duration_seconds_bucket{le=\"0.00005\",door=\"mutate\"} 10\n\
        tidegate_admission_duration_seconds_bucket{le=\"0.0001\",door=\"mutate\"} 99\n\
        tidegate_admission_duration_seconds_bucket{le=\"+Inf\",door=\"mutate\"} 100\n\
        tidegate_admission_duration_seconds_count{door=\"mutate\"} 100\n";

    #[test]
    fn a_share_is_told_by_the_bound_that_holds_it() {
        let histogram = Histogram::parse(TEXT);
        assert_eq!(histogram.within(100), Some(50_000));
        assert_eq!(histogram.within(990), Some(100_000));
        assert_eq!(histogram.within(1000), None, "the slowest is beyond all bounds");
        assert_eq!(Histogram::default().within(500), None);
        let nothing = histogram.since(&histogram);
        assert_eq!(nothing.within(500), None, "nothing came since");
    }
}
