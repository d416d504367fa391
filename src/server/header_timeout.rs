//! The deadline for the head of a request.
//!
//! Decides when a caller that dribbles header bytes is cut off, while a connection at rest may stay open. hyper's own
//! timer cannot tell the two apart: it counts the rest between two requests as header time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// Tells the stream below how many heads have arrived and answers been made: odd while a request is being served.
#[derive(Clone, Debug, Default)]
pub(super) struct HeadSignal(Arc<AtomicUsize>);

impl HeadSignal {
    /// Notes that a head is complete.
    pub(super) fn arrived(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes that the answer is made: the next byte starts a new head.
    pub(super) fn answered(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes that no further head is waited for.
    pub(super) fn stays_open(&self) {
        self.0.store(1, Ordering::Release);
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

/// A stream that fails when a head takes too long.
#[derive(Debug)]
pub(super) struct HeadDeadline<S> {
    stream: S,
    signal: HeadSignal,
    seen: usize,
    limit: Duration,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> HeadDeadline<S> {
    /// Returns the stream with its first deadline running: a caller that connects has something to ask.
    pub(super) fn new(stream: S, signal: HeadSignal, limit: Duration) -> Self {
        let deadline = Some(Box::pin(tokio::time::sleep(limit)));
        Self {
            stream,
            signal,
            seen: 0,
            limit,
            deadline,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for HeadDeadline<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        let count = self.signal.count();
        if count != self.seen {
            // A whole request may have come and gone since the last read.
            self.seen = count;
            self.deadline = None;
        }
        if count % 2 == 1 {
            return read;
        }
        if let Some(deadline) = &mut self.deadline {
            // Bytes do not win against the deadline: a caller that always has one more would never be cut off.
            if deadline.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        } else if read.is_ready() && buf.filled().len() > before {
            let limit = self.limit;
            self.deadline = Some(Box::pin(tokio::time::sleep(limit)));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HeadDeadline<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
