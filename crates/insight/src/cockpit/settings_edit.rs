//! A change of the settings in an AddOnRollout, field by field.
//!
//! Decides the patch, who else owns what it changes, and its description. A list in a merge patch is replaced as a whole, so the
//! patch goes with the revision that it was made from.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::ownership::{OwnedField, owners_of};
use super::writing::{Form, Writing};
use store::Kind;

/// A change of the settings of an add-on.
pub(super) struct SettingsEdit<'a> {
    addon: &'a str,
    /// The AddOnRollout; `null` where there is none yet.
    object: &'a Value,
    /// The fields for all placements that change; `null` removes one.
    all: Map<String, Value>,
    placements: Option<Vec<Value>>,
    says: Vec<String>,
    takes: Vec<String>,
    /// The fields that change, as users and as `fieldsV1` name them.
    touched: Vec<(String, Vec<String>)>,
}

impl<'a> SettingsEdit<'a> {
    /// A change of nothing yet.
    pub(super) fn of(addon: &'a str, object: &'a Value) -> Self {
        Self {
            addon,
            object,
            all: Map::new(),
            placements: None,
            says: Vec::new(),
            takes: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Sets a field for all placements, or for one, as `namespace/name`.
    pub(super) fn set(&mut self, place: Option<&str>, key: &str, value: Value) {
        self.says.push(format!("{}={value}", told(place, key)));
        self.touched.push((told(place, key), fields(place, key)));
        match place {
            None => {
                self.all.insert(key.to_owned(), value);
            }
            Some(place) => {
                let list = self.list();
                if let Some(entry) = list.iter_mut().find(|entry| is_of(entry, place)) {
                    entry[key] = value;
                    return;
                }
                let (namespace, name) = place.split_once('/').unwrap_or_default();
                list.push(json!({"namespace": namespace, "name": name, key: value}));
            }
        }
    }

    /// Removes a field for all placements, or for one.
    pub(super) fn take(&mut self, place: Option<&str>, key: &str) {
        self.takes.push(told(place, key));
        self.touched.push((told(place, key), fields(place, key)));
        match place {
            None => {
                self.all.insert(key.to_owned(), Value::Null);
            }
            Some(place) => {
                let list = self.list();
                for entry in list.iter_mut().filter(|entry| is_of(entry, place)) {
                    entry.as_object_mut().map(|entry| entry.remove(key));
                }
                // An entry without settings says nothing.
                list.retain(|entry| entry.as_object().is_none_or(|entry| entry.len() > 2));
            }
        }
    }

    fn list(&mut self) -> &mut Vec<Value> {
        let object = self.object;
        self.placements.get_or_insert_with(|| {
            let listed = object.pointer("/spec/placements").and_then(Value::as_array);
            listed.cloned().unwrap_or_default()
        })
    }

    /// Returns what is written.
    pub(super) fn writing(self) -> Writing {
        let mut spec = self.all;
        if let Some(placements) = self.placements {
            spec.insert("placements".to_owned(), placements.into());
        }
        let form = if self.object.is_null() {
            spec.insert("addon".to_owned(), self.addon.into());
            Form::Create
        } else {
            Form::Merge
        };
        let owners = self.touched.iter().flat_map(|(field, path)| {
            let managers = owners_of(self.object, path).into_iter();
            managers.map(move |manager| OwnedField::new(manager, field))
        });
        let owners: BTreeSet<OwnedField> = owners.collect();
        Writing {
            body: json!({"apiVersion": Kind::Rollout.api_version(), "kind": Kind::Rollout.address().kind,
                "metadata": {"name": self.addon}, "spec": spec}),
            form,
            owners: owners.into_iter().collect(),
            says: self.says,
            takes: self.takes,
            more: Vec::new(),
            restores: Vec::new(),
            changes: Vec::new(),
            note: None,
        }
    }
}

fn is_of(entry: &Value, place: &str) -> bool {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    place.split_once('/') == Some((text("namespace"), text("name")))
}

fn told(place: Option<&str>, key: &str) -> String {
    place.map_or_else(
        || format!("spec.{key}"),
        |place| format!("spec.placements[{place}].{key}"),
    )
}

fn fields(place: Option<&str>, key: &str) -> Vec<String> {
    let key = format!("f:{key}");
    let Some(place) = place else {
        return vec!["f:spec".to_owned(), key];
    };
    let (namespace, name) = place.split_once('/').unwrap_or_default();
    let item = format!("k:{}", json!({"name": name, "namespace": namespace}));
    vec!["f:spec".to_owned(), "f:placements".to_owned(), item, key]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_other_placements_and_other_fields_stay() {
        let object = json!({"metadata": {"managedFields": [
                {"manager": "argocd", "fieldsV1": {"f:spec": {"f:placements": {
                    "k:{\"name\":\"a\",\"namespace\":\"default\"}": {"f:pause": {}}}}}},
                {"manager": "kubectl", "fieldsV1": {"f:spec": {"f:onFailure": {}}}}]},
            "spec": {"onFailure": "Undo", "pause": {}, "placements": [
                {"namespace": "default", "name": "a", "pause": {}, "onFailure": "Stop"},
                {"namespace": "default", "name": "b", "pause": {}}]}});
        let mut edit = SettingsEdit::of("hello", &object);
        edit.take(None, "pause");
        edit.take(Some("default/a"), "pause");
        edit.take(Some("default/b"), "pause");
        edit.set(Some("default/c"), "promotedAt", json!("2030-01-01T00:00:00Z"));
        let writing = edit.writing();
        assert_eq!(writing.form, Form::Merge);
        assert_eq!(
            writing.owners,
            [OwnedField::new("argocd", "spec.placements[default/a].pause")]
        );
        assert_eq!(
            writing.body["spec"],
            json!({"pause": null, "placements": [
                {"namespace": "default", "name": "a", "onFailure": "Stop"},
                {"namespace": "default", "name": "c", "promotedAt": "2030-01-01T00:00:00Z"}]})
        );
        assert_eq!(
            writing.takes,
            [
                "spec.pause",
                "spec.placements[default/a].pause",
                "spec.placements[default/b].pause"
            ]
        );
    }

    #[test]
    fn the_first_setting_creates_the_object() {
        let mut edit = SettingsEdit::of("hello", &Value::Null);
        edit.set(None, "pause", json!({"reason": "lunch"}));
        let writing = edit.writing();
        assert_eq!(writing.form, Form::Create);
        assert_eq!(
            writing.body["spec"],
            json!({"addon": "hello", "pause": {"reason": "lunch"}})
        );
        assert_eq!(writing.says, ["spec.pause={\"reason\":\"lunch\"}"]);
    }
}
