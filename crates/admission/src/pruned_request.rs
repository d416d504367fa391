//! Pruning with the CRDs of a hub.
//!
//! An API server drops unknown fields before it calls a webhook. For a tool that reads files they are dropped here, with a warning, so that
//! the checked object is the one that the hub would store.

use serde_json::value::{RawValue, to_raw_value};

use super::bounds;
use super::examine::{Case, MOST_OF_A_RULE, bounded};
use super::known_fields::{Fields, Shape};
use super::request::{FieldsKnownBy, Request, RequestContext};
use super::rulebook::Rulebook;
use super::shape::{self, UNKNOWN_FIELD};
use super::v1beta1;
use super::verdict::Verdict;
use api::v1alpha1::VERSION;
use kubernetes::field::{Class, Fault, Findings, Path, Violation};
use store::Facts;

/// The object of a request as the hub would store it, and the fields that it would drop.
pub(super) struct PrunedRequest {
    object: Box<RawValue>,
    dropped: Vec<Violation>,
}

impl PrunedRequest {
    /// Returns the object that the hub would store, if its CRD of the kind is known.
    pub(super) fn of(request: &Request<'_>) -> Option<Self> {
        let FieldsKnownBy::Definitions(definitions) = request.circumstances.fields else {
            return None;
        };
        let hub = definitions.shape(request.group, request.version, request.resource)?;
        // An object that is too large to be parsed is refused elsewhere.
        let raw = request.object.filter(|_| bounds::excess(request).is_readable())?;
        let mut object = bounds::read(raw).ok()?;
        let renamed = v1beta1::strays_of(request, &object);
        let removed = hub.prune(&mut object);
        let ours = shape::of(request).or_else(|| {
            // Both versions of an add-on have the fields that were added at the same place.
            shape::of(&Request {
                version: VERSION,
                ..*request
            })
        });
        let ours = ours.filter(|_| !removed.is_empty()).map(Shape::fields);
        let unknown = removed
            .into_iter()
            .filter(|(path, _)| !renamed.iter().any(|stray| stray.path() == path))
            .map(|(path, near)| dropped(path, near, ours.as_ref()));
        let dropped = unknown.collect::<Vec<_>>().into_iter().chain(renamed).collect();
        Some(Self {
            object: to_raw_value(&object).ok()?,
            dropped,
        })
    }

    /// Returns the request with the object that the hub would store.
    pub(super) fn request<'a>(&'a self, request: &Request<'a>) -> Request<'a> {
        Request {
            object: Some(&self.object),
            circumstances: RequestContext {
                fields: FieldsKnownBy::TheHub,
                ..request.circumstances
            },
            ..*request
        }
    }

    /// Adds warnings about the dropped fields to a verdict.
    pub(super) fn add_to(
        self,
        verdict: Verdict,
        request: &Request<'_>,
        facts: &Facts,
        rulebook: &Rulebook,
    ) -> Verdict {
        if self.dropped.is_empty() {
            return verdict;
        }
        let mut findings = Findings::new();
        for field in self.dropped {
            findings.warn(field);
        }
        let case = Case {
            request,
            name: request.name,
            facts,
            rulebook,
        };
        let findings = bounded(UNKNOWN_FIELD, findings, MOST_OF_A_RULE);
        verdict.finding_as_well(rulebook.enforcement.apply(findings, &case.scope()))
    }
}

fn dropped(path: Path, near: Option<String>, ours: Option<&Fields>) -> Violation {
    let detail = "unknown field: the hub's CRD does not have it, so the hub drops it";
    let fault = Fault::bare(Class::Invalid, detail);
    let is_ours = ours.is_some_and(|fields| fields.has(&path));
    let fault = if path == Path::root().key("spec").key("dependencies") {
        fault.hint("set spec.dependsOn of the AddOnRollout, which has the same effect")
    } else if is_ours {
        fault.hint("update the CRD of the hub: the CRD of this version of Tidegate has the field")
    } else {
        fault.hint_if(near)
    };
    fault.at(path, UNKNOWN_FIELD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::decide;
    use crate::known_fields::HubDefinitions;
    use crate::request::{Operation, Webhook};
    use kubernetes::field::Warning;
    use serde_json::{Value, json};

    /// Returns the definition of ClusterManagementAddOns, changed.
    fn definition(change: impl Fn(&mut Value)) -> Value {
        let crds = api::crds();
        let crd = crds
            .iter()
            .find(|crd| crd.spec.names.plural == "clustermanagementaddons")
            .expect("our definition");
        let mut crd = serde_json::to_value(crd).expect("plain data");
        let versions = crd["spec"]["versions"].as_array_mut().expect("versions");
        for version in versions {
            change(&mut version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]);
        }
        crd
    }

    fn said(fields: FieldsKnownBy<'_>, version: &str, spec: &Value) -> Vec<String> {
        let object = json!({"apiVersion": format!("addon.open-cluster-management.io/{version}"),
            "kind": "ClusterManagementAddOn", "metadata": {"name": "newer"}, "spec": spec});
        let raw = to_raw_value(&object).expect("JSON");
        let request = Request {
            webhook: Webhook::Mutate,
            operation: Operation::Create,
            group: "addon.open-cluster-management.io",
            version,
            resource: "clustermanagementaddons",
            kind: "ClusterManagementAddOn",
            subresource: "",
            namespace: "",
            name: "newer",
            object: Some(&raw),
            old: None,
            dry_run: false,
            circumstances: RequestContext {
                fields,
                ..RequestContext::default()
            },
        };
        let verdict = decide(&request, &Facts::default(), &Rulebook::default());
        assert!(verdict.allowed(), "{:?}", verdict.violations());
        let warned = verdict.warnings().iter().map(Warning::violation);
        let unknown = warned.filter(|one| one.rule() == UNKNOWN_FIELD);
        unknown.map(ToString::to_string).collect()
    }

    #[test]
    fn the_hubs_definition_says_which_fields_are_dropped() {
        let newer = definition(|spec| {
            spec["hostedModeAutoDiscovery"] =
                json!({"type": "object", "properties": {"mode": {"type": "string"}}});
        });
        let older = definition(|spec| {
            spec.as_object_mut().expect("properties").remove("configuration");
        });
        let (newer, older) = (HubDefinitions::of([&newer]), HubDefinitions::of([&older]));
        let none: [&str; 0] = [];
        let field = json!({"hostedModeAutoDiscovery": {"mode": "Enable", "modes": 1}});
        let dropped = "unknown field: the hub's CRD does not have it, so the hub drops it";
        assert_eq!(
            said(FieldsKnownBy::Definitions(&newer), "v1alpha1", &field),
            [format!(
                "spec.hostedModeAutoDiscovery.modes: Invalid value: {dropped}; hint: did you mean \"mode\"? [schema/unknown-field]"
            )]
        );
        assert_eq!(said(FieldsKnownBy::TheHub, "v1alpha1", &field), none);
        assert_eq!(said(FieldsKnownBy::TheHub, "v1beta1", &field), none);
        assert_eq!(
            said(FieldsKnownBy::OurDefinition, "v1alpha1", &field),
            [
                "spec.hostedModeAutoDiscovery: Invalid value: unknown field: it is dropped when the object is stored [schema/unknown-field]"
            ]
        );
        let ours = json!({"configuration": {"configs": []}});
        assert_eq!(said(FieldsKnownBy::OurDefinition, "v1alpha1", &ours), none);
        assert_eq!(
            said(FieldsKnownBy::Definitions(&older), "v1alpha1", &ours),
            [format!(
                "spec.configuration: Invalid value: {dropped}; hint: update the CRD of the hub: the CRD of this version of \
                 Tidegate has the field [schema/unknown-field]"
            )]
        );
        // If the CRD of the hub is not known, that of this program is used.
        let nothing = HubDefinitions::default();
        assert_eq!(
            said(FieldsKnownBy::Definitions(&nothing), "v1alpha1", &ours),
            none
        );
    }

    #[test]
    fn what_a_v1beta1_author_took_from_v1alpha1_keeps_its_hint() {
        let hub = definition(|_| {});
        let mut hub = hub;
        // The hub serves the same schema as v1beta1, without the list of v1alpha1.
        let mut beta = hub["spec"]["versions"][0].clone();
        beta["name"] = json!("v1beta1");
        let spec = &mut beta["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        spec.as_object_mut()
            .expect("properties")
            .remove("supportedConfigs");
        hub["spec"]["versions"] = json!([beta]);
        let hub = HubDefinitions::of([&hub]);
        let spec = json!({"supportedConfigs": [], "colour": 1});
        let found = said(FieldsKnownBy::Definitions(&hub), "v1beta1", &spec);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("spec.colour: "), "{found:?}");
        assert!(
            found[1].contains("in v1beta1 the field is defaultConfigs"),
            "{found:?}"
        );
    }
}
