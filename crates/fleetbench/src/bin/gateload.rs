//! The command line of the load on a gate.
//!
//! Decides the exit status: 0 when every question had the answer that it has to have, 1 otherwise.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use fleetbench::{BenchError, GateLoad, load};

fn main() -> ExitCode {
    let options = GateLoad::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let measured = runtime
        .map_err(BenchError::Runtime)
        .and_then(|runtime| runtime.block_on(load(&options)));
    let (written, fine) = match &measured {
        Ok(report) => (
            std::io::stdout()
                .lock()
                .write_all(options.render(report).as_bytes()),
            report.loads.iter().all(|load| load.lost == 0 && load.wrong == 0),
        ),
        Err(error) => (
            writeln!(std::io::stderr().lock(), "gateload: {}", error.whole()),
            false,
        ),
    };
    if written.is_ok() && fine {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
