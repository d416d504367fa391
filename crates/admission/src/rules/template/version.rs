//! Rules about the version label of a template. Page: `tests/rules/version-reference.md`.
//!
//! A template without the label has no version, and can be referred to only by name.

use crate::subject::{Subject, Template, rules};
use api::names::labels::TEMPLATE_VERSION;
use kubernetes::field::{Class, Fault, Findings, quoted};
use model::AddonVersion;

const LABEL: &str = "version/label";
const TWICE: &str = "version/twice";

rules! { pub(in crate::rules) RULES of Template {
    refuses LABEL, CreateAndUpdate, label, reading &[("labels", TEMPLATE_VERSION)] =>
        "The version label of a template is a version.\n\n\
         With the label `addon.open-cluster-management.io/version`, users can select a template by `desiredVersion`. A \
         label that is not a version is not listed, and users cannot select the template. Refused. Write a version such \
         as `v1.2.3`, or remove the label.";
    warns TWICE, CreateAndUpdate, twice =>
        "A version of an add-on has one template.\n\n\
         `v1` and `v1.0` are the same version. Of two templates with one version, the controllers use the first by name \
         and never the other. Warns, with the name of the other template. Change the version label of one of them.";
} }

fn label(subject: &Subject<'_, Template>, findings: &mut Findings) {
    if let Some((path, label)) = &subject.body.version
        && let Err(fault) = AddonVersion::parse(label)
    {
        findings.deny(fault.at(path.clone(), LABEL));
    }
}

fn twice(subject: &Subject<'_, Template>, findings: &mut Findings) {
    let Some((path, label)) = &subject.body.version else {
        return;
    };
    let (Ok(version), Some(known)) = (
        AddonVersion::parse(label),
        subject.facts.versions(subject.body.addon),
    ) else {
        return;
    };
    let others = known.supported.iter().zip(&known.templates);
    let other = others
        .take_while(|_| subject.effort.spend(1))
        .filter(|(_, template)| !template.is_empty() && ***template != *subject.name)
        .find(|(text, _)| AddonVersion::parse(text).is_ok_and(|text| text == version));
    if let Some((text, template)) = other {
        let detail = format!(
            "is the same version as {} of template {}",
            quoted(text),
            quoted(template)
        );
        let fault = Fault::of_text(Class::Duplicate, label, detail)
            .hint("change one of the labels: the controllers use only the template whose name comes first");
        findings.warn(fault.at(path.clone(), TWICE));
    }
}
