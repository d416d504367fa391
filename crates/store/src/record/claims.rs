//! What others own of an instance, as far as a plan asks.
//!
//! Decides nothing; `decode::claims` reads it. Thousands of instances share one: a fleet has few appliers.

use model::Name;

/// What others own of an instance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claims {
    /// The field manager that applies the object, or the tool whose mark it carries; "" when there is neither.
    pub adopter: Name,
    /// Whether another field manager owns `spec.desiredVersion`.
    pub version: bool,
    /// Whether the field managers that apply the object leave `spec.installNamespace` out, and no other manager has set it: the
    /// stored value is the default of the definition. Not known, and so `false`, where nothing applies the object.
    pub omits_namespace: bool,
    /// The annotations that plans might write and that another field manager owns, sorted.
    pub annotations: Box<[Name]>,
}

impl Claims {
    /// Returns whether another manager wants the object to be there: then it is not ours to take away, whatever our marks say.
    pub fn is_adopted(&self) -> bool {
        !self.adopter.is_empty()
    }

    /// Returns whether another field manager owns an annotation.
    pub fn has(&self, annotation: &str) -> bool {
        self.annotations.iter().any(|key| **key == *annotation)
    }
}
