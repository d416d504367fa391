//! Tests that run `kubectl` need it. Without it nearly all tests of a program would fail in the same way, so the test program ends
//! with one message instead.

use std::io::{ErrorKind, Write as _, stderr};
use std::process::{Command, Stdio, exit};
use std::sync::Once;

const MISSING: &str = "kubectl is not installed, and these tests run it. Install it (Debian: apt-get install kubernetes-client; \
                       elsewhere: https://kubernetes.io/docs/tasks/tools) and run the tests again.\n";

/// Ends the test program where kubectl is not on the PATH. Call it before a test starts a process.
#[expect(
    clippy::exit,
    reason = "a panic fails one test, and the other two hundred would fail for the same reason"
)]
pub(crate) fn require_kubectl() {
    static CHECKED: Once = Once::new();
    CHECKED.call_once(|| {
        let mut kubectl = Command::new("kubectl");
        kubectl.args(["version", "--client"]).stdin(Stdio::null());
        let ran = kubectl.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if ran.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            // Not by a macro: the test runner captures what those print.
            stderr().write_all(MISSING.as_bytes()).ok();
            exit(101);
        }
    });
}
