//! A hub for tests, whichever it is.
//!
//! Decides nothing but how both kinds look the same to a suite.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Config, ResourceExt as _};
use serde_json::Value;

use super::choice::VARIABLE;
use super::real::RealHub;
use super::{Choice, TestHubError};
use crate::controllers::Controller;
use crate::instance::DevHub;
use crate::rights::Authz;

/// How long a real API server may take until it is ready.
const READY_WITHIN: Duration = Duration::from_mins(1);
/// How long a definition may take until it is served.
const SERVED_WITHIN: Duration = Duration::from_secs(30);

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
        Self::start(&Choice::from_value(std::env::var_os(VARIABLE).as_deref())?).await
    }

    /// Starts what was chosen.
    pub async fn start(choice: &Choice) -> Result<Self, TestHubError> {
        let inner = match choice {
            Choice::Embedded => {
                let builder = DevHub::builder().authz(Authz::Rbac).controllers(Controller::ALL);
                Inner::Embedded(Box::new(builder.start().await?))
            }
            Choice::Real(assets) => Inner::Real(Box::new(RealHub::start(assets, READY_WITHIN).await?)),
        };
        Ok(Self { inner })
    }

    /// Returns whether a real API server runs.
    pub fn is_real(&self) -> bool {
        match &self.inner {
            Inner::Embedded(_) => false,
            Inner::Real(_) => true,
        }
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

    /// Makes a custom resource definition, unless it is there, and waits until it is served.
    pub async fn define(&self, definition: &Value) -> Result<(), TestHubError> {
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let raw: Api<DynamicObject> = Api::all_with(self.client(), &ApiResource::from_gvk(&kind));
        let object: DynamicObject =
            serde_json::from_value(definition.clone()).map_err(kube::Error::SerdeError)?;
        let name = object.name_any();
        match raw.create(&PostParams::default(), &object).await {
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
            outcome => {
                outcome?;
            }
        }
        let api: Api<CustomResourceDefinition> = Api::all(self.client());
        let served = await_condition(api, &name, is_crd_established());
        match tokio::time::timeout(SERVED_WITHIN, served).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(TestHubError::NotServed(name)),
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
