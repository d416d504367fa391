//! The `devhub` binary: everything it does is in `command`.

use std::process::ExitCode;

fn main() -> ExitCode {
    devhub::command::run(std::env::args_os())
}
