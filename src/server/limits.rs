//! What one caller and all callers together may take.
//!
//! Decides the default of every bound. Each of them is held by a test.

use std::time::Duration;

use super::json_bounds::JsonBounds;

/// Bounds of the serving path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a TLS handshake may take.
    pub handshake: Duration,
    /// How long the head of a request may take from its first byte; on a new connection, from the handshake.
    pub head: Duration,
    /// How long a connection may rest between two requests; longer than an API server keeps one.
    pub idle: Duration,
    /// How long the body of a request may take.
    pub body: Duration,
    /// How long a body may come as slowly as it likes.
    pub body_grace: Duration,
    /// How many bytes of a body must come in each second after that, on average.
    pub body_rate: usize,
    /// The largest body, in bytes.
    pub body_bytes: usize,
    /// How many bytes of bodies may be held at once.
    pub buffered_bytes: usize,
    /// Bounds of the JSON inside a body.
    pub json: JsonBounds,
    /// How many connections may be open; further ones wait to be accepted.
    pub connections: usize,
    /// How many requests may be decided at once.
    pub concurrent: usize,
    /// How many requests may wait for their turn.
    pub waiting: usize,
    /// How long a request may wait for its turn.
    pub patience: Duration,
    /// How many requests may ask the hub something at once; further ones are answered without.
    pub confirming: usize,
    /// How long the hub may take to say whether an object exists.
    pub confirm: Duration,
    /// How long to go on serving after a shutdown was asked for, so that routes to this server can be withdrawn.
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
            body: Duration::from_secs(5),
            body_grace: Duration::from_secs(1),
            body_rate: 16 << 10,
            body_bytes: 3 << 20,
            buffered_bytes: 64 << 20,
            json: JsonBounds::default(),
            connections: 512,
            concurrent: cores * 2,
            waiting: 64,
            patience: Duration::from_millis(200),
            confirming: 32,
            confirm: Duration::from_millis(150),
            linger: Duration::ZERO,
            drain: Duration::from_secs(10),
        }
    }
}
