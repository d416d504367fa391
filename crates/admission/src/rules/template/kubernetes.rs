//! Rules about manifests of Kubernetes' own kinds (page: `tests/rules/manifest.md`).
//!
//! Decides what is refused and what warns. What is wrong with a manifest the room `manifest` says, by Kubernetes' schemas; a kind
//! that it does not know is not judged.

use std::collections::BTreeMap;

use crate::body::Node;
use crate::step_budget::Items;
use crate::subject::{Subject, Template, rules};
use kubernetes::field::Findings;
use kubernetes::manifest::{Aspect, changed, check};

/// The id of changes that every cluster refuses; the room `manifest` finds them.
const IMMUTABLE: &str = "manifest/immutable";

rules! { pub(in crate::rules) RULES of Template {
    refuses "manifest/type", CreateAndUpdate, |subject, findings| shape(subject, Aspect::Type, findings) =>
        "Values of a manifest have the type that their field has.\n\n\
         By the schemas of Kubernetes 1.36, for its own kinds: workloads, services, configuration, roles, policies, definitions. A \
         cluster refuses `replicas: \"two\"` or a label `on: true`, and the other manifests of the work wait. A variable always \
         becomes a text. Refused, with the type and the cure.";
    warns "manifest/unknown-field", CreateAndUpdate, |subject, findings| shape(subject, Aspect::UnknownField, findings) =>
        "Fields of a manifest exist.\n\n\
         By the schemas of Kubernetes 1.36. A cluster drops a field that it does not know, or refuses the object, by how it is \
         applied: `replica: 3` makes one replica. Warns, because a newer cluster may know more.";
    warns "manifest/required", CreateAndUpdate, |subject, findings| shape(subject, Aspect::Required, findings) =>
        "What a manifest has to say is said.\n\n\
         The fields that Kubernetes' schemas ask for: the name of a container, the port of a service, the key of a reference. Warns, \
         because a webhook of the cluster may fill it in.";
    refuses "manifest/selector", CreateAndUpdate, |subject, findings| shape(subject, Aspect::Selector, findings) =>
        "A workload selects the pods that it makes.\n\n\
         `spec.selector` of a Deployment, StatefulSet, DaemonSet or ReplicaSet fits the labels of `spec.template`, and is not empty. \
         Every cluster refuses anything else. Labels with a variable are not judged. Refused.";
    refuses "manifest/pod", CreateAndUpdate, |subject, findings| shape(subject, Aspect::Pod, findings) =>
        "The parts of a pod fit together.\n\n\
         Containers have different names, what they mount is a volume of the pod, and `restartPolicy` is one that the workload \
         takes. Every cluster refuses anything else. Refused, with the nearest name.";
    warns IMMUTABLE, Update, immutable =>
        "What no cluster lets anybody change stays as it was.\n\n\
         The selector of a workload, the template of a Job, the role of a binding, the claims of a StatefulSet, and the like. The \
         clusters that have the object refuse the new one indefinitely. Warns, because clusters that do not have it yet take it.";
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

/// What a manifest is, whatever it says.
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
