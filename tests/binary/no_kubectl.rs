//! Without kubectl, the test program ends with one message instead of failing in every test.

use std::process::Command;

#[test]
fn without_kubectl_the_test_program_ends_with_one_line() {
    let program = std::env::current_exe().expect("a test has a program");
    let ran = Command::new(program)
        .arg("main_job::")
        .env("PATH", "")
        .output()
        .expect("the program starts again");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    assert_eq!(ran.status.code(), Some(101), "{stdout}{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("kubectl is not installed"), "{stderr}");
    assert!(stderr.contains("apt-get install kubernetes-client"), "{stderr}");
    assert!(!stdout.contains("FAILED"), "no test has failed: {stdout}");
}
