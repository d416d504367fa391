//! The rules of every role in `manifests/rbac`, which are written from the table of calls (`operate::doctor::calls`).
//!
//! `UPDATE_EXPECT=1` writes them; the chart and `manifests/deploy` copy the files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use operate::doctor::calls::{CALLS, CONFIRMED, Call, Role, WATCHED};

use crate::kit::manifests::repository;

/// The verbs in the order in which a rule lists them.
const VERBS: [&str; 12] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "bind",
    "approve",
    "sign",
    "subscribe",
    "execute-as",
];

/// Rules with these fields are one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    group: &'static str,
    names: &'static [&'static str],
    verbs: Vec<usize>,
    purposes: Vec<&'static str>,
    lost: Option<&'static str>,
}

/// Returns the rules of a role as they are written in its manifest.
fn rules(role: Role) -> String {
    // The calls of a resource make one rule, at the place of the first.
    let mut resources: Vec<(&str, Key)> = Vec::new();
    for call in CALLS.iter().filter(|call| call.role == role) {
        add(&mut resources, call);
    }
    let mut merged: Vec<(Key, Vec<&str>)> = Vec::new();
    for (resource, mut key) in resources {
        key.verbs.sort_unstable();
        key.verbs.dedup();
        match merged.iter_mut().find(|(of, _)| *of == key) {
            Some((_, all)) => all.push(resource),
            None => merged.push((key, vec![resource])),
        }
    }
    let mut text = String::new();
    for (key, resources) in merged {
        write_rule(&mut text, &key, &resources);
    }
    text
}

fn add(resources: &mut Vec<(&'static str, Key)>, call: &'static Call) {
    let place = |verb: &&str| {
        VERBS
            .iter()
            .position(|known| known == verb)
            .expect("a known verb")
    };
    let verbs = call.verbs.iter().map(place);
    // What the comment at the top of a file says of every watched kind is not repeated.
    let purpose = Some(call.purpose).filter(|purpose| ![WATCHED, CONFIRMED].contains(purpose));
    let is_of = |(resource, key): &&mut (&str, Key)| {
        *resource == call.resource && key.group == call.group && key.names == call.names
    };
    match resources.iter_mut().find(is_of) {
        Some((_, key)) => {
            key.verbs.extend(verbs);
            let is_new = |purpose: &&str| !key.purposes.contains(purpose);
            let purpose = purpose.filter(is_new);
            key.purposes.extend(purpose);
            // Without what is lost, the rule is needed.
            key.lost = key.lost.and(call.lost);
        }
        None => resources.push((
            call.resource,
            Key {
                group: call.group,
                names: call.names,
                verbs: verbs.collect(),
                purposes: purpose.into_iter().collect(),
                lost: call.lost,
            },
        )),
    }
}

fn write_rule(text: &mut String, key: &Key, resources: &[&str]) {
    let mut sentences = Vec::new();
    if !key.purposes.is_empty() {
        sentences.push(format!("{}.", capital(&key.purposes.join("; "))));
    }
    sentences.extend(key.lost.map(|lost| format!("Optional; without it: {lost}.")));
    if !sentences.is_empty() {
        for line in wrapped(&sentences.join(" ")) {
            let _ = writeln!(text, "  # {line}");
        }
    }
    let group = if key.group.is_empty() { "\"\"" } else { key.group };
    let verbs: Vec<&str> = key.verbs.iter().map(|verb| VERBS[*verb]).collect();
    let _ = writeln!(
        text,
        "  - apiGroups: [{group}]\n    resources: [{}]",
        resources.join(", ")
    );
    let quoted = |name: &&'static str| {
        if name.contains(':') {
            format!("{name:?}")
        } else {
            (*name).to_owned()
        }
    };
    let names = key.names.iter().map(quoted).collect::<Vec<_>>().join(", ");
    if names.len() > 90 {
        let _ = writeln!(text, "    resourceNames:");
        for name in key.names {
            let _ = writeln!(text, "      - {name}");
        }
    } else if !names.is_empty() {
        let _ = writeln!(text, "    resourceNames: [{names}]");
    }
    let _ = writeln!(text, "    verbs: [{}]", verbs.join(", "));
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// Text in lines of at most 120 characters.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + word.len() < 120 {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[test]
fn every_role_grants_what_the_table_of_calls_has() {
    let mut roles: BTreeMap<&str, Vec<Role>> = BTreeMap::new();
    for role in Role::ALL {
        roles.entry(role.manifest().0).or_default().push(role);
    }
    for (file, roles) in roles {
        let path = repository(&format!("manifests/rbac/{file}"));
        let found = std::fs::read_to_string(&path).expect("the manifest");
        let mut documents: Vec<String> = found.split("\n---\n").map(ToOwned::to_owned).collect();
        for role in roles {
            let (_, kind, name) = role.manifest();
            let document = documents.iter_mut().find(|document| {
                document.contains(&format!("\nkind: {kind}\n"))
                    && (document.contains(&format!("\nmetadata: {{name: {name}}}\n"))
                        || document.contains(&format!("\nmetadata: {{name: {name}, ")))
            });
            let document = document.expect("the role is in its file");
            let (head, _) = document.split_once("\nrules:\n").expect("a role has rules");
            *document = format!("{head}\nrules:\n{}", rules(role).trim_end());
        }
        let mut wanted = documents.join("\n---\n");
        if !wanted.ends_with('\n') {
            wanted.push('\n');
        }
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, &wanted).expect("writable");
        }
        let found = std::fs::read_to_string(&path).expect("the manifest");
        assert!(
            found == wanted,
            "manifests/rbac/{file} is out of date; UPDATE_EXPECT=1 writes it"
        );
    }
}

/// An action on the web page is written with the token of its user: its account needs no right to write, and none to impersonate.
#[test]
fn the_web_page_may_only_review_tokens_and_permissions() {
    let text = |path: &Path| std::fs::read_to_string(path).expect("a manifest");
    let rules: Vec<String> = text(&repository("manifests/rbac/web-page.yaml"))
        .lines()
        .map(str::trim)
        .filter(|line| {
            line.starts_with("- apiGroups") || line.starts_with("resources") || line.starts_with("verbs")
        })
        .map(ToOwned::to_owned)
        .collect();
    assert_eq!(
        rules,
        [
            "- apiGroups: [authentication.k8s.io]",
            "resources: [tokenreviews]",
            "verbs: [create]",
            "- apiGroups: [authorization.k8s.io]",
            "resources: [subjectaccessreviews]",
            "verbs: [create]",
        ]
    );
    for folder in ["manifests/rbac", "manifests/deploy", "charts/tidegate"] {
        for file in yaml_below(&repository(folder)) {
            assert!(
                !text(&file).contains("impersonate"),
                "{} grants impersonation",
                file.display()
            );
        }
    }
}

fn yaml_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let each = entries.flat_map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return yaml_below(&path);
        }
        let is_yaml = path.extension().is_some_and(|extension| extension == "yaml");
        is_yaml.then_some(path).into_iter().collect()
    });
    each.collect()
}
