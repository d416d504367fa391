//! Places inside a document as JSON patches name them, in the dialect of the library that Kubernetes uses.
//!
//! Decides which container and which key a path means. Two habits differ from RFC 6901: the text before the first slash is
//! ignored, and indices may be negative. A null counts as absent when it is walked through or read.

use kubernetes::json_pointer::unescape;
use serde_json::Value;

/// A container inside a document and the last, decoded part of a path.
pub(super) struct Place<'a> {
    pub(super) container: &'a mut Value,
    pub(super) key: String,
}

/// Finds the container of `path`, or `None` when any part before the last one leads nowhere.
pub(super) fn find<'a>(document: &'a mut Value, path: &str) -> Option<Place<'a>> {
    let (_, rest) = path.split_once('/')?;
    let (parents, last) = rest
        .rsplit_once('/')
        .map_or((None, rest), |(parents, last)| (Some(parents), last));
    let mut container = document;
    for part in parents.into_iter().flat_map(|parents| parents.split('/')) {
        let key = unescape(part);
        container = match container {
            Value::Object(map) => map.get_mut(&key)?,
            Value::Array(items) => {
                let index = index(&key, items.len()).ok()?;
                items.get_mut(index)?
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    matches!(container, Value::Object(_) | Value::Array(_)).then(|| Place {
        container,
        key: unescape(last),
    })
}

impl Place<'_> {
    /// Reads the member; an absent member of an object is `None`, an index outside of a list is an error.
    pub(super) fn read(&self) -> Result<Option<&Value>, String> {
        let found = match &*self.container {
            Value::Object(map) => map.get(&self.key),
            Value::Array(items) => items.get(index(&self.key, items.len())?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        Ok(found.filter(|value| !value.is_null()))
    }

    /// Adds a member, or inserts into a list (`-` appends, `-1` is the place after the last item).
    pub(super) fn add(&mut self, value: Value) -> Result<(), String> {
        match &mut *self.container {
            Value::Object(map) => {
                map.insert(self.key.clone(), value);
            }
            Value::Array(items) if self.key == "-" => items.push(value),
            Value::Array(items) => {
                let at = index(&self.key, items.len() + 1)?;
                items.insert(at, value);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        Ok(())
    }

    /// Sets a member or a list item that exists.
    pub(super) fn set(&mut self, value: Value) -> Result<(), String> {
        match &mut *self.container {
            Value::Object(map) => {
                map.insert(self.key.clone(), value);
            }
            Value::Array(items) => {
                let at = index(&self.key, items.len())?;
                if let Some(item) = items.get_mut(at) {
                    *item = value;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        Ok(())
    }

    /// Removes a member or a list item.
    pub(super) fn remove(&mut self) -> Result<Value, String> {
        match &mut *self.container {
            Value::Object(map) => map
                .remove(&self.key)
                .ok_or_else(|| format!("Unable to remove nonexistent key: {}: missing value", self.key)),
            Value::Array(items) => {
                let at = index(&self.key, items.len())?;
                Ok(items.remove(at))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(Value::Null),
        }
    }
}

/// Resolves an index below `length`; negative ones count from the end.
fn index(key: &str, length: usize) -> Result<usize, String> {
    let number: i64 = key
        .parse()
        .map_err(|_fault| format!("strconv.Atoi: parsing {key:?}: invalid syntax"))?;
    let outside = || format!("Unable to access invalid index: {number}: invalid index referenced");
    let size = i64::try_from(length).map_err(|_fault| outside())?;
    let absolute = if number < 0 {
        number.saturating_add(size)
    } else {
        number
    };
    usize::try_from(absolute)
        .ok()
        .filter(|at| *at < length)
        .ok_or_else(outside)
}
