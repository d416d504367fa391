//! Which objects of a collection a request means.
//!
//! Decides by the path's namespace and name and by the two selectors.

use serde_json::Value;

use super::call::Call;
use crate::error::ApiError;
use crate::registry::Served;
use crate::selector::FieldSelector;
use crate::store::Record;
use kubernetes::labels::Selector;

/// The objects that a request means.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    /// Keys start so.
    pub(super) prefix: String,
    labels: Selector,
    fields: FieldSelector,
}

impl Selection {
    /// Reads the selection of a request.
    pub(super) fn parse(call: &Call) -> Result<Self, ApiError> {
        let labels = Selector::parse(call.query.text("labelSelector")).map_err(ApiError::bad_request)?;
        let fields = FieldSelector::parse(call.query.text("fieldSelector"))?;
        let selectable = call
            .served
            .custom
            .as_ref()
            .map(|custom| custom.selectable.as_slice());
        fields.check(&call.served.resource, selectable.unwrap_or_default())?;
        let prefix = if call.namespace.is_empty() {
            String::new()
        } else {
            format!("{}/", call.namespace)
        };
        Ok(Self {
            prefix,
            labels,
            fields,
        })
    }

    /// Tells whether there is no selector.
    pub(super) fn is_whole(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    /// Tells whether an object that was converted is meant; labels and fields are those of the converted object.
    pub(super) fn matches_converted(&self, served: &Served, record: &Record, object: &Value) -> bool {
        record.key.starts_with(&self.prefix)
            && self.labels.matches_object(object)
            && (self.fields.is_everything() || self.fields.matches(&served.resource, object))
    }

    /// Tells whether a stored object is meant that no webhook has to convert.
    pub(super) fn matches(&self, served: &Served, record: &Record) -> bool {
        if !record.key.starts_with(&self.prefix) {
            return false;
        }
        let label = |key: &str| {
            let found = record.labels.binary_search_by(|(name, _)| (**name).cmp(key));
            found
                .ok()
                .and_then(|at| record.labels.get(at))
                .map(|(_, value)| &**value)
        };
        if !self.labels.matches(label) {
            return false;
        }
        if self.fields.is_everything() {
            return true;
        }
        if self.fields.exact_name().is_some_and(|name| name != record.name()) {
            return false;
        }
        let object: Value = served.decode(record, record.version);
        self.fields.matches(&served.resource, &object)
    }
}
