//! Messages of namespaces, configuration, events, leases and requests for certificates.
//!
//! Decides number, name and kind of every field, as Kubernetes 1.36 numbers them.

use super::message::Kind::{Bool, Bytes, Integer, Map, MicroTime, Object, Text, Texts, Time};
use super::message::{Message, many, message, one};
use super::meta::OBJECT_META;

pub(super) static CONFIG_MAP: Message = message(
    "core.v1.ConfigMap",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        one(4, "immutable", Bool),
        one(2, "data", Map(&Text)),
        one(3, "binaryData", Map(&Bytes)),
    ],
);

pub(super) static CORE_EVENT: Message = message(
    "core.v1.Event",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        one(2, "involvedObject", Object(&OBJECT_REFERENCE)),
        one(3, "reason", Text),
        one(4, "message", Text),
        one(5, "source", Object(&EVENT_SOURCE)),
        one(6, "firstTimestamp", Time),
        one(7, "lastTimestamp", Time),
        one(8, "count", Integer),
        one(9, "type", Text),
        one(10, "eventTime", MicroTime),
        one(11, "series", Object(&CORE_EVENT_SERIES)),
        one(12, "action", Text),
        one(13, "related", Object(&OBJECT_REFERENCE)),
        one(14, "reportingComponent", Text),
        one(15, "reportingInstance", Text),
    ],
);

pub(super) static OBJECT_REFERENCE: Message = message(
    "core.v1.ObjectReference",
    &[
        one(1, "kind", Text),
        one(2, "namespace", Text),
        one(3, "name", Text),
        one(4, "uid", Text),
        one(5, "apiVersion", Text),
        one(6, "resourceVersion", Text),
        one(7, "fieldPath", Text),
    ],
);

pub(super) static EVENT_SOURCE: Message = message(
    "core.v1.EventSource",
    &[one(1, "component", Text), one(2, "host", Text)],
);

pub(super) static CORE_EVENT_SERIES: Message = message(
    "core.v1.EventSeries",
    &[one(1, "count", Integer), one(2, "lastObservedTime", MicroTime)],
);

pub(super) static NAMESPACE: Message = message(
    "core.v1.Namespace",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        one(2, "spec", Object(&NAMESPACE_SPEC)),
        one(3, "status", Object(&NAMESPACE_STATUS)),
    ],
);

pub(super) static NAMESPACE_SPEC: Message = message("core.v1.NamespaceSpec", &[many(1, "finalizers", Text)]);

pub(super) static NAMESPACE_STATUS: Message = message(
    "core.v1.NamespaceStatus",
    &[
        one(1, "phase", Text),
        many(2, "conditions", Object(&NAMESPACE_CONDITION)),
    ],
);

pub(super) static NAMESPACE_CONDITION: Message = message(
    "core.v1.NamespaceCondition",
    &[
        one(1, "type", Text),
        one(2, "status", Text),
        one(4, "lastTransitionTime", Time),
        one(5, "reason", Text),
        one(6, "message", Text),
    ],
);

pub(super) static SECRET: Message = message(
    "core.v1.Secret",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        one(5, "immutable", Bool),
        one(2, "data", Map(&Bytes)),
        one(4, "stringData", Map(&Text)),
        one(3, "type", Text),
    ],
);

pub(super) static SERVICE_ACCOUNT: Message = message(
    "core.v1.ServiceAccount",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        many(2, "secrets", Object(&OBJECT_REFERENCE)),
        many(3, "imagePullSecrets", Object(&LOCAL_OBJECT_REFERENCE)),
        one(4, "automountServiceAccountToken", Bool),
    ],
);

pub(super) static LOCAL_OBJECT_REFERENCE: Message =
    message("core.v1.LocalObjectReference", &[one(1, "name", Text)]);

pub(super) static EVENTS_EVENT: Message = message(
    "events.v1.Event",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        one(2, "eventTime", MicroTime),
        one(3, "series", Object(&EVENTS_EVENT_SERIES)),
        one(4, "reportingController", Text),
        one(5, "reportingInstance", Text),
        one(6, "action", Text),
        one(7, "reason", Text),
        one(8, "regarding", Object(&OBJECT_REFERENCE)),
        one(9, "related", Object(&OBJECT_REFERENCE)),
        one(10, "note", Text),
        one(11, "type", Text),
        one(12, "deprecatedSource", Object(&EVENT_SOURCE)),
        one(13, "deprecatedFirstTimestamp", Time),
        one(14, "deprecatedLastTimestamp", Time),
        one(15, "deprecatedCount", Integer),
    ],
);

pub(super) static EVENTS_EVENT_SERIES: Message = message(
    "events.v1.EventSeries",
    &[one(1, "count", Integer), one(2, "lastObservedTime", MicroTime)],
);

pub(super) static LEASE: Message = message(
    "coordination.v1.Lease",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        one(2, "spec", Object(&LEASE_SPEC)),
    ],
);

pub(super) static LEASE_SPEC: Message = message(
    "coordination.v1.LeaseSpec",
    &[
        one(1, "holderIdentity", Text),
        one(2, "leaseDurationSeconds", Integer),
        one(3, "acquireTime", MicroTime),
        one(4, "renewTime", MicroTime),
        one(5, "leaseTransitions", Integer),
        one(6, "strategy", Text),
        one(7, "preferredHolder", Text),
    ],
);

pub(super) static CERTIFICATE_SIGNING_REQUEST: Message = message(
    "certificates.v1.CertificateSigningRequest",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        one(2, "spec", Object(&CERTIFICATE_SIGNING_REQUEST_SPEC)),
        one(3, "status", Object(&CERTIFICATE_SIGNING_REQUEST_STATUS)),
    ],
);

pub(super) static CERTIFICATE_SIGNING_REQUEST_SPEC: Message = message(
    "certificates.v1.CertificateSigningRequestSpec",
    &[
        one(1, "request", Bytes),
        one(7, "signerName", Text),
        one(8, "expirationSeconds", Integer),
        many(5, "usages", Text),
        one(2, "username", Text),
        one(3, "uid", Text),
        many(4, "groups", Text),
        one(6, "extra", Map(&Texts)),
    ],
);

pub(super) static CERTIFICATE_SIGNING_REQUEST_STATUS: Message = message(
    "certificates.v1.CertificateSigningRequestStatus",
    &[
        many(1, "conditions", Object(&CERTIFICATE_SIGNING_REQUEST_CONDITION)),
        one(2, "certificate", Bytes),
    ],
);

pub(super) static CERTIFICATE_SIGNING_REQUEST_CONDITION: Message = message(
    "certificates.v1.CertificateSigningRequestCondition",
    &[
        one(1, "type", Text),
        one(6, "status", Text),
        one(2, "reason", Text),
        one(3, "message", Text),
        one(4, "lastUpdateTime", Time),
        one(5, "lastTransitionTime", Time),
    ],
);
