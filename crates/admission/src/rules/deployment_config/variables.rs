//! Rules about the variables of an AddOnDeploymentConfig.
//!
//! Refuses names that manifests cannot use, and warns about names that have no effect.

use crate::subject::{DeploymentConfig, Subject, rules};
use kubernetes::field::{Class, Fault, Findings};

const NAME: &str = "deployment-config/variable-name";
/// Names that OCM's add-on manager uses internally. It cannot render an add-on that has a variable with such a name.
const PRIVATE: [&str; 5] = [
    "__INSTALL_NAMESPACE",
    "__NODE_PLACEMENT",
    "__PROXY",
    "__REGISTRIES",
    "__RESOURCE_REQUIREMENTS",
];

rules! { pub(in crate::rules) RULES of DeploymentConfig {
    refuses NAME, CreateAndUpdate, name =>
        "A variable name is valid in manifests.\n\n\
         In manifests, a variable name starts with a letter or `_`, followed by letters, digits and `_`; no template can use \
         any other name. OCM's add-on manager uses `__INSTALL_NAMESPACE`, `__NODE_PLACEMENT`, `__PROXY`, `__REGISTRIES` and \
         `__RESOURCE_REQUIREMENTS` internally, and cannot render the add-on if a variable has one of these names. Refused. \
         The controllers always set `CLUSTER_NAME`, and also `INSTALL_NAMESPACE` if `agentInstallNamespace` is set; a \
         variable with such a name has no effect, and warns. Rename the variable.";
} }

fn name(subject: &Subject<'_, DeploymentConfig>, findings: &mut Findings) {
    let body = &subject.body;
    let has_namespace = body
        .spec
        .as_ref()
        .and_then(|spec| spec.text("agentInstallNamespace"))
        .is_some_and(|namespace| !namespace.is_empty());
    for variable in body.list("customizedVariables").each(subject.effort) {
        let Some(name) = variable.text("name").filter(|name| !name.is_empty()) else {
            continue;
        };
        let path = variable.path.key("name");
        if !is_name(name) {
            let detail = "must start with a letter or \"_\", followed by letters, digits and \"_\"";
            let fault = Fault::of_text(Class::Invalid, name, detail);
            findings.deny(fault.hint_if(near(name)).at(path, NAME));
        } else if PRIVATE.contains(&name) {
            let detail = "is reserved: OCM's add-on manager uses this name internally";
            findings.deny(Fault::of_text(Class::Forbidden, name, detail).at(path, NAME));
        } else if name == "CLUSTER_NAME" || (has_namespace && name == "INSTALL_NAMESPACE") {
            let detail = "has no effect: the controllers set this variable";
            findings.warn(Fault::of_text(Class::Forbidden, name, detail).at(path, NAME));
        }
    }
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first = bytes.next();
    first.is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns the name with `.` and `-`, which other systems allow, replaced by `_`.
fn near(name: &str) -> Option<String> {
    let bare = name.trim().trim_start_matches("{{").trim_end_matches("}}").trim();
    let near = bare.replace(['-', '.', ' '], "_");
    (near.len() <= 255 && is_name(&near)).then(|| format!("did you mean \"{near}\"?"))
}
