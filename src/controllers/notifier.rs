//! Sends notifications: one HTTP POST with a CloudEvent for each.
//!
//! Callers never wait: an event for which the queue is full is dropped and counted. Events are sent one after the other, in their order.
//! What a receiver answers is not logged, except for its status code.

use std::collections::VecDeque;
use std::error::Error as _;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::Full;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::{debug, info, warn};

use super::http_endpoint::HttpEndpoint;
use crate::telemetry::{Delivery, Metrics};
use plan::Notification;
use store::Name;

/// So many events wait to be sent.
const WAITING: usize = 256;
/// So often an event is sent if the receiver does not accept it.
const TRIES: u32 = 5;
/// The next pause is so many times as long as the last one.
const BACKOFF: u32 = 4;
/// So many events are remembered that were sent.
const REMEMBERED: usize = 1024;

/// Where notifications are sent, and how patiently.
#[derive(Clone, Debug)]
pub struct NotifierOptions {
    /// The receiver.
    pub to: HttpEndpoint,
    /// How long a receiver may take to answer.
    pub patience: Duration,
    /// The pause before the second try.
    pub pause: Duration,
}

impl From<HttpEndpoint> for NotifierOptions {
    fn from(to: HttpEndpoint) -> Self {
        Self {
            to,
            patience: Duration::from_secs(10),
            pause: Duration::from_secs(2),
        }
    }
}

/// Where notifications are queued.
#[derive(Clone, Debug)]
pub struct Notifier {
    queue: mpsc::Sender<(Name, Notification)>,
    metrics: Metrics,
}

impl Notifier {
    /// Starts to send; the task ends when the last clone is dropped and the queue is empty.
    pub fn start(options: NotifierOptions, metrics: Metrics, tasks: &mut JoinSet<()>) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING);
        info!(receiver = options.to.url.host(), "sending notifications");
        let sender = Sender {
            options,
            metrics: metrics.clone(),
            sent: VecDeque::new(),
        };
        tasks.spawn(sender.run(waiting));
        Self { queue, metrics }
    }

    /// Queues a notification; `hub` identifies the hub.
    pub fn notify(&self, hub: &Name, notification: &Notification) {
        let queued = self.queue.try_send((hub.clone(), notification.clone()));
        if queued.is_err() {
            let kind = notification.kind.event_type();
            self.metrics.notified(kind, Delivery::Dropped);
            warn!(
                kind,
                subject = notification.subject,
                "notification dropped: the queue is full"
            );
        }
    }
}

/// Why an event was not accepted.
enum Refusal {
    /// Another try may succeed.
    Unavailable(String),
    /// Every try would fail.
    Rejected(StatusCode),
}

struct Sender {
    options: NotifierOptions,
    metrics: Metrics,
    /// The ids of the last events that were sent: a rollout that stops again for the same content is no news.
    sent: VecDeque<String>,
}

impl Sender {
    async fn run(mut self, mut waiting: mpsc::Receiver<(Name, Notification)>) {
        while let Some((hub, notification)) = waiting.recv().await {
            if self.sent.contains(&notification.id) {
                continue;
            }
            let (kind, subject, id) = (
                notification.kind.event_type(),
                notification.subject.as_str(),
                &notification.id,
            );
            let event = Bytes::from(notification.cloud_event(&hub).to_string());
            match self.deliver(&event).await {
                Ok(()) => {
                    self.metrics.notified(kind, Delivery::Sent);
                    info!(kind, subject, id, "notification sent");
                    self.sent.truncate(REMEMBERED - 1);
                    self.sent.push_front(notification.id);
                }
                Err(why) => {
                    self.metrics.notified(kind, Delivery::Failed);
                    warn!(kind, subject, id, why, "cannot send a notification");
                }
            }
        }
    }

    async fn deliver(&self, event: &Bytes) -> Result<(), String> {
        let mut pause = self.options.pause;
        let mut tries = 1;
        loop {
            let answer = tokio::time::timeout(self.options.patience, self.post(event.clone())).await;
            let why = match answer {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(Refusal::Rejected(status))) => return Err(format!("the receiver returns {status}")),
                Ok(Err(Refusal::Unavailable(why))) => why,
                Err(_elapsed) => "the receiver does not respond in time".to_owned(),
            };
            if tries == TRIES {
                return Err(why);
            }
            debug!(tries, why, "notification not accepted");
            tokio::time::sleep(pause).await;
            tries += 1;
            pause = pause.saturating_mul(BACKOFF);
        }
    }

    /// A redirect is not followed: the token is for this receiver.
    async fn post(&self, event: Bytes) -> Result<(), Refusal> {
        let (client, token) = self.options.to.open().map_err(Refusal::Unavailable)?;
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(self.options.to.uri())
            .header(
                header::CONTENT_TYPE,
                "application/cloudevents+json; charset=utf-8",
            );
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, token);
        }
        let request = request.body(Full::new(event));
        let request = request.map_err(|error| Refusal::Unavailable(error.to_string()))?;
        let answer = client.request(request).await.map_err(|error| {
            let cause = error
                .source()
                .map_or_else(String::new, |cause| format!(": {cause}"));
            Refusal::Unavailable(format!("cannot reach the receiver: {error}{cause}"))
        })?;
        let status = answer.status();
        let may_pass = status.is_server_error()
            || [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT].contains(&status);
        match status {
            _ if status.is_success() => Ok(()),
            _ if may_pass => Err(Refusal::Unavailable(format!("the receiver returns {status}"))),
            _ => Err(Refusal::Rejected(status)),
        }
    }
}
