//! Renews the webhook's certificate: in a process of its own, or in the controllers that lead.
//!
//! Decides when to look: when something it rests on changes, and when the next step is due by the hub's clock. The steps
//! themselves are decided by `certificates`; each is one write, at the revision that it was decided from, so that two leaders do
//! no harm. A replica that does not lead writes nothing.

use std::time::Duration;

use futures::stream::SelectAll;
use futures::{FutureExt as _, StreamExt as _, stream::BoxStream};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::DynamicObject;
use kube::core::ObjectMeta;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::apply::{FIELD_MANAGER, apply_secret};
use super::issue::issue;
use super::targets::{self, Target};
use crate::controllers::runtime::api_watch::{ObservedObject, observed};
use crate::controllers::runtime::apply_error::root;
use crate::controllers::runtime::clock::{Clock, Trust, keep_time, read_date};
use crate::controllers::tide::Tide;
use crate::telemetry::Metrics;
use kubernetes::certificates::{AUTHORITIES, Data, Flaw, Holding, Lives, Step, Trusting, change, next};

/// Nothing is due: something changes before, or it is looked at again.
const FAR: Duration = Duration::from_hours(1);
/// Between looks while the time is not known.
const DOUBTFUL: Duration = Duration::from_secs(2);
/// Before a write that failed is tried again; it grows from the one to the other.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);

/// Which certificate is kept.
#[derive(Clone, Debug)]
pub struct CertificateOptions {
    /// Namespace of the Secret.
    pub namespace: String,
    /// Name of the Secret.
    pub secret: String,
    /// The name by which API servers call the gate.
    pub name: String,
    /// How long certificates hold, and how long news of them takes.
    pub lives: Lives,
}

/// Keeps the certificate until it is shut down.
#[derive(Debug)]
pub struct CertificateKeeper {
    stop: CancellationToken,
    task: JoinHandle<()>,
    trouble: watch::Receiver<Option<String>>,
}

impl CertificateKeeper {
    /// Begins to keep the certificate, whenever this replica leads.
    pub fn start(client: &Client, tide: &Tide, options: CertificateOptions) -> Self {
        Self::spawn(
            client,
            options,
            tide.clock(),
            tide.leading(),
            CancellationToken::new(),
        )
    }

    /// Begins to keep the certificate without controllers and without an election; fails when the hub does not answer.
    pub async fn alone(
        client: &Client,
        options: CertificateOptions,
        metrics: Metrics,
    ) -> Result<Self, kube::Error> {
        let clock = Clock::new(read_date(client).await?, metrics);
        let stop = CancellationToken::new();
        tokio::spawn(keep_time(client.clone(), clock.clone(), stop.clone()));
        let leads = watch::channel(true).1;
        Ok(Self::spawn(client, options, clock, leads, stop))
    }

    fn spawn(
        client: &Client,
        options: CertificateOptions,
        clock: Clock,
        leading: watch::Receiver<bool>,
        stop: CancellationToken,
    ) -> Self {
        let (troubled, trouble) = watch::channel(None);
        let keeper = Renewal::new(client, options, clock, leading, troubled);
        let task = tokio::spawn(keeper.run(stop.clone()));
        Self { stop, task, trouble }
    }

    /// Returns why cannot update the Secret of the certificate, now and whenever that changes; nothing where it can.
    pub fn trouble(&self) -> watch::Receiver<Option<String>> {
        self.trouble.clone()
    }

    /// Ends: a write in progress is finished.
    pub async fn shutdown(self) {
        self.stop.cancel();
        if self.task.await.is_err() {
            warn!("the certificate controller stopped unexpectedly");
        }
    }
}

/// Something was seen.
enum Seen {
    Secret(ObservedObject<Secret>),
    Target(usize, ObservedObject<DynamicObject>),
}

/// Why a step was not taken.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("cannot write {place}")]
    Write { place: String, source: kube::Error },
    #[error("cannot create a certificate")]
    Make(#[source] rcgen::Error),
}

/// Waits until the lead changes; where replicas do not elect it never does.
async fn changes(leading: &mut watch::Receiver<bool>) {
    if leading.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

struct Renewal {
    secrets: Api<Secret>,
    options: CertificateOptions,
    clock: Clock,
    leading: watch::Receiver<bool>,
    secret: Option<ObservedObject<Secret>>,
    targets: Vec<Target>,
    /// Which CA bundle every API server uses, and since when.
    agreed: Option<(Vec<u8>, Instant)>,
    failures: u32,
    troubled: watch::Sender<Option<String>>,
}

impl Renewal {
    fn new(
        client: &Client,
        options: CertificateOptions,
        clock: Clock,
        leading: watch::Receiver<bool>,
        troubled: watch::Sender<Option<String>>,
    ) -> Self {
        Self {
            secrets: Api::namespaced(client.clone(), &options.namespace),
            options,
            clock,
            leading,
            secret: None,
            targets: targets::all(client),
            agreed: None,
            failures: 0,
            troubled,
        }
    }

    async fn run(mut self, stop: CancellationToken) {
        let mut leading = self.leading.clone();
        loop {
            // Who follows reads nothing: it begins with what is there when it leads.
            tokio::select! {
                () = stop.cancelled() => return,
                led = leading.wait_for(|leads| *leads) => if led.is_err() { return },
            }
            (self.secret, self.agreed) = (None, None);
            self.targets.iter_mut().for_each(Target::forget);
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.lead(&stop) => {}
            }
        }
    }

    /// Acts until this replica no longer leads.
    async fn lead(&mut self, stop: &CancellationToken) {
        let (mut leading, mut seen) = (self.leading.clone(), self.observed());
        loop {
            // Whatever waits is taken first: a step decided from yesterday's picture is lost.
            while let Some(Some(news)) = seen.next().now_or_never() {
                self.take(news);
            }
            if !*leading.borrow_and_update() || stop.is_cancelled() {
                return;
            }
            let pause = match self.turn().await {
                Ok(pause) => {
                    self.failures = 0;
                    self.is_troubled_by(self.unreadable());
                    pause
                }
                Err(trouble) => self.complain(&trouble),
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                news = seen.next() => if let Some(news) = news { self.take(news) },
                () = changes(&mut leading) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    fn observed(&self) -> SelectAll<BoxStream<'static, Seen>> {
        let secret = observed(self.secrets.clone(), &self.options.secret).map(Seen::Secret);
        let targets = self.targets.iter().enumerate();
        let targets = targets.map(|(at, target)| {
            target
                .observed()
                .map(move |sight| Seen::Target(at, sight))
                .boxed()
        });
        futures::stream::select_all(targets.chain([secret.boxed()]))
    }

    fn take(&mut self, news: Seen) {
        match news {
            Seen::Secret(sight) => {
                if let ObservedObject::Unreadable { why, .. } = &sight {
                    warn!(secret = %self.place(), why, "cannot read the Secret of the certificate");
                }
                self.secret = Some(sight);
            }
            Seen::Target(at, sight) => {
                if let Some(target) = self.targets.get_mut(at) {
                    target.take(sight);
                }
            }
        }
    }

    /// Does what is due; returns when to look again.
    async fn turn(&mut self) -> Result<Duration, Trouble> {
        if self.clock.trust() != Trust::Known {
            return Ok(DOUBTFUL);
        }
        let secret = match &self.secret {
            Some(ObservedObject::There(secret)) => (**secret).clone(),
            Some(ObservedObject::Absent) => self.new_secret(),
            Some(ObservedObject::Unreadable { .. }) | None => return Ok(FAR),
        };
        let data: Data = secret
            .data
            .iter()
            .flatten()
            .map(|(key, bytes)| (key.clone(), bytes.0.clone()))
            .collect();
        let again = self.spread(&data).await?;
        let (now, trusted) = (self.clock.now(), self.trusted(&data));
        let step = next(
            &Holding::read(&data),
            &self.options.name,
            self.options.lives,
            trusted,
            now,
        );
        let pause = match &step {
            Step::Rest { until } => Duration::try_from(until.duration_since(now)).unwrap_or_default(),
            Step::Wait { at_least } => at_least.unwrap_or(FAR),
            Step::Prepare { .. } if self.unknown_trust() => FAR,
            Step::Prepare { .. } | Step::Promote | Step::Tidy => {
                self.step(secret, data, &step, now).await?;
                Duration::ZERO
            }
        };
        // A second that is not over yet would be requested again at once.
        let pause = pause.min(FAR).min(again.unwrap_or(FAR));
        Ok(if pause.is_zero() {
            pause
        } else {
            pause + Duration::from_millis(50)
        })
    }

    /// Whether an object's bundle has not been read yet: a Secret that was lost takes over the bundles that are found.
    fn unknown_trust(&self) -> bool {
        let mut targets = self.targets.iter();
        targets.any(|target| target.trusting(&self.options.name, &[]).is_none())
    }

    /// Returns why the Secret or a configuration cannot be read, if one cannot.
    fn unreadable(&self) -> Option<String> {
        match &self.secret {
            Some(ObservedObject::Unreadable { why, .. }) => {
                Some(format!("cannot read Secret {}: {why}", self.place()))
            }
            Some(ObservedObject::There(_) | ObservedObject::Absent) | None => {
                self.targets.iter().find_map(Target::unreadable)
            }
        }
    }

    /// Publishes what is in the way; returns whether that is new.
    fn is_troubled_by(&self, trouble: Option<String>) -> bool {
        self.troubled.send_if_modified(|known| {
            let is_new = *known != trouble;
            *known = trouble;
            is_new
        })
    }

    fn place(&self) -> String {
        format!("{}/{}", self.options.namespace, self.options.secret)
    }

    fn new_secret(&self) -> Secret {
        let label = ("app.kubernetes.io/name".to_owned(), "tidegate".to_owned());
        Secret {
            metadata: ObjectMeta {
                name: Some(self.options.secret.clone()),
                namespace: Some(self.options.namespace.clone()),
                labels: Some([label].into()),
                ..ObjectMeta::default()
            },
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        }
    }

    /// Has every API server trust what the Secret holds.
    async fn spread(&mut self, data: &Data) -> Result<Option<Duration>, Trouble> {
        let bundle = data.get(AUTHORITIES).map(Vec::as_slice).unwrap_or_default();
        if Holding::read(data).authorities.is_empty() {
            return Ok(None);
        }
        let mut again: Option<Duration> = None;
        for target in &mut self.targets {
            if target.trusting(&self.options.name, bundle) != Some(Trusting::Others) {
                continue;
            }
            let spread = target.spread(bundle, Instant::now()).await;
            let waits = spread.map_err(|source| Trouble::Write {
                place: target.place(),
                source,
            })?;
            again = waits.into_iter().chain(again).min();
        }
        Ok(again)
    }

    /// Returns for how long every API server has been told what the Secret holds.
    fn trusted(&mut self, data: &Data) -> Option<Duration> {
        let bundle = data.get(AUTHORITIES).cloned().unwrap_or_default();
        let told = |target: &Target| target.trusting(&self.options.name, &bundle);
        let agree = self
            .targets
            .iter()
            .all(|target| matches!(told(target), Some(Trusting::These | Trusting::Nothing)));
        if !agree {
            self.agreed = None;
            return None;
        }
        let same = self.agreed.take().filter(|(known, _)| *known == bundle);
        let (_, since) = self
            .agreed
            .insert(same.unwrap_or_else(|| (bundle, Instant::now())));
        Some(since.elapsed())
    }

    async fn step(
        &mut self,
        mut secret: Secret,
        mut data: Data,
        step: &Step,
        now: Timestamp,
    ) -> Result<(), Trouble> {
        let made = match step {
            Step::Prepare { .. } => {
                Some(issue(&self.options.name, self.options.lives, now).map_err(Trouble::Make)?)
            }
            Step::Promote | Step::Tidy | Step::Rest { .. } | Step::Wait { .. } => None,
        };
        let targets = self.targets.iter();
        let known: Vec<Vec<u8>> = targets
            .flat_map(|target| target.bundles(&self.options.name))
            .collect();
        change(&mut data, step, made, &known, now);
        let bytes = data.into_iter().map(|(key, bytes)| (key, ByteString(bytes)));
        secret.data = Some(bytes.collect());
        match apply_secret(&self.secrets, &secret, FIELD_MANAGER).await {
            Ok(stored) => {
                self.tell(step, &stored);
                self.secret = Some(ObservedObject::There(Box::new(stored)));
                Ok(())
            }
            // Another client was faster; the watch shows what it wrote.
            Err(kube::Error::Api(status)) if status.code == 409 => {
                self.secret = None;
                Ok(())
            }
            Err(source) => Err(Trouble::Write {
                place: format!("Secret {}", self.place()),
                source,
            }),
        }
    }

    fn tell(&self, step: &Step, stored: &Secret) {
        let secret = self.place();
        let revision = stored.metadata.resource_version.as_deref().unwrap_or_default();
        match step {
            Step::Prepare {
                because: Some(Flaw::Absent),
            } => info!(
                %secret, revision,
                "created the first certificate; the webhook serves it as soon as the API server trusts it"
            ),
            Step::Prepare { because: Some(flaw) } => warn!(
                %secret, revision, %flaw,
                "the certificate is not usable; created a new one, which the webhook serves as soon as the API server trusts it"
            ),
            Step::Prepare { because: None } => info!(
                %secret, revision,
                "renewing the certificate: created a new one, which the webhook serves as soon as the API server trusts it"
            ),
            Step::Promote => info!(%secret, revision, "serving the new certificate"),
            Step::Tidy => info!(%secret, revision, "removed obsolete certificates from the Secret"),
            Step::Rest { .. } | Step::Wait { .. } => {}
        }
    }

    /// Logs a failure once; returns when to retry.
    fn complain(&mut self, trouble: &Trouble) -> Duration {
        let text = format!("{trouble}: {}", root(trouble));
        if self.is_troubled_by(Some(text.clone())) {
            warn!(error = %text, "cannot update the Secret of the certificate");
        }
        let pause = FIRST.saturating_mul(1 << self.failures.min(6)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        pause
    }
}
