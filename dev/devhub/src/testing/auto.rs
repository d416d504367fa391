//! A hub for tests, whichever it is.
//!
//! Decides nothing but how both kinds look the same to a suite.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, PostParams};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Config, ResourceExt as _};
use serde_json::Value;

use super::choice::VARIABLE;
use super::place;
use super::real::RealHub;
use super::{Choice, TestHubError};
use crate::builder::Builder;
use crate::controllers::Controller;
use crate::instance::DevHub;
use crate::program;
use crate::rights::Authz;

/// How long a real API server may take until it is ready: several may start side by side on a small machine.
const READY_WITHIN: Duration = Duration::from_mins(3);
/// How long a definition may take until it is served.
const SERVED_WITHIN: Duration = Duration::from_mins(1);

/// A hub on which a test suite runs.
#[derive(Debug)]
pub struct TestHub {
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Embedded(Box<DevHub>),
    Real(Box<RealHub>),
}

impl TestHub {
    /// Starts what the environment asks for: with `KUBEBUILDER_ASSETS` a real kube-apiserver and etcd from that folder, else
    /// an embedded hub. Both run with access control and all controllers.
    pub async fn auto() -> Result<Self, TestHubError> {
        Self::of(DevHub::builder().authz(Authz::Rbac).controllers(Controller::ALL)).await
    }

    /// The same with definitions and controllers as told. What only an embedded hub can do, such as misbehave on purpose, is an
    /// error where a real one is asked for. A real one always asks for rights; the administrator has all.
    pub async fn of(builder: Builder) -> Result<Self, TestHubError> {
        Self::start(
            &Choice::from_value(std::env::var_os(VARIABLE).as_deref())?,
            builder,
        )
        .await
    }

    /// Starts what was chosen.
    pub async fn start(choice: &Choice, builder: Builder) -> Result<Self, TestHubError> {
        let assets = match choice {
            Choice::Embedded => {
                let inner = Inner::Embedded(Box::new(builder.start().await?));
                return Ok(Self { inner });
            }
            Choice::Real(assets) => assets,
        };
        let wishes = builder.wishes_of_any_hub().map_err(TestHubError::OnlyEmbedded)?;
        let hub = RealHub::start(assets, &wishes, READY_WITHIN).await?;
        let hub = Self {
            inner: Inner::Real(Box::new(hub)),
        };
        for definition in &wishes.definitions {
            hub.define(definition).await?;
        }
        Ok(hub)
    }

    /// Returns whether a real API server runs.
    pub fn is_real(&self) -> bool {
        match &self.inner {
            Inner::Embedded(_) => false,
            Inner::Real(_) => true,
        }
    }

    /// Returns the minor version of the API server: 20 for Kubernetes 1.20. Who tells none is taken for the newest.
    pub async fn minor(&self) -> Result<u32, TestHubError> {
        let told = self.client().apiserver_version().await?;
        Ok(told.minor.trim_end_matches('+').parse().unwrap_or(u32::MAX))
    }

    /// Returns a client of the administrator.
    pub fn client(&self) -> Client {
        match &self.inner {
            Inner::Embedded(hub) => hub.client(),
            Inner::Real(hub) => hub.client.clone(),
        }
    }

    /// Returns the configuration of a client of the administrator.
    pub fn config(&self) -> Config {
        match &self.inner {
            Inner::Embedded(hub) => hub.config(),
            Inner::Real(hub) => hub.config.clone(),
        }
    }

    /// Returns a kubeconfig of the administrator with everything embedded.
    pub fn kubeconfig(&self) -> String {
        match &self.inner {
            Inner::Embedded(hub) => hub.kubeconfig(),
            Inner::Real(hub) => hub.kubeconfig.clone(),
        }
    }

    /// Writes the kubeconfig to a file that only its owner can read.
    pub fn write_kubeconfig(&self, path: &Path) -> std::io::Result<()> {
        program::write_private(path, &self.kubeconfig())
    }

    /// Creates an object as the administrator, for instance one read from a file; an existing one is left alone.
    pub async fn preload(&self, object: &Value) -> Result<(), TestHubError> {
        match &self.inner {
            Inner::Embedded(hub) => Ok(hub.preload(object).await?),
            Inner::Real(hub) => place::object(&hub.client, object, SERVED_WITHIN).await,
        }
    }

    /// Makes a custom resource definition, unless it is there, and waits until it is served.
    pub async fn define(&self, definition: &Value) -> Result<(), TestHubError> {
        let object: DynamicObject =
            serde_json::from_value(definition.clone()).map_err(kube::Error::SerdeError)?;
        let name = object.name_any();
        let raw: Api<DynamicObject> = Api::all_with(self.client(), &place::definitions());
        match raw.create(&PostParams::default(), &object).await {
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
            outcome => {
                outcome?;
            }
        }
        let api: Api<CustomResourceDefinition> = Api::all(self.client());
        let served = async {
            await_condition(api.clone(), &name, is_crd_established())
                .await
                .ok()?;
            let established = api.get(&name).await.ok()?;
            place::served(&self.client(), &established).await;
            Some(())
        };
        match tokio::time::timeout(SERVED_WITHIN, served).await {
            Ok(Some(())) => Ok(()),
            Ok(None) | Err(_) => Err(TestHubError::NotServed(name)),
        }
    }

    /// Ends everything that was started.
    pub async fn shutdown(self) {
        match self.inner {
            Inner::Embedded(hub) => hub.shutdown().await,
            Inner::Real(hub) => hub.shutdown().await,
        }
    }
}
