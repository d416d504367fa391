//! How the request path treats a kind.
//!
//! Decides the switches that differ between kinds.

use super::names::NameRule;
use super::untyped::is_untyped;
use crate::Resource;

/// What a successful delete of an object without finalizers returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteAnswer {
    /// A `Status` with details.
    Status,
    /// The object as it was.
    Object,
}

/// Whether a PUT may come without a resource version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unconditional {
    /// It then overwrites whatever is there.
    Allowed,
    /// It is answered with 422 `must be specified for an update`.
    Refused,
}

/// The switches of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a table of independent switches")]
pub struct Traits {
    /// Syntax of names.
    pub names: NameRule,
    /// Whether objects have `metadata.generation`; without it the field is dropped.
    pub generation: bool,
    /// Whether a PUT may come without a resource version.
    pub unconditional: Unconditional,
    /// What a delete returns.
    pub deletion: DeleteAnswer,
    /// Whether a PUT of an absent object creates it.
    pub create_on_update: bool,
    /// Whether objects are only answered and never stored.
    pub review: bool,
}

/// Returns the switches of a built-in or custom resource.
pub fn traits(resource: &Resource) -> Traits {
    let plain = Traits {
        names: NameRule::Subdomain,
        generation: false,
        unconditional: Unconditional::Allowed,
        deletion: DeleteAnswer::Status,
        create_on_update: false,
        review: false,
    };
    if resource.custom {
        return Traits {
            generation: true,
            unconditional: Unconditional::Refused,
            ..plain
        };
    }
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") => Traits {
            names: NameRule::Label,
            deletion: DeleteAnswer::Object,
            ..plain
        },
        ("", "ServiceAccount") => Traits {
            deletion: DeleteAnswer::Object,
            ..plain
        },
        ("" | "events.k8s.io", "Event") => Traits {
            create_on_update: true,
            ..plain
        },
        ("coordination.k8s.io", _) => Traits {
            unconditional: Unconditional::Refused,
            create_on_update: true,
            ..plain
        },
        ("apiextensions.k8s.io", _) => Traits {
            generation: true,
            unconditional: Unconditional::Refused,
            deletion: DeleteAnswer::Object,
            ..plain
        },
        ("admissionregistration.k8s.io", _) => Traits {
            generation: true,
            unconditional: Unconditional::Refused,
            ..plain
        },
        ("rbac.authorization.k8s.io", _) => Traits {
            names: NameRule::PathSegment,
            create_on_update: true,
            ..plain
        },
        ("authentication.k8s.io" | "authorization.k8s.io", _) => Traits {
            review: true,
            ..plain
        },
        _ => Traits {
            generation: is_untyped(resource),
            ..plain
        },
    }
}
