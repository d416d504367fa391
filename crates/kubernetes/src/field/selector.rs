//! Faults of label selectors.
//!
//! Translates a fault that `apimachinery` found into a message with its field.

use crate::labels::{self, Cause, Place};

use super::{Class, Fault, Path};

const OPERATORS: &str = "supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\"";
const KEY: &str = "must be the key of a label: a name of at most 63 letters, digits, \"-\", \"_\" and \".\", optionally \
                   with a domain and \"/\" before it";
const VALUE: &str = "must be the value of a label: at most 63 letters, digits, \"-\", \"_\" and \".\", with a letter or \
                     digit at both ends";

/// Returns what is wrong with a selector that stands at `path`, and where.
pub fn selector_fault(fault: &labels::Fault, path: &Path) -> (Path, Fault) {
    (place(&fault.place, path), told(&fault.cause))
}

fn told(cause: &Cause) -> Fault {
    match cause {
        Cause::NotAKey(key) => Fault::of_text(Class::Invalid, key, KEY),
        Cause::NotAValue(value) => Fault::of_text(Class::Invalid, value, VALUE),
        Cause::NeedsValues(operator) => {
            Fault::bare(Class::Required, format!("operator \"{operator}\" needs values"))
        }
        Cause::TakesNoValues(operator) => Fault::bare(
            Class::Forbidden,
            format!("operator \"{operator}\" takes no values"),
        ),
        Cause::UnknownOperator(other) => Fault::of_text(Class::NotSupported, other, OPERATORS),
    }
}

fn place(place: &Place, selector: &Path) -> Path {
    let expression = |index: usize| selector.key("matchExpressions").index(index);
    match place {
        Place::Label(key) => selector.key("matchLabels").entry(key.as_str()),
        Place::Key(index) => expression(*index).key("key"),
        Place::Operator(index) => expression(*index).key("operator"),
        Place::Values(index) => expression(*index).key("values"),
        Place::Value(index, at) => expression(*index).key("values").index(*at),
    }
}
