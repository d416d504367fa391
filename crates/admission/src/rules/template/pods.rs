//! Rules about the images and the namespaces in the manifests of a template.
//!
//! An image with a variable is complete only on a cluster, and is not checked.

use crate::body::Node;
use crate::subject::{Subject, Template, rules};
use kubernetes::field::{Class, Fault, Findings};
use model::{ImageReference, InstallNamespace};

const IMAGE: &str = "template/image";
const NAMESPACE: &str = "template/namespace";
/// The lists of containers in a pod spec.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

rules! { pub(in crate::rules) RULES of Template {
    refuses IMAGE, CreateAndUpdate, images =>
        "The image of every container is a valid image reference.\n\n\
         An image has a registry, a repository in lower case, a tag and a digest, such as \
         `registry.example.com:5000/team/agent:v1`, without a scheme or spaces. No cluster can start a container with \
         any other value. Applies to the workloads of Kubernetes. Refused. An image with a variable is not checked.";
    refuses NAMESPACE, CreateAndUpdate, namespaces =>
        "The namespace of a manifest is a valid namespace name.\n\n\
         A namespace name has at most 63 lower case letters, digits and \"-\", and starts and ends with a letter or a \
         digit. A cluster cannot have any other namespace. A variable is not valid either, because the API server \
         checks the namespace before variables are replaced. Refused, and the message suggests a valid name. In place \
         of a variable, write a namespace, and set `agentInstallNamespace` of an AddOnDeploymentConfig to replace it.";
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
                        let fault = Fault::bare(Class::Required, "every container must have an image");
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

/// Returns the pod spec of a workload of Kubernetes.
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
        // An empty namespace is the same as no namespace.
        let namespace = metadata.text("namespace").filter(|text| !text.is_empty());
        let Some(namespace) = namespace else {
            continue;
        };
        let fault = if namespace.contains("{{") {
            let detail = "must not contain a variable: the API server checks the namespace before variables are replaced";
            let hint = "write a namespace, and set agentInstallNamespace of an AddOnDeploymentConfig";
            Some(Fault::of_text(Class::Invalid, namespace, detail).hint(hint))
        } else {
            InstallNamespace::parse(namespace).err()
        };
        if let Some(fault) = fault {
            findings.deny(fault.at(metadata.path.key("namespace"), NAMESPACE));
        }
    }
}
