//! A small fleet through all phases of the fleet benchmark: requests per cluster, and no requests when idle. Times are not asserted.

use std::path::Path;

use fleetbench::{Call, Options, run};

/// Clusters of the small fleet.
const CLUSTERS: usize = 10;
/// Requests for one cluster, from the add-on's creation until it is done: five or six, and on a slow machine, where a status
/// is written between two reports of an agent, up to two more.
const EACH: f64 = 8.0;
/// Events of one add-on in the short time that a phase takes: the budget of each grade, and what follows it.
const EVENTS: u64 = 110;
/// Requests for the whole add-on: its own status, some times.
const WHOLE: u64 = 30;

#[tokio::test(flavor = "multi_thread")]
async fn a_small_fleet_is_installed_changed_and_then_left_alone() {
    let options = Options::dev(CLUSTERS, Path::new(env!("CARGO_BIN_EXE_tidegate")));
    let report = run(&options)
        .await
        .unwrap_or_else(|error| panic!("{}", error.whole()));
    let told = report.table();
    assert_eq!(report.clusters, CLUSTERS);
    for phase in ["completed", "completed again", "restart to idle"] {
        assert!(report.phase(phase).is_some(), "{phase} is absent:\n{told}");
    }
    for mut counts in [report.install_requests(), report.change_requests()] {
        let whole_ones = ["clustermanagementaddons", "addontemplates"];
        let own = |call: &Call| whole_ones.iter().any(|name| call.resource.starts_with(name));
        let whole: u64 = counts
            .iter()
            .filter(|(call, _)| own(call))
            .map(|(_, count)| count)
            .sum();
        assert!(whole <= WHOLE, "{whole} requests for the add-on itself:\n{told}");
        // Events have a budget of their own, whatever the size of the fleet.
        let told_apart = |call: &Call| call.resource.starts_with("events");
        let events: u64 = counts
            .iter()
            .filter(|(call, _)| told_apart(call))
            .map(|(_, count)| count)
            .sum();
        assert!(events <= EVENTS, "{events} events:\n{told}");
        counts.retain(|call, _| !own(call) && !told_apart(call));
        assert!(
            report.each(&counts) > 0.0 && report.each(&counts) <= EACH,
            "{told}"
        );
    }
    let idle = report.phase("idle").expect("it was watched being idle");
    assert!(idle.requests.is_empty(), "asked while idle:\n{told}");
    let restart = report.phase("restart to idle").expect("just seen");
    let writes = restart.requests.keys().filter(|call| call.is_write()).count();
    assert_eq!(writes, 0, "a new process writes to a settled hub:\n{told}");
    assert!(report.phases.iter().any(|phase| phase.peak_kib > 0), "{told}");
}
