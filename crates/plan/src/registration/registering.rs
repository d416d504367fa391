//! What registration says in the status of one instance, beside its conditions.
//!
//! Decides which fields change.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::identity;
use store::{Instance, Registered};

/// What registration says in the status of one instance, beside its conditions.
#[derive(Debug, Default)]
pub(crate) struct Registering<'v> {
    /// `registrations`; absent leaves what stands there.
    pub(super) registrations: Option<Cow<'v, [Registered]>>,
    /// `namespace`; absent leaves what stands there.
    pub(super) namespace: Option<String>,
}

impl Registering<'_> {
    /// Returns the fields of the status that change.
    pub(crate) fn changes(&self, instance: &Instance) -> Map<String, Value> {
        let mut fields = Map::new();
        if let Some(wanted) = self
            .registrations
            .as_ref()
            .filter(|wanted| ***wanted != *instance.registrations)
        {
            fields.insert("registrations".to_owned(), identity::render(wanted, instance));
        }
        if let Some(namespace) = &self.namespace {
            fields.insert("namespace".to_owned(), Value::from(namespace.as_str()));
        }
        fields
    }
}
