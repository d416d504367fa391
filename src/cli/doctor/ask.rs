//! One question to the hub, and what it means that it is not answered.
//!
//! Decides how long is waited, and which answers count as "there is none". Never decides what is right.

use std::time::Duration;

use futures::TryStreamExt as _;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use operate::doctor::Reading;
use serde_json::Value;

use crate::controllers::pages;

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most objects of one kind: of larger fleets only the first are looked at.
const MOST: usize = 100_000;

/// Returns what a question came back with; a status of 404 is nothing.
pub(super) async fn within<T>(question: impl Future<Output = kube::Result<T>>) -> Result<Option<T>, String> {
    match tokio::time::timeout(PATIENCE, question).await {
        Ok(Ok(answer)) => Ok(Some(answer)),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Ok(None),
        Ok(Err(error)) => Err(words(&error)),
        Err(_elapsed) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

/// Returns an answer as a reading; what is not there is `absent`.
pub(super) fn reading<T>(answer: Result<Option<T>, String>, absent: Reading<T>) -> Reading<T> {
    match answer {
        Ok(Some(found)) => Reading::Seen(found),
        Ok(None) => absent,
        Err(why) => Reading::Refused(why),
    }
}

/// What the hub says, in its own words.
pub(super) fn words(error: &kube::Error) -> String {
    let text = match error {
        kube::Error::Api(status) => status.message.clone(),
        other => {
            let mut text = other.to_string();
            let mut cause = std::error::Error::source(other);
            while let Some(inner) = cause {
                let more = inner.to_string();
                if !text.contains(&more) {
                    text = format!("{text}: {more}");
                }
                cause = inner.source();
            }
            text
        }
    };
    kubernetes::field::one_line(&text)
}

/// A kind, as it is addressed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Of(
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) &'static str,
);

impl Of {
    pub(super) fn resource(self) -> ApiResource {
        let Self(group, version, kind, plural) = self;
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }

    pub(super) fn all(self, client: &Client) -> Api<DynamicObject> {
        Api::all_with(client.clone(), &self.resource())
    }

    /// Returns all objects of the kind; nothing where the hub has no such kind.
    pub(super) async fn list(
        self,
        client: &Client,
        selector: Option<String>,
    ) -> Result<Option<Vec<Value>>, String> {
        let resource = self.resource();
        let mut pages = pages(client, &resource, selector);
        let mut objects = Vec::new();
        while objects.len() < MOST {
            match within(pages.try_next()).await? {
                Some(Some(page)) => objects.extend(page),
                Some(None) => break,
                None => return Ok(None),
            }
        }
        Ok(Some(objects))
    }

    /// Items of a list carry no kind of their own.
    pub(super) fn whole(self, item: DynamicObject) -> Result<Value, String> {
        let value = serde_json::to_value(item).map_err(|error| error.to_string())?;
        Ok(self.named(value))
    }

    fn named(self, mut value: Value) -> Value {
        let Self(group, version, kind, _) = self;
        if let Some(fields) = value.as_object_mut() {
            let slash = if group.is_empty() { "" } else { "/" };
            fields.insert("apiVersion".to_owned(), format!("{group}{slash}{version}").into());
            fields.insert("kind".to_owned(), kind.into());
        }
        value
    }
}
