//! The folder `manifests/deploy`, without its overlays: those are choices made already.
//!
//! Decides nothing. `tests/pure/install_kit.rs` holds the list to the folder.

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        /// Every file by its path in the folder.
        pub const FILES: &[(&str, &str)] = &[
            $(($path, include_str!(concat!("../../../../manifests/deploy/", $path)))),*
        ];
    };
}

files![
    "components/cert-manager/certificate.yaml",
    "components/cert-manager/kustomization.yaml",
    "components/existing-namespace/kustomization.yaml",
    "components/fail-closed/kustomization.yaml",
    "components/high-availability/kustomization.yaml",
    "components/monitoring/dashboards.yaml",
    "components/monitoring/kustomization.yaml",
    "components/monitoring/monitoring.yaml",
    "components/monitoring/rules.yaml",
    "components/network-policy/kustomization.yaml",
    "components/network-policy/network-policy.yaml",
    "components/one-workload/kustomization.yaml",
    "components/one-workload/rights.yaml",
    "components/openshift/kustomization.yaml",
    "components/self-managed/deployment.yaml",
    "components/self-managed/kustomization.yaml",
    "components/self-managed/rights.yaml",
    "components/self-managed/secret.yaml",
    "components/web-page-one-workload/kustomization.yaml",
    "components/web-page-one-workload/rights.yaml",
    "components/web-page/kustomization.yaml",
    "components/web-page/rights.yaml",
    "components/without-backstop/kustomization.yaml",
    "controllers/deployment.yaml",
    "controllers/kustomization.yaml",
    "controllers/registration.yaml",
    "controllers/rights.yaml",
    "gate/definitions.yaml",
    "gate/deployment.yaml",
    "gate/kustomization.yaml",
    "gate/namespace.yaml",
    "gate/rights.yaml",
    "gate/secret.yaml",
    "gate/users.yaml",
    "webhooks/base/backstop.yaml",
    "webhooks/base/kustomization.yaml",
    "webhooks/base/webhooks.yaml",
    "webhooks/kustomization.yaml",
];
