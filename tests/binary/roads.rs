//! A faulty connection between the controllers and a hub: it is cut, it hangs, responses are truncated or replaced.
//!
//! Which responses are faulty is the same in every run. Other responses pass unchanged.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// What the way to the hub does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Everything passes.
    Open = 0,
    /// New connections are closed unanswered, and what was open is cut.
    Gone = 1,
    /// Nothing is cut, and nothing passes.
    Silent = 2,
    /// Each connection is cut in the middle of some answer.
    Torn = 3,
}

/// The way from the controllers to the hub.
#[derive(Clone, Default)]
pub(crate) struct Road {
    way: Arc<AtomicU8>,
    torn: Arc<AtomicUsize>,
}

/// Who sends what is carried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    Controllers,
    Hub,
}

impl Road {
    pub(crate) async fn start(hub: String) -> (Self, String) {
        let road = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let this = road.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (this, hub) = (this.clone(), hub.clone());
                tokio::spawn(async move {
                    if this.is(Way::Gone) {
                        return;
                    }
                    let Ok(other) = TcpStream::connect(hub).await else {
                        return;
                    };
                    let ((from, to), (back, forth)) = (stream.into_split(), other.into_split());
                    tokio::select! {
                        () = this.carry(Sender::Controllers, from, forth) => {}
                        () = this.carry(Sender::Hub, back, to) => {}
                    }
                });
            }
        });
        (road, address)
    }

    fn is(&self, way: Way) -> bool {
        self.way.load(Ordering::Relaxed) == way as u8
    }

    pub(crate) fn set(&self, way: Way) {
        self.way.store(way as u8, Ordering::Relaxed);
    }

    /// How many answers have broken off.
    pub(crate) fn torn(&self) -> usize {
        self.torn.load(Ordering::Relaxed)
    }

    async fn carry(&self, sender: Sender, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; 16 * 1024];
        // Enough to get hold of each other, and then some of the answers; another end for each connection.
        let mut left = 8_000 + self.torn() * 7_919 % 60_000;
        loop {
            let read = tokio::select! {
                read = from.read(&mut buffer) => read,
                () = tokio::time::sleep(Duration::from_millis(100)) => {
                    if self.is(Way::Gone) {
                        return;
                    }
                    continue;
                }
            };
            while self.is(Way::Silent) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let Ok(read @ 1..) = read else { return };
            if self.is(Way::Torn) && sender == Sender::Hub {
                if read >= left {
                    self.torn.fetch_add(1, Ordering::Relaxed);
                    to.write_all(&buffer[..left]).await.ok();
                    return;
                }
                left -= read;
            }
            if to.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    }
}

/// A client of whose answers a third is a fault: 500, 429, and 409 to writes or 410 to watches, the same ones in every run.
pub(crate) fn striking(client: Client) -> Client {
    let count = Arc::new(AtomicU64::new(7));
    let service = tower::service_fn(move |request: Request<Body>| {
        let dice = count.fetch_add(1, Ordering::Relaxed).wrapping_mul(2_654_435_761) >> 7;
        let (client, path) = (client.clone(), request.uri().to_string());
        async move {
            let is_write = request.method() != http::Method::GET;
            let code = match dice % 10 {
                _ if !path.contains("/api") => 0,
                0 => 500,
                1 => 429,
                2 if is_write => 409,
                2 if path.contains("watch=") => 410,
                _ => 0,
            };
            if code == 0 {
                let answer: Response<Body> = client.send(request).await?;
                return Ok::<_, tower::BoxError>(answer.map(BodyExt::boxed_unsync));
            }
            let reason = ["InternalError", "TooManyRequests", "Conflict", "Expired"];
            let reason = reason[[500, 429, 409, 410]
                .iter()
                .position(|one| *one == code)
                .unwrap_or_default()];
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                "reason": reason, "message": "a fault on purpose"});
            let body = Full::from(status.to_string())
                .map_err(|never| match never {})
                .boxed_unsync();
            let answer = Response::builder()
                .status(code)
                .header("content-type", "application/json");
            Ok(answer.body(body)?)
        }
    });
    Client::new(service, "default")
}
