//! The set of all policies that are in force.
//!
//! Decides which policies are: those that compile. One that does not compile leaves its last good version in force and
//! says why. A set never changes; loading makes another one.

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

/// All policies that are in force. Cheap to clone.
#[derive(Clone, Default)]
pub struct PolicySet {
    policies: Arc<BTreeMap<Id, Arc<Policy>>>,
}

/// A policy by its name. Kubernetes has two kinds of policies, of which each may have one of a name.
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

/// A new set, and what became of every document.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The set.
    pub set: PolicySet,
    /// One report a policy or binding, sorted by origin and name.
    pub reports: Vec<Report>,
}

/// What became of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Where it comes from.
    pub origin: Origin,
    /// Its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Its generation, if the hub has numbered it.
    pub generation: Option<i64>,
    /// What is wrong with it.
    pub faults: Vec<PolicyFault>,
    /// Whether it is written in the former group of its kind, which is read for one release more.
    pub is_former: bool,
    /// What is in force under its name.
    pub in_force: InForce,
}

/// What is in force under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InForce {
    /// The document.
    This,
    /// An older version of it, because it does not compile; the generation is that of the older one.
    Older(Option<i64>),
    /// The policy of the same name in the group that the kind has now.
    Successor,
    /// That of the same name in the group that the kind had before, because this one does not compile.
    Former,
    /// Nothing.
    Nothing,
}

impl PolicySet {
    /// Loads policies; `objects` are those that params may be found in. What does not compile stays as it was in
    /// `previous`, if it was there.
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

    /// Returns this set with other policies beside it, such as those of a hub; names of this set are taken. `objects` are those that
    /// params may be found in.
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

    /// Returns what the policies say of a request.
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
        let mut purse = Budget::full();
        for policy in about {
            outcome.extend(judge(policy, question, &shared, &mut purse));
        }
        outcome
    }

    /// Returns the names of the policies, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.policies.keys().map(|(name, _)| &**name)
    }

    /// Returns how many policies are in force.
    pub fn len(&self) -> usize {
        self.policies.len()
    }

    /// Returns how many of them are of Kubernetes' own kinds.
    pub fn of_kubernetes(&self) -> usize {
        let kinds = self.policies.values().map(|policy| policy.kind);
        kinds.filter(|kind| *kind != Kind::AddOnPolicy).count()
    }

    /// Tells whether no policy is in force.
    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    /// Returns the ids of everything that can be broken, sorted: validations and schema checks.
    pub fn rules(&self) -> BTreeSet<String> {
        let of = |policy: &Policy| -> Vec<String> {
            let checks = policy.validations.iter().map(|check| policy.rule(&check.id));
            let schemas = policy.schemas.iter().map(|part| policy.rule(&part.id));
            checks.chain(schemas).collect()
        };
        self.policies().flat_map(of).collect()
    }

    /// Returns the facts that any of the policies asks for.
    pub fn facts(&self) -> BTreeSet<Fact> {
        self.policies()
            .flat_map(|policy| policy.facts.iter().copied())
            .collect()
    }

    /// Tells whether any of the policies asks for more of a namespace than its name.
    pub fn reads_namespaces(&self) -> bool {
        self.policies().any(|policy| policy.reads_namespace)
    }

    /// Returns when the next exception ends after a moment.
    pub fn next_end(&self, after: Timestamp) -> Option<Timestamp> {
        let exceptions = self.policies().flat_map(|policy| &policy.exceptions);
        exceptions
            .filter_map(Exception::end)
            .filter(|end| *end > after)
            .min()
    }

    /// Returns the set of those policies that are wanted.
    pub(super) fn only(&self, wanted: impl Fn(&Policy) -> bool) -> Self {
        let some = self.policies.iter().filter(|(_, policy)| wanted(policy));
        Self {
            policies: Arc::new(
                some.map(|(id, policy)| (id.clone(), Arc::clone(policy)))
                    .collect(),
            ),
        }
    }

    /// Returns the policies in the order of their names.
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
    /// Sets are the same when they hold the same compiled policies.
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
    /// Names that are taken, and by whom.
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
            let words = format!("{owner} has a policy of this name already");
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

    /// Gives a policy of the former group the place of the one of the same name in the present group, unless that one compiles: while it
    /// does not, nothing is let in between. Tells whether the place is free.
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
            let words = format!("there is no {} {}", kind.name(), quoted(wanted));
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

/// Tells whether two policies of one name exclude each other: their findings would have the same rule ids. Kubernetes' own two
/// kinds do not, because one judges and the other changes.
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
