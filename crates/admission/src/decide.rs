//! The decision about a request: whether the object can be stored.
//!
//! Runs the stages one after another: bounds, defaults, mutating policies, schema, rules (with confirmation, enforcement and ratchet of
//! each finding), validating policies, verdict. It is pure: the same request, facts and rulebook give the same response, in a dry run as
//! well.

use std::collections::BTreeSet;

use json_patch::Patch;
use schema::Stop;
use serde_json::Value;

use super::approval_record;
use super::bounds;
use super::defaults::{self, Filled};
use super::examine::{Case, Examined, MOST_OF_A_RULE, bounded, examine};
use super::metadata;
use super::policies;
use super::pruned_request::PrunedRequest;
use super::ratchet;
use super::request::{FieldsKnownBy, MetadataPart, Operation, Request, Webhook};
use super::rulebook::Rulebook;
use super::rules;
use super::set_by_record;
use super::shape::{self, Shape};
use super::subject::{
    Addon, AddonPolicy, Approval, ClusterAddon, DeploymentConfig, Freeze, HubConfig, Kind, Placement,
    Profile, ReplicaSet, Rollout, RolloutCheck, SetBinding, Template, Upgrade,
};
use super::upgrade_record;
use super::v1beta1;
use super::verdict::Verdict;
use ::kubernetes::bounds::ReadError;
use api::v1alpha1::GROUP;
use kubernetes::field::{Class, Fault, Findings, Identity, Path, Violation};
use store::Facts;

/// Decides whether the object of a request can be stored, and what is added to it, or whether it can be deleted.
///
/// A finding that depends on the absence of an object warns and does not refuse while the object is only missing in the watch cache. The
/// verdict contains these objects ([`Verdict::asks`]) and the permissions that the user needs ([`Verdict::asks_whether`]). The caller reads
/// them from the hub, and decides again.
pub fn decide(request: &Request<'_>, facts: &Facts, rulebook: &Rulebook) -> Verdict {
    if request.is_clean_up() {
        return Verdict::pass();
    }
    if let Some(pruned) = PrunedRequest::of(request) {
        let verdict = decide(&pruned.request(request), facts, rulebook);
        return pruned.add_to(verdict, request, facts, rulebook);
    }
    let is_stored = request.operation != Operation::Create;
    let verdict = match v1beta1::AsAlpha::of(request) {
        Some(read) => {
            let verdict = decided(&read.request(request), facts, rulebook);
            read.convert(verdict, request.resource)
        }
        None => decided(request, facts, rulebook),
    };
    let others = v1beta1::Other::of(request);
    let others = others
        .iter()
        .map(|other| decided(&other.request(request), facts, rulebook));
    let unsigned = v1beta1::unsigned(request, &rulebook.keys);
    let unnamed = v1beta1::unnamed_defaults(request);
    let refused: Vec<Violation> = unsigned.into_iter().chain(unnamed).collect();
    let refused = (!refused.is_empty()).then(|| refuse(identity(request, &Value::Null), refused));
    others
        .chain(refused)
        .fold(verdict, Verdict::refusing_as_well)
        .of_stored(is_stored)
}

fn decided(request: &Request<'_>, facts: &Facts, rulebook: &Rulebook) -> Verdict {
    let Some(shape) = shape::of(request).filter(|_| !request.passes_unseen()) else {
        return Verdict::pass();
    };
    let without_policies;
    let rulebook = if request.resource == AddonPolicy::RESOURCE {
        without_policies = rulebook.without_policies();
        &without_policies
    } else {
        rulebook
    };
    if request.operation == Operation::Delete {
        return part_with(request, shape, facts, rulebook);
    }
    let excess = bounds::excess(request);
    if !excess.refused.is_empty() {
        return refuse(identity(request, &Value::Null), excess.refused);
    }
    let Documents { object, old } = match Documents::read(request, shape) {
        Ok(documents) => documents,
        // The stored object is nested too deep for the parser, or has too many values. Its labels and finalizers can still be changed,
        // and it can be made smaller.
        Err(_) if bounds::keeps_the_spec(request) => {
            let (object, old) = (
                bounds::metadata_of(request.object),
                bounds::metadata_of(request.old),
            );
            return metadata_alone(request, &object, Some(&old));
        }
        Err(violation) => return refuse(identity(request, &Value::Null), vec![violation]),
    };
    let is_added_to = request.webhook == Webhook::Mutate
        && (request.resource == ClusterAddon::RESOURCE || !rulebook.policies.is_empty());
    let form = StoredForm::of(shape, object, request.circumstances.fields, is_added_to);
    let narrowed;
    let rulebook = match touch(form.seen(), old.as_ref()) {
        Touch::Nothing => return metadata_alone(request, form.given(), old.as_ref()),
        Touch::Metadata(before) => {
            narrowed = rulebook.for_the_difference(form.given(), before);
            if narrowed.policies.is_empty() && !rules_read_what_differs(request, form.given(), before) {
                return metadata_alone(request, form.given(), old.as_ref());
            }
            &narrowed
        }
        Touch::Spec => rulebook,
    };
    let opened = Opened {
        shape,
        old,
        form,
        excused: excess.excused,
    };
    judge(request, opened, facts, rulebook)
}

/// Decides about an update that no rule or policy checks.
fn metadata_alone(request: &Request<'_>, object: &Value, old: Option<&Value>) -> Verdict {
    match metadata::faults(request, object, old) {
        faults if faults.is_empty() => Verdict::pass(),
        faults => refuse(identity(request, object), faults),
    }
}

fn rules_read_what_differs(request: &Request<'_>, object: &Value, old: &Value) -> bool {
    let of_record = set_by_record::metadata_read(request.resource);
    rules::metadata_read(request.resource)
        .into_iter()
        .chain(of_record)
        .any(|(part, key)| {
            let values = |of| -> Vec<(&String, &Value)> {
                let of: &Value = of;
                let all = of.get("metadata").and_then(|all| all.get(part)?.as_object());
                let all = all.into_iter().flatten();
                all.filter(|(name, _)| name.starts_with(key)).collect()
            };
            values(object) != values(old)
        })
}

/// An object to check.
struct Opened {
    shape: &'static Shape,
    /// The stored object, with the defaults that the API server would show.
    old: Option<Value>,
    form: StoredForm,
    /// Its parts that are too large, and were stored so.
    excused: Vec<Violation>,
}

fn judge(request: &Request<'_>, opened: Opened, facts: &Facts, rulebook: &Rulebook) -> Verdict {
    let Opened {
        shape,
        ref old,
        mut form,
        excused,
    } = opened;
    let old = old.as_ref();
    let name = name_of(request, form.given()).to_owned();
    let identity = identity(request, form.given());
    let only_keepers_differ = old.is_some_and(|old| ratchet::only_keepers_differ(form.seen(), old));
    let Filled { mut patch, asked } = defaults::fill(request, form.given(), old, &name, facts);
    form.add(&patch);
    let case = Case {
        request,
        name: &name,
        facts,
        rulebook,
    };
    let asking = policies::PolicyAttributes {
        request,
        name: &name,
        facts,
        rulebook,
        scope: case.scope(),
    };
    let added = policies::mutate(&asking, form.given(), old, &patch);
    form.add(&added.patch);
    patch.0.extend(added.patch.0);
    let record = upgrade_record::addition(request, &form.stored, old, facts, &rulebook.keys);
    form.add(&record);
    patch.0.extend(record.0);
    let of_author = set_by_record::findings(request, &form.stored, old);
    let set_by = set_by_record::addition(request, &form.stored, old);
    for author in [approval_record::addition(request, &form.stored, old), set_by] {
        form.add(&author);
        patch.0.extend(author.0);
    }
    let faults = form.faults(shape, old, request.circumstances.stop);
    let found = by_kind(&case, form.seen(), old);
    let shapely = rulebook
        .enforcement
        .apply(shape_findings(faults, form.unknown), &case.scope());
    let shaped = shapely.allows();
    let mut findings = merge(found.findings, shapely);
    let judged = policies::examine(&asking, &form.stored, old, shaped);
    for fault in excused {
        findings.warn(fault);
    }
    // Read from the stored form, because a mutating policy may have added a label.
    let of_request = metadata::faults(request, &form.stored, old)
        .into_iter()
        .chain(approval_record::faults(request, &form.stored, old));
    for fault in of_request {
        findings.deny(fault);
    }
    findings.extend(of_author);
    let mut of_policies = added.findings;
    of_policies.extend(judged.findings);
    if only_keepers_differ {
        of_policies = ratchet::soften_unnamed(of_policies, &rulebook.policies);
    }
    findings.extend(of_policies);
    let asked = asked.into_iter().chain(found.asked).chain(added.asked);
    let asked = asked.chain(judged.asked).collect();
    let undecided = found.undecided.into_iter().chain(added.undecided);
    let undecided = undecided.chain(judged.undecided).collect();
    Verdict::of(identity, findings, patch)
        .asking(asked)
        .asking_whether(found.rights)
        .noting(judged.annotations)
        .leaving_open(undecided)
}

fn by_kind(case: &Case<'_>, object: &Value, old: Option<&Value>) -> Examined {
    match case.request.resource {
        Addon::RESOURCE => examine::<Addon>(case, object, old),
        ClusterAddon::RESOURCE => examine::<ClusterAddon>(case, object, old),
        DeploymentConfig::RESOURCE => examine::<DeploymentConfig>(case, object, old),
        HubConfig::RESOURCE => examine::<HubConfig>(case, object, old),
        Template::RESOURCE => examine::<Template>(case, object, old),
        Placement::RESOURCE => examine::<Placement>(case, object, old),
        SetBinding::RESOURCE => examine::<SetBinding>(case, object, old),
        Upgrade::RESOURCE => examine::<Upgrade>(case, object, old),
        RolloutCheck::RESOURCE => examine::<RolloutCheck>(case, object, old),
        Freeze::RESOURCE => examine::<Freeze>(case, object, old),
        Rollout::RESOURCE => examine::<Rollout>(case, object, old),
        Profile::RESOURCE => examine::<Profile>(case, object, old),
        ReplicaSet::RESOURCE => examine::<ReplicaSet>(case, object, old),
        Approval::RESOURCE => examine::<Approval>(case, object, old),
        AddonPolicy::RESOURCE => examine::<AddonPolicy>(case, object, old),
        _ => Examined::default(),
    }
}

/// Decides whether an object can be deleted. The deletion guard of the object, an enforcement setting or a policy can refuse it; all other
/// findings warn.
fn part_with(request: &Request<'_>, shape: &Shape, facts: &Facts, rulebook: &Rulebook) -> Verdict {
    let stored = request.old.or(request.object).map(bounds::read);
    let Some(Ok(mut object)) = stored else {
        return Verdict::pass();
    };
    if is_going(&object) {
        return Verdict::pass();
    }
    shape.apply_defaults(&mut object);
    let name = name_of(request, &object);
    let case = Case {
        request,
        name,
        facts,
        rulebook,
    };
    let asking = policies::PolicyAttributes {
        request,
        name,
        facts,
        rulebook,
        scope: case.scope(),
    };
    let Examined {
        mut findings, asked, ..
    } = by_kind(&case, &object, None);
    // Deletions of Placements and bindings are received only for advice, and no policy is meant for them.
    let judged = if request.group == GROUP || request.resource == Upgrade::RESOURCE {
        policies::part_with(&asking, &object)
    } else {
        policies::PolicyFindings::default()
    };
    findings.extend(judged.findings);
    let asked = asked.into_iter().chain(judged.asked).collect();
    Verdict::of(identity(request, &object), findings, Patch::default())
        .asking(asked)
        .noting(judged.annotations)
        .leaving_open(judged.undecided)
}

fn is_going(object: &Value) -> bool {
    object
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|time| !time.is_null())
}

/// The part of an object that an update changes.
enum Touch<'a> {
    /// Nothing that the gate checks.
    Nothing,
    /// Only metadata, which is checked only by the policies and rules that read it. Contains the stored object.
    Metadata(&'a Value),
    /// The spec, or the object is new.
    Spec,
}

/// The object and its stored predecessor.
struct Documents {
    /// The object as it was received.
    object: Value,
    /// The stored object, with the defaults that the API server would show.
    old: Option<Value>,
}

impl Documents {
    fn read(request: &Request<'_>, shape: &Shape) -> Result<Self, Violation> {
        let object = request
            .object
            .ok_or_else(|| unreadable("the request has no object"))?;
        let object = bounds::read(object).map_err(|error| match error {
            ReadError::TooManyValues(violation) => *violation,
            ReadError::Syntax(error) => unreadable(error),
        })?;
        let old = match (request.operation, request.old) {
            (Operation::Update, Some(old)) => Some(old),
            (Operation::Create | Operation::Delete | Operation::Connect, _) | (Operation::Update, None) => {
                None
            }
        };
        // A stored object that cannot be parsed does not soften findings, and does not block an update that makes it smaller.
        let old = old.and_then(|old| bounds::read(old).ok());
        let old = old.map(|mut old: Value| {
            shape.apply_defaults(&mut old);
            old
        });
        Ok(Self { object, old })
    }
}

/// Returns the changed part of an object that rules and policies check. For an object that is being deleted this is only the spec, because
/// a client that removes a finalizer must not be blocked by other faults.
fn touch<'a>(defaulted: &Value, old: Option<&'a Value>) -> Touch<'a> {
    let Some(old) = old else {
        return Touch::Spec;
    };
    let differs = |pointer: &str| defaulted.pointer(pointer) != old.pointer(pointer);
    let mut metadata = MetadataPart::EVERY.iter();
    if differs("/spec") {
        Touch::Spec
    } else if !is_going(defaulted) && metadata.any(|part| differs(&part.pointer())) {
        Touch::Metadata(old)
    } else {
        Touch::Nothing
    }
}

/// The object in the form in which the API server stores it.
struct StoredForm {
    /// The stored form: pruned, unless the hub has done that, and with defaults.
    stored: Value,
    /// The object with defaults, but not pruned, for rules about fields that the API server drops. `None` if nothing was pruned.
    written: Option<Value>,
    /// The object as it was received, if it may be patched or was pruned.
    given: Option<Value>,
    unknown: Vec<Violation>,
}

impl StoredForm {
    fn of(shape: &Shape, object: Value, fields: FieldsKnownBy<'_>, is_added_to: bool) -> Self {
        let is_known = matches!(fields, FieldsKnownBy::TheHub);
        let given = (is_added_to || !is_known).then(|| object.clone());
        let mut stored = object;
        let unknown = if is_known {
            shape.apply_defaults(&mut stored);
            Vec::new()
        } else {
            shape.settle(&mut stored)
        };
        let written = given.as_ref().filter(|_| !unknown.is_empty()).cloned();
        let written = written.map(|mut written| {
            shape.apply_defaults(&mut written);
            written
        });
        Self {
            stored,
            written,
            given,
            unknown,
        }
    }

    fn add(&mut self, patch: &Patch) {
        for document in [Some(&mut self.stored), self.written.as_mut()]
            .into_iter()
            .flatten()
        {
            // A value that the default of the schema has set in the meantime is replaced, which has the same result.
            let _fits = json_patch::patch(document, patch);
        }
    }

    fn seen(&self) -> &Value {
        self.written.as_ref().unwrap_or(&self.stored)
    }

    /// Returns the object as it was received; with defaults if nothing depends on them.
    fn given(&self) -> &Value {
        self.given.as_ref().unwrap_or(&self.stored)
    }

    fn faults(&self, shape: &Shape, old: Option<&Value>, stop: &Stop) -> Vec<Violation> {
        if old.is_some_and(|old| old.get("spec") == self.stored.get("spec")) {
            return Vec::new();
        }
        shape.check(&self.stored, old, stop)
    }
}

fn shape_findings(faults: Vec<Violation>, unknown: Vec<Violation>) -> Findings {
    let (mut misfits, mut unknown_fields) = (Findings::new(), Findings::new());
    for fault in faults {
        misfits.deny(fault);
    }
    for field in unknown {
        unknown_fields.warn(field);
    }
    let mut findings = bounded(shape::VALUE, misfits, MOST_OF_A_RULE);
    findings.extend(bounded(shape::UNKNOWN_FIELD, unknown_fields, MOST_OF_A_RULE));
    findings
}

/// Merges the findings of the rules and of the schema. For one field only the finding of the rule is kept, because it has more detail.
fn merge(mut findings: Findings, shapely: Findings) -> Findings {
    let reported: BTreeSet<Path> = findings
        .violations()
        .iter()
        .map(|violation| violation.path().clone())
        .collect();
    let names: BTreeSet<String> = reported.iter().map(ToString::to_string).collect();
    let (faults, warnings, audited) = shapely.into_parts();
    for fault in faults
        .into_iter()
        .filter(|fault| !is_reported(fault, &reported, &names))
    {
        findings.deny(fault);
    }
    for warning in warnings {
        findings.warn(warning.violation().clone());
    }
    for violation in audited {
        findings.audit(violation);
    }
    findings
}

// Kubernetes reports a value that fits none of several types without a path, and names the field in the text instead.
fn is_reported(fault: &Violation, reported: &BTreeSet<Path>, names: &BTreeSet<String>) -> bool {
    if *fault.path() != Path::root() {
        return reported.contains(fault.path());
    }
    let mut words = fault.detail().split_whitespace();
    words.any(|word| names.contains(word.trim_matches('"')))
}

fn name_of<'a>(request: &'a Request<'_>, object: &'a Value) -> &'a str {
    let written = object.pointer("/metadata/name").and_then(Value::as_str);
    if request.name.is_empty() {
        written.unwrap_or_default()
    } else {
        request.name
    }
}

/// Returns the identity of an object; its name is `generateName` if the API server has not generated the name yet.
fn identity(request: &Request<'_>, object: &Value) -> Identity {
    let prefix = || object.pointer("/metadata/generateName").and_then(Value::as_str);
    let name = match name_of(request, object) {
        "" => prefix().unwrap_or_default(),
        name => name,
    };
    Identity {
        group: request.group.to_owned(),
        kind: request.kind.to_owned(),
        name: name.to_owned(),
    }
}

fn refuse(identity: Identity, violations: Vec<Violation>) -> Verdict {
    let mut findings = Findings::new();
    for violation in violations {
        findings.deny(violation);
    }
    Verdict::of(identity, findings, Patch::default())
}

fn unreadable(cause: impl std::fmt::Display) -> Violation {
    Fault::bare(Class::Internal, format!("the object cannot be read: {cause}")).at(Path::root(), shape::VALUE)
}
