//! Evaluates checks while this replica leads.
//!
//! Decides when a check is due: its interval after the last evaluation, whichever replica made it. All checks share a budget.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use admission::CheckExpression;
use arc_swap::ArcSwap;
use kube::Client;
use kubernetes::field::quoted;
use model::{PrometheusCheck, RolloutCheck};
use store::{CheckRecord, Facts, Name};
use tokio::sync::{Mutex, Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout};
use tracing::warn;

use super::endpoint::CheckEndpoint;
use super::status::{Evaluation, apply_status, found};
use crate::controllers::runtime::clock::{Clock, Trust};
use crate::telemetry::Metrics;

/// How often it looks which checks are due.
const TURN: Duration = Duration::from_secs(1);
/// So many queries are in flight at once, of all checks.
const QUERIES_AT_ONCE: usize = 4;
/// The time between two queries, of all checks: at most ten in a second.
const BETWEEN_QUERIES: Duration = Duration::from_millis(100);

/// Evaluates checks.
#[derive(Clone)]
pub(in crate::controllers) struct Evaluator {
    pub(in crate::controllers) client: Client,
    pub(in crate::controllers) facts: Arc<ArcSwap<Facts>>,
    pub(in crate::controllers) leading: watch::Receiver<bool>,
    pub(in crate::controllers) clock: Clock,
    pub(in crate::controllers) metrics: Metrics,
    pub(in crate::controllers) queries: Queries,
}

/// Queries endpoints within the budget.
#[derive(Clone)]
pub(in crate::controllers) struct Queries {
    endpoints: Arc<BTreeMap<String, CheckEndpoint>>,
    slots: Arc<Semaphore>,
    pace: Arc<Mutex<Interval>>,
}

/// The last evaluation of a check by this replica.
struct Begun {
    generation: i64,
    at: Instant,
    task: AbortHandle,
}

impl Evaluator {
    /// Evaluates what is due, until it is dropped.
    pub(in crate::controllers) async fn run(self) {
        let mut turn = interval(TURN);
        turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut begun: BTreeMap<Name, Begun> = BTreeMap::new();
        let mut tasks = JoinSet::new();
        loop {
            turn.tick().await;
            while tasks.try_join_next().is_some() {}
            if !*self.leading.borrow() || self.clock.trust() != Trust::Known {
                begun.clear();
                tasks.abort_all();
                continue;
            }
            let facts = self.facts.load_full();
            let named = named(&facts);
            begun.retain(|name, _| named.contains(name));
            for name in named {
                let Some(record) = facts.checks.get(&name) else {
                    continue;
                };
                let Ok(RolloutCheck::Prometheus(check)) = &record.check else {
                    continue;
                };
                if !self.is_due(record, check, begun.get(&name)) {
                    continue;
                }
                let (evaluator, record, check) = (self.clone(), Arc::clone(record), check.clone());
                let (at, generation) = (Instant::now(), record.meta.generation);
                let of = name.clone();
                let task = tasks.spawn(async move { evaluator.evaluate(&of, &record, &check).await });
                begun.insert(name, Begun { generation, at, task });
            }
        }
    }

    fn is_due(&self, record: &CheckRecord, check: &PrometheusCheck, begun: Option<&Begun>) -> bool {
        let Some(begun) = begun else {
            let reported = record.result.as_ref().map(model::CheckResult::reported).ok();
            let age = reported.map(|at| self.clock.now().duration_since(at).unsigned_abs());
            return age.is_none_or(|age| age >= check.interval);
        };
        let has_changed = begun.generation != record.meta.generation;
        begun.task.is_finished() && (has_changed || begun.at.elapsed() >= check.interval)
    }

    async fn evaluate(&self, name: &Name, record: &CheckRecord, check: &PrometheusCheck) {
        let now = self.clock.now();
        let evaluation = self.queries.values(check).await;
        let (result, status) = found(record, check, &evaluation, now);
        self.metrics.check_evaluated(result);
        if let Err(error) = apply_status(&self.client, name, record, &status).await {
            warn!(check = %name, error = &error as &dyn std::error::Error, "cannot write the status of a RolloutCheck");
        }
    }
}

impl Queries {
    pub(in crate::controllers) fn new(endpoints: &[CheckEndpoint]) -> Self {
        let endpoints = endpoints.iter().map(|one| (one.name.clone(), one.clone()));
        let mut pace = interval(BETWEEN_QUERIES);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            endpoints: Arc::new(endpoints.collect()),
            slots: Arc::new(Semaphore::new(QUERIES_AT_ONCE)),
            pace: Arc::new(Mutex::new(pace)),
        }
    }

    /// Returns the values of all queries, and whether the expression is true; the error says why it is not known.
    async fn values(&self, check: &PrometheusCheck) -> Evaluation {
        let names = check.queries.iter().map(|(name, _)| name.as_str());
        let expression = CheckExpression::compile(&check.expression, names)?;
        let endpoint = self.endpoints.get(&check.endpoint).ok_or_else(|| {
            let name = quoted(&check.endpoint);
            format!("the controllers have no endpoint {name}: see their flag --check-endpoint")
        })?;
        let session = endpoint.open()?;
        let mut values = BTreeMap::new();
        for (name, query) in &check.queries {
            let _slot = self.slots.acquire().await.map_err(|error| error.to_string())?;
            self.pace.lock().await.tick().await;
            let value = timeout(check.timeout, session.value(query)).await;
            let value =
                value.unwrap_or_else(|_elapsed| Err(format!("no response within {:?}", check.timeout)));
            values.insert(
                name.clone(),
                value.map_err(|why| format!("query {}: {why}", quoted(name)))?,
            );
        }
        let holds = expression.holds(&values)?;
        Ok((holds, values))
    }
}

/// Returns the checks that settings of rollouts or stages of upgrades name.
fn named(facts: &Facts) -> BTreeSet<Name> {
    let profiles = facts.profiles.values().filter_map(|facts| facts.profile.as_ref());
    let shared = profiles.flat_map(|profile| profile.checks());
    let own = facts.rollouts.values().flat_map(|settings| settings.all_checks());
    let stages = facts.upgrade_checks.keys();
    own.chain(shared).chain(stages).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    /// A server that gives one response to one request, and returns the request.
    async fn answering(response: String) -> (u16, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a request");
            let mut request = vec![0; 4096];
            let mut length = 0;
            while !String::from_utf8_lossy(&request[..length]).contains("query=") {
                length += stream.read(&mut request[length..]).await.expect("bytes");
            }
            // A client that has read enough closes.
            drop(stream.write_all(response.as_bytes()).await);
            if response.is_empty() {
                std::future::pending::<()>().await;
            }
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        (port, served)
    }

    fn http(status: &str, body: &str) -> String {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
    }

    fn vector(samples: &[&str]) -> String {
        let samples: Vec<String> = samples
            .iter()
            .map(|value| format!(r#"{{"metric":{{}},"value":[1,"{value}"]}}"#))
            .collect();
        let samples = samples.join(",");
        let body = format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{samples}]}}}}"#);
        http("200 OK", &body)
    }

    fn check(endpoint: &str) -> PrometheusCheck {
        PrometheusCheck {
            endpoint: endpoint.to_owned(),
            queries: vec![("errors".to_owned(), "rate(e[5m]) > 1".to_owned())],
            expression: "errors < 0.01".to_owned(),
            interval: Duration::from_secs(10),
            timeout: Duration::from_millis(500),
            failure_limit: 1,
        }
    }

    async fn found(endpoint: &str) -> Evaluation {
        let endpoint: CheckEndpoint = endpoint.parse().expect("an endpoint");
        Queries::new(&[endpoint]).values(&check("main")).await
    }

    async fn told(response: String) -> Evaluation {
        let (port, _served) = answering(response).await;
        found(&format!("main=http://127.0.0.1:{port}/prometheus/")).await
    }

    #[tokio::test]
    async fn one_finite_value_is_judged_by_the_expression() {
        let scalar = http(
            "200 OK",
            r#"{"data":{"resultType":"scalar","result":[1,"3e-3"]}}"#,
        );
        for (response, holds, value) in [
            (vector(&["0.001"]), true, 0.001),
            (vector(&["1"]), false, 1.0),
            (scalar, true, 0.003),
        ] {
            let expected = BTreeMap::from([("errors".to_owned(), value)]);
            assert_eq!(told(response).await, Ok((holds, expected)));
        }
    }

    #[tokio::test]
    async fn everything_else_is_unknown_and_says_why() {
        let huge = vector(&["1"]).replace("content-length", "x") + &" ".repeat(1_100_000);
        let matrix = http("200 OK", r#"{"data":{"resultType":"matrix","result":[]}}"#);
        let refused = http(
            "422 Unprocessable Entity",
            r#"{"status":"error","error":"parse error"}"#,
        );
        for (response, part) in [
            (vector(&[]), "query \"errors\": the query returns no sample"),
            (
                vector(&["NaN"]),
                "the query returns NaN, which is no finite number",
            ),
            (
                vector(&["+Inf"]),
                "the query returns +Inf, which is no finite number",
            ),
            (
                vector(&["many"]),
                "the query returns \"many\", which is no number",
            ),
            (
                vector(&["1", "2"]),
                "the query returns 2 samples, and must return one",
            ),
            (
                matrix,
                "the query returns a \"matrix\", and must return a scalar or a vector",
            ),
            (http("200 OK", "<html>"), "the response is not JSON"),
            (http("200 OK", "{}"), "the response is not that of a query"),
            (
                http("500 Internal Server Error", "no"),
                "the endpoint returns 500 Internal Server Error",
            ),
            (
                refused,
                "the endpoint returns 422 Unprocessable Entity: parse error",
            ),
            (huge, "the response cannot be read"),
            (String::new(), "no response within 500ms"),
        ] {
            let why = told(response).await.expect_err(part);
            assert!(why.contains(part), "{why:?} for {part:?}");
        }
    }

    #[tokio::test]
    async fn an_endpoint_must_be_configured_and_reachable() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let why = found(&format!("main=http://127.0.0.1:{port}"))
            .await
            .expect_err("no server");
        assert!(why.contains("the endpoint cannot be reached"), "{why}");
        let why = found("other=http://127.0.0.1:1").await.expect_err("another name");
        assert!(why.contains("the controllers have no endpoint \"main\""), "{why}");
    }

    #[tokio::test]
    async fn the_token_is_read_for_each_evaluation_and_is_not_in_the_reason() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().display().to_string();
        for token in ["first", "second"] {
            file.as_file_mut().set_len(0).expect("writable");
            std::io::Seek::rewind(&mut file).expect("a file");
            writeln!(file, "{token}").expect("writable");
            let (port, served) = answering(http("401 Unauthorized", "no")).await;
            let why = found(&format!("main=http://127.0.0.1:{port},token-file={path}")).await;
            assert_eq!(
                why,
                Err("query \"errors\": the endpoint returns 401 Unauthorized".to_owned())
            );
            let request = served.await.expect("a request");
            assert!(request.starts_with("POST /api/v1/query HTTP/1.1"), "{request}");
            assert!(
                request.contains(&format!("authorization: Bearer {token}\r\n")),
                "{request}"
            );
            assert!(
                request.ends_with("query=rate%28e%5B5m%5D%29%20%3E%201"),
                "{request}"
            );
        }
        let why = found("main=http://127.0.0.1:1,token-file=/does/not/exist").await;
        assert!(why.expect_err("no file").contains("cannot read /does/not/exist"));
    }

    #[test]
    fn endpoints_are_read_whole_and_what_is_none_is_refused() {
        for wrong in [
            "http://prometheus:9090",
            "main",
            "Main=http://p",
            "main=grpc://p",
            "main=http://",
            "main=http://a:b@p",
            "main=http://p?x",
            "main=http://p,token=x",
        ] {
            assert!(wrong.parse::<CheckEndpoint>().is_err(), "{wrong}");
        }
        let whole = "main=https://p:9090/base,token-file=/t,ca-file=/c".parse::<CheckEndpoint>();
        assert_eq!(whole.map(|one| one.name), Ok("main".to_owned()));
    }
}
