//! The command line of the fleet benchmark.
//!
//! Decides the exit status: 0 when every phase was reached, 1 otherwise. Never measures anything itself.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use fleetbench::{Options, run};

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let measured = runtime
        .map_err(fleetbench::BenchError::Runtime)
        .and_then(|runtime| runtime.block_on(run(&options)));
    let (text, code) = match &measured {
        Ok(report) => (options.render(report), ExitCode::SUCCESS),
        Err(error) => (format!("fleetbench: {}\n", error.whole()), ExitCode::FAILURE),
    };
    let written = match &measured {
        Ok(_) => std::io::stdout().lock().write_all(text.as_bytes()),
        Err(_) => std::io::stderr().lock().write_all(text.as_bytes()),
    };
    if written.is_ok() { code } else { ExitCode::FAILURE }
}
