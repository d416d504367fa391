//! `authorizer`: may the user of the request do something else, too?
//!
//! Decides what is asked; the answer comes from an [`Authority`] that the caller brings. An authority that does not
//! know makes the check an error, never an allowance.

use super::errors::no_overload;
use ::cel::common::types::{CelBool, CelString, Kind, Type};
use ::cel::common::value::{StaticVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError, add_member_overload};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

type Result<T> = std::result::Result<T, ExecutionError>;

static AUTHORIZER: Type = Type::simple_type(Kind::Opaque, "kubernetes.authorization.Authorizer");
static PATH_CHECK: Type = Type::simple_type(Kind::Opaque, "kubernetes.authorization.PathCheck");
static GROUP_CHECK: Type = Type::simple_type(Kind::Opaque, "kubernetes.authorization.GroupCheck");
static RESOURCE_CHECK: Type = Type::simple_type(Kind::Opaque, "kubernetes.authorization.ResourceCheck");
static DECISION: Type = Type::simple_type(Kind::Opaque, "kubernetes.authorization.Decision");

/// What an expression asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The service account asked about, as namespace and name; the user of the request if there is none.
    pub service_account: Option<(String, String)>,
    /// The path asked about; the other fields are empty then.
    pub path: Option<String>,
    /// The API group.
    pub group: String,
    /// The resource.
    pub resource: String,
    /// The subresource, or nothing.
    pub subresource: String,
    /// The namespace, or nothing.
    pub namespace: String,
    /// The name, or nothing.
    pub name: String,
    /// The verb.
    pub verb: String,
    /// The field selector, or nothing.
    pub field_selector: String,
    /// The label selector, or nothing.
    pub label_selector: String,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes.
    Allowed {
        /// Why.
        reason: String,
    },
    /// No.
    Denied {
        /// Why.
        reason: String,
    },
    /// The authority does not know. Expressions may ask for the error; asking whether it is allowed fails.
    Unknown {
        /// Why not.
        error: String,
    },
}

/// Answers what users may do; the caller brings it.
pub trait Authority: Send + Sync + fmt::Debug {
    /// Answers; must not block.
    fn decide(&self, access: &Access) -> Decision;
}

/// The variable `authorizer`, or a question that is not complete yet.
#[derive(Clone, Debug)]
pub(crate) struct Authorizer {
    authority: Arc<dyn Authority>,
    access: Access,
}

impl Authorizer {
    /// Makes the variable.
    pub(crate) fn new(authority: Arc<dyn Authority>) -> Self {
        Self {
            authority,
            access: Access::default(),
        }
    }
}

macro_rules! opaque {
    ($(#[$words:meta])* $name:ident, $kind:ident) => {
        $(#[$words])*
        #[derive(Clone, Debug)]
        pub(crate) struct $name(Authorizer);

        opaque!(impl $name, $kind);
    };
    (impl $name:ident, $kind:ident) => {
        impl Val for $name {
            fn get_type(&self) -> &Type {
                &$kind
            }

            fn cel_type() -> &'static Type {
                &$kind
            }

            fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
                Box::new(self.clone())
            }

            fn as_any(&self) -> Option<&dyn Any> {
                Some(self)
            }
        }

        impl StaticVal for $name {}
    };
}

opaque!(impl Authorizer, AUTHORIZER);
opaque!(
    /// `authorizer.path('/healthz')`
    PathCheck, PATH_CHECK
);
opaque!(
    /// `authorizer.group('apps')`
    GroupCheck, GROUP_CHECK
);
opaque!(
    /// `authorizer.group('apps').resource('deployments')`
    ResourceCheck, RESOURCE_CHECK
);

/// An answer as a value.
#[derive(Clone, Debug)]
pub(crate) struct DecisionValue(Decision);

opaque!(impl DecisionValue, DECISION);

/// Adds the functions.
pub(super) fn register(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    for kind in [&AUTHORIZER, &PATH_CHECK, &GROUP_CHECK, &RESOURCE_CHECK, &DECISION] {
        env.add_type(kind.to_owned().to_owned())?;
    }
    add_member_overload!(env, fn path: (Authorizer, CelString<'_>) -> Result<PathCheck>)?;
    add_member_overload!(env, fn service_account: (Authorizer, CelString<'_>, CelString<'_>) -> Authorizer)?;
    add_member_overload!(env, fn group: (Authorizer, CelString<'_>) -> GroupCheck)?;
    add_member_overload!(env, fn resource: (GroupCheck, CelString<'_>) -> ResourceCheck)?;
    add_member_overload!(env, fn subresource: (ResourceCheck, CelString<'_>) -> ResourceCheck)?;
    add_member_overload!(env, fn namespace: (ResourceCheck, CelString<'_>) -> ResourceCheck)?;
    add_member_overload!(env, fn name: (ResourceCheck, CelString<'_>) -> ResourceCheck)?;
    add_member_overload!(env, fn field_selector: (ResourceCheck, CelString<'_>) -> ResourceCheck)?;
    add_member_overload!(env, fn label_selector: (ResourceCheck, CelString<'_>) -> ResourceCheck)?;
    add_member_overload!(env, fn check_path: (PathCheck, CelString<'_>) -> DecisionValue, name = "check")?;
    add_member_overload!(env, fn check_resource: (ResourceCheck, CelString<'_>) -> DecisionValue, name = "check")?;
    add_member_overload!(env, fn allowed: (DecisionValue) -> Result<CelBool>)?;
    add_member_overload!(env, fn reason: (DecisionValue) -> Result<CelString<'_>>)?;
    add_member_overload!(env, fn errored: (DecisionValue) -> CelBool)?;
    add_member_overload!(env, fn error: (DecisionValue) -> CelString<'_>)
}

fn with(this: &Authorizer, change: impl FnOnce(&mut Access)) -> Authorizer {
    let mut next = this.clone();
    change(&mut next.access);
    next
}

fn path(this: &Authorizer, path: &CelString<'_>) -> Result<PathCheck> {
    if path.inner().is_empty() {
        return Err(ExecutionError::function_error("path", "path must not be empty"));
    }
    Ok(PathCheck(with(this, |access| {
        access.path = Some(path.inner().to_owned());
    })))
}

fn service_account(this: &Authorizer, namespace: &CelString<'_>, name: &CelString<'_>) -> Authorizer {
    with(this, |access| {
        access.service_account = Some((namespace.inner().to_owned(), name.inner().to_owned()));
    })
}

fn group(this: &Authorizer, group: &CelString<'_>) -> GroupCheck {
    GroupCheck(with(this, |access| group.inner().clone_into(&mut access.group)))
}

fn resource(this: &GroupCheck, resource: &CelString<'_>) -> ResourceCheck {
    ResourceCheck(with(&this.0, |access| {
        resource.inner().clone_into(&mut access.resource);
    }))
}

fn subresource(this: &ResourceCheck, subresource: &CelString<'_>) -> ResourceCheck {
    ResourceCheck(with(&this.0, |access| {
        subresource.inner().clone_into(&mut access.subresource);
    }))
}

fn namespace(this: &ResourceCheck, namespace: &CelString<'_>) -> ResourceCheck {
    ResourceCheck(with(&this.0, |access| {
        namespace.inner().clone_into(&mut access.namespace);
    }))
}

fn name(this: &ResourceCheck, name: &CelString<'_>) -> ResourceCheck {
    ResourceCheck(with(&this.0, |access| name.inner().clone_into(&mut access.name)))
}

fn field_selector(this: &ResourceCheck, selector: &CelString<'_>) -> ResourceCheck {
    ResourceCheck(with(&this.0, |access| {
        selector.inner().clone_into(&mut access.field_selector);
    }))
}

fn label_selector(this: &ResourceCheck, selector: &CelString<'_>) -> ResourceCheck {
    ResourceCheck(with(&this.0, |access| {
        selector.inner().clone_into(&mut access.label_selector);
    }))
}

fn ask(question: &Authorizer, verb: &CelString<'_>) -> DecisionValue {
    let access = Access {
        verb: verb.inner().to_owned(),
        ..question.access.clone()
    };
    DecisionValue(question.authority.decide(&access))
}

fn check_path(this: &PathCheck, verb: &CelString<'_>) -> DecisionValue {
    ask(&this.0, verb)
}

fn check_resource(this: &ResourceCheck, verb: &CelString<'_>) -> DecisionValue {
    ask(&this.0, verb)
}

fn allowed(this: &DecisionValue) -> Result<CelBool> {
    match &this.0 {
        Decision::Allowed { .. } => Ok(true.into()),
        Decision::Denied { .. } => Ok(false.into()),
        Decision::Unknown { error } => Err(ExecutionError::function_error("allowed", error)),
    }
}

fn reason(this: &DecisionValue) -> Result<CelString<'static>> {
    match &this.0 {
        Decision::Allowed { reason } | Decision::Denied { reason } => Ok(reason.clone().into()),
        Decision::Unknown { .. } => Err(no_overload("reason")),
    }
}

fn errored(this: &DecisionValue) -> CelBool {
    matches!(this.0, Decision::Unknown { .. }).into()
}

fn error(this: &DecisionValue) -> CelString<'static> {
    match &this.0 {
        Decision::Unknown { error } => error.clone().into(),
        Decision::Allowed { .. } | Decision::Denied { .. } => String::new().into(),
    }
}
