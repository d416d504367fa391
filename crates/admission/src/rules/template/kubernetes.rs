//! Rules about manifests of Kubernetes' own kinds (page: `tests/rules/manifest.md`).
//!
//! The module `kubernetes::manifest` checks manifests with Kubernetes' schemas. A kind without a schema is not checked.

use std::collections::BTreeMap;

use crate::body::Node;
use crate::step_budget::Items;
use crate::subject::{Subject, Template, rules};
use kubernetes::field::Findings;
use kubernetes::manifest::{Aspect, changed, check};

/// The id of the changes that every cluster rejects; `kubernetes::manifest` finds them.
const IMMUTABLE: &str = "manifest/immutable";

rules! { pub(in crate::rules) RULES of Template {
    refuses "manifest/type", CreateAndUpdate, |subject, findings| shape(subject, Aspect::Type, findings) =>
        "Each field of a manifest has a value of the right type.\n\n\
         The webhook uses the schemas of Kubernetes 1.36, for the built-in kinds of Kubernetes (workloads, services, \
         configuration, roles, policies and CRDs). A cluster rejects `replicas: \"two\"` or a label `on: true`, and the \
         ManifestWork is then not applied completely. A variable is always replaced with a string. Refused, with the \
         expected type and the fix.";
    warns "manifest/unknown-field", CreateAndUpdate, |subject, findings| shape(subject, Aspect::UnknownField, findings) =>
        "Every field of a manifest exists in the schema of its kind.\n\n\
         The webhook uses the schemas of Kubernetes 1.36. Depending on how the object is applied, a cluster drops an \
         unknown field or rejects the object. For example, a Deployment with `replica: 3` has one replica. Warns, \
         because a newer cluster may have the field.";
    warns "manifest/required", CreateAndUpdate, |subject, findings| shape(subject, Aspect::Required, findings) =>
        "The required fields of a manifest are set.\n\n\
         The webhook uses the schemas of Kubernetes 1.36. Examples are the name of a container, the port of a service, \
         and the key of a reference. A cluster rejects an object without such a field. Warns, because a webhook of the \
         cluster may set the field.";
    refuses "manifest/selector", CreateAndUpdate, |subject, findings| shape(subject, Aspect::Selector, findings) =>
        "The selector of a workload matches its pod template.\n\n\
         `spec.selector` of a Deployment, StatefulSet, DaemonSet or ReplicaSet is not empty and matches the labels of \
         `spec.template`. Every cluster rejects a workload with another selector. Labels with a variable are not checked. Refused.";
    refuses "manifest/pod", CreateAndUpdate, |subject, findings| shape(subject, Aspect::Pod, findings) =>
        "The parts of a pod are consistent.\n\n\
         The containers have different names, each `volumeMounts` entry names a volume of the pod, and the workload \
         supports the `restartPolicy`. Every cluster rejects any other pod. Refused, and the message suggests the \
         closest name.";
    warns IMMUTABLE, Update, immutable =>
        "Immutable fields of a manifest do not change.\n\n\
         Examples are the selector of a workload, the template of a Job, the role of a binding, and the volume claims \
         of a StatefulSet. Clusters that have the object reject the update, and the add-on keeps failing there until \
         the object is deleted. Warns, because clusters that do not have the object yet accept it. Restore the old \
         value, or use another name for the object.";
} }

fn shape(subject: &Subject<'_, Template>, aspect: Aspect, findings: &mut Findings) {
    for manifest in subject.body.manifests.each(subject.effort) {
        let spend = |steps| subject.effort.spend(steps);
        for violation in check(manifest.value, aspect, &manifest.path, &spend) {
            if aspect.is_refused() {
                findings.deny(violation);
            } else {
                findings.warn(violation);
            }
        }
    }
}

/// API version, kind, namespace and name of a manifest.
type Identity<'a> = [&'a str; 4];

fn identity<'a>(manifest: &Node<'a>) -> Option<Identity<'a>> {
    let metadata = manifest.key("metadata")?;
    Some([
        manifest.text("apiVersion")?,
        manifest.text("kind")?,
        metadata.text("namespace").unwrap_or_default(),
        metadata.text("name")?,
    ])
}

fn immutable(subject: &Subject<'_, Template>, findings: &mut Findings) {
    let Some(old) = &subject.old else {
        return;
    };
    let stored = by_identity(&old.manifests, subject);
    for manifest in subject.body.manifests.each(subject.effort) {
        let before = identity(manifest).and_then(|identity| stored.get(&identity));
        let Some(before) = before else { continue };
        let spend = |steps| subject.effort.spend(steps);
        for violation in changed(before.value, manifest.value, &manifest.path, &spend) {
            findings.warn(violation);
        }
    }
}

fn by_identity<'s, 'a>(
    manifests: &'s Items<Node<'a>>,
    subject: &'s Subject<'_, Template>,
) -> BTreeMap<Identity<'a>, &'s Node<'a>> {
    let each = manifests.each(subject.effort);
    each.filter_map(|manifest| Some((identity(manifest)?, manifest)))
        .collect()
}
