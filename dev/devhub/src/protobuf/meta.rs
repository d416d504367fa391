//! Messages of metadata and of the options of deletions.
//!
//! Decides number, name and kind of every field, as Kubernetes 1.36 numbers them.

use super::message::Kind::{Bool, Json, Long, Map, Object, Text, Time};
use super::message::{Message, many, message, one};

pub(super) static DELETE_OPTIONS: Message = message(
    "meta.v1.DeleteOptions",
    &[
        one(1, "gracePeriodSeconds", Long),
        one(2, "preconditions", Object(&PRECONDITIONS)),
        one(3, "orphanDependents", Bool),
        one(4, "propagationPolicy", Text),
        many(5, "dryRun", Text),
        one(6, "ignoreStoreReadErrorWithClusterBreakingPotential", Bool),
    ],
);

pub(super) static PRECONDITIONS: Message = message(
    "meta.v1.Preconditions",
    &[one(1, "uid", Text), one(2, "resourceVersion", Text)],
);

pub(super) static OBJECT_META: Message = message(
    "meta.v1.ObjectMeta",
    &[
        one(1, "name", Text),
        one(2, "generateName", Text),
        one(3, "namespace", Text),
        one(4, "selfLink", Text),
        one(5, "uid", Text),
        one(6, "resourceVersion", Text),
        one(7, "generation", Long),
        one(8, "creationTimestamp", Time),
        one(9, "deletionTimestamp", Time),
        one(10, "deletionGracePeriodSeconds", Long),
        one(11, "labels", Map(&Text)),
        one(12, "annotations", Map(&Text)),
        many(13, "ownerReferences", Object(&OWNER_REFERENCE)),
        many(14, "finalizers", Text),
        many(17, "managedFields", Object(&MANAGED_FIELDS_ENTRY)),
    ],
);

pub(super) static OWNER_REFERENCE: Message = message(
    "meta.v1.OwnerReference",
    &[
        one(5, "apiVersion", Text),
        one(1, "kind", Text),
        one(3, "name", Text),
        one(4, "uid", Text),
        one(6, "controller", Bool),
        one(7, "blockOwnerDeletion", Bool),
    ],
);

pub(super) static MANAGED_FIELDS_ENTRY: Message = message(
    "meta.v1.ManagedFieldsEntry",
    &[
        one(1, "manager", Text),
        one(2, "operation", Text),
        one(3, "apiVersion", Text),
        one(4, "time", Time),
        one(6, "fieldsType", Text),
        one(7, "fieldsV1", Json),
        one(8, "subresource", Text),
    ],
);

pub(super) static LABEL_SELECTOR: Message = message(
    "meta.v1.LabelSelector",
    &[
        one(1, "matchLabels", Map(&Text)),
        many(2, "matchExpressions", Object(&LABEL_SELECTOR_REQUIREMENT)),
    ],
);

pub(super) static LABEL_SELECTOR_REQUIREMENT: Message = message(
    "meta.v1.LabelSelectorRequirement",
    &[
        one(1, "key", Text),
        one(2, "operator", Text),
        many(3, "values", Text),
    ],
);

pub(super) static FIELD_SELECTOR_REQUIREMENT: Message = message(
    "meta.v1.FieldSelectorRequirement",
    &[
        one(1, "key", Text),
        one(2, "operator", Text),
        many(3, "values", Text),
    ],
);
