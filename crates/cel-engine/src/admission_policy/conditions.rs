//! Match conditions, of policies and of webhooks, and what they and other expressions see of a request.
//!
//! Decides what all of them together say: a false one beats any error, an error beats a true one. What an error then means is said by
//! the failure policy, which is another's to read.

use crate::Activation;
use serde_json::Value;

/// Tells whether all conditions hold, or all errors if none of them is false. What follows a false one is not asked.
pub fn all_hold<E>(conditions: impl IntoIterator<Item = Result<bool, E>>) -> Result<bool, Vec<E>> {
    let mut errors = Vec::new();
    for condition in conditions {
        match condition {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(true) } else { Err(errors) }
}

/// What is done to which object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target<'a> {
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: &'a str,
    /// API group.
    pub group: &'a str,
    /// API version.
    pub version: &'a str,
    /// Plural name of the resource.
    pub resource: &'a str,
    /// Subresource; empty for the object itself.
    pub subresource: &'a str,
    /// Namespace; empty for cluster-scoped objects, namespaces among them.
    pub namespace: &'a str,
    /// Name of the object.
    pub name: &'a str,
}

/// What stands for an object that is not there.
pub static NULL: Value = Value::Null;

/// What expressions see of a request.
#[derive(Clone, Copy)]
pub struct Variables<'v> {
    /// `object`: as it would be stored.
    pub object: &'v Value,
    /// `oldObject`: as it is stored.
    pub old_object: &'v Value,
    /// `request`.
    pub request: &'v Value,
    /// `namespaceObject`, null for what is in no namespace. If it is not known, it is not bound: a namespace that is there must
    /// not read as one without labels.
    pub namespace: Option<&'v Value>,
}

impl<'v> Variables<'v> {
    /// Binds them.
    pub fn bind(&self, activation: &mut Activation<'_, 'v>) {
        activation.bind("object", self.object);
        activation.bind("oldObject", self.old_object);
        activation.bind("request", self.request);
        if let Some(namespace) = self.namespace {
            activation.bind("namespaceObject", namespace);
        }
    }
}

impl std::fmt::Debug for Variables<'_> {
    // Never the values: objects do not belong in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Variables").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::all_hold;

    #[test]
    fn a_false_condition_beats_any_error_and_an_error_a_true_one() {
        type Row = (&'static [Result<bool, u8>], Result<bool, Vec<u8>>);
        let rows: [Row; 4] = [
            (&[], Ok(true)),
            (&[Ok(true), Ok(true)], Ok(true)),
            (&[Err(1), Ok(false), Err(2)], Ok(false)),
            (&[Err(1), Ok(true), Err(2)], Err(vec![1, 2])),
        ];
        for (conditions, expected) in rows {
            assert_eq!(all_hold(conditions.iter().copied()), expected, "{conditions:?}");
        }
    }

    #[test]
    fn nothing_behind_a_false_condition_is_evaluated() {
        let asked = [Ok(false), Err("asked")];
        let mut count = 0;
        let _held = all_hold(asked.into_iter().inspect(|_| count += 1));
        assert_eq!(count, 1);
    }
}
