//! What removes additions again: the operator that restores its definitions, and a conversion that loses fields that it does not
//! recognise.
//!
//! Decides when additions must not be made. Never decides for the owner of the definition: each hazard has its cure, which
//! the owner has to want.

use std::fmt;

use semver::Version;
use serde_json::Value;

use super::live::{Unfit, converter, other_versions, version_annotation};
use kubernetes::field::{listed, quoted};

/// What is known of the hub around a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubContext {
    /// Whether an operator of Open Cluster Management lives on the hub.
    pub operator: Operator,
    /// What is known of the program that converts.
    pub proof: Proof,
}

/// The operator of a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The hub has none.
    Absent,
    /// The hub has one. The version is what it has written on definitions that no other program takes over, if it has.
    Present(Option<String>),
}

/// What is known of the program that converts between versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It was not asked.
    NotAsked,
    /// The program at this address was asked and loses nothing.
    Lossless(Value),
    /// The program at this address was asked, and lost what it was given.
    Loses(Value),
    /// Asking failed, for this reason.
    Unanswered(String),
}

/// What the operator will do about a definition that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperatorWill {
    /// There is no operator.
    Nothing,
    /// It leaves the definition alone: the version on it is higher than its own.
    LeaveAlone {
        /// The version on the definition.
        marked: String,
        /// The operator's own.
        own: String,
    },
    /// It writes its own definition back, within three minutes.
    Overwrite {
        /// The version on the definition.
        marked: Option<String>,
        /// The operator's own.
        own: Option<String>,
    },
    /// The definition carries a version, and it cannot be told whether it is higher than the operator's own.
    Unknown {
        /// The version on the definition.
        marked: String,
    },
}

impl OperatorWill {
    pub(super) fn of(live: &Value, operator: &Operator) -> Self {
        let Operator::Present(own) = operator else {
            return Self::Nothing;
        };
        let Some(marked) = version_annotation(live).map(str::to_owned) else {
            return Self::Overwrite {
                marked: None,
                own: own.clone(),
            };
        };
        let numbers = |text: &str| {
            let version = Version::parse(text.trim_start_matches('v')).ok()?;
            Some((version.major, version.minor, version.patch))
        };
        match (numbers(&marked), own.as_deref().and_then(numbers), own) {
            (Some(ours), Some(its), Some(own)) if ours > its => Self::LeaveAlone {
                marked,
                own: own.clone(),
            },
            (Some(_), Some(_), _) => Self::Overwrite {
                marked: Some(marked),
                own: own.clone(),
            },
            (None, _, _) | (_, None, _) => Self::Unknown { marked },
        }
    }
}

/// What becomes of added fields when a client uses another version of the kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// There is no other version.
    NoOther,
    /// There are other versions, and nothing that they could lose.
    NothingToLose {
        /// The other versions.
        others: Vec<String>,
    },
    /// The conversion loses nothing.
    Lossless {
        /// The other versions.
        others: Vec<String>,
    },
    /// Every write through another version erases the fields.
    Erases {
        /// The other versions.
        others: Vec<String>,
        /// Who converts; `None` for no program: the API server only changes the version's name, and drops what the other does not
        /// know.
        converter: Option<Value>,
    },
    /// It cannot be told.
    Unproven {
        /// The other versions.
        others: Vec<String>,
        /// Why.
        why: String,
    },
}

impl Conversion {
    /// `at_stake` tells whether there are fields to lose.
    pub(super) fn of(live: &Value, at_stake: bool, proof: &Proof) -> Self {
        let others = other_versions(live);
        if others.is_empty() {
            return Self::NoOther;
        }
        if !at_stake {
            return Self::NothingToLose { others };
        }
        let Some(address) = converter(live) else {
            return Self::Erases {
                others,
                converter: None,
            };
        };
        match proof {
            Proof::Lossless(asked) if *asked == address => Self::Lossless { others },
            Proof::Loses(asked) if *asked == address => Self::Erases {
                others,
                converter: Some(address),
            },
            Proof::Lossless(asked) | Proof::Loses(asked) => Self::Unproven {
                why: format!(
                    "{} converts, but only {} was tested",
                    address_of(&address),
                    address_of(asked)
                ),
                others,
            },
            Proof::NotAsked => Self::Unproven {
                others,
                why: format!("{} was not tested", address_of(&address)),
            },
            Proof::Unanswered(why) => Self::Unproven {
                others,
                why: why.clone(),
            },
        }
    }
}

/// Returns the address of a converter as a person would write it.
pub(super) fn address_of(converter: &Value) -> String {
    let part = |name: &str| converter.get(name).and_then(Value::as_str).unwrap_or_default();
    match converter.as_str() {
        Some(url) => url.to_owned(),
        None => format!("service {}/{}{}", part("namespace"), part("name"), part("path")),
    }
}

/// Why additions must not be made to a definition, with the cure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// Nothing can be added to it.
    Unfit(Unfit),
    /// What was added before cannot be read.
    UnreadableRecord,
    /// The operator takes the additions away again.
    Overwritten {
        /// The name of the definition.
        name: String,
        /// The version on it.
        marked: Option<String>,
        /// The operator's own.
        own: Option<String>,
    },
    /// Another version erases them.
    Erased {
        /// The other versions.
        others: Vec<String>,
        /// Who converts.
        converter: Option<Value>,
    },
    /// Another version may erase them.
    Unproven {
        /// The other versions.
        others: Vec<String>,
        /// Why it is unknown.
        why: String,
    },
}

impl Hazard {
    pub(super) fn of_operator(name: &str, will: &OperatorWill) -> Option<Self> {
        match will {
            OperatorWill::Overwrite { marked, own } => Some(Self::Overwritten {
                name: name.to_owned(),
                marked: marked.clone(),
                own: own.clone(),
            }),
            OperatorWill::Nothing | OperatorWill::LeaveAlone { .. } | OperatorWill::Unknown { .. } => None,
        }
    }

    pub(super) fn of_conversion(conversion: &Conversion) -> Option<Self> {
        match conversion {
            Conversion::Erases { others, converter } => Some(Self::Erased {
                others: others.clone(),
                converter: converter.clone(),
            }),
            Conversion::Unproven { others, why } => Some(Self::Unproven {
                others: others.clone(),
                why: why.clone(),
            }),
            Conversion::NoOther | Conversion::NothingToLose { .. } | Conversion::Lossless { .. } => None,
        }
    }

    /// Returns what to do about it; empty where nothing can be done.
    pub fn cure(&self) -> String {
        match self {
            Self::Unfit(_) => String::new(),
            Self::UnreadableRecord => {
                "correct the annotation tidegate.io/added-fields, or remove it: the fields that it lists are then not removed"
                    .to_owned()
            }
            Self::Overwritten { name, .. } => format!(
                "to manage the definition yourself, run `kubectl annotate crd {name} \
                 operator.open-cluster-management.io/version=99.0.0 --overwrite`; then you also have to update the CA bundle of its \
                 conversion webhook and the fields of newer versions of Open Cluster Management (docs/ocm/definitions.md)"
            ),
            Self::Erased { .. } => {
                "have the hub convert with Tidegate's `/convert`, which loses nothing (docs/ocm/v1beta1.md), and run the command again"
                    .to_owned()
            }
            Self::Unproven { .. } => {
                "have the hub convert with Tidegate's `/convert`, which loses nothing (docs/ocm/v1beta1.md), and run the command again \
                 as a user who may create ClusterManagementAddOns"
                    .to_owned()
            }
        }
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfit(unfit) => unfit.fmt(f),
            Self::UnreadableRecord => f.write_str(
                "metadata.annotations[tidegate.io/added-fields]: cannot be read, so it is not known which fields were added before",
            ),
            Self::Overwritten { marked, own, .. } => {
                f.write_str("metadata.annotations[operator.open-cluster-management.io/version]: ")?;
                match marked {
                    None => f.write_str("absent")?,
                    Some(marked) => write!(f, "{}", quoted(marked))?,
                }
                if let (Some(_), Some(own)) = (marked, own) {
                    write!(f, ", which is not higher than the operator's own {}", quoted(own))?;
                }
                f.write_str(
                    ": the operator restores its own definition within three minutes, and the next write of each object drops the \
                     values of the fields",
                )
            }
            Self::Erased { others, converter } => {
                let others = listed(others.iter().map(String::as_str));
                match converter {
                    None => write!(f, "spec.conversion: no webhook converts: every write through {others} erases the fields"),
                    Some(converter) => write!(
                        f,
                        "spec.conversion: {} loses the fields that {others} does not have: every write through it erases them, including a \
                         write of a label or a status",
                        address_of(converter)
                    ),
                }
            }
            Self::Unproven { others, why } => write!(
                f,
                "spec.conversion: it is not known whether writes through {} erase the fields: {why}",
                listed(others.iter().map(String::as_str))
            ),
        }
    }
}
