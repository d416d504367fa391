//! Why a template cannot be rendered, in words that name the place.
//!
//! Decides nothing. Every fault is something that a user can find in the template, the configuration or the cluster.

use super::split::LARGEST;
use crate::size_budget::{ALL, Full, ONE, SizeBudget};
use crate::substitute::SubstitutionFault;

/// Why no works can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RenderFault {
    /// There is nothing to render.
    NoTemplate,
    /// A variable at this place.
    Substitution(String, SubstitutionFault),
    /// The manifest at this place lacks a field that every Kubernetes object has.
    NotAnObject(String, &'static str),
    /// Two manifests are about the same object.
    Twice(String, String, String),
    /// The manifest at this place does not fit into a work.
    TooLarge(String, usize),
    /// What stands at this place grew beyond a work while it was written.
    Boundless(String),
    /// All manifests together grew too large while they were written.
    TooMuch,
    /// What every work of the template carries does not fit into a work.
    SharedTooLarge(usize),
    /// The cluster's annotation with image mirrors cannot be read.
    ImageRegistries(String),
    /// The certificates of the proxy are not PEM in base64.
    CaBundle,
    /// A pattern of containers cannot be read.
    Container(String, String),
    /// The registration with this index says "custom signer" and names none.
    NoSigner(usize),
}

impl RenderFault {
    /// Returns the fault of a rendering that exceeded its size budget at a place, if it did.
    pub(super) fn of_budget(budget: &SizeBudget, place: &str) -> Option<Self> {
        budget.full().map(|full| match full {
            Full::One => Self::Boundless(place.to_owned()),
            Full::All => Self::TooMuch,
        })
    }
}

impl std::fmt::Display for RenderFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoTemplate => write!(f, "no AddOnTemplate is among the effective configurations"),
            Self::Substitution(place, fault) => write!(f, "{place}: {fault}"),
            Self::NotAnObject(place, field) => write!(f, "{place} has no {field}"),
            Self::Twice(one, other, object) => write!(f, "{one} and {other} are both {object}"),
            Self::TooLarge(place, size) => {
                write!(
                    f,
                    "{place} takes {size} bytes; one ManifestWork holds at most {LARGEST} bytes"
                )
            }
            Self::Boundless(place) => write!(
                f,
                "{place} takes more than {ONE} bytes; one ManifestWork holds at most {LARGEST} bytes"
            ),
            Self::TooMuch => write!(f, "all manifests together take more than {ALL} bytes"),
            Self::SharedTooLarge(size) => write!(
                f,
                "the part of each ManifestWork other than its manifests takes {size} bytes; one ManifestWork holds at most {LARGEST} bytes"
            ),
            Self::ImageRegistries(why) => write!(
                f,
                "annotation open-cluster-management.io/image-registries of the cluster: {why}"
            ),
            Self::CaBundle => write!(f, "proxyConfig.caBundle must be PEM certificates in base64"),
            Self::Container(pattern, why) => {
                write!(f, "resourceRequirements: containerID {pattern:?}: {why}")
            }
            Self::NoSigner(index) => write!(f, "registration[{index}]: custom signer is nil"),
        }
    }
}
