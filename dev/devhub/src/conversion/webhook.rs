//! A conversion webhook.
//!
//! Decides what is asked in one call, and whether what came back are the objects that were sent. It has no memory.

use std::time::Duration;

use serde::Deserialize as _;
use serde_json::Value;

use super::metadata::{head_fault, identity_fault, restore};
use super::review::Protocol;
use crate::admission::{ClientConfig, Endpoint, Services, document};

/// How long a conversion may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A webhook that converts the objects of one definition.
#[derive(Debug)]
pub(crate) struct Webhook {
    endpoint: Endpoint,
    protocol: Option<Protocol>,
}

impl Webhook {
    /// Parses `spec.conversion.webhook` of a CRD. Errors are returned for each call.
    pub(crate) fn new(webhook: &Value, services: &Services) -> Self {
        let config = webhook.get("clientConfig").cloned().unwrap_or_default();
        let config = ClientConfig::deserialize(config).unwrap_or_default();
        let accepted = webhook.get("conversionReviewVersions").and_then(Value::as_array);
        let accepted: Vec<String> = accepted
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        Self {
            endpoint: Endpoint::new(&config, services),
            protocol: Protocol::choose(&accepted),
        }
    }

    /// Converts objects, none of which has the desired version yet, in one call.
    pub(crate) async fn convert(&self, objects: Vec<Value>, desired: &str) -> Result<Vec<Value>, String> {
        let Some(first) = objects.first() else {
            return Ok(objects);
        };
        let who = described(first);
        let protocol = self.protocol.ok_or("no supported conversion review versions")?;
        let answered = self.ask(protocol, &objects, desired).await;
        let converted = answered.map_err(|cause| format!("conversion webhook for {who} failed: {cause}"))?;
        if converted.len() != objects.len() {
            let (found, expected) = (converted.len(), objects.len());
            return Err(format!(
                "conversion webhook for {who} returned {found} objects, expected {expected}"
            ));
        }
        let single = objects.len() == 1;
        let pairs = objects.iter().zip(converted).enumerate();
        pairs
            .map(|(at, (original, converted))| {
                accept(original, converted, desired).map_err(|fault| {
                    format!("conversion webhook for {who} returned {}", fault.told(single, at))
                })
            })
            .collect()
    }

    async fn ask(&self, protocol: Protocol, objects: &[Value], desired: &str) -> Result<Vec<Value>, String> {
        let place = self.endpoint.place()?;
        let uid = uuid::Uuid::new_v4().to_string();
        let body = protocol.ask(&uid, objects, desired).to_string().into_bytes();
        let answer = place.post(body, PATIENCE).await?;
        protocol.answered(&uid, document(&answer)?)
    }
}

/// What is wrong with a converted object. The texts for one object and for one of many differ.
enum Fault {
    Head(String),
    Identity(String),
    Metadata(String),
}

impl Fault {
    fn told(&self, single: bool, at: usize) -> String {
        match (self, single) {
            (Self::Head(cause), true) => format!("invalid object at index 0: {cause}"),
            (Self::Identity(cause), true) => format!("invalid object: {cause}"),
            (Self::Metadata(cause), true) => format!("invalid metadata: {cause}"),
            (Self::Head(cause) | Self::Identity(cause), false) => {
                format!("invalid converted object at index {at}: {cause}")
            }
            (Self::Metadata(cause), false) => format!("invalid metadata in object at index {at}: {cause}"),
        }
    }
}

fn accept(original: &Value, mut converted: Value, desired: &str) -> Result<Value, Fault> {
    if let Some(fault) = head_fault(original, &converted, desired) {
        return Err(Fault::Head(fault));
    }
    if let Some(fault) = identity_fault(original, &converted) {
        return Err(Fault::Identity(fault));
    }
    restore(original, &mut converted).map_err(Fault::Metadata)?;
    Ok(converted)
}

/// Returns version and kind as Kubernetes prints them.
fn described(object: &Value) -> String {
    let part = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{}, Kind={}", part("apiVersion"), part("kind"))
}
