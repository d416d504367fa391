//! The `tidegate` binary: everything it does is in `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tidegate::cli::run()
}
