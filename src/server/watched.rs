//! A socket that is watched from below HTTP.
//!
//! Decides when a caller does not take what is written to it, and when it sends more than its requests explain: pings, settings and
//! windows without end. Never looks into a request.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::limits::Limits;
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
    limits: Limits,
    /// Runs while something that was written has not gone out.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, life: Arc<Life>, metrics: Metrics, frames: bool, limits: Limits) -> Self {
        Self {
            stream,
            life,
            metrics,
            frames,
            limits,
            deadline: None,
        }
    }

    /// Gives more time for bytes that found room: of an answer of tens of megabytes, something waits from its beginning to its
    /// end.
    fn goes_on(&mut self, bytes: usize) {
        if let Some(deadline) = &mut self.deadline {
            let earned = deadline.deadline() + self.limits.taken(bytes);
            let most = Instant::now() + self.limits.write;
            deadline.as_mut().reset(earned.min(most));
        }
    }

    /// Passes on what a write came to, unless it has been waited for too long.
    fn waits<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            return written;
        }
        let patience = self.limits.write;
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
        if let Poll::Ready(Ok(bytes)) = written {
            self.goes_on(bytes);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use crate::server::peer::Peer;

    /// Writes eight KiB to a caller that takes so many bytes every half second, where a KiB a second is asked for.
    async fn written_to(takes: usize) -> io::Result<()> {
        let limits = Limits {
            write: Duration::from_secs(1),
            write_rate: 1 << 10,
            ..Limits::default()
        };
        let (near, mut far) = tokio::io::duplex(1 << 10);
        let life = Life::new(Peer::from(IpAddr::from([127, 0, 0, 1])), Instant::now());
        let mut watched = Watched::new(near, Arc::new(life), Metrics::default(), false, limits);
        let taking = async {
            let mut taken = vec![0; takes];
            while far.read_exact(&mut taken).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        };
        tokio::select! {
            written = watched.write_all(&[7; 8 << 10]) => written,
            () = taking => Ok(()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_takes_a_long_answer_steadily_is_not_hung_up_on() {
        written_to(1 << 10).await.expect("in more than a second");
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_takes_too_little_of_it_is_hung_up_on() {
        let cut = written_to(1 << 7).await.expect_err("it would take half a minute");
        assert_eq!(cut.kind(), io::ErrorKind::TimedOut);
    }
}
