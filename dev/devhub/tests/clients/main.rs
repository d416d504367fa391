//! Real clients against the hub: kube's runtime, its API types, and kubectl as people type it.
//!
//! This file is the scene that the tests share: a hub over TLS with a kind that a client has defined. What is asserted are effects
//! that a client can see; nothing is proved by waiting. With `KUBEBUILDER_ASSETS` the hub is a real API server, except in tests that
//! are named after the dev hub; what an older server has not got is left out, aloud.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test reads files and clocks, and may panic"
)]
#![expect(clippy::panic, reason = "a test that sees something else has failed")]

mod answers;
mod catalogue;
mod controller;
mod exactness;
mod informers;
#[path = "../../../../tests/kit/kubectl.rs"]
mod kubectl;
mod machinery;
mod model;
mod raw;
mod script;
mod writes;

use std::time::Duration;

use devhub::{Builder, Choice, DevHub, TestHub};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, CustomResource, CustomResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How long anything may take that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The kind of the tests.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "probe.example.io",
    version = "v1",
    kind = "Widget",
    namespaced,
    derive = "PartialEq",
    shortname = "wd",
    category = "all",
    selectable = ".spec.color",
    status = "WidgetStatus",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Color", type_ = "string", json_path = ".spec.color"),
    printcolumn(
        name = "Replicas",
        type_ = "integer",
        json_path = ".spec.replicas",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WidgetSpec {
    /// The color.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    color: Option<String>,
    /// How many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replicas: Option<i32>,
    /// Where it listens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["port"]))]
    ports: Vec<Port>,
}

/// Where a widget listens.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Port {
    port: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// What is observed of a widget.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WidgetStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replicas: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    selector: Option<String>,
}

/// A hub with the kind of the tests, and a client over TLS.
pub(crate) struct Scene {
    pub(crate) hub: TestHub,
    /// The minor version of the API server.
    minor: u32,
    pub(crate) client: Client,
    pub(crate) widgets: Api<Widget>,
    pub(crate) maps: Api<ConfigMap>,
}

impl Scene {
    pub(crate) async fn start() -> Self {
        Self::with(DevHub::builder()).await
    }

    /// Starts the hub that the environment names.
    pub(crate) async fn with(builder: Builder) -> Self {
        Self::on(TestHub::of(builder).await.expect("a hub starts")).await
    }

    /// Starts a dev hub, whatever the environment names.
    pub(crate) async fn of_the_dev_hub(builder: Builder) -> Self {
        let hub = TestHub::start(&Choice::Embedded, builder).await;
        Self::on(hub.expect("a hub starts")).await
    }

    async fn on(hub: TestHub) -> Self {
        let client = Client::try_from(hub.config()).expect("a client");
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        definitions
            .create(&PostParams::default(), &Widget::crd())
            .await
            .expect("a definition is accepted");
        within(await_condition(
            definitions,
            "widgets.probe.example.io",
            conditions::is_crd_established(),
        ))
        .await
        .expect("the definition is established");
        let minor = hub.minor().await.expect("a version");
        let scene = Self {
            minor,
            widgets: Api::default_namespaced(client.clone()),
            maps: Api::default_namespaced(client.clone()),
            hub,
            client,
        };
        // A real server says that a kind is established a moment before it serves it.
        within(async {
            while scene.widgets.list(&ListParams::default()).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        scene
    }

    /// Returns whether the server is too old for watches that begin with the state.
    pub(crate) fn lacks_streaming(&self) -> bool {
        self.lacks("a watch that begins with the state", 32)
    }

    /// Returns whether the server is too old for field selectors of custom resources.
    pub(crate) fn lacks_fields(&self) -> bool {
        self.lacks("a selectable field of a custom resource", 31)
    }

    /// Returns whether the server is too old for something, and says so.
    #[expect(clippy::print_stderr, reason = "what a test leaves out is said")]
    pub(crate) fn lacks(&self, what: &str, since: u32) -> bool {
        let lacking = self.minor < since;
        if lacking {
            eprintln!("left out: {what} came with 1.{since}, this is 1.{}", self.minor);
        }
        lacking
    }

    /// Creates a widget of a color.
    pub(crate) async fn create(&self, name: &str, color: &str) -> Widget {
        let created = self
            .widgets
            .create(&PostParams::default(), &widget(name, color))
            .await;
        created.expect("a widget is created")
    }

    /// Changes a widget by a merge patch.
    pub(crate) async fn merge(&self, name: &str, patch: Value) -> Widget {
        let params = PatchParams::default();
        let patched = self.widgets.patch(name, &params, &Patch::Merge(patch)).await;
        patched.expect("a widget is changed")
    }

    /// Deletes a widget.
    pub(crate) async fn remove(&self, name: &str) {
        let gone = self.widgets.delete(name, &DeleteParams::default()).await;
        gone.expect("a widget is deleted");
    }
}

/// A widget with a label that tells its color as well.
pub(crate) fn widget(name: &str, color: &str) -> Widget {
    let spec = WidgetSpec {
        color: Some(color.to_owned()),
        ..WidgetSpec::default()
    };
    let mut widget = Widget::new(name, spec);
    widget.metadata.labels = Some([("color".to_owned(), color.to_owned())].into());
    widget
}

/// Waits for what must happen.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("it happens in time")
}

/// Returns the code of a refusal, and its text.
pub(crate) fn refusal<T: std::fmt::Debug>(result: kube::Result<T>) -> (u16, String) {
    match result {
        Err(kube::Error::Api(status)) => (status.code, status.message),
        other => panic!("not refused: {other:?}"),
    }
}
