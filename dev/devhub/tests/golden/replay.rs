//! Replays one scenario against a server and compares every answer.
//!
//! Decides in which order things are sent, waited for, normalised and compared.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::{
    answer::{self, Found},
    compare::{Bindings, Difference, is_subset},
    hook::Hook,
    known::VERSION_ORDER,
    prepare::{self, Values},
    scenario::{Compare, Scenario, Step, Stream},
    symbols::Symbols,
    verdict,
    wire::{Client, Lines, Reply, Server},
};

/// What came of one step.
pub(crate) struct StepResult {
    pub(crate) id: String,
    /// Verb, path and note, for people.
    pub(crate) title: String,
    /// `None` if nothing was to be compared.
    pub(crate) differences: Option<Vec<Difference>>,
}

/// Whether the server applies changes at once or needs the waits of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    AtOnce,
    AsRecorded,
}

/// A hub reacts to changes at once, but what it does by itself afterwards takes a moment.
const MOMENT: Duration = Duration::from_millis(300);

impl Pace {
    /// Returns how long to wait before a step.
    fn wait(self, step: &Step) -> Duration {
        let recorded = Duration::from_millis(step.sleep_ms.unwrap_or_default());
        match self {
            Self::AsRecorded => recorded,
            Self::AtOnce if step.verb == "SLEEP" => Duration::ZERO,
            Self::AtOnce => recorded.min(MOMENT),
        }
    }
}

/// Replays `scenario` and returns what came of each step.
pub(crate) async fn run(scenario: &Scenario, server: &Server, pace: Pace) -> Vec<StepResult> {
    let hook = if scenario.uses_webhook {
        Some(Hook::start().await)
    } else {
        None
    };
    let mut replay = Replay::new(scenario, server, hook, pace);
    let mut results = Vec::new();
    for step in &scenario.steps {
        let differences = replay.step(step).await;
        let note = step
            .note
            .as_deref()
            .map(|note| format!(" ({note})"))
            .unwrap_or_default();
        let query = if step.query.is_empty() {
            String::new()
        } else {
            format!("?{}", step.query)
        };
        let title = format!("{} {} {}{query}{note}", step.id, step.verb, step.path);
        results.push(StepResult {
            id: step.id.clone(),
            title,
            differences,
        });
    }
    let differences = Some(replay.check_order(&scenario.order));
    let title = format!("{VERSION_ORDER} order of resource versions");
    results.push(StepResult {
        id: VERSION_ORDER.to_owned(),
        title,
        differences,
    });
    results
}

struct Replay<'a> {
    server: &'a Server,
    client: Client,
    hook: Option<Hook>,
    pace: Pace,
    values: Values,
    symbols: Symbols,
    bindings: Bindings,
    streams: BTreeMap<String, Lines>,
    last_aligned: u64,
}

impl<'a> Replay<'a> {
    fn new(scenario: &Scenario, server: &'a Server, hook: Option<Hook>, pace: Pace) -> Self {
        let url = hook.as_ref().map(Hook::url).unwrap_or_default();
        let bundle = hook
            .as_ref()
            .map(|hook| STANDARD.encode(&hook.ca_pem))
            .unwrap_or_default();
        let placeholders = vec![
            ("$WEBHOOK", url),
            ("$CABUNDLE", bundle),
            ("$ADMINTOKEN", server.token.clone()),
            ("$SERVER", server.url.clone()),
            ("$SERVERADDR", server.address.clone()),
        ];
        let constants = placeholders
            .iter()
            .map(|(name, real)| (real.clone(), (*name).to_owned()))
            .collect();
        Self {
            server,
            client: Client::new(server.clone()),
            hook,
            pace,
            values: Values::new(placeholders),
            symbols: Symbols::new(constants, scenario.header.options),
            bindings: Bindings::default(),
            streams: BTreeMap::new(),
            last_aligned: 0,
        }
    }

    async fn step(&mut self, step: &Step) -> Option<Vec<Difference>> {
        sleep(self.pace.wait(step)).await;
        if step.align_second {
            self.wait_for_next_second().await;
        }
        if let Some(hook) = &self.hook {
            drop(hook.take_calls());
        }
        let found = match step.verb.as_str() {
            "SLEEP" => return None,
            "CLOSE" => {
                self.streams.remove(step.stream.as_ref()?.close.as_ref()?);
                return None;
            }
            "COLLECT" => self.collect(step.stream.as_ref()?).await,
            _ => self.request(step).await,
        };
        self.check(step, found).await
    }

    async fn check(&mut self, step: &Step, found: Result<Found, String>) -> Option<Vec<Difference>> {
        let compared = !step.is_unstable() && step.compare != Compare::None;
        let mut found = match found {
            Ok(found) => found,
            Err(cause) => return compared.then(|| vec![verdict::failed(cause)]),
        };
        self.save(step, &found);
        if step.expect.webhook_calls.is_some() {
            sleep(Duration::from_millis(20)).await;
            found.calls = self.hook.as_ref().map(Hook::take_calls).unwrap_or_default();
        }
        if !compared {
            return None;
        }
        let request = prepare::json_body(step, &self.values);
        let normal = answer::normalise(step, found, request.as_ref(), &mut self.symbols);
        // Symbols that were bound while comparing a step that differs must not spoil the steps after it.
        let before = self.bindings.clone();
        let differences = verdict::differences(step, &normal, &mut self.bindings);
        if !differences.is_empty() {
            self.bindings = before;
        }
        Some(differences)
    }

    async fn request(&mut self, step: &Step) -> Result<Found, String> {
        let call = prepare::call(step, &self.values, self.server);
        let Some(stream) = &step.stream else {
            return self.poll(step, &call).await.map(Found::from_reply);
        };
        let answer = self.client.open(&call).await?;
        let status = answer.status().as_u16();
        let headers = answer.headers().clone();
        if status != 200 {
            let body = answer
                .into_body()
                .collect()
                .await
                .map_err(|cause| cause.to_string())?
                .to_bytes()
                .to_vec();
            return Ok(Found::from_reply(Reply {
                status,
                headers,
                body,
            }));
        }
        let mut lines = Lines::new(answer.into_body());
        let mut found = Found::from_reply(Reply {
            status,
            headers,
            body: Vec::new(),
        });
        if let Some(name) = &stream.open {
            self.streams.insert(name.clone(), lines);
        } else {
            (found.events, found.closed) = read(&mut lines, stream).await;
        }
        Ok(found)
    }

    async fn poll(&mut self, step: &Step, call: &crate::wire::Call) -> Result<Reply, String> {
        let started = Instant::now();
        loop {
            let reply = self.client.send(call).await?;
            let Some(poll) = &step.poll else { return Ok(reply) };
            let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
            let done = poll.until.status.is_none_or(|status| status == reply.status)
                && poll
                    .until
                    .subset
                    .as_ref()
                    .is_none_or(|want| is_subset(want, &body));
            if done || started.elapsed() >= Duration::from_millis(poll.timeout_ms) {
                return Ok(reply);
            }
            sleep(Duration::from_millis(poll.interval_ms)).await;
        }
    }

    async fn collect(&mut self, stream: &Stream) -> Result<Found, String> {
        let name = stream.collect.as_deref().unwrap_or_default();
        let lines = self
            .streams
            .get_mut(name)
            .ok_or_else(|| format!("the stream {name:?} is not open"))?;
        let (events, closed) = read(lines, stream).await;
        Ok(Found {
            events,
            closed,
            ..Found::default()
        })
    }

    fn save(&mut self, step: &Step, found: &Found) {
        for (symbol, place) in &step.save {
            let value = match place.strip_prefix("header:") {
                Some(name) => found.header(name),
                None => found
                    .json
                    .as_ref()
                    .and_then(|body| body.pointer(place))
                    .map(plain),
            };
            if let Some(value) = value {
                self.values.save(symbol, value);
            }
        }
    }

    async fn wait_for_next_second(&mut self) {
        loop {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            if now.as_secs() > self.last_aligned && now.subsec_millis() < 250 {
                self.last_aligned = now.as_secs();
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// The recorded symbols that were met must stand for rising numbers.
    fn check_order(&self, order: &[String]) -> Vec<Difference> {
        let value = |recorded: &String| -> Option<(String, u64)> {
            let real = self.symbols.real_version(self.bindings.real(recorded)?)?;
            Some((recorded.clone(), real.parse().ok()?))
        };
        let versions: Vec<(String, u64)> = order.iter().filter_map(value).collect();
        let wrong = versions.windows(2).filter(|pair| pair[0].1 >= pair[1].1);
        wrong
            .map(|pair| verdict::out_of_order(&pair[0], &pair[1]))
            .collect()
    }
}

async fn read(lines: &mut Lines, stream: &Stream) -> (Vec<Value>, bool) {
    let count = if stream.until_close {
        None
    } else {
        stream.count.or(Some(0))
    };
    let (timeout, quiet) = (
        Duration::from_millis(stream.timeout_ms),
        Duration::from_millis(stream.quiet_ms),
    );
    let (mut events, closed) = lines.read(count, timeout, quiet).await;
    let first = stream.sort_first.min(events.len());
    let name = |event: &Value, member: &str| {
        let text = event
            .pointer(&format!("/object/metadata/{member}"))
            .and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    events[..first].sort_by_key(|event| (name(event, "namespace"), name(event, "name")));
    (events, closed)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
