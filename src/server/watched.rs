//! A socket that is watched from below HTTP.
//!
//! Decides when a caller does not take what is written to it, and when it sends more than its requests explain: pings, settings and
//! windows without end. Never looks into a request.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::peer::Life;
use crate::telemetry::{Closed, Metrics};

/// The stream.
#[derive(Debug)]
pub(super) struct Watched<S> {
    stream: S,
    life: Arc<Life>,
    metrics: Metrics,
    /// Whether bytes are counted; the heads of HTTP/1.1 have bounds of their own.
    frames: bool,
    patience: Duration,
    /// Runs while something that was written has not gone out.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Watched<S> {
    pub(super) fn new(
        stream: S,
        (life, metrics): (Arc<Life>, Metrics),
        frames: bool,
        patience: Duration,
    ) -> Self {
        Self {
            stream,
            life,
            metrics,
            frames,
            patience,
            deadline: None,
        }
    }

    /// Passes on what a write came to, unless it has been waited for too long.
    fn waits<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            return written;
        }
        let patience = self.patience;
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(deadline.as_mut().poll(cx));
        self.metrics.door().closes(Closed::SlowReader);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let bytes = buf.filled().len() - before;
        if self.frames && !self.life.receives(bytes, Instant::now()) {
            self.metrics.door().closes(Closed::Noise);
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.waits(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if let Poll::Ready(Ok(())) = flushed {
            self.deadline = None;
        }
        self.waits(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.waits(cx, shut)
    }
}
