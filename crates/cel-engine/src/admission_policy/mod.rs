//! Admission policies as Kubernetes means them: which requests one is about, what its expressions see, and what its parts say.
//!
//! Decides that and nothing else. Knows no kind, no hub and no words of a refusal: an API server and a gate compile what they take,
//! ask here, and say what follows in words of their own.

mod conditions;
mod matching;
mod spec;
mod validation;

pub use conditions::{NULL, Target, Variables, all_hold};
pub use matching::{MatchAttributes, Matched, NAME_LABEL, Namespace, Versions, names_resource};
pub use spec::{FailurePolicy, MatchPolicy, MatchResources, Rule, RuleScope};
pub use validation::{Annotation, Evaluate, Validation, ValidationResult};
