//! The user and the time of a request, as the webhook records them in an object.

use jiff::{SignedDuration, Timestamp};

use super::request::Request;

/// The recorded time is that of the first webhook; the second one is called later.
const LATER: SignedDuration = SignedDuration::from_mins(1);

/// The user and the time of a request.
pub(super) struct Author {
    pub(super) name: String,
    pub(super) now: Timestamp,
}

impl Author {
    /// Returns the author of a request; absent without a request, as in an audit.
    pub(super) fn of(request: &Request<'_>) -> Option<Self> {
        let user = request.circumstances.read_user()?;
        Some(Self {
            name: user.username,
            now: request.circumstances.now?,
        })
    }

    /// Returns whether a recorded time is that of the request.
    pub(super) fn is_now(&self, at: Timestamp) -> bool {
        self.now.duration_since(at).abs() <= LATER
    }
}
