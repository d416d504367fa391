//! Compiles policies. Every part is compiled, so that all faults are reported together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cel_engine::ResultKind;
use cel_engine::admission_policy::{FailurePolicy, MatchResources, Validation};
use cel_engine::typecheck::Type;
use serde_json::Value;

use super::binding::Binding;
use super::document::{Kind, Origin, Written};
use super::exception::Exception;
use super::expression::{Expression, ResultType, Terms, compile};
use super::fault::PolicyFault;
use super::fault::{joined_lines, part_id, part_ids, schema_id};
use super::matching;
use super::patch::Leave;
use super::question::Fact;
use super::values::{Fitting, ParameterForm};
use api::v1alpha1::AddOnPolicySpec;
use kubernetes::field::{Class, Path, quoted};

/// A policy that compiles.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) name: Arc<str>,
    pub(super) kind: Kind,
    pub(super) origin: Origin,
    pub(super) generation: Option<i64>,
    /// Whether it is written in the former group of our kind.
    pub(super) is_former: bool,
    /// The spec as it was written.
    pub(super) spec: AddOnPolicySpec,
    pub(super) facts: BTreeSet<Fact>,
    pub(super) matcher: MatchResources,
    pub(super) conditions: Vec<(String, Expression)>,
    pub(super) variables: Vec<(String, Expression)>,
    pub(super) validations: Vec<Check>,
    pub(super) schemas: Vec<SchemaPart>,
    pub(super) mutations: Vec<MutationPart>,
    pub(super) annotations: Vec<(String, Expression)>,
    pub(super) on_failure: FailurePolicy,
    pub(super) bindings: Vec<Binding>,
    pub(super) exceptions: Vec<Exception>,
    /// Whether it reads more of a namespace than its name.
    pub(super) reads_namespace: bool,
}

/// An expression that must hold.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) id: String,
    pub(super) validation: Validation<Expression>,
    pub(super) class: Class,
    pub(super) path: Path,
    pub(super) suggestion: Option<String>,
}

/// A value that must fit a schema.
#[derive(Debug)]
pub(super) struct SchemaPart {
    pub(super) id: String,
    pub(super) expression: Expression,
    pub(super) fitting: Fitting,
    pub(super) form: ParameterForm,
    pub(super) path: Path,
    pub(super) suggestion: Option<String>,
}

/// What is added to an object.
#[derive(Debug)]
pub(super) struct MutationPart {
    pub(super) id: String,
    pub(super) expression: Expression,
    pub(super) merges: bool,
    pub(super) leave: Leave,
}

impl Policy {
    /// Returns the id of the rule that a part of the policy is.
    pub(super) fn rule(&self, part: &str) -> String {
        format!("policy/{}/{part}", self.name)
    }

    fn asks_for_namespace(&self) -> bool {
        let matchers = self.bindings.iter().map(|binding| &binding.matcher);
        let mut references = self.expressions().flat_map(|(_, one)| &one.references);
        std::iter::once(&self.matcher)
            .chain(matchers)
            .any(MatchResources::reads_namespace)
            || references.any(|reference| reference.name == "namespaceObject")
    }

    /// Returns every expression with its path.
    pub(super) fn expressions(&self) -> impl Iterator<Item = (Path, &Expression)> {
        let at = |list: &'static str, field: &'static str| {
            move |index: usize| Path::parse("spec").key(list).index(index).key(field)
        };
        let place = at("matchConditions", "expression");
        let conditions = self
            .conditions
            .iter()
            .enumerate()
            .map(move |(n, (_, one))| (place(n), one));
        let place = at("variables", "expression");
        let variables = self
            .variables
            .iter()
            .enumerate()
            .map(move |(n, (_, one))| (place(n), one));
        let place = at("validations", "expression");
        let checks = self
            .validations
            .iter()
            .enumerate()
            .map(move |(n, check)| (place(n), &check.validation.expression));
        let place = at("validations", "messageExpression");
        let messages = self.validations.iter().enumerate();
        let messages = messages
            .filter_map(move |(n, check)| Some((place(n), check.validation.message_expression.as_ref()?)));
        let place = at("schemas", "expression");
        let schemas = self
            .schemas
            .iter()
            .enumerate()
            .map(move |(n, part)| (place(n), &part.expression));
        let place = at("mutations", "expression");
        let mutations = self
            .mutations
            .iter()
            .enumerate()
            .map(move |(n, part)| (place(n), &part.expression));
        let place = at("auditAnnotations", "valueExpression");
        let notes = self
            .annotations
            .iter()
            .enumerate()
            .map(move |(n, (_, one))| (place(n), one));
        conditions
            .chain(variables)
            .chain(checks)
            .chain(messages)
            .chain(schemas)
            .chain(mutations)
            .chain(notes)
    }
}

/// Compiles a policy with the bindings of Kubernetes that name it.
pub(super) fn policy(
    written: &Written,
    bindings: &[&Written],
    objects: &[Value],
) -> Result<Policy, Vec<PolicyFault>> {
    let mut faults = Vec::new();
    let spec = &written.spec;
    let root = Path::parse("spec");
    let bound = match written.kind {
        Kind::AddOnPolicy => vec![Binding::inline(written, &mut faults)],
        Kind::Validating | Kind::Mutating | Kind::ValidatingBinding | Kind::MutatingBinding => bindings
            .iter()
            .map(|binding| Binding::upstream(binding, spec.param_kind.as_ref(), objects, &mut faults))
            .collect(),
    };
    let mut parts = Parts {
        terms: Terms {
            facts: facts(written),
            variables: BTreeMap::new(),
            lists: BTreeSet::new(),
            any_variable: written.doubts.touch_names_of_variables(),
            params: spec.params.is_some() || spec.param_kind.is_some() || are_params_in_doubt(written),
            types: (written.kind != Kind::AddOnPolicy).then(BTreeMap::new),
        },
        faults,
        root,
    };
    let policy = parts.policy(written, bound);
    // A consequence of a malformed field is not reported; all other faults are.
    let others = parts.faults.into_iter();
    let others = others.filter(|fault| !written.doubts.cover(&fault.path));
    let faults: Vec<PolicyFault> = written.faults.iter().cloned().chain(others).collect();
    if faults.is_empty() {
        Ok(policy)
    } else {
        Err(faults)
    }
}

/// Returns the facts that a policy declares, or all facts if the list is malformed.
fn facts(written: &Written) -> BTreeSet<Fact> {
    if written.doubts.touch(&Path::parse("spec.facts")) {
        return Fact::ALL.into_iter().collect();
    }
    let declared = written.spec.facts.iter();
    declared.filter_map(|name| Fact::parse(name)).collect()
}

fn are_params_in_doubt(written: &Written) -> bool {
    let names = ["spec.params", "spec.paramKind"];
    names.iter().any(|name| written.doubts.touch(&Path::parse(name)))
}

/// The compilation of one policy.
struct Parts {
    terms: Terms,
    faults: Vec<PolicyFault>,
    root: Path,
}

impl Parts {
    fn policy(&mut self, written: &Written, bindings: Vec<Binding>) -> Policy {
        let spec = &written.spec;
        if written.kind == Kind::AddOnPolicy && written.faults.is_empty() {
            self.needs(spec);
        }
        self.params(spec);
        // Conditions and validations can read every variable, a variable only those before it. Kubernetes evaluates match conditions before
        // the variables, so match conditions of its policies can read no variables.
        let early = (written.kind != Kind::AddOnPolicy).then(|| self.conditions(spec));
        let variables = self.variables(spec);
        let conditions = early.unwrap_or_else(|| self.conditions(spec));
        let validations = self.validations(spec);
        let schemas = self.schemas(spec);
        let mutations = self.mutations(spec);
        // Includes validations that do not compile, because an exception that names one of them is valid.
        let ids = part_ids(spec);
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        self.unique(&ids);
        let exceptions = self.exceptions(spec, &ids);
        let mut policy = Policy {
            name: Arc::from(written.name.as_str()),
            kind: written.kind,
            origin: written.origin.clone(),
            generation: written.generation,
            is_former: written.is_former,
            facts: self.terms.facts.clone(),
            matcher: matching::read(
                &spec.match_constraints.clone().unwrap_or_default(),
                &self.root.key("matchConstraints"),
                true,
                &mut self.faults,
            ),
            conditions,
            variables,
            validations,
            schemas,
            mutations,
            annotations: self.annotations(spec),
            on_failure: match spec.failure_policy.as_str() {
                "Ignore" => FailurePolicy::Ignore,
                _ => FailurePolicy::Fail,
            },
            bindings,
            exceptions,
            reads_namespace: false,
            spec: spec.clone(),
        };
        policy.reads_namespace = policy.asks_for_namespace();
        policy
    }

    fn needs(&mut self, spec: &AddOnPolicySpec) {
        let idle = spec.validations.is_empty()
            && spec.schemas.is_empty()
            && spec.mutations.is_empty()
            && spec.audit_annotations.is_empty();
        if idle {
            let words = "must have at least one of validations, schemas, mutations, auditAnnotations";
            self.faults.push(PolicyFault::at(self.root.clone(), words));
        }
    }

    fn params(&mut self, spec: &AddOnPolicySpec) {
        let Some(schema) = &spec.params_schema else {
            return;
        };
        let fitting = Fitting::compile(schema, &self.root.key("paramsSchema"), &mut self.faults);
        let (Some(fitting), Some(params)) = (fitting, &spec.params) else {
            return;
        };
        for misfit in fitting.misfits(params, ParameterForm::Value) {
            let at = misfit.path.segments().iter();
            let path = at.fold(self.root.key("params"), |path, step| path.step(step.clone()));
            self.faults.push(PolicyFault::at(path, misfit.words));
        }
    }

    fn compile(&mut self, source: &str, wanted: ResultType, path: &Path) -> Option<Expression> {
        compile(source, wanted, &self.terms, path, &mut self.faults)
    }

    fn variables(&mut self, spec: &AddOnPolicySpec) -> Vec<(String, Expression)> {
        let mut compiled = Vec::new();
        for (index, variable) in spec.variables.iter().enumerate() {
            let path = self.root.key("variables").index(index);
            if !is_word(&variable.name) {
                let words = "must be an identifier of letters, digits and underscores";
                self.faults.push(PolicyFault::at(path.key("name"), words));
                self.terms.any_variable = true;
                continue;
            }
            let expression = self.compile(&variable.expression, ResultType::Any, &path.key("expression"));
            let needs = expression
                .as_ref()
                .map(|one| one.needs.clone())
                .unwrap_or_default();
            if let Some(types) = &mut self.terms.types {
                let kind = expression.as_ref().map_or(Type::Dyn, |one| one.kind.clone());
                types.insert(variable.name.clone(), kind);
            }
            // Declared even if it does not compile, because an expression that reads it is valid.
            if self
                .terms
                .variables
                .insert(variable.name.clone(), needs)
                .is_some()
            {
                let words = format!("duplicate variable {}", quoted(&variable.name));
                self.faults.push(PolicyFault::at(path.key("name"), words));
            }
            let is_list = |one: &Expression| one.program.result_kind() == ResultKind::List;
            if expression.as_ref().is_some_and(is_list) {
                self.terms.lists.insert(variable.name.clone());
            }
            compiled.extend(expression.map(|expression| (variable.name.clone(), expression)));
        }
        compiled
    }

    fn conditions(&mut self, spec: &AddOnPolicySpec) -> Vec<(String, Expression)> {
        let mut compiled = Vec::new();
        for (index, condition) in spec.match_conditions.iter().enumerate() {
            let path = self.root.key("matchConditions").index(index).key("expression");
            let expression = self.compile(&condition.expression, ResultType::Bool, &path);
            compiled.extend(expression.map(|expression| (condition.name.clone(), expression)));
        }
        compiled
    }

    fn validations(&mut self, spec: &AddOnPolicySpec) -> Vec<Check> {
        let mut checks = Vec::new();
        for (index, raw) in spec.validations.iter().enumerate() {
            let path = self.root.key("validations").index(index);
            let message = &raw.message_expression;
            let message_expression = (!message.trim().is_empty())
                .then(|| self.compile(message, ResultType::Text, &path.key("messageExpression")))
                .flatten();
            let field = self.field_path(&raw.field_path, &path);
            let Some(expression) = self.compile(&raw.expression, ResultType::Bool, &path.key("expression"))
            else {
                continue;
            };
            checks.push(Check {
                id: part_id(&raw.id, index),
                validation: Validation {
                    expression,
                    message: one_line(&raw.message),
                    message_expression,
                },
                class: match raw.reason.as_str() {
                    "Forbidden" | "Unauthorized" => Class::Forbidden,
                    _ => Class::Invalid,
                },
                path: field,
                suggestion: text(&raw.suggestion),
            });
        }
        checks
    }

    fn schemas(&mut self, spec: &AddOnPolicySpec) -> Vec<SchemaPart> {
        let mut parts = Vec::new();
        for (index, raw) in spec.schemas.iter().enumerate() {
            let path = self.root.key("schemas").index(index);
            let expression = self.compile(&raw.expression, ResultType::Any, &path.key("expression"));
            let fitting = Fitting::compile(&raw.schema, &path.key("schema"), &mut self.faults);
            let field = self.field_path(&raw.field_path, &path);
            let (Some(expression), Some(fitting)) = (expression, fitting) else {
                continue;
            };
            parts.push(SchemaPart {
                id: schema_id(&raw.id, index),
                expression,
                fitting,
                form: match raw.form.as_str() {
                    "Pairs" => ParameterForm::Pairs,
                    _ => ParameterForm::Value,
                },
                path: field,
                suggestion: text(&raw.suggestion),
            });
        }
        parts
    }

    fn mutations(&mut self, spec: &AddOnPolicySpec) -> Vec<MutationPart> {
        let mut parts = Vec::new();
        for (index, raw) in spec.mutations.iter().enumerate() {
            let path = self.root.key("mutations").index(index);
            let (patched, other, field, wanted) = match raw.patch_type.as_str() {
                "JSONPatch" => (
                    &raw.json_patch,
                    &raw.apply_configuration,
                    "jsonPatch",
                    ResultType::List,
                ),
                _ => (
                    &raw.apply_configuration,
                    &raw.json_patch,
                    "applyConfiguration",
                    ResultType::Map,
                ),
            };
            let path = path.key(field);
            if other.is_some() {
                let words = format!("patchType {} supports only {field}", quoted(&raw.patch_type));
                self.faults.push(PolicyFault::at(path.clone(), words));
            }
            let Some(patched) = patched else {
                self.faults.push(PolicyFault::at(path, "must be set"));
                continue;
            };
            let path = path.key("expression");
            let Some(expression) = self.compile(&patched.expression, wanted, &path) else {
                continue;
            };
            if wanted == ResultType::Map {
                let is_list = |variable: &str, member: &str| {
                    variable == "variables" && self.terms.lists.contains(member)
                };
                if let Some((place, field)) = expression.program.list_in_object(&is_list) {
                    let words = format!(
                        "field {}: lists cannot be merged; use patchType \"JSONPatch\"",
                        quoted(field)
                    );
                    self.faults.push(PolicyFault::in_text(
                        path,
                        place,
                        words,
                        expression.program.source(),
                    ));
                    continue;
                }
            }
            parts.push(MutationPart {
                id: format!("mutation-{index}"),
                expression,
                merges: wanted == ResultType::Map,
                leave: if raw.allow_overwrite {
                    Leave::Overwrite
                } else {
                    Leave::AbsentOnly
                },
            });
        }
        parts
    }

    fn annotations(&mut self, spec: &AddOnPolicySpec) -> Vec<(String, Expression)> {
        let mut compiled = Vec::new();
        for (index, raw) in spec.audit_annotations.iter().enumerate() {
            let path = self.root.key("auditAnnotations").index(index);
            let expression = self.compile(
                &raw.value_expression,
                ResultType::Note,
                &path.key("valueExpression"),
            );
            compiled.extend(expression.map(|expression| (raw.key.clone(), expression)));
        }
        compiled
    }

    fn exceptions(&mut self, spec: &AddOnPolicySpec, ids: &[&str]) -> Vec<Exception> {
        let mut read = Vec::new();
        for (index, raw) in spec.exceptions.iter().enumerate() {
            let path = self.root.key("exceptions").index(index);
            read.extend(Exception::read(raw, &path, ids, &mut self.faults));
        }
        read
    }

    /// Parses a field path such as `.spec.configs`, with or without the first dot.
    fn field_path(&mut self, raw: &str, path: &Path) -> Path {
        let text = raw.trim();
        let text = text.strip_prefix('.').unwrap_or(text);
        let read = Path::parse(text);
        if read.to_string() != text && !text.is_empty() {
            let words = "must be a path such as spec.configs or metadata.labels[example.com/team]";
            self.faults.push(PolicyFault::at(path.key("fieldPath"), words));
        }
        read
    }

    fn unique(&mut self, ids: &[&str]) {
        let mut known = BTreeSet::new();
        for id in ids {
            if !known.insert(*id) {
                let words = format!("duplicate id {}", quoted(id));
                self.faults.push(PolicyFault::at(self.root.clone(), words));
            }
        }
    }
}

fn text(raw: &str) -> Option<String> {
    let text = one_line(raw);
    (!text.is_empty()).then_some(text)
}

fn one_line(text: &str) -> String {
    kubernetes::field::one_line(&joined_lines(text))
}

fn is_word(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
