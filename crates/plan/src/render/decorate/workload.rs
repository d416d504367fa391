//! All that is changed in workloads, in one order: environment, secrets, nodes, images, proxy, resources.
//!
//! Decides which manifest gets what. Read once for a rendering, applied to each of its manifests.

use std::borrow::Cow;

use serde_json::Value;

use super::credentials::{Credential, credentials};
use super::images::mirror;
use super::nodes::place;
use super::pod::{EnvPrecedence, containers, pod_spec, set_env, workload_resource};
use super::proxy::Proxy;
use super::resources::{Rules, name_of};
use crate::render::fault::RenderFault;
use crate::render::values::RenderInputs;
use crate::size_budget::SizeBudget;
use api::v1alpha1::ImageMirror;
use store::NodePlacement;

/// What is changed in the workloads of a rendering.
#[derive(Debug)]
pub(in crate::render) struct Decorations<'a> {
    environment: Vec<(&'static str, String)>,
    credentials: Vec<Credential>,
    nodes: Option<&'a NodePlacement>,
    mirrors: Cow<'a, [ImageMirror]>,
    proxy: Option<Proxy>,
    rules: Rules,
    budget: &'a SizeBudget,
}

impl<'a> Decorations<'a> {
    /// Reads what a template and its configuration ask for.
    pub(in crate::render) fn of(
        subject: &RenderInputs<'a>,
        budget: &'a SizeBudget,
    ) -> Result<Self, RenderFault> {
        let registrations = subject.template.registration.as_deref().unwrap_or_default();
        let proxy = match subject.config {
            Some(config) => Proxy::of(subject.addon, &config.proxy)?,
            None => None,
        };
        Ok(Self {
            environment: subject.environment(),
            credentials: credentials(subject.addon, registrations)?,
            nodes: subject.config.map(|config| &config.nodes),
            mirrors: subject.mirrors()?,
            proxy,
            rules: Rules::of(
                subject
                    .config
                    .map(|config| config.resources.as_slice())
                    .unwrap_or_default(),
            )?,
            budget,
        })
    }

    /// Decorates a manifest that is deployed.
    pub(in crate::render) fn workload(&self, manifest: &mut Value) {
        let Some(resource) = workload_resource(manifest) else {
            return;
        };
        let name = name_of(manifest);
        let Some(pod) = pod_spec(manifest) else { return };
        for container in containers(pod, "containers") {
            for (name, value) in &self.environment {
                set_env(container, name, value, EnvPrecedence::Stays, self.budget);
            }
        }
        for credential in &self.credentials {
            credential.apply(pod, self.budget);
        }
        if let Some(nodes) = self.nodes {
            place(pod, nodes, self.budget);
        }
        mirror(pod, &self.mirrors, self.budget);
        if let Some(proxy) = &self.proxy {
            proxy.apply(pod, self.budget);
        }
        self.rules.apply(pod, resource, &name, self.budget);
    }

    /// Decorates a job or a pod that runs before a deletion: it must find its image and a node, or nothing is ever deleted.
    pub(in crate::render) fn hook(&self, manifest: &mut Value) {
        let Some(pod) = pod_spec(manifest) else { return };
        if let Some(nodes) = self.nodes {
            place(pod, nodes, self.budget);
        }
        mirror(pod, &self.mirrors, self.budget);
    }

    /// Returns what the workloads of a namespace mount beside what the template brings.
    pub(in crate::render) fn companion(&self, namespace: &str) -> Option<Value> {
        self.budget.next();
        self.proxy.as_ref()?.config_map(namespace, self.budget)
    }
}
