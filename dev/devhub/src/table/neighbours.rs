//! Columns of the kinds beside pods: services, volumes, nodes, and what guards and scales.
//!
//! Decides what `kubectl get` shows of what is stored; the cells that need more than one look are in `workload_cells`.

use serde_json::json;

use super::columns::{AGE, BuiltIn, column, wide};
use super::values::{number, size, text};
use super::workload_cells as cells;
use crate::Resource;
use kubernetes::labels::written;

static SERVICE: &[BuiltIn] = &[
    column(
        "Type",
        "string",
        "From where the service can be reached",
        |object, _| json!(text(object, "/spec/type")),
    ),
    column(
        "Cluster-IP",
        "string",
        "Address of the service inside of the cluster",
        |object, _| json!(cells::or_none(text(object, "/spec/clusterIP"))),
    ),
    column(
        "External-IP",
        "string",
        "Addresses of the service outside of the cluster",
        |object, _| json!(cells::external(object)),
    ),
    column(
        "Port(s)",
        "string",
        "Ports of the service, with those of the nodes",
        |object, _| json!(cells::ports(object)),
    ),
    AGE,
    wide(column(
        "Selector",
        "string",
        "Labels of the pods that answer",
        |object, _| json!(cells::or_none(&written(&object["spec"]["selector"]))),
    )),
];
static ENDPOINTS: &[BuiltIn] = &[
    column(
        "Endpoints",
        "string",
        "Addresses and ports behind the service",
        |object, _| json!(cells::endpoints(object)),
    ),
    AGE,
];
static SLICE: &[BuiltIn] = &[
    column(
        "AddressType",
        "string",
        "Which form the addresses have",
        |object, _| json!(text(object, "/addressType")),
    ),
    column("Ports", "string", "Ports of the endpoints", |object, _| {
        json!(cells::slice_ports(object))
    }),
    column(
        "Endpoints",
        "string",
        "Addresses of the endpoints",
        |object, _| json!(cells::addresses(object)),
    ),
    AGE,
];
static INGRESS: &[BuiltIn] = &[
    column("Class", "string", "Who takes care of the ingress", |object, _| {
        json!(cells::or_none(text(object, "/spec/ingressClassName")))
    }),
    column(
        "Hosts",
        "string",
        "Hosts for which there are rules",
        |object, _| json!(cells::hosts(object)),
    ),
    column(
        "Address",
        "string",
        "Where the ingress can be reached",
        |object, _| json!(cells::balancers(object)),
    ),
    column(
        "Ports",
        "string",
        "Ports of TLS configurations that open",
        |object, _| {
            json!(if size(object, "/spec/tls") > 0 {
                "80, 443"
            } else {
                "80"
            })
        },
    ),
    AGE,
];
static INGRESS_CLASS: &[BuiltIn] = &[
    column(
        "Controller",
        "string",
        "Who takes care of the class",
        |object, _| json!(text(object, "/spec/controller")),
    ),
    column(
        "Parameters",
        "string",
        "Where the class is configured",
        |object, _| json!(cells::parameters(object)),
    ),
    AGE,
];
static NETWORK_POLICY: &[BuiltIn] = &[
    column(
        "Pod-Selector",
        "string",
        "Labels of the pods that are guarded",
        |object, _| json!(cells::or_none(&written(&object["spec"]["podSelector"]))),
    ),
    AGE,
];
static CLAIM: &[BuiltIn] = &[
    column(
        "Status",
        "string",
        "Whether the claim has its volume",
        |object, _| json!(cells::phase(object)),
    ),
    column("Volume", "string", "Name of the volume", |object, _| {
        json!(text(object, "/spec/volumeName"))
    }),
    column("Capacity", "string", "Size of the volume", |object, _| {
        json!(cells::when_bound(
            object,
            text(object, "/status/capacity/storage")
        ))
    }),
    column(
        "Access Modes",
        "string",
        "From where the volume can be used",
        |object, _| json!(cells::when_bound(object, &cells::modes(&object["status"]))),
    ),
    column(
        "StorageClass",
        "string",
        "StorageClass of the pvc",
        |object, _| json!(text(object, "/spec/storageClassName")),
    ),
    column(
        "VolumeAttributesClass",
        "string",
        "VolumeAttributesClass of the pvc",
        |object, _| json!(cells::or_unset(text(object, "/spec/volumeAttributesClassName"))),
    ),
    AGE,
    wide(column(
        "VolumeMode",
        "string",
        "Whether there are files on it",
        |object, _| json!(cells::or_unset(text(object, "/spec/volumeMode"))),
    )),
];
static VOLUME: &[BuiltIn] = &[
    column("Capacity", "string", "Size of the volume", |object, _| {
        json!(text(object, "/spec/capacity/storage"))
    }),
    column(
        "Access Modes",
        "string",
        "From where the volume can be used",
        |object, _| json!(cells::modes(&object["spec"])),
    ),
    column(
        "Reclaim Policy",
        "string",
        "What becomes of the volume after its claim",
        |object, _| json!(text(object, "/spec/persistentVolumeReclaimPolicy")),
    ),
    column("Status", "string", "Whether the volume is in use", |object, _| {
        json!(cells::phase(object))
    }),
    column("Claim", "string", "The claim that has the volume", |object, _| {
        json!(cells::claim(object))
    }),
    column("StorageClass", "string", "StorageClass of the pv", |object, _| {
        json!(text(object, "/spec/storageClassName"))
    }),
    column(
        "VolumeAttributesClass",
        "string",
        "VolumeAttributesClass of the pv",
        |object, _| json!(cells::or_unset(text(object, "/spec/volumeAttributesClassName"))),
    ),
    column("Reason", "string", "Why the volume is as it is", |object, _| {
        json!(text(object, "/status/reason"))
    }),
    AGE,
    wide(column(
        "VolumeMode",
        "string",
        "Whether there are files on it",
        |object, _| json!(cells::or_unset(text(object, "/spec/volumeMode"))),
    )),
];
static NODE: &[BuiltIn] = &[
    column("Status", "string", "The status of the node", |node, _| {
        json!(cells::node_status(node))
    }),
    column("Roles", "string", "The roles of the node", |node, _| {
        json!(cells::roles(node))
    }),
    AGE,
    column("Version", "string", "Version of the kubelet", |node, _| {
        json!(text(node, "/status/nodeInfo/kubeletVersion"))
    }),
    wide(column(
        "Internal-IP",
        "string",
        "Address inside of the cluster",
        |node, _| json!(cells::node_address(node, "InternalIP")),
    )),
    wide(column(
        "External-IP",
        "string",
        "Address outside of the cluster",
        |node, _| json!(cells::node_address(node, "ExternalIP")),
    )),
    wide(column("OS-Image", "string", "Operating system", |node, _| {
        json!(cells::or_unknown(text(node, "/status/nodeInfo/osImage")))
    })),
    wide(column("Kernel-Version", "string", "Kernel", |node, _| {
        json!(cells::or_unknown(text(node, "/status/nodeInfo/kernelVersion")))
    })),
    wide(column(
        "Container-Runtime",
        "string",
        "What runs the containers",
        |node, _| {
            json!(cells::or_unknown(text(
                node,
                "/status/nodeInfo/containerRuntimeVersion"
            )))
        },
    )),
];
static BUDGET: &[BuiltIn] = &[
    column(
        "Min Available",
        "string",
        "The minimum number of pods that must be available.",
        |object, _| json!(cells::share(&object["spec"]["minAvailable"])),
    ),
    column(
        "Max Unavailable",
        "string",
        "The maximum number of pods that may be unavailable.",
        |object, _| json!(cells::share(&object["spec"]["maxUnavailable"])),
    ),
    column(
        "Allowed Disruptions",
        "integer",
        "How many pods may be disrupted now",
        |object, _| json!(number(object, "/status/disruptionsAllowed")),
    ),
    AGE,
];
static AUTOSCALER: &[BuiltIn] = &[
    column("Reference", "string", "What is scaled", |object, _| {
        json!(cells::reference(object))
    }),
    column(
        "Targets",
        "string",
        "What the scale goes by, as it is and as it should be",
        |object, _| json!(cells::metrics(object)),
    ),
    column(
        "MinPods",
        "string",
        "How many pods there are at least",
        |object, _| json!(cells::share(&object["spec"]["minReplicas"]).replace("N/A", "<unset>")),
    ),
    column(
        "MaxPods",
        "string",
        "How many pods there are at most",
        |object, _| json!(number(object, "/spec/maxReplicas")),
    ),
    column("Replicas", "string", "How many pods there are", |object, _| {
        json!(number(object, "/status/currentReplicas"))
    }),
    AGE,
];
static QUOTA: &[BuiltIn] = &[
    column(
        "Request",
        "string",
        "What may be asked for, and what is",
        |object, _| json!(cells::quota(object, false)),
    ),
    column("Limit", "string", "What may be used, and what is", |object, _| {
        json!(cells::quota(object, true))
    }),
    AGE,
];
static REVISION: &[BuiltIn] = &[
    column("Controller", "string", "Controller of the object", |object, _| {
        json!(cells::owner(object))
    }),
    column(
        "Revision",
        "string",
        "Revision of the ControllerRevision data",
        |object, _| json!(number(object, "/revision")),
    ),
    AGE,
];

/// Returns the columns of a kind, without the name.
pub(super) fn columns(resource: &Resource) -> Option<&'static [BuiltIn]> {
    Some(match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Service") => SERVICE,
        ("", "Endpoints") => ENDPOINTS,
        ("", "Node") => NODE,
        ("", "PersistentVolume") => VOLUME,
        ("", "PersistentVolumeClaim") => CLAIM,
        ("", "ResourceQuota") => QUOTA,
        ("apps", "ControllerRevision") => REVISION,
        ("autoscaling", _) => AUTOSCALER,
        ("discovery.k8s.io", _) => SLICE,
        ("networking.k8s.io", "Ingress") => INGRESS,
        ("networking.k8s.io", "IngressClass") => INGRESS_CLASS,
        ("networking.k8s.io", "NetworkPolicy") => NETWORK_POLICY,
        ("policy", _) => BUDGET,
        _ => return None,
    })
}
