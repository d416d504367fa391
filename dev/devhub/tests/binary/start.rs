//! Starting and ending: the line, the files, the exit status, and what is said about wrong input.

use crate::rig::{Rig, mode};

const DEFINITION: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.test.example.io}
spec:
  group: test.example.io
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
";

#[test]
fn serves_kubectl_until_it_is_asked_to_end() {
    let rig = Rig::new();
    rig.write("crds/things.yaml", DEFINITION);
    for signal in ["-INT", "-TERM"] {
        let running = rig.start(&["--crds", "crds"]);
        let hub = running
            .line
            .trim()
            .rsplit_once(" hub=")
            .expect("two members")
            .1
            .to_owned();
        assert_eq!(
            running.line,
            format!("READY kubeconfig={} hub={hub}\n", rig.kubeconfig().display())
        );
        assert!(hub.starts_with("https://127.0.0.1:"), "{hub}");
        assert_eq!(mode(&rig.kubeconfig()), 0o600);
        assert_eq!(mode(&rig.path("hub/hub-ca.crt")), 0o600);
        rig.says("api-resources --api-group=test.example.io", "things");
        let file = rig.write(
            "thing.yaml",
            "#\n{apiVersion: test.example.io/v1, kind: Thing, metadata: {name: a}, spec: {size: 3}}",
        );
        rig.says(
            &format!("apply -f {}", file.display()),
            "thing.test.example.io/a created",
        );
        rig.says(
            "wait --for=create serviceaccount/default --timeout=10s",
            "condition met",
        );
        rig.says(
            "wait --for=create configmap/kube-root-ca.crt --timeout=10s",
            "condition met",
        );
        assert_eq!(running.end(signal), 0, "{signal}");
    }
}

#[test]
fn runs_only_the_controllers_that_are_asked_for() {
    let rig = Rig::new();
    let running = rig.start(&["--controllers", "garbage,namespaces"]);
    rig.says("create namespace team", "created");
    rig.says("create configmap a -n team --from-literal=a=b", "created");
    rig.says("delete namespace team --timeout=20s", "deleted");
    rig.refuses("get serviceaccount default", "not found");
    assert_eq!(running.end("-TERM"), 0);
}

#[test]
fn an_event_that_nobody_repeats_goes_after_its_time() {
    let rig = Rig::new();
    let running = rig.start(&["--event-ttl", "2s"]);
    let file = rig.write(
        "event.yaml",
        "#\n{apiVersion: v1, kind: Event, metadata: {name: e, namespace: default}, involvedObject: {namespace: default}}",
    );
    rig.says(&format!("create -f {}", file.display()), "created");
    rig.says("get event e -o name", "event/e");
    rig.says("wait --for=delete event/e --timeout=20s", "");
    rig.refuses("get event e", "not found");
    assert_eq!(running.end("-INT"), 0);
}

#[test]
fn all_faults_of_flags_and_files_are_told_at_once() {
    let rig = Rig::new();
    rig.write("bad/1.yaml", "{apiVersion: v1, kind: ConfigMap}");
    rig.write("bad/2.yaml", "a: [");
    let output = rig.run(&[
        "--controllers",
        "nodes",
        "--event-ttl",
        "soon",
        "--crds",
        "bad",
        "--crds",
        "absent",
    ]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    for text in [
        "5 faults",
        "--controllers: no controller is named \"nodes\"",
        "--event-ttl: \"soon\" is no duration",
        "bad/1.yaml: document 1",
        "bad/2.yaml: ",
        "--crds absent: No such file",
    ] {
        assert!(said.contains(text), "{text}: {said}");
    }
    assert!(!rig.kubeconfig().exists());
}

#[test]
fn definitions_that_the_hub_refuses_are_told_with_their_files() {
    let rig = Rig::new();
    rig.write(
        "crds/1.yaml",
        &DEFINITION.replace("storage: true", "storage: false"),
    );
    rig.write(
        "crds/2.yaml",
        &DEFINITION
            .replace("things", "others")
            .replace("Namespaced", "Everywhere"),
    );
    let output = rig.run(&["--crds", "crds"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    for text in [
        "2 faults",
        "crds/1.yaml: cannot load",
        "exactly one version",
        "crds/2.yaml: cannot load",
        "spec.scope",
    ] {
        assert!(said.contains(text), "{text}: {said}");
    }
}

#[test]
fn a_port_that_is_taken_is_told() {
    let rig = Rig::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let output = rig.run(&["--port", &port]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains(&format!("cannot listen on 127.0.0.1:{port}: ")),
        "{said}"
    );
}

#[test]
fn unknown_flags_and_a_missing_folder_are_told() {
    let rig = Rig::new();
    let output = rig.run(&["--nosuch"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--nosuch"));
    rig.write("hub", "a file where the folder should be");
    let output = rig.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write into folder"));
}

#[test]
fn the_readme_names_every_flag() {
    let rig = Rig::new();
    let help = String::from_utf8(rig.run(&["--help"]).stdout).expect("text");
    let readme = include_str!("../../README.md");
    let flags: Vec<&str> = help
        .split_whitespace()
        .filter(|word| word.starts_with("--") && word.len() > 2)
        .filter(|word| !["--help", "--version", "--kubeconfig"].contains(word))
        .collect();
    assert!(flags.len() >= 8, "{help}");
    for flag in flags {
        assert!(
            readme.contains(&format!("| `{flag} ")),
            "the README does not name {flag}"
        );
    }
}
