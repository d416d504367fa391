//! The watch of one type of configuration.
//!
//! Watches identity and revision of all objects of the type, and reads the content of those that are referred to, to leave
//! nothing of it but a hash. Decides when the type counts as forbidden or not served; never gives up, and never logs what an
//! object says.

use std::time::Duration;

use futures::StreamExt;
use kube::core::{DynamicObject, PartialObjectMeta};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::ledger::{Ledger, Look, Stamp};
use super::served::{Discovery, Served, Unknown};
use crate::controllers::runtime::api_watch::{api_code, observe};
use crate::controllers::runtime::raw::Raw;
use store::{Absence, ConfigLookup, ConfigRef, ConfigType, Event, ObservedConfig, TypeFault, absence};

/// Objects of one type that are read at the same time.
const AT_ONCE: usize = 8;
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// A watch that is refused is begun again after a pause that is shorter than this; one that is not refused says nothing.
const QUIET: Duration = Duration::from_secs(70);

/// What a watch receives about a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// Look at it.
    Begin(ConfigRef),
    /// No object refers to it any more.
    End(ConfigRef),
}

/// The receiver of events, or the sender of orders, has ended.
#[derive(Debug)]
struct Over;

/// An object that was read, or why it was not.
type Read = (ConfigRef, kube::Result<ObservedConfig>);
type Shown = watcher::Event<PartialObjectMeta<DynamicObject>>;

/// What was told last about the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TypeReport {
    Nothing,
    Fine,
    Faulty(TypeFault),
}

pub(super) struct TypeWatch {
    client: Client,
    discovery: Discovery,
    of: ConfigType,
    orders: mpsc::UnboundedReceiver<Order>,
    events: mpsc::Sender<Event>,
    ledger: Ledger,
    /// What the watch itself suffers from.
    fault: Option<TypeFault>,
    listed: bool,
    /// When a refused watch counts as begun, unless it is refused again.
    quiet_at: Option<Instant>,
    told: TypeReport,
}

impl TypeWatch {
    pub(super) fn new(
        client: Client,
        discovery: Discovery,
        of: ConfigType,
        orders: mpsc::UnboundedReceiver<Order>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        Self {
            client,
            discovery,
            of,
            orders,
            events,
            ledger: Ledger::default(),
            fault: None,
            listed: false,
            quiet_at: None,
            told: TypeReport::Nothing,
        }
    }

    /// Watches until the receiver of events, or the sender of orders, has ended.
    pub(super) async fn run(mut self) {
        let over = self.run_on().await;
        debug!(of = %self.of, ?over, "watch ended");
    }

    async fn run_on(&mut self) -> Over {
        let mut pause = FIRST;
        loop {
            match self.discovery.read_served(&self.of).await {
                Ok(Some(served)) => {
                    let watched = self.watch(&served).await;
                    // A rejected list is reported before the pause.
                    let told = match watched {
                        Ok(()) => self.tell().await,
                        Err(over) => Err(over),
                    };
                    if let Err(over) = told {
                        return over;
                    }
                    if self.listed {
                        pause = FIRST;
                    }
                }
                Ok(None) => {
                    self.fault = Some(TypeFault::NotServed);
                    if let Err(over) = self.tell().await {
                        return over;
                    }
                }
                Err(Unknown::Asked(error)) => {
                    warn!(of = %self.of, error = %in_short(&error), "API discovery failed");
                }
                Err(Unknown::Pausing) => {}
            }
            if let Err(over) = self.rest(pause).await {
                return over;
            }
            pause = pause.saturating_mul(2).min(LONGEST);
        }
    }

    /// Watches until the hub serves the type no more.
    async fn watch(&mut self, served: &Served) -> Result<(), Over> {
        let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(self.client.clone(), &served.resource);
        let mut stream = observe(api, watcher::Config::default());
        let mut reads: JoinSet<Read> = JoinSet::new();
        self.listed = false;
        self.quiet_at = None;
        self.ledger.begin_again();
        loop {
            self.begin_reads(served, &mut reads).await?;
            self.tell().await?;
            let retry = self.ledger.next_retry().filter(|_| reads.len() < AT_ONCE);
            let wake = retry.into_iter().chain(self.quiet_at).min();
            let due = async { tokio::time::sleep_until(wake.unwrap_or_else(Instant::now)).await };
            tokio::select! {
                next = stream.next() => match next {
                    Some(Ok(event)) => self.shown(event),
                    Some(Err(error)) if api_code(&error) == Some(404) => return Ok(()),
                    Some(Err(error)) => {
                        self.suffer(&error);
                        // The stream's own pauses between lists do not grow: each attempt begins with an event.
                        if !self.listed {
                            return Ok(());
                        }
                    }
                    None => return Ok(()),
                },
                order = self.orders.recv() => self.obey(order)?,
                Some(read) = reads.join_next(), if !reads.is_empty() => {
                    if let Ok((config, result)) = read {
                        self.look(config, result).await?;
                    }
                }
                () = due, if wake.is_some() => self.grow_quiet(),
            }
        }
    }

    fn grow_quiet(&mut self) {
        if self.quiet_at.is_some_and(|at| at <= Instant::now()) {
            self.quiet_at = None;
            self.fault = None;
        }
    }

    fn obey(&mut self, order: Option<Order>) -> Result<(), Over> {
        match order {
            Some(Order::Begin(config)) => self.ledger.begin(config),
            Some(Order::End(config)) => self.ledger.end(&config),
            None => return Err(Over),
        }
        Ok(())
    }

    /// Takes orders while there is nothing to watch.
    async fn rest(&mut self, pause: Duration) -> Result<(), Over> {
        let end = Instant::now() + pause;
        loop {
            tokio::select! {
                order = self.orders.recv() => self.obey(order)?,
                () = tokio::time::sleep_until(end) => return Ok(()),
            }
        }
    }

    async fn begin_reads(&mut self, served: &Served, reads: &mut JoinSet<Read>) -> Result<(), Over> {
        while reads.len() < AT_ONCE {
            let now = Instant::now();
            let Some(config) = self.ledger.next(now) else {
                return Ok(());
            };
            let why = absence(&config, served.namespaced);
            if why != Absence::Missing || !is_addressable(&config) {
                self.ledger.looked(&config, Look::Nothing, now);
                self.answer(config, ConfigLookup::Absent(why)).await?;
                continue;
            }
            let api: Api<Raw> = if served.namespaced {
                Api::namespaced_with(self.client.clone(), &config.namespace, &served.resource)
            } else {
                Api::all_with(self.client.clone(), &served.resource)
            };
            reads.spawn(async move {
                let read = api.get(&config.name).await;
                let read = read.and_then(|raw| match raw.unread() {
                    // Its hash is not known; what is known of it stays.
                    Some(why) => Err(kube::Error::Service(why.into())),
                    None => Ok(ObservedConfig::of(&raw.object())),
                });
                (config, read)
            });
        }
        Ok(())
    }

    async fn look(&mut self, config: ConfigRef, result: kube::Result<ObservedConfig>) -> Result<(), Over> {
        let (look, answer) = match result {
            Ok(seen) => {
                let stamp = Stamp {
                    uid: seen.uid.to_string(),
                    version: seen.version.to_string(),
                    generation: seen.generation,
                };
                (Look::Found(stamp), Some(ConfigLookup::Exists(seen)))
            }
            Err(kube::Error::Api(status)) if status.code == 404 && status.reason == "NotFound" => {
                (Look::Nothing, Some(ConfigLookup::Absent(Absence::Missing)))
            }
            Err(error) => {
                let forbidden = matches!(&error, kube::Error::Api(status) if status.code == 403);
                if forbidden {
                    // Told once for the type.
                    debug!(%config, error = %in_short(&error), "cannot read a configuration");
                } else {
                    warn!(%config, error = %in_short(&error), "cannot read a configuration");
                }
                (Look::Failed { forbidden }, None)
            }
        };
        let is_wanted = self.ledger.looked(&config, look, Instant::now());
        match answer {
            Some(answer) if is_wanted => self.answer(config, answer).await,
            Some(_) | None => Ok(()),
        }
    }

    fn shown(&mut self, event: Shown) {
        match event {
            watcher::Event::Init => self.ledger.list_begins(),
            watcher::Event::InitApply(object) => {
                let (config, stamp) = self.identify(&object);
                self.ledger.shown(config, &stamp);
            }
            watcher::Event::InitDone => {
                self.ledger.list_ends();
                self.listed = true;
                if self.quiet_at.is_none() {
                    self.fault = None;
                }
            }
            watcher::Event::Apply(object) => {
                let (config, stamp) = self.identify(&object);
                self.ledger.shown(config, &stamp);
                (self.quiet_at, self.fault) = (None, None);
            }
            watcher::Event::Delete(object) => {
                let (config, _) = self.identify(&object);
                self.ledger.gone(config);
                (self.quiet_at, self.fault) = (None, None);
            }
        }
    }

    fn identify(&self, object: &PartialObjectMeta<DynamicObject>) -> (ConfigRef, Stamp) {
        let config = ConfigRef {
            of: self.of.clone(),
            namespace: object.namespace().unwrap_or_default().into(),
            name: object.name_any().into(),
        };
        let stamp = Stamp {
            uid: object.uid().unwrap_or_default(),
            version: object.resource_version().unwrap_or_default(),
            generation: object.metadata.generation.unwrap_or_default(),
        };
        (config, stamp)
    }

    /// The stream goes on by itself after a pause.
    fn suffer(&mut self, error: &watcher::Error) {
        let is_list = matches!(error, watcher::Error::InitialListFailed(_));
        let verb = if is_list { "list" } else { "watch" };
        if api_code(error) == Some(403) {
            self.fault = Some(TypeFault::Forbidden { verb });
            self.quiet_at = (verb == "watch").then(|| Instant::now() + QUIET);
        } else {
            warn!(of = %self.of, verb, error = %watch_in_short(error), "watch interrupted");
        }
    }

    /// Reports a fault at once, and its end when everything has been read again.
    async fn tell(&mut self) -> Result<(), Over> {
        let looks = self
            .ledger
            .is_forbidden()
            .then_some(TypeFault::Forbidden { verb: "get" });
        let fault = self.fault.or(looks);
        let told = fault.map_or(TypeReport::Fine, TypeReport::Faulty);
        let is_early = fault.is_none() && !(self.listed && self.ledger.is_calm());
        if self.told == told || is_early {
            return Ok(());
        }
        match (fault, self.told) {
            (Some(fault), _) => warn!(of = %self.of, ?fault, "cannot read configurations of this type"),
            (None, TypeReport::Faulty(_)) => {
                info!(of = %self.of, "configurations of this type can be read again");
            }
            (None, TypeReport::Nothing | TypeReport::Fine) => {
                debug!(of = %self.of, "configurations of this type are read");
            }
        }
        self.told = told;
        let of = self.of.clone();
        self.send(Event::TypeFaulty { of, fault }).await
    }

    async fn answer(&self, config: ConfigRef, answer: ConfigLookup) -> Result<(), Over> {
        self.send(Event::Answered { config, answer }).await
    }

    async fn send(&self, event: Event) -> Result<(), Over> {
        match self.events.send(event).await {
            Ok(()) => Ok(()),
            Err(_unheard) => Err(Over),
        }
    }
}

/// Names come from users and end in a path; one that no object can have must not lead to another object.
fn is_addressable(config: &ConfigRef) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
    [&config.namespace, &config.name]
        .into_iter()
        .all(|text| text.chars().all(is_plain) && !matches!(&**text, "." | ".."))
}

/// Returns the response of the hub, without text that may quote an object.
fn in_short(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{}: {}", status.code, status.message),
        kube::Error::SerdeError(_) => "the answer cannot be decoded".to_owned(),
        other => crate::controllers::runtime::apply_error::root(other).to_string(),
    }
}

fn watch_in_short(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => in_short(error),
        watcher::Error::WatchError(status) => format!("{}: {}", status.code, status.message),
        watcher::Error::NoResourceVersion => "objects without a resource version".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_object_can_have_is_never_asked_for() {
        let rows = [
            ("n", "plain-name.v1", true),
            ("", "system:node", true),
            ("n", "..", false),
            ("n", "../secrets/x", false),
            ("n", "x?watch=true", false),
            ("n/secrets", "x", false),
            ("n", "x%2f", false),
        ];
        for (namespace, name, expected) in rows {
            let config = ConfigRef {
                of: ConfigType {
                    group: "".into(),
                    resource: "configmaps".into(),
                },
                namespace: namespace.into(),
                name: name.into(),
            };
            assert_eq!(is_addressable(&config), expected, "{namespace} {name}");
        }
    }
}
