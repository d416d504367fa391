//! The objects with CA bundles for API servers: both webhook configurations, and CRDs with conversion by this webhook.
//!
//! Decides which those are, and how soon one is written again that another field manager keeps writing.
//! Never touches another field.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, TypeMeta};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::{info, warn};

use super::apply::apply_bundle;
use crate::controllers::runtime::api_watch::{ObservedObject, observed};
use kubernetes::certificates::{Trusting, bundle_patch, bundles, trusting};

/// The longest pause between two writes of the same bundle into the same object.
const LONGEST: Duration = Duration::from_mins(5);

/// After so long a quarrel is over: what is written then is written as for the first time.
const FORGOTTEN: Duration = Duration::from_mins(15);

const ADMISSION: &str = "admissionregistration.k8s.io";
const EXTENSIONS: &str = "apiextensions.k8s.io";

/// Group, kind, plural, name. The definitions may be withheld: then their bundle is neither written nor waited for.
const TARGETS: [(&str, &str, &str, &str); 4] = [
    (
        ADMISSION,
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        "tidegate-mutate",
    ),
    (
        ADMISSION,
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        "tidegate-guard",
    ),
    (
        EXTENSIONS,
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "clustermanagementaddons.addon.open-cluster-management.io",
    ),
    (
        EXTENSIONS,
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "managedclusteraddons.addon.open-cluster-management.io",
    ),
];

/// One of them.
pub(super) struct Target {
    api: Api<DynamicObject>,
    version: String,
    kind: &'static str,
    name: &'static str,
    /// Whether it does not matter when it may not be read.
    is_optional: bool,
    sight: Option<ObservedObject<DynamicObject>>,
    written: Option<Written>,
}

/// What was written last.
struct Written {
    bundle: Vec<u8>,
    /// Into which object: one that is made again has never been written, whatever its name.
    uid: Option<String>,
    times: u32,
    at: Instant,
}

/// All of them.
pub(super) fn all(client: &Client) -> Vec<Target> {
    let one = |(group, kind, plural, name): (&str, &'static str, &str, &'static str)| {
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
        Target {
            api: Api::all_with(client.clone(), &resource),
            version: format!("{group}/v1"),
            kind,
            name,
            is_optional: group == EXTENSIONS,
            sight: None,
            written: None,
        }
    };
    TARGETS.into_iter().map(one).collect()
}

impl Target {
    /// Watches it. An optional target that is forbidden is not requested again.
    pub(super) fn observed(&self) -> BoxStream<'static, ObservedObject<DynamicObject>> {
        let seen = observed(self.api.clone(), self.name);
        if !self.is_optional {
            return seen;
        }
        let (api, name) = (self.api.clone(), self.name);
        let asked = async move {
            let one = ListParams::default()
                .limit(1)
                .fields(&format!("metadata.name={name}"));
            match api.list(&one).await {
                Err(kube::Error::Api(status)) if status.code == 403 => {
                    let forbidden = ObservedObject::Unreadable {
                        why: status.message,
                        forbidden: true,
                    };
                    stream::iter([forbidden]).boxed()
                }
                Ok(_) | Err(_) => seen,
            }
        };
        stream::once(asked).flatten().boxed()
    }

    /// What was seen is of yesterday.
    pub(super) fn forget(&mut self) {
        self.sight = None;
    }

    /// Takes what was seen.
    pub(super) fn take(&mut self, mut sight: ObservedObject<DynamicObject>) {
        // What comes in a list does not say what it is.
        if let ObservedObject::There(object) = &mut sight {
            object.types = Some(TypeMeta {
                api_version: self.version.clone(),
                kind: self.kind.to_owned(),
            });
        }
        if let ObservedObject::Unreadable { why, .. } = &sight
            && !self.is_optional
        {
            warn!(
                kind = self.kind,
                name = self.name,
                why,
                "cannot read caBundle of the webhook configurations"
            );
        }
        self.sight = Some(sight);
    }

    /// Returns why it cannot be read, where it cannot and that matters.
    pub(super) fn unreadable(&self) -> Option<String> {
        match self.sight.as_ref()? {
            ObservedObject::Unreadable { why, .. } if !self.is_optional => {
                Some(format!("cannot read {}: {why}", self.place()))
            }
            ObservedObject::Unreadable { .. } | ObservedObject::There(_) | ObservedObject::Absent => None,
        }
    }

    /// Returns whom it has the API server trust; `None` while that has not been read.
    pub(super) fn trusting(&self, service: &str, bundle: &[u8]) -> Option<Trusting> {
        match self.sight.as_ref()? {
            ObservedObject::There(object) => Some(trusting(&json!(object), service, bundle)),
            ObservedObject::Absent => Some(Trusting::Nothing),
            ObservedObject::Unreadable { forbidden, .. } => {
                (self.is_optional && *forbidden).then_some(Trusting::Nothing)
            }
        }
    }

    /// Returns the bundles that it names.
    pub(super) fn bundles(&self, service: &str) -> Vec<Vec<u8>> {
        match &self.sight {
            Some(ObservedObject::There(object)) => bundles(&json!(object), service),
            Some(ObservedObject::Absent | ObservedObject::Unreadable { .. }) | None => Vec::new(),
        }
    }

    /// Has it trust this bundle; returns when to look again where that has to wait.
    pub(super) async fn spread(&mut self, bundle: &[u8], now: Instant) -> kube::Result<Option<Duration>> {
        let Some(ObservedObject::There(object)) = &self.sight else {
            return Ok(None);
        };
        let uid = &object.metadata.uid;
        let same = |written: &&Written| {
            let is_of_now = now.saturating_duration_since(written.at) < FORGOTTEN;
            written.bundle == bundle && written.uid == *uid && is_of_now
        };
        let again = self.written.as_ref().filter(same);
        let times = again.map_or(0, |written| written.times);
        if let Some(written) = again {
            let pause = Duration::from_secs(1 << times.min(9)).min(LONGEST);
            let left = (written.at + pause).saturating_duration_since(now);
            if !left.is_zero() {
                return Ok(Some(left));
            }
        }
        let patch: Value = bundle_patch(&json!(object), bundle);
        self.written = Some(Written {
            bundle: bundle.to_vec(),
            uid: uid.clone(),
            times: times.saturating_add(1),
            at: now,
        });
        let stored = apply_bundle(&self.api, self.name, &patch).await?;
        if times > 1 {
            warn!(
                kind = self.kind,
                name = self.name,
                times,
                "another field manager writes caBundle; remove the field from its manifests"
            );
        } else {
            info!(kind = self.kind, name = self.name, "caBundle updated");
        }
        self.sight = Some(ObservedObject::There(Box::new(stored)));
        Ok(None)
    }

    /// Returns what it is, for the log.
    pub(super) fn place(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }
}
