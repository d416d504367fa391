//! What a user wants to do.
//!
//! Decides how a refusal reads.

use serde_json::{Map, Value};

use crate::error::ApiError;
use kubernetes::print::quote;

/// A wish: a verb and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    /// The verb.
    pub(crate) verb: String,
    /// What it is about.
    pub(crate) about: About,
}

/// What a wish is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// A resource or an object.
    Resource(ResourceAttributes),
    /// Another path.
    Path(String),
}

/// A resource, an object or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceAttributes {
    /// API group, empty for the core group.
    pub(crate) group: String,
    /// Plural of the resource.
    pub(crate) resource: String,
    /// Part of the object; may be empty.
    pub(crate) subresource: String,
    /// Namespace, empty for all and for none.
    pub(crate) namespace: String,
    /// Name, empty for a collection.
    pub(crate) name: String,
}

impl ResourceAttributes {
    /// Returns the resource with its part.
    pub(crate) fn whole_resource(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }

    fn group_resource(&self) -> String {
        if self.group.is_empty() {
            self.resource.clone()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }
}

impl Question {
    /// Returns the namespace in which rights count.
    pub(super) fn namespace(&self) -> &str {
        match &self.about {
            About::Resource(asked) => &asked.namespace,
            About::Path(_) => "",
        }
    }

    /// Returns the 403 for a user.
    pub(crate) fn refusal(&self, user: &str, reason: &str) -> ApiError {
        let because = if reason.is_empty() {
            String::new()
        } else {
            format!(": {reason}")
        };
        let (user, verb) = (quote(user), &self.verb);
        match &self.about {
            About::Path(path) => {
                let message = format!(
                    "forbidden: User {user} cannot {verb} path {}{because}",
                    quote(path)
                );
                ApiError::new(403, "Forbidden", message).with_details(Value::Object(Map::new()))
            }
            About::Resource(asked) => {
                let place = if asked.namespace.is_empty() {
                    "at the cluster scope".to_owned()
                } else {
                    format!("in the namespace {}", quote(&asked.namespace))
                };
                let name = if asked.name.is_empty() {
                    String::new()
                } else {
                    format!(" {}", quote(&asked.name))
                };
                let message = format!(
                    "{}{name} is forbidden: User {user} cannot {verb} resource {} in API group {} {place}{because}",
                    asked.group_resource(),
                    quote(&asked.whole_resource()),
                    quote(&asked.group),
                );
                ApiError::new(403, "Forbidden", message).with_details(details(asked))
            }
        }
    }
}

fn details(asked: &ResourceAttributes) -> Value {
    let members = [
        ("name", &asked.name),
        ("group", &asked.group),
        ("kind", &asked.resource),
    ];
    members
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(key, text)| (key.to_owned(), Value::String(text.clone())))
        .collect::<Map<String, Value>>()
        .into()
}
