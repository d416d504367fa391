//! The set of all active policies.
//!
//! A policy that does not compile leaves its last valid version active, and its faults are reported. A set is immutable; loading creates
//! a new one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use cel_engine::admission_policy::Matched;
use jiff::Timestamp;
use serde_json::Value;

use super::compile::{self, Policy};
use super::document::{Kind, Origin, Source, Written, read};
use super::evaluation::{Budget, activation, facts};
use super::exception::Exception;
use super::fault::PolicyFault;
use super::judge::{judge, matched};
use super::outcome::Outcome;
use super::question::Fact;
use super::question::Question;
use kubernetes::field::{Path, quoted};

/// All active policies. Cheap to clone.
#[derive(Clone, Default)]
pub struct PolicySet {
    policies: Arc<BTreeMap<Id, Arc<Policy>>>,
}

/// The key of a policy. Kubernetes has two kinds of policies, and each kind can have a policy of the same name.
type Id = (Arc<str>, Sort);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    /// Every other policy.
    Judging,
    /// A MutatingAdmissionPolicy.
    Mutating,
}

fn id(kind: Kind, name: &str) -> Id {
    let sort = match kind {
        Kind::Mutating => Sort::Mutating,
        Kind::AddOnPolicy | Kind::Validating | Kind::ValidatingBinding | Kind::MutatingBinding => {
            Sort::Judging
        }
    };
    (Arc::from(name), sort)
}

/// A new set, and a report for every document.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The set.
    pub set: PolicySet,
    /// One report for each policy or binding, sorted by origin and name.
    pub reports: Vec<Report>,
}

/// The result for one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its origin.
    pub origin: Origin,
    /// Its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Its generation, if it is from the hub.
    pub generation: Option<i64>,
    /// Its faults.
    pub faults: Vec<PolicyFault>,
    /// Whether it is written in the former API group of its kind, which is supported for one more release.
    pub is_former: bool,
    /// The active policy with its name.
    pub in_force: InForce,
}

/// The active policy with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InForce {
    /// The document.
    This,
    /// An older version of it, because it does not compile; the generation is that of the older one.
    Older(Option<i64>),
    /// The policy of the same name in the current API group.
    Successor,
    /// The policy of the same name in the former API group, because this one does not compile.
    Former,
    /// Nothing.
    Nothing,
}

impl PolicySet {
    /// Loads policies. `objects` are those in which params are searched. For a policy that does not compile, the version in `previous`
    /// stays active, if there is one.
    pub fn load(sources: &[Source], objects: &[Value], previous: &Self) -> Loaded {
        let mut written: Vec<Written> = sources.iter().filter_map(read).collect();
        written.sort_by(|a, b| {
            (&a.origin, a.kind, &a.name, a.is_former).cmp(&(&b.origin, b.kind, &b.name, b.is_former))
        });
        let (bindings, policies): (Vec<Written>, Vec<Written>) = written
            .into_iter()
            .partition(|one| matches!(one.kind, Kind::ValidatingBinding | Kind::MutatingBinding));
        let mut loading = Loading {
            previous,
            taken: BTreeMap::new(),
            policies: BTreeMap::new(),
            reports: Vec::new(),
        };
        for one in &policies {
            loading.policy(one, &bindings, objects);
        }
        let named: BTreeSet<(Kind, &str)> =
            policies.iter().map(|one| (one.kind, one.name.as_str())).collect();
        for binding in &bindings {
            loading.binding(binding, &named);
        }
        Loaded {
            set: Self {
                policies: Arc::new(loading.policies),
            },
            reports: loading.reports,
        }
    }

    /// Returns this set with other policies added, such as those of a hub; policies of this set take precedence. `objects` are those in
    /// which params are searched.
    pub fn beside(&self, documents: &[Value], objects: &[Value]) -> Loaded {
        let source = |document: &Value| Source {
            origin: Origin::Hub,
            document: document.clone(),
        };
        let sources: Vec<Source> = documents.iter().map(source).collect();
        let mut loaded = Self::load(&sources, objects, &Self::default());
        let mut all = BTreeMap::clone(&loaded.set.policies);
        all.extend(
            self.policies
                .iter()
                .map(|(id, policy)| (id.clone(), Arc::clone(policy))),
        );
        loaded.set = Self {
            policies: Arc::new(all),
        };
        loaded
    }

    /// Evaluates the policies for a request.
    pub fn validate(&self, question: &Question<'_>) -> Outcome {
        let about: Vec<&Policy> = self
            .policies()
            .filter(|policy| {
                let mut bindings = policy.bindings.iter();
                policy.has_checks() && bindings.any(|one| matched(policy, one, question) != Matched::No)
            })
            .collect();
        let mut outcome = Outcome::default();
        if about.is_empty() {
            return outcome;
        }
        let facts = facts(about.iter().copied(), question);
        let shared = activation(question, &facts);
        let mut budget = Budget::full();
        for policy in about {
            outcome.extend(judge(policy, question, &shared, &mut budget));
        }
        outcome
    }

    /// Returns the names of the policies, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.policies.keys().map(|(name, _)| &**name)
    }

    /// Returns the number of active policies.
    pub fn len(&self) -> usize {
        self.policies.len()
    }

    /// Returns how many of them are policies of Kubernetes.
    pub fn of_kubernetes(&self) -> usize {
        let kinds = self.policies.values().map(|policy| policy.kind);
        kinds.filter(|kind| *kind != Kind::AddOnPolicy).count()
    }

    /// Returns whether no policy is active.
    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    /// Returns the ids of all checks, sorted: validations and schema checks.
    pub fn rules(&self) -> BTreeSet<String> {
        let of = |policy: &Policy| -> Vec<String> {
            let checks = policy.validations.iter().map(|check| policy.rule(&check.id));
            let schemas = policy.schemas.iter().map(|part| policy.rule(&part.id));
            checks.chain(schemas).collect()
        };
        self.policies().flat_map(of).collect()
    }

    /// Returns the facts that the policies read.
    pub fn facts(&self) -> BTreeSet<Fact> {
        self.policies()
            .flat_map(|policy| policy.facts.iter().copied())
            .collect()
    }

    /// Returns whether a policy reads more of a namespace than its name.
    pub fn reads_namespaces(&self) -> bool {
        self.policies().any(|policy| policy.reads_namespace)
    }

    /// Returns when the next exception after a time ends.
    pub fn next_end(&self, after: Timestamp) -> Option<Timestamp> {
        let exceptions = self.policies().flat_map(|policy| &policy.exceptions);
        exceptions
            .filter_map(Exception::end)
            .filter(|end| *end > after)
            .min()
    }

    /// Returns the set of the selected policies.
    pub(super) fn only(&self, wanted: impl Fn(&Policy) -> bool) -> Self {
        let some = self.policies.iter().filter(|(_, policy)| wanted(policy));
        Self {
            policies: Arc::new(
                some.map(|(id, policy)| (id.clone(), Arc::clone(policy)))
                    .collect(),
            ),
        }
    }

    /// Returns the policies, sorted by name.
    pub(super) fn policies(&self) -> impl Iterator<Item = &Policy> {
        self.policies.values().map(Arc::as_ref)
    }
}

impl Policy {
    fn has_checks(&self) -> bool {
        !(self.validations.is_empty() && self.schemas.is_empty() && self.annotations.is_empty())
    }
}

impl PartialEq for PolicySet {
    /// Sets are equal if they contain the same compiled policies.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.policies, &other.policies)
            || (self.policies.len() == other.policies.len()
                && self
                    .policies
                    .values()
                    .zip(other.policies.values())
                    .all(|(a, b)| Arc::ptr_eq(a, b)))
    }
}

impl Eq for PolicySet {}

impl fmt::Debug for PolicySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// One loading.
struct Loading<'a> {
    previous: &'a PolicySet,
    /// The names in use, with their policies.
    taken: BTreeMap<String, Vec<(Kind, Origin)>>,
    policies: BTreeMap<Id, Arc<Policy>>,
    reports: Vec<Report>,
}

impl Loading<'_> {
    fn policy(&mut self, written: &Written, bindings: &[Written], objects: &[Value]) {
        if written.is_former && !self.takes_over(written) {
            return self.report(written, Vec::new(), InForce::Successor);
        }
        let owners = self.taken.entry(written.name.clone()).or_default();
        if let Some((_, owner)) = owners.iter().find(|(kind, _)| excludes(*kind, written.kind)) {
            let words = format!("{owner} already has a policy of this name");
            let mut faults = vec![PolicyFault::at(Path::parse("metadata.name"), words)];
            faults.extend(compiled(written, bindings, objects).err().into_iter().flatten());
            return self.report(written, faults, InForce::Nothing);
        }
        owners.push((written.kind, written.origin.clone()));
        let id = id(written.kind, &written.name);
        match compiled(written, bindings, objects) {
            Ok(policy) => {
                self.policies.insert(id, Arc::new(policy));
                self.report(written, Vec::new(), InForce::This);
            }
            Err(faults) => {
                let older = self.previous.policies.get(&id);
                let older = older.filter(|older| older.origin == written.origin);
                let in_force = older.map_or(InForce::Nothing, |older| {
                    self.policies.insert(id, Arc::clone(older));
                    InForce::Older(older.generation)
                });
                self.report(written, faults, in_force);
            }
        }
    }

    /// Replaces a policy of the current API group with the one of the same name in the former group if the current one does not compile, so
    /// that the check does not stop. Returns whether the former one is used.
    fn takes_over(&mut self, former: &Written) -> bool {
        let is_successor = |report: &&mut Report| {
            report.kind == former.kind.name() && report.name == former.name && report.origin == former.origin
        };
        let Some(successor) = self.reports.iter_mut().find(is_successor) else {
            return true;
        };
        if successor.in_force == InForce::This {
            return false;
        }
        successor.in_force = InForce::Former;
        if let Some(owners) = self.taken.get_mut(&former.name) {
            owners.retain(|(kind, origin)| *kind != former.kind || *origin != former.origin);
        }
        true
    }

    fn binding(&mut self, binding: &Written, policies: &BTreeSet<(Kind, &str)>) {
        let mut faults = binding.faults.clone();
        let wanted = policy_name(binding);
        let kind = match binding.kind {
            Kind::MutatingBinding => Kind::Mutating,
            Kind::ValidatingBinding | Kind::AddOnPolicy | Kind::Validating | Kind::Mutating => {
                Kind::Validating
            }
        };
        if !wanted.is_empty() && !policies.contains(&(kind, wanted)) {
            let words = format!("{} {} does not exist", kind.name(), quoted(wanted));
            faults.push(PolicyFault::at(Path::parse("spec.policyName"), words));
        }
        let in_force = if faults.is_empty() {
            InForce::This
        } else {
            InForce::Nothing
        };
        self.report(binding, faults, in_force);
    }

    fn report(&mut self, written: &Written, faults: Vec<PolicyFault>, in_force: InForce) {
        self.reports.push(Report {
            origin: written.origin.clone(),
            kind: written.kind.name(),
            name: written.name.clone(),
            generation: written.generation,
            faults,
            is_former: written.is_former,
            in_force,
        });
    }
}

fn compiled(written: &Written, bindings: &[Written], objects: &[Value]) -> Result<Policy, Vec<PolicyFault>> {
    let own = bindings.iter();
    let own: Vec<&Written> = own
        .filter(|binding| is_of(binding, written) && binding.faults.is_empty())
        .collect();
    compile::policy(written, &own, objects)
}

/// Returns whether two policies of one name exclude each other, because their findings would have the same rule ids. The two kinds of
/// Kubernetes do not, because one validates and the other mutates.
fn excludes(one: Kind, other: Kind) -> bool {
    one == other || one == Kind::AddOnPolicy || other == Kind::AddOnPolicy
}

fn policy_name(binding: &Written) -> &str {
    binding
        .binding
        .get("policyName")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn is_of(binding: &Written, policy: &Written) -> bool {
    let fits = match policy.kind {
        Kind::Validating => binding.kind == Kind::ValidatingBinding,
        Kind::Mutating => binding.kind == Kind::MutatingBinding,
        Kind::AddOnPolicy | Kind::ValidatingBinding | Kind::MutatingBinding => false,
    };
    fits && policy_name(binding) == policy.name
}
