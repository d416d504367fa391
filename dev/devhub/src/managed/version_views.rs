//! How objects look in other versions, as far as that was found out.
//!
//! Decides nothing: ownership asks here, and what is not known yet is noted as a wish. The request (`rest/versioned.rs`) has the
//! conversion webhook fulfil the wishes and lets the same question be asked again.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use managed_fields::{Unseen, Views};
use serde_json::Value;

/// Version and text of an object.
type Key = (String, String);

/// What is known of one request's objects in other versions.
#[derive(Debug, Default)]
pub(crate) struct VersionViews {
    /// Whether objects differ between versions in more than their `apiVersion`.
    differ: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    known: BTreeMap<Key, Value>,
    wishes: BTreeMap<Key, Value>,
}

/// An object that must be seen in a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    /// The object, in a version of its own.
    pub(crate) object: Value,
    /// The wanted `group/version`.
    pub(crate) version: String,
    key: Key,
}

impl VersionViews {
    /// Returns the knowledge of objects that a webhook converts.
    pub(crate) fn of_webhook() -> Self {
        Self {
            differ: true,
            ..Self::default()
        }
    }

    /// Takes the wishes.
    pub(crate) fn wishes(&self) -> Vec<Wish> {
        let wishes = std::mem::take(&mut self.state().wishes);
        wishes
            .into_iter()
            .map(|(key, object)| Wish {
                object,
                version: key.0.clone(),
                key,
            })
            .collect()
    }

    /// Notes how an object looks.
    pub(crate) fn learn(&self, wish: Wish, seen: Value) {
        self.state().known.insert(wish.key, seen);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Views for VersionViews {
    fn view<'v>(&self, object: &'v Value, from: &str, to: &str) -> Result<Cow<'v, Value>, Unseen> {
        if !self.differ || from == to || is_bare(object) {
            return Ok(Cow::Borrowed(object));
        }
        let key = (to.to_owned(), object.to_string());
        let mut state = self.state();
        if let Some(seen) = state.known.get(&key) {
            return Ok(Cow::Owned(seen.clone()));
        }
        let mut object = object.clone();
        if let Some(members) = object.as_object_mut() {
            members.insert("apiVersion".to_owned(), Value::from(from));
        }
        state.wishes.insert(key, object);
        Err(Unseen {
            version: to.to_owned(),
        })
    }
}

/// Says whether an object has no fields but its version and kind: it looks the same in every version.
fn is_bare(object: &Value) -> bool {
    let mut members = object.as_object().into_iter().flatten();
    members.all(|(name, _)| ["apiVersion", "kind"].contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_known_is_wished_for_once_and_known_afterwards() {
        let version_views = VersionViews::of_webhook();
        let object = json!({"apiVersion": "g/v1", "metadata": {"name": "a"}, "spec": {"x": 1}});
        for _ in 0..2 {
            assert!(version_views.view(&object, "g/v1", "g/v2").is_err());
        }
        let mut wishes = version_views.wishes();
        assert_eq!((wishes.len(), version_views.wishes().len()), (1, 0));
        let seen = json!({"apiVersion": "g/v2"});
        version_views.learn(wishes.remove(0), seen.clone());
        assert_eq!(version_views.view(&object, "g/v1", "g/v2").as_deref(), Ok(&seen));
        assert_eq!(
            version_views.view(&object, "g/v1", "g/v1").as_deref(),
            Ok(&object)
        );
        assert_eq!(
            VersionViews::default().view(&object, "g/v1", "g/v2").as_deref(),
            Ok(&object)
        );
    }
}
