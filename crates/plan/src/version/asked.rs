//! The version that an instance asks for: its own, or the one that its placement gives at the moment.
//!
//! Decides when `spec.desiredVersion` is given and when it is chosen. It is given while it equals the record of what a
//! placement gave (`tidegate.io/given-version`; both absent are equal too) and no other field manager owns it: then it follows the
//! placement's template. A version that the manager that applies the instance leaves out is given as well. Everything else was chosen by a user and is never written. Decisions 0004 and 0007 tell why. Where the add-on protects its version a
//! choice does not count.

use serde_json::Value;

use crate::install::Selected;
use store::{AddOn, Instance, PlacementUse};

/// Returns the version that a placement gives, "" when it gives none.
pub(crate) fn given(by: &PlacementUse) -> &str {
    by.creation.desired_version.as_deref().unwrap_or_default()
}

/// Returns the version that an instance asks for once this plan is applied, "" when it asks for none.
pub(crate) fn asked<'a>(addon: &AddOn, home: Option<&Selected<'a>>, instance: &'a Instance) -> &'a str {
    let is_protected = addon.facts.protects_version();
    match home {
        Some(selected) if is_protected || instance.has_given_version() => given(selected.by),
        None if is_protected => "",
        Some(_) | None => &instance.desired_version,
    }
}

/// Returns the version to write, null for none, so that an instance follows its placement; `None` when it does, or must
/// not.
pub(crate) fn follow(home: Option<&Selected<'_>>, instance: &Instance) -> Option<Value> {
    let given = home
        .filter(|_| instance.has_given_version())
        .map(|selected| given(selected.by))?;
    if *given == *instance.desired_version {
        return None;
    }
    Some(if given.is_empty() {
        Value::Null
    } else {
        Value::from(given)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use store::{Event, Kind, Settings, Store};

    /// Marks: placement that gave it, version in the spec, recorded version; and the fields that Git applies, if it applies any.
    fn is_given_by((mark, desired, recorded): (&str, &str, &str), applied: Option<&Value>) -> bool {
        let mut store = Store::new(Settings::default());
        let addon = json!({"metadata": {"name": "hello", "uid": "a", "resourceVersion": "1"}, "spec": {}});
        let annotations = json!({"tidegate.io/installed-by": mark, "tidegate.io/given-version": recorded});
        let entry = |fields| json!({"manager": "git", "operation": "Apply", "fieldsV1": fields});
        let entries: Vec<Value> = applied.map(entry).into_iter().collect();
        let instance = json!({"spec": {"desiredVersion": desired}, "metadata": {"name": "hello", "namespace": "c1",
            "uid": "i", "resourceVersion": "2", "annotations": annotations, "managedFields": entries}});
        for (kind, object) in [(Kind::AddOn, addon), (Kind::Instance, instance)] {
            store.apply(Event::Applied { kind, object });
        }
        let view = store.view("hello").unwrap();
        view.instance("c1").unwrap().has_given_version()
    }

    #[test]
    fn only_an_untouched_version_of_a_placement_is_given() {
        let rows = [
            ("default/all", "", "", true, "the placement gave none"),
            ("default/all", "v1", "v1", true, "untouched"),
            ("default/all", "v2", "v1", false, "a user wrote another one"),
            ("default/all", "", "v1", false, "a user removed it"),
            (
                "default/all",
                "v1",
                "",
                false,
                "a user wrote one, or removed the record to keep it",
            ),
            ("", "", "", false, "made by hand"),
            ("", "v1", "v1", false, "made by hand, with a copied record"),
        ];
        for (mark, desired, recorded, expected, why) in rows {
            assert_eq!(is_given_by((mark, desired, recorded), None), expected, "{why}");
        }
    }

    #[test]
    fn a_version_that_its_applier_leaves_out_is_given() {
        let without = json!({"f:spec": {}});
        let with = json!({"f:spec": {"f:desiredVersion": {}}});
        let rows = [
            (
                "",
                "v1",
                &without,
                true,
                "it was given, and the applier took it out",
            ),
            ("v1", "v1", &without, true, "untouched"),
            (
                "",
                "v1",
                &with,
                false,
                "the applier owns the field, whatever it holds",
            ),
            ("v2", "v1", &without, false, "a user wrote another one"),
        ];
        for (desired, recorded, applied, expected, why) in rows {
            let marks = ("default/all", desired, recorded);
            assert_eq!(is_given_by(marks, Some(applied)), expected, "{why}");
        }
        assert!(!is_given_by(("", "", "v1"), Some(&without)), "made by hand");
    }
}
