//! Rules about what the manifests of a template run, and where.
//!
//! Decides which images no container runtime can read, and which namespaces cannot exist. A text with a variable is complete only on
//! a cluster, and is not judged.

use crate::body::Node;
use crate::subject::{Subject, Template, rules};
use kubernetes::field::{Class, Fault, Findings};
use model::{ImageReference, InstallNamespace};

const IMAGE: &str = "template/image";
const NAMESPACE: &str = "template/namespace";
/// The lists of containers in the spec of a pod.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

rules! { pub(in crate::rules) RULES of Template {
    refuses IMAGE, CreateAndUpdate, images =>
        "Every container has an image that can be pulled.\n\n\
         Registry, repository in lower case, tag and digest, such as `registry.example.com:5000/team/agent:v1`; no scheme \
         and no blanks. Holds for the containers of Kubernetes' own workloads. Whatever else stands there starts on no \
         cluster. Refused; an image with a variable is not judged.";
    refuses NAMESPACE, CreateAndUpdate, namespaces =>
        "The namespace of a manifest can exist.\n\n\
         At most 63 lower case letters, digits and \"-\", with a letter or digit at both ends. The agent cannot apply anything \
         into another one, and an API server refuses a template that names another one, even if a variable in it would make it \
         valid: it checks the namespace before any variable has its value. Refused, with the nearest valid name; in place of a \
         variable, name a namespace, and let `agentInstallNamespace` of an AddOnDeploymentConfig replace it.";
} }

fn images(subject: &Subject<'_, Template>, findings: &mut Findings) {
    for manifest in subject.body.manifests.each(subject.effort) {
        let Some(spec) = pod_spec(manifest) else { continue };
        let lists = CONTAINERS.map(|list| spec.list(list));
        for container in lists.iter().flat_map(|list| list.each(subject.effort)) {
            let path = container.path.key("image");
            match container.text("image") {
                Some(image) if image.contains("{{") => {}
                Some("") | None => {
                    if container.value.is_object() {
                        let fault = Fault::bare(Class::Required, "every container has an image");
                        findings.deny(fault.at(path, IMAGE));
                    }
                }
                Some(image) => {
                    if let Err(fault) = ImageReference::parse(image) {
                        findings.deny(fault.at(path, IMAGE));
                    }
                }
            }
        }
    }
}

/// Returns the spec of the pods that a workload of Kubernetes starts.
fn pod_spec<'a>(manifest: &Node<'a>) -> Option<Node<'a>> {
    let steps: &[&'static str] = match (manifest.text("apiVersion")?, manifest.text("kind")?) {
        ("v1", "Pod") => &["spec"],
        ("v1", "ReplicationController")
        | ("apps/v1", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("batch/v1", "Job") => &["spec", "template", "spec"],
        ("batch/v1", "CronJob") => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => return None,
    };
    steps
        .iter()
        .try_fold(manifest.clone(), |node, step| node.key(step))
}

fn namespaces(subject: &Subject<'_, Template>, findings: &mut Findings) {
    for manifest in subject.body.manifests.each(subject.effort) {
        let Some(metadata) = manifest.key("metadata") else {
            continue;
        };
        // An empty one is none.
        let namespace = metadata.text("namespace").filter(|text| !text.is_empty());
        let Some(namespace) = namespace else {
            continue;
        };
        let fault = if namespace.contains("{{") {
            let detail =
                "a namespace cannot hold a variable: the API server checks it before variables are replaced";
            let hint = "name a namespace, and set agentInstallNamespace of an AddOnDeploymentConfig";
            Some(Fault::of_text(Class::Invalid, namespace, detail).hint(hint))
        } else {
            InstallNamespace::parse(namespace).err()
        };
        if let Some(fault) = fault {
            findings.deny(fault.at(metadata.path.key("namespace"), NAMESPACE));
        }
    }
}
