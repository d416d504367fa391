//! What is checked of a manifest, one aspect at a time: each has a rule of its own.
//!
//! Decides nothing about values.

/// Takes steps for what is looked at; tells whether there were enough.
pub type Effort<'e> = &'e dyn Fn(usize) -> bool;

/// What is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// Every value has the type that its field has.
    Type,
    /// Every field exists.
    UnknownField,
    /// What has to be there is.
    Required,
    /// A workload selects the pods that it makes.
    Selector,
    /// The parts of a pod fit together.
    Pod,
}

impl Aspect {
    /// All aspects.
    pub const ALL: [Self; 5] = [
        Self::Type,
        Self::UnknownField,
        Self::Required,
        Self::Selector,
        Self::Pod,
    ];

    /// Returns the id of the rule that tells it.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Type => "manifest/type",
            Self::UnknownField => "manifest/unknown-field",
            Self::Required => "manifest/required",
            Self::Selector => "manifest/selector",
            Self::Pod => "manifest/pod",
        }
    }

    /// Tells whether a cluster would refuse the manifest for it, always.
    pub fn is_refused(self) -> bool {
        match self {
            Self::Type | Self::Selector | Self::Pod => true,
            Self::UnknownField | Self::Required => false,
        }
    }
}
