//! Runs a test that counts open files or threads in a process of its own, because other tests open some, too.

use std::process::Command;

/// Says to a test that no other test runs in its process.
const ALONE: &str = "TIDEGATE_TEST_ALONE";

/// Returns whether the test is alone. Where it is not, it has been run in a process of its own when this returns.
pub(crate) fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let program = std::env::current_exe().expect("a test has a program");
    let ran = Command::new(program)
        .args(["--exact", test])
        .env(ALONE, "yes")
        .output()
        .expect("the program starts again");
    let told = String::from_utf8_lossy(&ran.stdout);
    let passed = ran.status.success() && told.contains(" 1 passed");
    assert!(passed, "{told}{}", String::from_utf8_lossy(&ran.stderr));
    false
}
