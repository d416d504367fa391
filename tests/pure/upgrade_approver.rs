//! The script that approves install plans, in a real bash, with an `oc` that reads files and records its patches.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use plan::upgrade::works::APPROVER;

/// Answers the two reads, and records approvals. All other commands fail.
const OC: &str = r#"#!/bin/bash
set -u
case "$1 $2" in
  "get subscriptions.operators.coreos.com")
    if [ ! -e "$STATE/subscriptions" ]; then exit 1; fi
    cat "$STATE/subscriptions" ;;
  "get installplans.operators.coreos.com") cat "$STATE/plan.$5.$3" ;;
  "patch installplans.operators.coreos.com")
    if [ -e "$STATE/refuse" ]; then exit 1; fi
    echo "$5/$3" >> "$STATE/patched"
    printf true > "$STATE/plan.$5.$3" ;;
  *) echo "asked: $*" >> "$STATE/strange"; exit 1 ;;
esac
"#;

struct Ran {
    approved: Vec<String>,
    ok: bool,
    said: String,
}

/// Runs the script once over subscriptions, each with its install plan, all in the namespace that their names say.
fn run(subscriptions: &[(&str, &str)], include: &str, exclude: &str, prepare: impl Fn(&Path)) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("oc"), OC).expect("a stub");
    fs::set_permissions(at("oc"), fs::Permissions::from_mode(0o755)).expect("executable");
    let mut lines = String::new();
    for (subscription, plan) in subscriptions {
        let namespace = subscription.split_once(',').expect("name,namespace").1;
        let of_plan = if plan.is_empty() { "" } else { namespace };
        writeln!(lines, "{subscription} {plan} {of_plan}").expect("text");
        if !plan.is_empty() {
            fs::write(at(&format!("plan.{namespace}.{plan}")), "false").expect("a plan");
        }
    }
    fs::write(at("subscriptions"), lines).expect("subscriptions");
    prepare(folder.path());
    let path = format!(
        "{}:{}",
        folder.path().display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let ran = Command::new("/bin/bash")
        .args(["-c", APPROVER])
        .env("PATH", path)
        .env("STATE", folder.path())
        .env("INCLUDELIST", include)
        .env("EXCLUDELIST", exclude)
        .env("WAITTIME", "0")
        .output()
        .expect("bash runs");
    assert!(
        !at("strange").exists(),
        "{}",
        fs::read_to_string(at("strange")).unwrap_or_default()
    );
    let approved = fs::read_to_string(at("patched")).unwrap_or_default();
    Ran {
        approved: approved.lines().map(str::to_owned).collect(),
        ok: ran.status.success(),
        said: format!(
            "{}{}",
            String::from_utf8_lossy(&ran.stdout),
            String::from_utf8_lossy(&ran.stderr)
        ),
    }
}

const GITOPS: (&str, &str) = ("openshift-gitops-operator,openshift-operators", "install-1");
const STORAGE: (&str, &str) = ("local-storage-operator,storage", "install-2");

#[test]
fn it_parses_and_asks_for_nothing_that_its_role_does_not_have() {
    let parsed = Command::new("/bin/bash").args(["-n", "-c", APPROVER]).status();
    assert!(parsed.expect("bash runs").success());
    for word in APPROVER.lines().filter(|line| line.contains("oc ")) {
        let is_known = [
            "oc get subscriptions.",
            "oc get installplans.",
            "oc patch installplans.",
        ]
        .iter()
        .any(|known| word.contains(known));
        assert!(is_known, "{word}");
    }
}

#[test]
fn all_are_approved_but_those_that_are_excluded() {
    let all = run(&[GITOPS, STORAGE], "", "", |_| ());
    assert_eq!(
        all.approved,
        ["openshift-operators/install-1", "storage/install-2"],
        "{}",
        all.said
    );
    let but_one = run(&[GITOPS, STORAGE], "", STORAGE.0, |_| ());
    assert_eq!(
        but_one.approved,
        ["openshift-operators/install-1"],
        "{}",
        but_one.said
    );
    assert!(all.ok && but_one.ok);
}

#[test]
fn those_that_are_included_are_approved_and_exclusion_wins() {
    let one = run(&[GITOPS, STORAGE], GITOPS.0, "", |_| ());
    assert_eq!(one.approved, ["openshift-operators/install-1"], "{}", one.said);
    let both = format!("{} {}", GITOPS.0, STORAGE.0);
    let several = run(&[GITOPS, STORAGE], &both, "", |_| ());
    assert_eq!(several.approved.len(), 2, "{}", several.said);
    let minus = run(&[GITOPS, STORAGE], &both, GITOPS.0, |_| ());
    assert_eq!(minus.approved, ["storage/install-2"], "{}", minus.said);
}

#[test]
fn names_are_compared_as_wholes() {
    let suffix = ("gitops-operator,openshift-operators", "install-3");
    let prefix = ("openshift-gitops-operator,openshift", "install-4");
    let none = run(&[suffix, prefix], GITOPS.0, "", |_| ());
    assert_eq!(none.approved, Vec::<String>::new(), "{}", none.said);
    let kept = run(&[suffix, prefix], "", GITOPS.0, |_| ());
    assert_eq!(
        kept.approved.len(),
        2,
        "another name is not excluded: {}",
        kept.said
    );
    let star = run(&[GITOPS], "*", "", |_| ());
    assert_eq!(
        star.approved,
        Vec::<String>::new(),
        "a list is no pattern: {}",
        star.said
    );
}

#[test]
fn several_of_one_namespace_have_each_its_own_plan() {
    let other = ("pipelines,openshift-operators", "install-5");
    let one = run(&[GITOPS, other], other.0, "", |_| ());
    assert_eq!(one.approved, ["openshift-operators/install-5"], "{}", one.said);
    let both = run(&[GITOPS, other], "", "", |_| ());
    assert_eq!(both.approved.len(), 2, "{}", both.said);
}

#[test]
fn an_install_plan_with_another_operator_is_not_approved() {
    let other = ("pipelines,openshift-operators", GITOPS.1);
    for (include, exclude) in [(GITOPS.0, ""), ("", other.0)] {
        let shared = run(&[GITOPS, other], include, exclude, |_| ());
        assert_eq!(shared.approved, Vec::<String>::new(), "{}", shared.said);
        assert!(
            shared.said.contains("also that of pipelines,openshift-operators"),
            "{}",
            shared.said
        );
    }
    let both = run(&[GITOPS, other], "", "", |_| ());
    assert_eq!(
        both.approved,
        ["openshift-operators/install-1"],
        "once: {}",
        both.said
    );
}

#[test]
fn what_waits_for_no_approval_is_left_alone() {
    let approved = run(&[GITOPS], "", "", |state| {
        fs::write(state.join("plan.openshift-operators.install-1"), "true").expect("a plan");
    });
    assert_eq!(approved.approved, Vec::<String>::new());
    let automatic = run(&[("automatic,openshift-operators", "")], "", "", |_| ());
    assert!(
        automatic.ok && automatic.approved.is_empty(),
        "{}",
        automatic.said
    );
    let none = run(&[], "", "", |_| ());
    assert!(none.ok, "a cluster without subscriptions: {}", none.said);
}

#[test]
fn what_cannot_be_done_fails() {
    let refused = run(&[GITOPS], "", "", |state| {
        fs::write(state.join("refuse"), "").expect("a mark");
    });
    assert!(!refused.ok && refused.approved.is_empty(), "{}", refused.said);
    let silent = run(&[GITOPS], "", "", |state| {
        fs::remove_file(state.join("subscriptions")).expect("it was there");
    });
    assert!(!silent.ok, "{}", silent.said);
}
