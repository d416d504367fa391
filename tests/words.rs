//! Every word that the code can write on a hub is one that `tidegate explain` knows.
//!
//! Walks the sources, not a list: a reason or an annotation that is added without a sentence fails here.

use std::path::PathBuf;

use insight::explain::explain;

use crate::testkit::manifests::repository;

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![repository(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of sources").flatten() {
            let path = entry.path();
            if path.is_dir() {
                // What plays a hub for tests.
                folders.extend((!path.ends_with("upgrade/src/sim")).then_some(path));
                continue;
            }
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let is_source = path.extension().is_some_and(|extension| extension == "rs");
            if !is_source || name.contains("tests") || name.contains("properties") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source");
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code: Vec<&str> = text
                .lines()
                .filter(|line| !line.trim().starts_with("//"))
                .collect();
            found.push((path, code.join("\n")));
        }
    }
    assert!(found.len() > 1, "{folder} has no sources");
    found
}

/// The texts in quotes of a source.
fn literals(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

/// Words in capitals that are no reasons: kinds, types of conditions, values of fields, and words of events and of plans.
const NO_REASONS: &[&str] = &[
    "AddOnPolicy",
    "Adopted",
    "Applied",
    "Apply",
    "Approved",
    "Assigned",
    "Audit",
    "Available",
    "CanaryFailed",
    "Certificate",
    "Changing",
    "ClusterFirst",
    "ClusterPolicyReport",
    "ClusterReport",
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterVersion",
    "Completed",
    "ConfigMap",
    "Configure",
    "Configured",
    "CustomResourceDefinition",
    "CustomSigner",
    "Customized",
    "DaemonSet",
    "Degraded",
    "Deny",
    "Deployment",
    "Done",
    "Failing",
    "Failures",
    "False",
    "Foreground",
    "Group",
    "Held",
    "HostingManifestApplied",
    "IfNotPresent",
    "In",
    "InProgress",
    "Initialized",
    "Install",
    "Integer",
    "Invalid",
    "JSONPaths",
    "Job",
    "JobComplete",
    "JobFailed",
    "JobFailedMessage",
    "KubeClient",
    "Managed",
    "ManifestApplied",
    "ManifestWork",
    "Mutating",
    "MutatingWebhookConfiguration",
    "Namespace",
    "NoCanary",
    "NotFound",
    "NotStarted",
    "OnFailure",
    "Opaque",
    "Operators",
    "Orphan",
    "Partial",
    "Paused",
    "Platform",
    "Pod",
    "PodPhase",
    "PolicyReport",
    "PostAction",
    "PreAction",
    "Queued",
    "ReadOnly",
    "Ready",
    "Reconciling",
    "ReleaseAccepted",
    "Removed",
    "Report",
    "Role",
    "RoleBinding",
    "Rollback",
    "Rollout",
    "Secret",
    "Selected",
    "SelectivelyOrphan",
    "ServerSideApply",
    "ServiceAccount",
    "Slot",
    "Stalled",
    "StatefulSet",
    "String",
    "Succeeded",
    "True",
    "Uninstall",
    "Unknown",
    "Upgrade",
    "Upgradeable",
    "User",
    "ValidatingWebhookConfiguration",
    "Watch",
    "WellKnownConditions",
    "WellKnownStatus",
    "Window",
];

/// Flux removes what managers wrote whose name begins with `kubectl`.
#[test]
fn no_page_sets_an_annotation_as_a_manager_whose_fields_flux_removes() {
    let mut folders = vec![repository("docs")];
    let mut pages = vec![repository("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of pages").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    assert!(pages.len() > 40, "the pages are gone");
    let is_plain = |line: &str| {
        let command = line.split_once("kubectl annotate").map(|(_, command)| command);
        command
            .is_some_and(|command| command.contains("tidegate.io/") && !command.contains("--field-manager"))
    };
    let mut plain = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(&page)
            .expect("a page")
            .replace("\\\n", " ");
        let lines = text.lines().filter(|line| is_plain(line));
        plain.extend(lines.map(|line| format!("{}: {line}", page.display())));
    }
    assert!(plain.is_empty(), "{}", plain.join("\n"));
}

#[test]
fn every_reason_that_the_code_can_write_is_explained() {
    let is_word = |text: &&str| {
        text.len() > 2
            && text.starts_with(|letter: char| letter.is_ascii_uppercase())
            && text.chars().all(|letter| letter.is_ascii_alphabetic())
            && text.chars().any(|letter| letter.is_ascii_lowercase())
    };
    let mut unknown = Vec::new();
    let mut known = 0;
    for (path, text) in [
        "crates/plan/src",
        "crates/model/src/engine",
        "crates/plan/src/upgrade",
        "src/controllers",
        "crates/audit/src",
    ]
    .into_iter()
    .flat_map(sources)
    {
        for word in literals(&text)
            .filter(is_word)
            .filter(|word| !NO_REASONS.contains(word))
        {
            match explain(word) {
                Ok(text) if text.contains("a reason of conditions") => known += 1,
                Ok(_) | Err(_) => unknown.push(format!("{}: {word}", path.display())),
            }
        }
    }
    assert!(
        unknown.is_empty(),
        "no sentence in crates/insight/src/explain/words.rs for {unknown:#?}"
    );
    assert!(
        known > 60,
        "only {known} reasons were found: the walk looks past them"
    );
}

#[test]
fn every_name_of_the_interface_is_explained() {
    let names = repository("crates/api/src/names.rs");
    let names = std::fs::read_to_string(names).expect("the names");
    let mut seen = 0;
    let mut unknown = Vec::new();
    for module in names.split("\npub mod ").skip(1) {
        let (name, body) = module.split_once(' ').expect("a module has a name");
        if !["labels", "annotations", "finalizers", "reasons"].contains(&name) {
            continue;
        }
        let code: Vec<&str> = body
            .lines()
            .filter(|line| !line.trim().starts_with("///"))
            .collect();
        let code = code.join("\n");
        for word in literals(&code).filter(|word| !["addon-manager", "self", "tidegate"].contains(word)) {
            seen += 1;
            unknown.extend(explain(word).is_err().then(|| word.to_owned()));
        }
    }
    assert!(
        unknown.is_empty(),
        "no sentence in crates/insight/src/explain/words.rs for {unknown:#?}"
    );
    assert!(
        seen > 60,
        "only {seen} names were found: the walk looks past them"
    );
}

#[test]
fn every_name_of_our_own_is_explained() {
    let mut seen = std::collections::BTreeSet::new();
    for (_, text) in sources("src").into_iter().chain(sources("crates")) {
        let ours = literals(&text).filter(|text| text.starts_with("tidegate.io/"));
        let names = ours.filter(|text| text.len() > "tidegate.io/".len() && !text.contains(['{', ' ']));
        let names = names.filter(|text| *text != "tidegate.io/v1alpha1");
        seen.extend(names.map(str::to_owned));
    }
    assert!(
        seen.len() >= 15,
        "only {seen:?} were found: the walk looks past them"
    );
    let unknown: Vec<&String> = seen.iter().filter(|name| explain(name).is_err()).collect();
    assert!(
        unknown.is_empty(),
        "no sentence in crates/insight/src/explain/words.rs for {unknown:#?}"
    );
}

/// The labels, annotations and finalizers that a text names.
fn keys(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-./".contains(letter);
    let words = text.split(move |letter| !is_part(letter));
    let words = words.map(|word| word.trim_matches(['.', '/']));
    words.filter(|word| {
        let key = word
            .split_once('/')
            .filter(|(_, name)| !name.contains(['/', '.']));
        key.is_some_and(|(domain, _)| {
            let is_ours = ["tidegate.io", "open-cluster-management.io"];
            is_ours
                .iter()
                .any(|ours| domain == *ours || domain.ends_with(&format!(".{ours}")))
        })
    })
}

/// What follows the group in these is a version, and the whole is an `apiVersion`.
const VERSIONS: [&str; 4] = ["v1", "v1alpha1", "v1beta1", "v1beta2"];

#[test]
fn every_label_and_annotation_that_is_explained_is_a_constant() {
    let constants = |folders: &[&str]| {
        let all = folders.iter().flat_map(|folder| sources(folder));
        let texts: Vec<String> = all.map(|(_, text)| text).collect();
        // A quote as a character opens no text.
        texts.concat().replace("'\"'", "")
    };
    let of_api = constants(&["crates/api/src"]);
    let own = constants(&[
        "crates/api/src",
        "crates/store/src",
        "crates/api/src/conversion",
        "crates/audit/src",
        "src",
    ]);
    let read = |path: &str| std::fs::read_to_string(repository(path)).expect("a file");
    let mut seen = 0;
    for path in ["docs/glossary.md", "crates/insight/src/explain/words.rs"] {
        let text = read(path);
        for key in keys(&text) {
            let (domain, name) = key.split_once('/').expect("a key");
            if VERSIONS.contains(&name) {
                continue;
            }
            // The marks of Tidegate alone are defined beside what reads them.
            let is_own = domain == "tidegate.io";
            let known = if is_own { &own } else { &of_api };
            assert!(
                literals(known).any(|literal| literal.trim_end_matches('-') == key.trim_end_matches('-')),
                "{path} names {key}, which is no constant"
            );
            seen += 1;
        }
    }
    assert!(seen > 60, "{seen}");
    for topic in ["versions", "addon.open-cluster-management.io/version"] {
        let page = explain(topic).unwrap_or_default();
        assert!(
            page.contains("addon.open-cluster-management.io/version"),
            "{topic}: {page}"
        );
    }
}
