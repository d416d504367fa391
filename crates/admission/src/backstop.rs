//! The backstop: rules as ValidatingAdmissionPolicies, which the API server evaluates itself while no webhook is available.
//!
//! A policy refuses a part of what its rule refuses, and nothing else. It ignores requests for which the webhooks are not called, and every
//! list or value that was stored with the fault before. Loops stay within the cost limit of the API server for one expression, so that no
//! policy fails on an object that its rule admits. An API server evaluates every validation and every message of a policy whose conditions
//! match, so a condition excludes objects that have only common values, with one loop.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray,
};
use serde_json::{Value, json};

use super::approval_record::AUTHOR;
use super::bounds;
use super::set_by_record::{RESOURCES, SETTER};
use super::subject::{Approval, Kind as _};
use super::webhook_configurations::{ADDON_RESOURCES, a_new_spec, all_of, conditions, own, rule_of_addons};
use ::kubernetes::bounds::{MOST_ITEMS, MOST_VALUES};
use api::conversion::place_in_v1beta1;
use api::names::OWN_GROUP;
use api::names::annotations::SET_BY;
use api::v1alpha1::VERSION;
use kubernetes::field::{Fault, Path};
use model::{Limit, ProgressDeadline, RolloutKind, Scalar, Soak, Tolerance, rule};

/// One rule as a ValidatingAdmissionPolicy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackstopPolicy {
    /// The rule.
    pub rule: &'static str,
    /// The name of both objects.
    pub name: String,
    /// The ValidatingAdmissionPolicy.
    pub policy: Value,
    /// The ValidatingAdmissionPolicyBinding.
    pub binding: Value,
}

/// The first minor version of Kubernetes 1 that serves ValidatingAdmissionPolicies in a stable version.
pub const BACKSTOP_SINCE_MINOR: u32 = 30;

/// Texts up to this length are matched with the whole pattern of a duration, longer ones with its beginning: a longer text costs more, and
/// an add-on may have ten thousand.
const SHORT: usize = 10;
/// Every duration that Go parses, and some that it does not.
const DURATION: &str = "^[-+]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)([nuµμm]?s|m|h))+)$";
/// The pattern of every deadline.
const DEADLINE: &str = "^(None|[0-9]+(h|ms?|s)([0-9.]+([nuµμm]?s|m|h))*)$";
const DURATION_BEGINS: &str = "^[-+.0-9]";
const DEADLINE_BEGINS: &str = "^[0-9]";
/// The pattern of most durations and deadlines.
const COMMON_TIME: &str = "^[0-9]+[smh]$";
const SHARE: &str = "^([0-9]{1,2}|100)%$";

/// Returns the policies, in the order of their rules.
pub fn backstop() -> Vec<BackstopPolicy> {
    let fields = [
        Field::MaxConcurrency,
        Field::MaxFailures,
        Field::MinSuccessTime,
        Field::ProgressDeadline,
    ];
    let of_field = |field: Field| {
        policy(
            field.rule(),
            &rule_of_addons(&["clustermanagementaddons"], &CHANGES),
            [changed_spec(), ("may-be-wrong", field.may_be_wrong())],
            &validations_of_field(field),
        )
    };
    let collections = collections();
    let validations: Vec<Value> = collections.iter().map(Collection::validation).collect();
    let of_bounds = policy(
        bounds::RULE,
        &rule_of_addons(&ADDON_RESOURCES, &CHANGES),
        [changed_spec(), ("may-be-wrong", may_be_too_large(&collections))],
        &validations,
    );
    let of_author = policy(
        AUTHOR,
        &own(Approval::RESOURCE, &CHANGES),
        [changed_spec(), ("may-be-wrong", has("object", &AUTHOR_PATH))],
        &[validation_of_author()],
    );
    let of_fields = fields.into_iter().map(of_field);
    of_fields.chain([of_author, of_setter(), of_bounds]).collect()
}

fn changed_spec() -> (&'static str, String) {
    ("changes-the-spec", a_new_spec())
}

/// Without the webhook, a user could record another user as the one who has set a pause or a freeze.
fn of_setter() -> BackstopPolicy {
    let resources = all_of(OWN_GROUP, VERSION, &RESOURCES, &CHANGES);
    let annotation = |root: &str| format!("{root}.metadata.annotations['{SET_BY}']");
    let has =
        |root: &str| format!("has({root}.metadata.annotations) && '{SET_BY}' in {root}.metadata.annotations");
    let (new, old) = (annotation("object"), annotation("oldObject"));
    let (has_new, has_old) = (has("object"), has("oldObject"));
    let changes = format!("request.operation != 'UPDATE' || !({has_new}) || !({has_old}) || {new} != {old}");
    let is_known = format!("request.operation == 'UPDATE' && {has_old} && line in {old}.split('\\n')");
    let user = "has(request.userInfo.username) && line.split(' ', 3)[2] == request.userInfo.username";
    let path = Path::root().key("metadata").key("annotations").entry(SET_BY);
    let right = "each new line must end with the user of the request; remove the annotation";
    let validation = json!({
        "expression": format!("{new}.split('\\n').all(line, {is_known} || size(line.split(' ', 3)) == 3 && {user})"),
        "message": format!("{path}: Invalid value: {right} [{SETTER}]"),
        "reason": "Forbidden",
    });
    policy(
        SETTER,
        &resources,
        [("changes-the-annotation", changes), ("may-be-wrong", has_new)],
        &[validation],
    )
}

const CHANGES: [&str; 2] = ["CREATE", "UPDATE"];
const AUTHOR_PATH: [&str; 3] = ["spec", "decision", "by"];

/// A decision without an author does not count. Without the webhook, a user could choose one.
fn validation_of_author() -> Value {
    let by = "object.spec.decision.by";
    let is_known = format!(
        "request.operation == 'UPDATE' && {} && object.spec.decision == oldObject.spec.decision",
        has("oldObject", &AUTHOR_PATH)
    );
    let right = "must be the user of the request, or absent";
    json!({
        "expression": format!(
            "{by} == '' || has(request.userInfo.username) && {by} == request.userInfo.username || {is_known}"
        ),
        "message": format!("spec.decision.by: Invalid value: {right} [{AUTHOR}]"),
        "messageExpression": format!("'spec.decision.by: Invalid value: \"' + {by} + '\": {right} [{AUTHOR}]'"),
        "reason": "Forbidden",
    })
}

/// Returns a policy of validations. They hold for every request for which one of the conditions is false.
fn policy(
    rule: &'static str,
    resources: &Value,
    [change, may_be_wrong]: [(&'static str, String); 2],
    validations: &[Value],
) -> BackstopPolicy {
    let name = format!("tidegate-{}", rule.replace('/', "-"));
    let metadata = json!({"name": name, "labels": {"app.kubernetes.io/name": "tidegate"}});
    // Separate from the comparison with the stored spec, because each one has the cost limit of one expression.
    let mut conditions = conditions(change);
    conditions.insert(1, may_be_wrong);
    let conditions = conditions.into_iter();
    let conditions: Vec<Value> = conditions
        .map(|(name, expression)| json!({"name": name, "expression": expression}))
        .collect();
    BackstopPolicy {
        rule,
        name: name.clone(),
        policy: json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": metadata,
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {
                    "matchPolicy": "Equivalent",
                    "namespaceSelector": {},
                    "objectSelector": {},
                    "resourceRules": [resources],
                },
                "matchConditions": conditions,
                "validations": validations,
            },
        }),
        binding: json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": metadata,
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        }),
    }
}

/// Returns a validation that holds if `holds` is true for the object or false for the stored one. The reason is `Forbidden`, because
/// clients that force their changes delete an object and create it again after `Invalid`.
fn validation(holds: impl Fn(&str) -> String, message: &str, message_expression: Option<String>) -> Value {
    let (new, old) = (holds("object"), holds("oldObject"));
    let mut validation = json!({
        "expression": format!("{new} || request.operation == 'UPDATE' && !({old})"),
        "message": message,
        "reason": "Forbidden",
    });
    if let (Some(expression), Some(fields)) = (message_expression, validation.as_object_mut()) {
        fields.insert("messageExpression".to_owned(), expression.into());
    }
    validation
}

/// Returns the expression that each step of a path from `root` exists.
fn has(root: &str, path: &[&str]) -> String {
    let mut at = root.to_owned();
    let steps = path.iter().map(|step| {
        at = format!("{at}.{step}");
        format!("has({at})")
    });
    steps.collect::<Vec<_>>().join(" && ")
}

/// A field of a rollout strategy.
#[derive(Clone, Copy)]
enum Field {
    MaxConcurrency,
    MaxFailures,
    MinSuccessTime,
    ProgressDeadline,
}

impl Field {
    fn name(self) -> &'static str {
        match self {
            Self::MaxConcurrency => "maxConcurrency",
            Self::MaxFailures => "maxFailures",
            Self::MinSuccessTime => "minSuccessTime",
            Self::ProgressDeadline => "progressDeadline",
        }
    }

    fn rule(self) -> &'static str {
        match self {
            Self::MaxConcurrency => rule::MAX_CONCURRENCY,
            Self::MaxFailures => rule::MAX_FAILURES,
            Self::MinSuccessTime => rule::MIN_SUCCESS_TIME,
            Self::ProgressDeadline => rule::PROGRESS_DEADLINE,
        }
    }

    /// Returns the message of the rule for an invalid value.
    fn detail(self) -> String {
        let value = Scalar::Text("?");
        let fault: Option<Fault> = match self {
            Self::MaxConcurrency => Limit::parse(value).err(),
            Self::MaxFailures => Tolerance::parse(value).err(),
            Self::MinSuccessTime => Soak::parse(value).err(),
            Self::ProgressDeadline => ProgressDeadline::parse(value).err(),
        };
        fault.map(|fault| fault.detail().to_owned()).unwrap_or_default()
    }

    /// Returns the expression that a value may be valid.
    fn may_mean_something(self, value: &str) -> String {
        let text = |whole: &str, begin: &str| {
            format!("(size({value}) > {SHORT} ? {value}.matches('{begin}') : {value}.matches('{whole}'))")
        };
        match self {
            Self::MaxConcurrency | Self::MaxFailures => format!(
                "(type({value}) == int ? {value} >= 0 && {value} <= {} : size({value}) <= 4 && {value}.matches('{SHARE}'))",
                i32::MAX
            ),
            Self::MinSuccessTime => text(DURATION, DURATION_BEGINS),
            Self::ProgressDeadline => text(DEADLINE, DEADLINE_BEGINS),
        }
    }

    /// Returns the expression that a placement of an object has a value other than a common valid one.
    fn may_be_wrong(self) -> String {
        let blocks = RolloutKind::EVERY.map(|kind| kind.block()).map(|block| {
            let value = format!("p.rolloutStrategy.{block}.{}", self.name());
            let common = match self {
                Self::MaxConcurrency | Self::MaxFailures => {
                    let most = i32::MAX;
                    format!("(type({value}) == int ? {value} >= 0 && {value} <= {most} : {value}.matches('{SHARE}'))")
                }
                Self::MinSuccessTime | Self::ProgressDeadline => format!("{value}.matches('{COMMON_TIME}')"),
            };
            let is_given = has("p.rolloutStrategy", &[block, self.name()]);
            format!("{is_given} && !{common}")
        });
        format!(
            "{} && object.{}.exists(p, has(p.rolloutStrategy) && ({}))",
            has("object", &PLACEMENTS),
            PLACEMENTS.join("."),
            blocks.join(" || ")
        )
    }
}

const PLACEMENTS: [&str; 3] = ["spec", "installStrategy", "placements"];

fn validations_of_field(field: Field) -> Vec<Value> {
    let blocks = RolloutKind::EVERY.map(|kind| kind.block());
    let of_block = |block: &str| {
        let way = ["rolloutStrategy", block, field.name()];
        let is_given = has("p", &way);
        let way = way.join(".");
        let sound = field.may_mean_something(&format!("p.{way}"));
        let placements = PLACEMENTS.join(".");
        let holds = |root: &str| {
            format!(
                "!({}) || {root}.{placements}.all(p, !({is_given}) || {sound})",
                has(root, &PLACEMENTS)
            )
        };
        let (detail, rule) = (field.detail(), field.rule());
        let message = format!("{placements}[].{way}: Invalid value: {detail} [{rule}]");
        let shown = format!(
            "'{placements}[].{way}: Invalid value: \"' + string(object.{placements}.filter(p, {is_given} && !{sound})[0].{way}) + '\": {detail} [{rule}]'"
        );
        validation(holds, &message, Some(shown))
    };
    blocks.map(of_block).into()
}

/// A list or a map of a kind, by its path in the object; it is in at most one other list.
struct Collection {
    kind: String,
    outer: Vec<String>,
    inner: Vec<String>,
    most: usize,
    what: &'static str,
}

/// Returns the expression that a list or map of an object is too large. Each list is read once.
fn may_be_too_large(collections: &[Collection]) -> String {
    let excess = |root: &str, path: &[&str], one: &Collection| {
        let steps = (has(root, path), path.join("."));
        format!("{} && size({root}.{}) > {}", steps.0, steps.1, one.most)
    };
    let mut by_kind: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut by_list: BTreeMap<(&str, &[String]), Vec<String>> = BTreeMap::new();
    for one in collections {
        let (outer, inner) = (words(&one.outer), words(&one.inner));
        if inner.is_empty() {
            let of_kind = by_kind.entry(&one.kind).or_default();
            of_kind.push(excess("object", &outer, one));
        } else {
            let of_list = by_list.entry((&one.kind, &one.outer)).or_default();
            of_list.push(excess("i", &inner, one));
        }
    }
    for ((kind, outer), inner) in by_list {
        let outer = words(outer);
        by_kind.entry(kind).or_default().push(format!(
            "{} && object.{}.exists(i, {})",
            has("object", &outer),
            outer.join("."),
            inner.join(" || ")
        ));
    }
    let kinds = by_kind.into_iter();
    let kinds = kinds.map(|(kind, all)| format!("object.kind == '{kind}' && ({})", all.join(" || ")));
    kinds.collect::<Vec<_>>().join(" || ")
}

impl Collection {
    fn validation(&self) -> Value {
        let (outer, inner) = (words(&self.outer), words(&self.inner));
        let most = self.most;
        let within = |root: &str, path: &[&str]| {
            format!(
                "!({}) || size({root}.{}) <= {most}",
                has(root, path),
                path.join(".")
            )
        };
        let holds = |root: &str| {
            let all = if inner.is_empty() {
                within(root, &outer)
            } else {
                let list = format!("{root}.{}", outer.join("."));
                format!(
                    "!({}) || {list}.all(i, {})",
                    has(root, &outer),
                    within("i", &inner)
                )
            };
            format!("{root}.kind != '{}' || {all}", self.kind)
        };
        let path = if inner.is_empty() {
            outer.join(".")
        } else {
            format!("{}[].{}", outer.join("."), inner.join("."))
        };
        let message = format!(
            "{path}: Too many: must have at most {most} {} [{}]",
            self.what,
            bounds::RULE
        );
        validation(holds, &message, None)
    }
}

fn words(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

/// Returns the lists and maps of the specs of add-on kinds, in both versions.
fn collections() -> Vec<Collection> {
    let mut found = Vec::new();
    for crd in api::crds() {
        let names = &crd.spec.names;
        if !ADDON_RESOURCES.contains(&names.plural.as_str()) {
            continue;
        }
        let versions = crd.spec.versions.iter();
        let schemas = versions.filter_map(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
        let specs = schemas.filter_map(|schema| schema.properties.as_ref()?.get("spec"));
        let mut of_kind = Vec::new();
        for spec in specs {
            collect(spec, &mut vec!["spec".to_owned()], None, &mut of_kind);
        }
        let twins: Vec<_> = of_kind
            .iter()
            .filter_map(|one| in_v1beta1(&names.plural, one))
            .collect();
        of_kind.extend(twins);
        for (outer, inner, is_list) in of_kind {
            let (most, what) = if is_list {
                (MOST_ITEMS, "items")
            } else {
                (MOST_VALUES, "entries")
            };
            found.push(Collection {
                kind: names.kind.clone(),
                outer,
                inner,
                most,
                what,
            });
        }
    }
    found
}

/// Where a list or map is: the path to it or to the list around it, the path from an item of that, and whether it is a list.
type Place = (Vec<String>, Vec<String>, bool);

fn collect(
    schema: &JSONSchemaProps,
    path: &mut Vec<String>,
    within: Option<&[String]>,
    found: &mut Vec<Place>,
) {
    let place = |path: &[String], is_list| match within {
        None => (path.to_vec(), Vec::new(), is_list),
        Some(outer) => (outer.to_vec(), path.to_vec(), is_list),
    };
    if schema.type_.as_deref() == Some("array") {
        found.push(place(path, true));
        if let (None, Some(JSONSchemaPropsOrArray::Schema(item))) = (within, schema.items.as_ref()) {
            let outer = path.clone();
            collect(item, &mut Vec::new(), Some(&outer), found);
        }
        return;
    }
    if schema.additional_properties.is_some() {
        found.push(place(path, false));
    }
    for (name, property) in schema.properties.iter().flatten() {
        path.push(name.clone());
        collect(property, path, within, found);
        path.pop();
    }
}

/// Returns where a list is in `v1beta1`, if that is elsewhere.
fn in_v1beta1(resource: &str, (outer, inner, is_list): &Place) -> Option<Place> {
    let path = outer
        .iter()
        .fold(Path::root(), |path, name| path.key(name.clone()));
    let other = place_in_v1beta1(resource, &path);
    if other == path {
        return None;
    }
    let steps = other.to_string();
    let steps = steps.split('.').map(str::to_owned).collect();
    Some((steps, inner.clone(), *is_list))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect_file;

    #[test]
    fn the_manifest_is_up_to_date() {
        let objects = backstop().into_iter().flat_map(|one| [one.policy, one.binding]);
        let documents = objects.map(|object| {
            let body = serde_saphyr::to_string(&object).expect("a policy can be serialized");
            format!("# Generated from crates/admission/src/backstop.rs; change that instead.\n{body}")
        });
        let text = documents.collect::<Vec<_>>().join("---\n");
        expect_file!["../../../manifests/webhook/backstop.yaml"].assert_eq(&text);
    }
}
