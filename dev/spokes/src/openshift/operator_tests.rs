//! Rows for the version operator: what becomes of a wish, and when.

use super::*;
use crate::fault::Stuck;
use serde_json::json;

const ACCEPT: u64 = 1;
const UPGRADE: u64 = 10;

struct Bench {
    operator: Operator,
    generation: i64,
}

fn at(second: u64) -> Timestamp {
    Timestamp::from_second(i64::try_from(second).expect("a small number")).expect("a time")
}

impl Bench {
    fn new() -> Self {
        let times = Times {
            accept: Duration::from_secs(ACCEPT),
            upgrade: Duration::from_secs(UPGRADE),
            pools: Duration::from_secs(5),
            ..Times::default()
        };
        let mut bench = Self {
            operator: Operator::new(&Version::new(4, 11, 9), 4, times, at(0)),
            generation: 0,
        };
        bench.wish(&json!({"channel": "stable-4.12"}));
        bench
    }

    fn wish(&mut self, spec: &Value) {
        self.generation += 1;
        self.operator.observe(Wish::read(Some(spec), self.generation));
    }

    fn want(&mut self, version: &str) {
        self.wish(&json!({"channel": "stable-4.12", "desiredUpdate": {"version": version, "image": "", "force": false}}));
    }

    fn live(&mut self, second: u64, troubles: &Troubles) {
        for _ in 0..2 {
            self.operator.live(at(second), troubles.clone());
        }
    }

    fn history(&self) -> Vec<String> {
        let status = self.operator.status();
        let rows = status["history"].as_array().cloned().unwrap_or_default();
        let line = |row: &Value| {
            format!(
                "{} {} {}",
                row["version"].as_str().unwrap_or_default(),
                row["state"].as_str().unwrap_or_default(),
                row["completionTime"].as_str().unwrap_or("-"),
            )
        };
        rows.iter().map(line).collect()
    }

    fn says(&self, kind: &str) -> String {
        let status = self.operator.status();
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.iter().find(|condition| condition["type"] == kind);
        found.map_or_else(String::new, |condition| {
            let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
            format!("{} {}", text("status"), text("message"))
        })
    }
}

#[test]
fn an_upgrade_begins_late_moves_and_ends() {
    let mut bench = Bench::new();
    let none = Troubles::default();
    bench.want("4.12.0");
    assert_eq!(
        bench.history(),
        ["4.11.9 Completed 1970-01-01T00:00:00Z"],
        "the old version stands first"
    );
    assert_eq!(
        (bench.operator.phase(), bench.operator.next()),
        (Phase::Asked, Some(at(1)))
    );
    bench.live(1, &none);
    assert_eq!(
        bench.history(),
        ["4.12.0 Partial -", "4.11.9 Completed 1970-01-01T00:00:00Z"]
    );
    assert_eq!(bench.operator.next(), Some(at(11)));
    bench.live(6, &none);
    assert_eq!(
        bench.says("Progressing"),
        "True Working towards 4.12.0: 419 of 838 done (50% complete)"
    );
    assert_eq!(bench.says("Available"), "True Done applying 4.11.9");
    assert_eq!(
        bench.operator.version().map(ToString::to_string).as_deref(),
        Some("4.11.9")
    );
    bench.live(30, &none);
    assert_eq!(
        bench.history(),
        [
            "4.12.0 Completed 1970-01-01T00:00:11Z",
            "4.11.9 Completed 1970-01-01T00:00:00Z"
        ],
        "the completion time is when it ended, not when it was observed"
    );
    assert_eq!(bench.says("Progressing"), "False Cluster version is 4.12.0");
    assert_eq!(
        (bench.operator.phase(), bench.operator.next()),
        (Phase::Idle, None)
    );
}

#[test]
fn workers_follow_the_control_plane() {
    let mut bench = Bench::new();
    let lag = Troubles {
        pools_lag: Some(Duration::from_mins(1)),
        ..Troubles::default()
    };
    bench.want("4.11.10");
    bench.live(1, &lag);
    bench.live(20, &lag);
    assert!(
        bench.says("Progressing").starts_with("False"),
        "the control plane is done"
    );
    assert_eq!(bench.operator.pool("worker")["updatedMachineCount"], 0);
    assert_eq!(bench.operator.pool("master")["updatedMachineCount"], 3);
    assert_eq!(bench.operator.next(), Some(at(71)));
    bench.live(71, &lag);
    assert_eq!(bench.operator.pool("worker")["updatedMachineCount"], 4);
}

#[test]
fn a_stalled_upgrade_goes_on_where_it_stopped() {
    let mut bench = Bench::new();
    let stuck = |message: Option<&str>| Troubles {
        stuck: Some(message.map_or(Stuck::Silent, |message| Stuck::Failing(message.to_owned()))),
        ..Troubles::default()
    };
    bench.want("4.12.0");
    bench.live(1, &stuck(None));
    bench.live(100, &stuck(None));
    assert_eq!(
        bench.says("Progressing"),
        "True Working towards 4.12.0: 703 of 838 done (84% complete), waiting on machine-config"
    );
    assert_eq!(
        (bench.says("Failing").as_str(), bench.operator.next()),
        ("False ", None)
    );
    bench.live(100, &stuck(Some("etcd is degraded")));
    assert_eq!(bench.says("Failing"), "True etcd is degraded");
    assert_eq!(
        bench.says("Progressing"),
        "True Unable to apply 4.12.0: etcd is degraded"
    );
    bench.live(101, &Troubles::default());
    bench.live(103, &Troubles::default());
    assert_eq!(bench.history()[0], "4.12.0 Completed 1970-01-01T00:01:42Z");
}

#[test]
fn a_slow_upgrade_ends_late() {
    let mut bench = Bench::new();
    let slow = Troubles {
        takes: Some(Duration::from_secs(50)),
        ..Troubles::default()
    };
    bench.want("4.12.0");
    bench.live(1, &slow);
    bench.live(26, &slow);
    assert!(bench.says("Progressing").contains("(50% complete)"));
    bench.live(60, &slow);
    assert_eq!(bench.history()[0], "4.12.0 Completed 1970-01-01T00:00:51Z");
}

#[test]
fn what_is_refused_leaves_the_history_as_it_is() {
    let mut bench = Bench::new();
    bench.want("4.10.0");
    bench.live(1, &Troubles::default());
    assert_eq!(bench.history().len(), 1);
    assert!(
        bench
            .says("ReleaseAccepted")
            .starts_with("False Preconditions failed"),
        "{}",
        bench.says("ReleaseAccepted")
    );
    bench.want("4.13.0");
    bench.live(2, &Troubles::default());
    assert!(
        bench
            .says("Invalid")
            .starts_with("True The cluster version is invalid")
    );
    assert!(
        bench.says("ReleaseAccepted").starts_with("True"),
        "an invalid wish is none"
    );
    bench.want("4.11.9");
    assert_eq!(bench.operator.phase(), Phase::Idle, "it is what the cluster has");
}

#[test]
fn a_refusal_that_heals_is_thought_over() {
    let mut bench = Bench::new();
    let rejected = Troubles {
        rejected: Some("unsigned".to_owned()),
        ..Troubles::default()
    };
    bench.want("4.12.0");
    bench.live(1, &rejected);
    assert!(
        bench
            .says("ReleaseAccepted")
            .starts_with("False Retrieving payload failed")
    );
    bench.live(50, &Troubles::default());
    assert_eq!(bench.operator.next(), Some(at(51)));
    bench.live(51, &Troubles::default());
    assert_eq!(bench.history()[0], "4.12.0 Partial -");
}

#[test]
fn overrides_hold_another_minor_version_up() {
    let mut bench = Bench::new();
    let overrides = json!([{"kind": "Deployment", "unmanaged": true}]);
    bench.wish(
        &json!({"channel": "stable-4.12", "overrides": overrides, "desiredUpdate": {"version": "4.12.0"}}),
    );
    bench.live(1, &Troubles::default());
    assert!(bench.says("Upgradeable").starts_with("False Disabling ownership"));
    assert_eq!(bench.history().len(), 1);
}

#[test]
fn a_wish_taken_back_stops_nothing_that_has_begun() {
    let mut bench = Bench::new();
    bench.want("4.12.0");
    bench.wish(&json!({"channel": "stable-4.12"}));
    bench.live(5, &Troubles::default());
    assert_eq!(bench.history().len(), 1, "it had not begun");
    bench.want("4.12.0");
    bench.live(6, &Troubles::default());
    bench.wish(&json!({"channel": "stable-4.12"}));
    bench.live(30, &Troubles::default());
    assert_eq!(bench.history()[0], "4.12.0 Completed 1970-01-01T00:00:16Z");
}

#[test]
fn another_wish_on_the_way_gives_up_the_first() {
    let mut bench = Bench::new();
    bench.want("4.12.0");
    bench.live(1, &Troubles::default());
    bench.want("4.12.1");
    bench.live(2, &Troubles::default());
    bench.live(12, &Troubles::default());
    assert_eq!(
        bench.history(),
        [
            "4.12.1 Completed 1970-01-01T00:00:12Z",
            "4.12.0 Partial 1970-01-01T00:00:02Z",
            "4.11.9 Completed 1970-01-01T00:00:00Z"
        ]
    );
}

#[test]
fn there_is_no_message_in_the_history() {
    let bench = Bench::new();
    assert_eq!(bench.operator.status().pointer("/history/0/message"), None);
}

/// Whatever is wished and whatever goes wrong, the operator asks to be looked at later than now, or not at all, and its
/// history stays one.
#[test]
fn nothing_makes_the_operator_restless() {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    let versions = [
        "4.10.1", "4.11.9", "4.11.10", "4.12.0", "4.12.1", "4.13.0", "four", "",
    ];
    for seed in 0..100 {
        let mut dice = StdRng::seed_from_u64(seed);
        let (mut bench, mut second) = (Bench::new(), 0);
        let mut troubles = Troubles::default();
        for step in 0..40 {
            second += dice.random_range(0..15);
            let odd = |dice: &mut StdRng| dice.random_range(0..3) == 0;
            match dice.random_range(0..4) {
                0 => {
                    let version = versions[dice.random_range(0..versions.len())];
                    let force = odd(&mut dice);
                    bench.wish(&json!({"channel": "stable-4.12", "desiredUpdate": {"version": version, "force": force}}));
                }
                1 => {
                    troubles = Troubles {
                        stuck: odd(&mut dice).then_some(Stuck::Silent),
                        rejected: odd(&mut dice).then(|| "unsigned".to_owned()),
                        takes: odd(&mut dice).then(|| Duration::from_secs(dice.random_range(0..40))),
                        pools_lag: odd(&mut dice).then(|| Duration::from_secs(dice.random_range(0..40))),
                        ..Troubles::default()
                    };
                }
                _ => {}
            }
            bench.live(second, &troubles);
            let next = bench.operator.next();
            assert!(
                next.is_none_or(|next| next > at(second)),
                "seed {seed}, step {step}: {next:?}"
            );
            let history = bench.history();
            let open = history.iter().filter(|row| row.ends_with('-')).count();
            assert!(open <= 1, "seed {seed}, step {step}: {history:#?}");
            assert_eq!(
                open == 1,
                bench.operator.phase() == Phase::Moving,
                "seed {seed}, step {step}"
            );
            assert!(
                !history[open..].iter().any(|row| row.ends_with('-')),
                "only the newest row is open"
            );
        }
    }
}
