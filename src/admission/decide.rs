//! The one question of this room: may this object be stored?
//!
//! Decides by running the stages one after another: schema, model, defaults, rules, enforcement, ratchet, verdict. Pure:
//! the same request, facts and rulebook give the same bytes, whether it is a dry run or not.

use json_patch::Patch;
use serde_json::Value;

use super::defaults;
use super::examine::{Case, Examined, examine};
use super::policies;
use super::request::{Operation, Request};
use super::rulebook::Rulebook;
use super::shape::{self, Shape};
use super::subject::{Addon, ClusterAddon, DeploymentConfig, HubConfig, Kind, Template};
use super::verdict::Verdict;
use crate::field::{Class, Fault, Findings, Identity, Path, Violation};
use crate::snapshot::Facts;

/// Decides whether the object of a request may be stored, and what is added to it; or whether it may be deleted.
///
/// What rests on the absence of an object that only the watch has not seen warns and never refuses. The verdict names
/// these objects ([`Verdict::asks`]); whoever has asked the hub for them decides again with facts that say so.
pub fn decide(request: &Request<'_>, facts: &Facts, rulebook: &Rulebook) -> Verdict {
    let Some(shape) = shape::of(request).filter(|_| !request.passes_unseen()) else {
        return Verdict::pass();
    };
    if request.operation == Operation::Delete {
        return part_with(request, shape, facts, rulebook);
    }
    let documents = match Documents::read(request, shape) {
        Ok(documents) => documents,
        Err(violation) => return refuse(identity(request, &Value::Null), violation),
    };
    if documents.are_left_alone() {
        return Verdict::pass();
    }
    let name = name_of(request, &documents.object).to_owned();
    let mut form = Form::of(shape, &documents);
    let mut patch = defaults::fill(request, &documents, &name, facts);
    form.add(&patch);
    let case = Case {
        request,
        name: &name,
        facts,
        rulebook,
    };
    let asking = policies::Asked {
        request,
        name: &name,
        facts,
        rulebook,
        scope: case.scope(),
    };
    let added = policies::mutate(&asking, &documents, &patch);
    form.add(&added.patch);
    patch.0.extend(added.patch.0);
    let faults = form.faults(shape, &documents);
    let Examined { findings, asked } = by_kind(&case, form.seen(), documents.old.as_ref());
    let shapely = rulebook
        .enforcement
        .apply(shape_findings(faults, form.unknown), &case.scope());
    let shaped = shapely.allows();
    let mut findings = merge(findings, shapely);
    let judged = policies::examine(&asking, &form.stored, documents.old.as_ref(), shaped);
    findings.extend(added.findings);
    findings.extend(judged.findings);
    let asked = asked.into_iter().chain(added.asked).chain(judged.asked).collect();
    let undecided = added.undecided.into_iter().chain(judged.undecided).collect();
    Verdict::of(identity(request, &documents.object), findings, patch)
        .asking(asked)
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
        _ => Examined::default(),
    }
}

/// Decides whether an object may be deleted: it warns, and refuses nothing that the operator or a policy has not told it to.
fn part_with(request: &Request<'_>, shape: &Shape, facts: &Facts, rulebook: &Rulebook) -> Verdict {
    let stored = request
        .old
        .or(request.object)
        .map(|old| serde_json::from_str(old.get()));
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
    let asking = policies::Asked {
        request,
        name,
        facts,
        rulebook,
        scope: case.scope(),
    };
    let Examined { mut findings, asked } = by_kind(&case, &object, None);
    let judged = policies::part_with(&asking, &object);
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

/// The object and its stored predecessor.
pub(super) struct Documents {
    /// The object exactly as it came.
    pub(super) object: Value,
    /// The stored object, with the defaults that the API server would show.
    pub(super) old: Option<Value>,
}

impl Documents {
    fn read(request: &Request<'_>, shape: &Shape) -> Result<Self, Violation> {
        let object = request
            .object
            .ok_or_else(|| unreadable("the request carries no object"))?;
        let object = serde_json::from_str(object.get()).map_err(unreadable)?;
        let old = match (request.operation, request.old) {
            (Operation::Update, Some(old)) => Some(old),
            (Operation::Create | Operation::Delete | Operation::Connect, _) | (Operation::Update, None) => {
                None
            }
        };
        let old = old
            .map(|old| serde_json::from_str(old.get()).map_err(unreadable))
            .transpose()?;
        let old = old.map(|mut old: Value| {
            shape.apply_defaults(&mut old);
            old
        });
        Ok(Self { object, old })
    }

    /// Tells whether an update is none of the gate's business: the object is going away, or only finalizers, owners and
    /// the like change. Whoever removes a finalizer cannot be asked to repair the spec first.
    fn are_left_alone(&self) -> bool {
        let deleting = is_going(&self.object);
        let same =
            |pointer| self.old.as_ref().map(|old| old.pointer(pointer)) == Some(self.object.pointer(pointer));
        self.old.is_some()
            && (deleting
                || ["/spec", "/metadata/labels", "/metadata/annotations"]
                    .into_iter()
                    .all(same))
    }

    fn spec_is_untouched(&self, defaulted: &Value) -> bool {
        self.old
            .as_ref()
            .is_some_and(|old| old.get("spec") == defaulted.get("spec"))
    }
}

/// The object as the API server would see it.
struct Form {
    /// Pruned and defaulted: what is stored.
    stored: Value,
    /// Defaulted only: what the user wrote, for rules about fields that the API server drops. Absent when nothing was.
    written: Option<Value>,
    unknown: Vec<Violation>,
}

impl Form {
    fn of(shape: &Shape, documents: &Documents) -> Self {
        let mut stored = documents.object.clone();
        let unknown = shape.settle(&mut stored);
        let written = (!unknown.is_empty()).then(|| {
            let mut written = documents.object.clone();
            shape.apply_defaults(&mut written);
            written
        });
        Self {
            stored,
            written,
            unknown,
        }
    }

    fn add(&mut self, patch: &Patch) {
        for document in [Some(&mut self.stored), self.written.as_mut()]
            .into_iter()
            .flatten()
        {
            // Replacing a value that the schema's default has filled meanwhile and adding an absent one are the same.
            let _fits = json_patch::patch(document, patch);
        }
    }

    fn seen(&self) -> &Value {
        self.written.as_ref().unwrap_or(&self.stored)
    }

    fn faults(&self, shape: &Shape, documents: &Documents) -> Vec<Violation> {
        if documents.spec_is_untouched(&self.stored) {
            return Vec::new();
        }
        shape.check(&self.stored, documents.old.as_ref())
    }
}

fn shape_findings(faults: Vec<Violation>, unknown: Vec<Violation>) -> Findings {
    let mut findings = Findings::new();
    for fault in faults {
        findings.deny(fault);
    }
    for field in unknown {
        findings.warn(field);
    }
    findings
}

/// Joins what the rules and what the schema say: about one field a rule speaks alone, because it says more.
fn merge(mut findings: Findings, shapely: Findings) -> Findings {
    let told: Vec<Path> = findings
        .violations()
        .iter()
        .map(|violation| violation.path().clone())
        .collect();
    let (faults, warnings, audited) = shapely.into_parts();
    for fault in faults
        .into_iter()
        .filter(|fault| !told.iter().any(|path| speaks_of(fault, path)))
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
fn speaks_of(fault: &Violation, path: &Path) -> bool {
    if *fault.path() != Path::root() {
        return fault.path() == path;
    }
    let name = path.to_string();
    fault
        .detail()
        .split_whitespace()
        .any(|word| word.trim_matches('"') == name)
}

fn name_of<'a>(request: &'a Request<'_>, object: &'a Value) -> &'a str {
    let written = object.pointer("/metadata/name").and_then(Value::as_str);
    if request.name.is_empty() {
        written.unwrap_or_default()
    } else {
        request.name
    }
}

fn identity(request: &Request<'_>, object: &Value) -> Identity {
    Identity {
        group: request.group.to_owned(),
        kind: request.kind.to_owned(),
        name: name_of(request, object).to_owned(),
    }
}

fn refuse(identity: Identity, violation: Violation) -> Verdict {
    let mut findings = Findings::new();
    findings.deny(violation);
    Verdict::of(identity, findings, Patch::default())
}

fn unreadable(cause: impl std::fmt::Display) -> Violation {
    Fault::bare(Class::Internal, format!("the object cannot be read: {cause}")).at(Path::root(), shape::VALUE)
}
