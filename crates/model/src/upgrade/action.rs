//! What is done on a cluster before or after its upgrade.
//!
//! Decides which manifests can be a work at all. Never runs one.

use std::time::Duration;

use serde_json::Value;

use api::cluster::UpgradeAction;
use api::work::ManifestWorkSpec;
use kubernetes::field::{Class, Fault, Path, Violation};

use super::strategy::parse_length;
use crate::rollout::keep;
use crate::rule;

/// The most bytes that the manifests of one work may have together: Open Cluster Management refuses more.
pub const LARGEST_ACTION: usize = 500 * 1024;

/// Manifests that are applied on each cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    work: ManifestWorkSpec,
    timeout: Option<Duration>,
}

impl Action {
    /// Reads an action that stands at `path`. One without a `manifestWork` is none.
    pub fn parse(raw: &UpgradeAction, path: &Path) -> Result<Option<Self>, Vec<Violation>> {
        let mut wrong = Vec::new();
        let timeout = raw.timeout.as_deref().map(|text| {
            let read = parse_length(text, "30m");
            read.map_err(|fault| fault.at(path.key("timeout"), rule::UPGRADE_TIMEOUT))
        });
        let timeout = timeout.and_then(|read| keep(read, &mut wrong));
        if let Some(work) = &raw.manifest_work {
            check(
                work,
                &path.key("manifestWork").key("workload").key("manifests"),
                &mut wrong,
            );
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let work = raw.manifest_work.clone();
        Ok(work.map(|work| Self { work, timeout }))
    }

    /// Returns the manifests and how they are applied.
    pub fn work(&self) -> &ManifestWorkSpec {
        &self.work
    }

    /// Returns how long it may take on one cluster, where that is said.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }
}

fn check(work: &ManifestWorkSpec, path: &Path, wrong: &mut Vec<Violation>) {
    let manifests = work
        .workload
        .as_ref()
        .map_or(&[][..], |workload| &workload.manifests);
    if manifests.is_empty() {
        let fault = Fault::bare(
            Class::Required,
            "must have a manifest; remove the action if there is none",
        );
        wrong.push(fault.at(path.clone(), rule::UPGRADE_ACTION));
    }
    for (at, manifest) in manifests.iter().enumerate() {
        for key in ["apiVersion", "kind"] {
            if !is_text(manifest.get(key)) {
                let fault = Fault::bare(Class::Required, format!("must have a {key}"));
                wrong.push(fault.at(path.index(at).key(key), rule::UPGRADE_ACTION));
            }
        }
        if !is_text(manifest.pointer("/metadata/name")) {
            let fault = Fault::bare(
                Class::Required,
                "must have a name: a generated name is different each time",
            );
            wrong.push(fault.at(path.index(at).key("metadata").key("name"), rule::UPGRADE_ACTION));
        }
    }
    let size: usize = manifests.iter().map(|manifest| manifest.to_string().len()).sum();
    if size > LARGEST_ACTION {
        let detail = format!("must have at most {LARGEST_ACTION} bytes together, not {size}");
        wrong.push(Fault::bare(Class::Invalid, detail).at(path.clone(), rule::UPGRADE_ACTION));
    }
}

fn is_text(value: Option<&Value>) -> bool {
    value.and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn action(raw: Value) -> Result<Option<Action>, Vec<String>> {
        let raw = serde_json::from_value(raw).map_err(|error| vec![error.to_string()])?;
        Action::parse(&raw, &Path::root().key("a"))
            .map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn manifests_have_a_kind_and_a_name_and_fit_into_a_work() {
        let work = |manifests: Value| json!({"manifestWork": {"workload": {"manifests": manifests}}});
        assert_eq!(action(json!({})), Ok(None));
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        assert!(action(work(json!([map]))).is_ok_and(|read| read.is_some()));
        let rows = [
            (work(json!([])), "a.manifestWork.workload.manifests:"),
            (
                work(json!([{"kind": "ConfigMap", "metadata": {"name": "a"}}])),
                "manifests[0].apiVersion",
            ),
            (
                work(json!([{"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "a"}}])),
                "manifests[0].metadata.name",
            ),
            (
                work(
                    json!([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "x".repeat(LARGEST_ACTION)}}]),
                ),
                "at most 512000 bytes",
            ),
            (json!({"timeout": "soon"}), "a.timeout"),
        ];
        for (raw, said) in rows {
            let wrong = action(raw).expect_err(said);
            assert!(wrong.len() == 1 && wrong[0].contains(said), "{wrong:?}");
        }
    }
}
