//! `docs/gate.md`, "Break-glass access", as it stands: its roles and its commands on a hub where roles decide.
//!
//! Manifests and commands are read from the page.

use std::path::Path;
use std::process::Command;

use admission::{Endpoint, configurations};

use crate::rig::{Run, certificate, hub_with_rbac, kubectl, repository};
use crate::serve::Serve;

/// What the gate would never let pass, with and without itself being there.
const URGENT: &str = "\
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: urgent}
spec:
  installStrategy:
    type: Placements
    placements:
    - name: all
      namespace: default
      rolloutStrategy: {type: Progressive, progressive: {minSuccessTime: banana}}
";

/// The blocks of the section in one language.
fn blocks(language: &str) -> Vec<String> {
    let page = std::fs::read_to_string(repository("docs/gate.md")).expect("the page");
    let (_, section) = page.split_once("### Break-glass access\n").expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let pieces = section.split("\n```").collect::<Vec<_>>();
    let starts = format!("{language}\n");
    pieces
        .iter()
        .filter_map(|piece| piece.strip_prefix(&starts))
        .map(str::to_owned)
        .collect()
}

/// The commands of a block, each with what it should print.
fn steps(block: &str) -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push((command.to_owned(), String::new()));
            continue;
        }
        let (_, said) = steps.last_mut().expect("a block begins with a command");
        said.push_str(line);
        said.push('\n');
    }
    steps
}

fn shell(folder: &Path, kubeconfig: &Path, command: &str) -> Run {
    let done = Command::new("bash")
        .args(["-c", command])
        .current_dir(folder)
        .env("HOME", folder)
        .env("KUBECONFIG", kubeconfig)
        .env("WHO", format!("system:serviceaccount:default:{ON_CALL}"))
        .output()
        .expect("bash is there");
    Run::from(done)
}

fn as_told(folder: &Path, kubeconfig: &Path, block: &str) {
    for (command, said) in steps(block) {
        let done = shell(folder, kubeconfig, &command);
        assert!(done.ok, "{command}: {}", done.stderr);
        assert_eq!(done.stdout, said, "{command}");
    }
}

const ON_CALL: &str = "on-call";
const UNAUTHORIZED: &str = "unauthorized";

/// Makes a person, and returns the kubeconfig that is theirs alone.
fn person(folder: &Path, admin: &Path, name: &str) -> std::path::PathBuf {
    let run = |args: &[&str]| {
        let done = kubectl(admin, args, "");
        assert!(done.ok, "{args:?}: {}", done.stderr);
        done.stdout.trim().to_owned()
    };
    run(&["create", "serviceaccount", name]);
    let token = run(&["create", "token", name]);
    let own = folder.join(format!("{name}.kubeconfig"));
    std::fs::copy(admin, &own).expect("writable");
    let user = kubectl(
        &own,
        &["config", "view", "-o", "jsonpath={.contexts[0].context.user}"],
        "",
    );
    let gone = kubectl(&own, &["config", "delete-user", &user.stdout], "");
    assert!(gone.ok, "{}", gone.stderr);
    let put = kubectl(
        &own,
        &["config", "set-credentials", &user.stdout, "--token", &token],
        "",
    );
    assert!(put.ok, "{}", put.stderr);
    let who = kubectl(
        &own,
        &["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"],
        "",
    );
    assert_eq!(
        who.stdout,
        format!("system:serviceaccount:default:{name}"),
        "{}",
        who.stderr
    );
    own
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_breaks_the_glass_with_the_gate_and_without_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, admin) = hub_with_rbac(folder.path()).await;
    let (authority, chain, key) = certificate(folder.path());
    tokio::task::block_in_place(|| {
        let mut program = Serve::start_at("127.0.0.1:0", &admin, &chain, &key);
        let endpoint = Endpoint::Url(program.url.clone());
        for configuration in configurations(&endpoint, Some(authority.ca_pem())) {
            let registered = kubectl(&admin, &["apply", "-f", "-"], &configuration.to_string());
            assert!(registered.ok, "{}", registered.stderr);
        }
        breaks_the_glass(folder.path(), &admin, &mut program);
    });
    hub.shutdown().await;
}

fn breaks_the_glass(folder: &Path, admin: &Path, program: &mut Serve) {
    let [on_call, unauthorized] = [ON_CALL, UNAUTHORIZED].map(|name| person(folder, admin, name));
    std::fs::write(folder.join("urgent.yaml"), URGENT).expect("writable");
    std::fs::write(folder.join("break-glass.yaml"), blocks("yaml").concat()).expect("writable");
    let [beforehand, emergency] = <[String; 2]>::try_from(blocks("console")).expect("two blocks");
    as_told(folder, admin, &beforehand);
    for gate in ["is up", "is down"] {
        let plain = shell(folder, admin, "kubectl apply -f urgent.yaml");
        assert!(
            !plain.ok,
            "even an administrator is refused while the gate {gate}: {}",
            plain.stdout
        );
        let words = if gate == "is up" {
            "[rollout/min-success-time]"
        } else {
            "failed calling webhook"
        };
        assert!(plain.stderr.contains(words), "{}", plain.stderr);
        for (command, _) in steps(&emergency) {
            let refused = shell(folder, &unauthorized, &command);
            assert!(!refused.ok, "{}", refused.stdout);
        }
        let told = shell(
            folder,
            &unauthorized,
            "kubectl get cma --as=tidegate:break-glass --as-group=tidegate:break-glass",
        );
        assert!(
            !told.ok && told.stderr.contains("cannot impersonate resource \"users\""),
            "{}",
            told.stderr
        );
        // Without the glass the right to break it is no other right.
        assert!(!shell(folder, &on_call, "kubectl apply -f urgent.yaml").ok);
        as_told(folder, &on_call, &emergency);
        let stored = kubectl(admin, &["delete", "cma", "urgent", "--wait=false"], "");
        assert!(
            stored.ok,
            "it was stored while the gate {gate}: {}",
            stored.stderr
        );
        if gate == "is up" {
            program.end();
        }
    }
    for who in ["--as-group=system:masters", "--as-group=system:authenticated"] {
        let more = shell(
            folder,
            &on_call,
            &format!("kubectl get ns --as=tidegate:break-glass {who}"),
        );
        assert!(
            !more.ok && more.stderr.contains("cannot impersonate resource \"groups\""),
            "{}",
            more.stderr
        );
    }
}
