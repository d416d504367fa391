//! Files of other tools that lie in the same folders: charts and overlays.
//!
//! Decides which files hold no object yet: templates of a Helm chart, and patches of a kustomization, which hold half an
//! object. They are counted, not judged; what the tools make of them can be piped in.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Content, Node, Reading};

/// Why a file is not judged.
pub(super) const TEMPLATE: &str = "templates of Helm charts";
/// Why a file is not judged.
pub(super) const PATCH: &str = "patches of kustomizations";
/// Group of the files that tell kustomize what to do.
const KUSTOMIZE: &str = "kustomize.config.k8s.io/";

/// Returns the folders of charts among these files.
pub(super) fn charts<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    paths
        .filter_map(|path| {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            (name == "Chart.yaml").then_some(folder)
        })
        .collect()
}

/// Tells whether a file is a template of one of the charts.
pub(super) fn is_template(path: &str, charts: &BTreeSet<&str>) -> bool {
    charts.iter().any(|chart| {
        let inside = if chart.is_empty() {
            Some(path)
        } else {
            path.strip_prefix(chart).and_then(|rest| rest.strip_prefix('/'))
        };
        inside.is_some_and(|inside| inside.starts_with("templates/"))
    })
}

/// Tells whether a document tells kustomize what to do.
pub(super) fn is_kustomization(document: &Node) -> bool {
    let kind = document.text("kind");
    let group = document
        .text("apiVersion")
        .is_some_and(|version| version.starts_with(KUSTOMIZE));
    group || matches!(kind, Some("Kustomization"))
}

/// Returns the files that kustomizations use as patches.
pub(super) fn patches(readings: &BTreeMap<&str, &Reading>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, reading) in readings {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let ours = |document: &&Node| {
            is_kustomization(document)
                || path.ends_with("kustomization.yaml")
                || path.ends_with("kustomization.yml")
        };
        for document in reading.documents.iter().filter(ours) {
            for name in named(document) {
                found.insert(joined(folder, name));
            }
        }
    }
    found
}

fn named(document: &Node) -> Vec<&str> {
    let mut names = Vec::new();
    for field in ["patches", "patchesJson6902"] {
        let items = document.entry(field).map(|entry| entry.value.items());
        names.extend(items.into_iter().flatten().filter_map(|item| item.text("path")));
    }
    let merged = document
        .entry("patchesStrategicMerge")
        .map(|entry| entry.value.items());
    names.extend(
        merged
            .into_iter()
            .flatten()
            .filter_map(|item| match &item.content {
                Content::Scalar(value) => value.as_str(),
                Content::List(_) | Content::Map(_) => None,
            }),
    );
    names
}

fn joined(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if folder.starts_with('/') {
        format!("/{joined}")
    } else {
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::read;

    #[test]
    fn templates_of_charts_are_known_by_where_they_lie() {
        let charts = charts(["a/Chart.yaml", "a/values.yaml", "Chart.yaml.bak"].into_iter());
        assert!(is_template("a/templates/x.yaml", &charts));
        assert!(!is_template("a/x.yaml", &charts));
        assert!(!is_template("ab/templates/x.yaml", &charts));
    }

    #[test]
    fn patches_are_found_through_their_kustomization() {
        let reading = read(
            "kind: Kustomization\npatches:\n- path: ../p/a.yaml\n- patch: 'x'\npatchesStrategicMerge:\n- b.yaml\n",
        );
        let readings = BTreeMap::from([("over/lay/kustomization.yaml", &reading)]);
        assert_eq!(
            patches(&readings).into_iter().collect::<Vec<_>>(),
            ["over/lay/b.yaml", "over/p/a.yaml"]
        );
    }
}
