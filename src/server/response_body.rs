//! The body of an answer, until it has been taken.
//!
//! Decides nothing. It goes out in pieces, so that a caller which opens no window keeps us from handing it over, and that shows.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::Instant;

use super::connection_state::Connection;
use super::limits::Limits;

/// HTTP/2 takes a piece whenever the caller's window is open at all.
const PIECE: usize = 4 << 10;

/// A body that notifies its connection when it is dropped.
#[derive(Debug)]
pub(super) struct ResponseBody {
    body: Body,
    rest: Bytes,
    conn: Arc<Connection>,
    number: u64,
}

impl ResponseBody {
    pub(super) fn new(body: Body, conn: Arc<Connection>, limits: &Limits) -> Self {
        let bytes = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        let number = conn.begin_response(limits.answer(bytes), Instant::now());
        Self {
            body,
            rest: Bytes::new(),
            conn,
            number,
        }
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.rest = data,
                Some(Ok(Err(other))) => return Poll::Ready(Some(Ok(other))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let hint = self.body.size_hint();
        let mut size = SizeHint::new();
        size.set_lower(hint.lower() + rest);
        if let Some(upper) = hint.upper() {
            size.set_upper(upper + rest);
        }
        size
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.conn.response_written(self.number);
    }
}
