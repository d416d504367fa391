//! The socket of a connection below HTTP.
//!
//! Ends a connection whose client does not take what is written to it, that sends more than its requests explain (pings, settings and
//! window updates without end), or whose head of a request takes too long. hyper's own timer of heads also counts the time between two
//! requests. Never looks into a request.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::connection_state::Connection;
use super::limits::Limits;
use crate::telemetry::{Closed, Metrics};

/// Counts the heads that have arrived and the responses that were made: odd while a request is being served.
#[derive(Clone, Debug, Default)]
pub(super) struct HeadSignal(Arc<AtomicUsize>);

impl HeadSignal {
    /// Notes that a head is complete.
    pub(super) fn arrived(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes that the response is made: the next byte starts a new head.
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

/// The stream.
#[derive(Debug)]
pub(super) struct ClientStream<S> {
    stream: S,
    conn: Arc<Connection>,
    metrics: Metrics,
    /// Whether bytes are counted; the heads of HTTP/1.1 have bounds of their own.
    frames: bool,
    limits: Limits,
    /// Runs while something that was written has not gone out.
    write_deadline: Option<Pin<Box<Sleep>>>,
    heads: HeadSignal,
    heads_seen: usize,
    head_deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> ClientStream<S> {
    /// Returns the stream with its first deadline running: a client that connects has something to ask.
    pub(super) fn new(
        stream: S,
        conn: Arc<Connection>,
        metrics: Metrics,
        frames: bool,
        limits: Limits,
    ) -> Self {
        Self {
            stream,
            conn,
            metrics,
            frames,
            limits,
            write_deadline: None,
            heads: HeadSignal::default(),
            heads_seen: 0,
            head_deadline: Some(Box::pin(tokio::time::sleep(limits.head))),
        }
    }

    /// Returns the counter of heads and responses.
    pub(super) fn heads(&self) -> HeadSignal {
        self.heads.clone()
    }

    /// Extends the time for bytes that were accepted: of an answer of tens of megabytes, something waits from its beginning to its
    /// end.
    fn goes_on(&mut self, bytes: usize) {
        if let Some(deadline) = &mut self.write_deadline {
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
            .write_deadline
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(deadline.as_mut().poll(cx));
        self.metrics.connections().closes(Closed::SlowReader);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> ClientStream<S> {
    fn read_counted(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let bytes = buf.filled().len() - before;
        if self.frames && !self.conn.spend(bytes, Instant::now()) {
            self.metrics.connections().closes(Closed::Noise);
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = self.read_counted(cx, buf);
        let count = self.heads.count();
        if count != self.heads_seen {
            // A whole request may have come and gone since the last read.
            self.heads_seen = count;
            self.head_deadline = None;
        }
        if count % 2 == 1 {
            return read;
        }
        if let Some(deadline) = &mut self.head_deadline {
            // Bytes do not win against the deadline: a client that always has one more would never be cut off.
            if deadline.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        } else if read.is_ready() && buf.filled().len() > before {
            self.head_deadline = Some(Box::pin(tokio::time::sleep(self.limits.head)));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ClientStream<S> {
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
            self.write_deadline = None;
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

    use crate::server::connection_state::Peer;

    /// Writes eight KiB to a caller that takes so many bytes every half second, where a KiB a second is required.
    async fn written_to(takes: usize) -> io::Result<()> {
        let limits = Limits {
            write: Duration::from_secs(1),
            write_rate: 1 << 10,
            ..Limits::default()
        };
        let (near, mut far) = tokio::io::duplex(1 << 10);
        let conn = Connection::new(Peer::from(IpAddr::from([127, 0, 0, 1])), Instant::now());
        let mut stream = ClientStream::new(near, Arc::new(conn), Metrics::default(), false, limits);
        let taking = async {
            let mut taken = vec![0; takes];
            while far.read_exact(&mut taken).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        };
        tokio::select! {
            written = stream.write_all(&[7; 8 << 10]) => written,
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
