//! Rules about templates: the manifests of an agent. Page: `tests/admission/template.md`.
//!
//! Decides nothing here; the parts do.

mod manifests;
mod pods;
mod text;
mod variables;

use crate::admission::subject::{Rule, Template};

/// Rules of templates.
pub(in crate::admission) const ON_TEMPLATES: &[&[Rule<Template>]] =
    &[manifests::RULES, pods::RULES, variables::RULES];
