//! Rules about the variables of a deployment configuration.
//!
//! Decides which names cannot be used, and which have no effect.

use crate::subject::{DeploymentConfig, Subject, rules};
use kubernetes::field::{Class, Fault, Findings};

const NAME: &str = "deployment-config/variable-name";
/// What other add-on managers keep beside the variables; a variable of such a name stops them.
const PRIVATE: [&str; 5] = [
    "__INSTALL_NAMESPACE",
    "__NODE_PLACEMENT",
    "__PROXY",
    "__REGISTRIES",
    "__RESOURCE_REQUIREMENTS",
];

rules! { pub(in crate::rules) RULES of DeploymentConfig {
    refuses NAME, CreateAndUpdate, name =>
        "A variable has a name that manifests can use.\n\n\
         A letter or `_`, then letters, digits and `_`. `__REGISTRIES` and four more names of that form are kept for other \
         settings by other add-on managers, and stop them. Refused. `CLUSTER_NAME` always has its own value, and so has \
         `INSTALL_NAMESPACE` while `agentInstallNamespace` is set: giving them warns.";
} }

fn name(subject: &Subject<'_, DeploymentConfig>, findings: &mut Findings) {
    let body = &subject.body;
    let moved = body
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
            let detail = "must be a letter or \"_\", then letters, digits and \"_\"";
            let fault = Fault::of_text(Class::Invalid, name, detail);
            findings.deny(fault.hint_if(near(name)).at(path, NAME));
        } else if PRIVATE.contains(&name) {
            let detail = "is kept for a setting of this configuration";
            findings.deny(Fault::of_text(Class::Forbidden, name, detail).at(path, NAME));
        } else if name == "CLUSTER_NAME" || (moved && name == "INSTALL_NAMESPACE") {
            let detail = "has no effect: this variable has a value of its own";
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

/// Points and dashes are what other systems allow in names.
fn near(name: &str) -> Option<String> {
    let bare = name.trim().trim_start_matches("{{").trim_end_matches("}}").trim();
    let near = bare.replace(['-', '.', ' '], "_");
    (near.len() <= 255 && is_name(&near)).then(|| format!("did you mean \"{near}\"?"))
}
