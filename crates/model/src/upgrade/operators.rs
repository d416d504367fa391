//! Which operators of a cluster are upgraded after it.
//!
//! Decides what `approveAllUpgrades`, `include` and `exclude` mean together. Never knows which subscriptions a cluster has.

use std::collections::BTreeSet;
use std::fmt;

use api::cluster::{OcpOperators, OperatorRef};
use kubernetes::field::{Class, Fault, Path, Violation};
use kubernetes::names::is_dns1123_subdomain;

use crate::image::ImageReference;
use crate::rollout::keep;
use crate::rule;

/// The image that approves where none is chosen.
pub const DEFAULT_APPROVER: &str = "registry.redhat.io/openshift4/ose-cli:latest";

/// A subscription of an operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subscription {
    name: String,
    namespace: String,
}

/// As the approver compares it: neither part has a comma or a blank.
impl fmt::Display for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.name, self.namespace)
    }
}

/// Which operators are upgraded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operators {
    /// All when absent.
    include: Option<BTreeSet<Subscription>>,
    exclude: BTreeSet<Subscription>,
    image: String,
}

impl Operators {
    /// Reads `spec.ocpOperators`, which stands at `path`. Without `approveAllUpgrades` and without `include` no operator is upgraded,
    /// which is read as nothing.
    pub fn parse(raw: &OcpOperators, path: &Path) -> Result<Option<Self>, Vec<Violation>> {
        let mut wrong = Vec::new();
        let include = subscriptions(&raw.include, &path.key("include"), &mut wrong);
        let exclude = subscriptions(&raw.exclude, &path.key("exclude"), &mut wrong);
        let image = match raw.approver_image.as_str() {
            "" => Some(DEFAULT_APPROVER.to_owned()),
            text => keep(
                ImageReference::parse(text)
                    .map(|image| image.as_str().to_owned())
                    .map_err(|fault| fault.at(path.key("approverImage"), rule::UPGRADE_IMAGE)),
                &mut wrong,
            ),
        };
        let (Some(image), true) = (image, wrong.is_empty()) else {
            return Err(wrong);
        };
        let all = raw.approve_all_upgrades.unwrap_or_default();
        if !all && include.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            include: (!all).then_some(include),
            exclude,
            image,
        }))
    }

    /// Returns the subscriptions that are upgraded, as the approver reads them: empty for all.
    pub fn included(&self) -> String {
        self.include.as_ref().map(listed).unwrap_or_default()
    }

    /// Returns the subscriptions that are not upgraded, as the approver reads them.
    pub fn excluded(&self) -> String {
        listed(&self.exclude)
    }

    /// Returns the image that approves.
    pub fn image(&self) -> &str {
        &self.image
    }
}

fn listed(all: &BTreeSet<Subscription>) -> String {
    let all: Vec<String> = all.iter().map(ToString::to_string).collect();
    all.join(" ")
}

fn subscriptions(raw: &[OperatorRef], path: &Path, wrong: &mut Vec<Violation>) -> BTreeSet<Subscription> {
    for (at, one) in raw.iter().enumerate() {
        for (key, text) in [("name", &one.name), ("namespace", &one.namespace)] {
            if !is_dns1123_subdomain(text) {
                let detail = format!(
                    "must be the {key} of a subscription: lower case letters, digits, \"-\" and \".\""
                );
                let fault = Fault::of_text(Class::Invalid, text, detail);
                wrong.push(fault.at(path.index(at).key(key), rule::UPGRADE_OPERATORS));
            }
        }
    }
    let each = raw.iter().map(|one| Subscription {
        name: one.name.clone(),
        namespace: one.namespace.clone(),
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn operators(raw: Value) -> Result<Option<Operators>, Vec<String>> {
        let raw = serde_json::from_value(raw).map_err(|error| vec![error.to_string()])?;
        Operators::parse(&raw, &Path::root().key("o"))
            .map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn include_and_exclude_go_by_the_table_of_the_proposal() {
        let a = json!({"name": "a", "namespace": "x"});
        let b = json!({"name": "b", "namespace": "y"});
        let rows = [
            (
                json!({"approveAllUpgrades": true, "exclude": [b]}),
                Some(("", "b,y")),
            ),
            (
                json!({"approveAllUpgrades": true, "include": [a]}),
                Some(("", "")),
            ),
            (
                json!({"include": [b, a], "exclude": [b]}),
                Some(("a,x b,y", "b,y")),
            ),
            (json!({"approveAllUpgrades": false, "exclude": [b]}), None),
            (json!({}), None),
        ];
        for (raw, expected) in rows {
            let found = operators(raw.clone()).expect("a meaning");
            let lists = found.map(|found| (found.included(), found.excluded()));
            let lists = lists.as_ref().map(|(one, other)| (one.as_str(), other.as_str()));
            assert_eq!(lists, expected, "{raw}");
        }
    }

    #[test]
    fn what_could_break_out_of_a_list_is_refused() {
        for name in ["", "a b", "a,b", "$(id)", "A"] {
            let wrong = operators(json!({"include": [{"name": name, "namespace": "x"}]})).expect_err(name);
            assert!(wrong[0].starts_with("o.include[0].name"), "{wrong:?}");
        }
        assert!(operators(json!({"approveAllUpgrades": true, "approverImage": "a b"})).is_err());
    }
}
