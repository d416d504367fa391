//! The types of the workload kinds.
//!
//! Decides nothing: asks `k8s-openapi` for their schemas.

use k8s_openapi::api::{apps, autoscaling, batch, core, discovery, networking, policy};
use schemars::SchemaGenerator;

/// Lets a generator describe the workload kinds and whatever they refer to.
pub(in crate::builtin) fn describe(generator: &mut SchemaGenerator) {
    macro_rules! roots {
        ($($kind:ty),+ $(,)?) => { $( drop(generator.subschema_for::<$kind>()); )+ };
    }
    roots!(
        core::v1::Endpoints,
        core::v1::LimitRange,
        core::v1::Node,
        core::v1::PersistentVolume,
        core::v1::PersistentVolumeClaim,
        core::v1::Pod,
        core::v1::ReplicationController,
        core::v1::ResourceQuota,
        core::v1::Service,
        apps::v1::ControllerRevision,
        apps::v1::DaemonSet,
        apps::v1::Deployment,
        apps::v1::ReplicaSet,
        apps::v1::StatefulSet,
        autoscaling::v2::HorizontalPodAutoscaler,
        batch::v1::CronJob,
        batch::v1::Job,
        discovery::v1::EndpointSlice,
        networking::v1::Ingress,
        networking::v1::IngressClass,
        networking::v1::NetworkPolicy,
        policy::v1::PodDisruptionBudget,
    );
}
