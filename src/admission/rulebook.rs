//! What the gate decides by, besides the request and the facts: the operator's choices.
//!
//! Decides nothing. The default holds every built-in rule as it is documented, and nothing else.

use super::enforcement::Enforcement;
use crate::policy::PolicySet;

/// The operator's choices.
#[derive(Clone, Debug, Default)]
pub struct Rulebook {
    /// What the findings of rules do.
    pub enforcement: Enforcement,
    /// Users' own rules.
    pub policies: PolicySet,
}
