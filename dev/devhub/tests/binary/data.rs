//! Data that outlives the program, however it ends.

use crate::rig::{Rig, mode};

#[test]
fn a_killed_hub_has_lost_nothing_and_its_kubeconfig_still_holds() {
    let rig = Rig::new();
    let words = ["--data-dir", "data"];
    let running = rig.start(&words);
    rig.says("create namespace team", "created");
    rig.says("create configmap a -n team --from-literal=a=b", "created");
    let (_, before) = rig.kubectl("get configmap a -n team -o yaml --show-managed-fields");
    let line = running.line.clone();
    assert_eq!(running.end("-KILL"), -9);
    let kubeconfig = std::fs::read_to_string(rig.kubeconfig()).expect("readable");

    let running = rig.start(&words);
    assert_eq!(running.line, line, "the port is the same");
    assert_eq!(
        std::fs::read_to_string(rig.kubeconfig()).expect("readable"),
        kubeconfig
    );
    let (_, after) = rig.kubectl("get configmap a -n team -o yaml --show-managed-fields");
    assert_eq!(after, before);
    for file in ["objects.log", "identity.json", "port", "lock"] {
        assert_eq!(mode(&rig.path(&format!("data/{file}"))), 0o600, "{file}");
    }
    let output = rig.run_in("other", &["--data-dir", "data", "--port", "0"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && said.contains("another hub uses the data"),
        "{said}"
    );
    assert_eq!(running.end("-TERM"), 0);
}
