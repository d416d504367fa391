//! What one caller and all callers together may take.
//!
//! Decides the default of every bound. Each of them is held by a test.

use std::time::Duration;

/// Bounds of the serving path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a TLS handshake may take.
    pub handshake: Duration,
    /// How long the head of a request may take from its first byte; on a new connection, from the handshake.
    pub head: Duration,
    /// How long a connection may rest between two requests, pings or not; longer than an API server keeps one.
    pub idle: Duration,
    /// How long a connection may live that has never carried a review.
    pub unproven: Duration,
    /// How long a caller may take to receive an answer, and how long it may take none of it.
    pub write: Duration,
    /// How many bytes of an answer it must take in each second of the time that a large one has beyond that.
    pub write_rate: usize,
    /// How long the body of a request may take.
    pub body: Duration,
    /// How long a body may come as slowly as it likes.
    pub body_grace: Duration,
    /// How many bytes of a body, or of others on its connection, must come in each second after that, on average. A slower one is given
    /// up: what it holds is free, and its response is sent in the second half of the time of a body.
    pub body_rate: usize,
    /// The largest body that is read, in bytes. An API server stores objects of 1.5 MiB, lets 3 MiB in,
    /// and sends an update with both versions.
    pub body_bytes: usize,
    /// How many bytes of a larger body are discarded, so that its sender receives the response.
    pub discarded_bytes: usize,
    /// How many bytes of bodies may be held at once; those that have come count, not those that were announced.
    pub buffered_bytes: usize,
    /// How many connections may be open; a further one takes the place of the one that is missed least.
    pub connections: usize,
    /// How many connections one address may have before it goes first when there is no place left.
    pub modest: usize,
    /// How many requests may be in progress, from their head to their answer.
    pub requests: usize,
    /// How many small reviews may be decided at once.
    pub concurrent: usize,
    /// How many large ones; they have threads of their own.
    pub concurrent_large: usize,
    /// From how many bytes on a review is large.
    pub large_bytes: usize,
    /// How many bytes of trees all decisions together may build; a request that does not fit in its time is answered with 429.
    pub tree_bytes: usize,
    /// How many requests may wait to be decided, of each size.
    pub waiting: usize,
    /// How long a caller waits for its answer from the head of its request on, unless it says so itself.
    pub caller_timeout: Duration,
    /// How long a request may take to be decided after it was read, the wait for its turn included; never longer than its caller
    /// waits, less a margin.
    pub decision: Duration,
    /// How long a decision that was stopped may take to end.
    pub decision_grace: Duration,
    /// How long a body may wait for memory.
    pub patience: Duration,
    /// How many requests may ask the hub something at once; further ones are answered without.
    pub confirming: usize,
    /// How long the hub may take to say whether an object exists.
    pub confirm: Duration,
    /// How long to go on serving after a shutdown was requested, so that routes to this server can be withdrawn.
    pub linger: Duration,
    /// How long open requests may take after that.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            handshake: Duration::from_secs(5),
            head: Duration::from_secs(2),
            idle: Duration::from_secs(100),
            unproven: Duration::from_secs(10),
            write: Duration::from_secs(5),
            write_rate: 1 << 20,
            body: Duration::from_secs(8),
            body_grace: Duration::from_secs(1),
            body_rate: 16 << 10,
            body_bytes: 7 << 20,
            discarded_bytes: 64 << 20,
            // Two conversions of a whole list, which one caller sends: alone it may have half of it.
            buffered_bytes: 144 << 20,
            connections: 512,
            modest: 16,
            requests: 1024,
            concurrent: cores * 2,
            concurrent_large: cores.div_ceil(2),
            large_bytes: 64 << 10,
            // Two objects of the largest size at once.
            tree_bytes: 192 << 20,
            waiting: 1024,
            caller_timeout: Duration::from_secs(admission::TIMEOUT_SECONDS),
            // Far shorter than a caller waits: what cannot be judged soon is refused soon.
            decision: Duration::from_millis(1200),
            decision_grace: Duration::from_millis(150),
            patience: Duration::from_millis(200),
            confirming: 32,
            confirm: Duration::from_millis(150),
            linger: Duration::ZERO,
            drain: Duration::from_secs(10),
        }
    }
}

impl Limits {
    /// Returns how long a caller may take to receive an answer of so many bytes; never longer than `/convert` gives it to send a
    /// question of that size.
    pub(super) fn answer(&self, bytes: usize) -> Duration {
        let whole = self.write.saturating_add(self.taken(bytes));
        whole.min(self.write.saturating_mul(4))
    }

    /// Returns how long a caller may take for some more bytes of an answer.
    pub(super) fn taken(&self, bytes: usize) -> Duration {
        let millis = bytes.saturating_mul(1000) / self.write_rate.max(1);
        Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    /// How often a connection is looked at; a limit is met a little late, and never early.
    pub(super) fn look_every(&self) -> Duration {
        let shortest = self.idle.min(self.unproven).min(self.write);
        (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(1))
    }
}
