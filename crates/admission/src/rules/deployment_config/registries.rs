//! Rules about the image mirrors of a deployment configuration.
//!
//! Decides which mirrors could never be the beginning of an image.

use std::collections::BTreeMap;

use crate::subject::{DeploymentConfig, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path, quoted};

const REGISTRY: &str = "deployment-config/registry";

rules! { pub(in crate::rules) RULES of DeploymentConfig {
    refuses REGISTRY, CreateAndUpdate, registry =>
        "A mirror is the beginning of an image, and so is what it replaces.\n\n\
         `registry.example.com:5000/team`: no scheme, no blanks, no tag and no digest, because they would stand in the middle of \
         an image that nothing could be pulled from. Refused. A source that stands twice warns, because the last \
         entry counts, and so does a mirror that replaces a source with itself.";
} }

fn registry(subject: &Subject<'_, DeploymentConfig>, findings: &mut Findings) {
    let entries = subject.body.list("registries");
    let mut sources: BTreeMap<&str, &Path> = BTreeMap::new();
    for entry in entries.each(subject.effort) {
        for field in ["source", "mirror"] {
            let text = entry.text(field).unwrap_or_default();
            if let Some(fault) = wrong(text) {
                findings.deny(fault.at(entry.path.key(field), REGISTRY));
            }
        }
        let source = entry.text("source").unwrap_or_default().trim_end_matches('/');
        let mirror = entry.text("mirror").unwrap_or_default().trim_end_matches('/');
        if !source.is_empty() && source == mirror {
            let fault = Fault::of_text(Class::Invalid, mirror, "has no effect: it is the source itself");
            findings.warn(fault.at(entry.path.key("mirror"), REGISTRY));
        }
        match sources.get(source) {
            None => {
                sources.insert(source, &entry.path);
            }
            Some(before) => {
                let detail = format!("also at {before}, which has no effect now");
                let fault = Fault::of_text(Class::Duplicate, source, detail);
                findings.warn(fault.at(entry.path.key("source"), REGISTRY));
            }
        }
    }
}

fn wrong(text: &str) -> Option<Fault> {
    let fault = |detail: &str| Fault::of_text(Class::Invalid, text, detail);
    if let Some((_, rest)) = text.split_once("://") {
        let near = rest.trim_end_matches('/');
        return Some(fault("must not have a scheme").hint(format!("did you mean {}?", quoted(near))));
    }
    if text.chars().any(char::is_whitespace) {
        return Some(fault("must not have blanks"));
    }
    if text.contains('@') {
        return Some(fault("must not have a digest"));
    }
    // A port is followed by a path or ends the text as digits; a tag is neither.
    let last = text.rsplit('/').next().unwrap_or_default();
    let is_host = last.len() == text.len();
    let tag = last.split_once(':').map(|(_, tag)| tag)?;
    let is_port = is_host && !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_digit());
    (!is_port).then(|| fault("must not have a tag"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_begin_an_image_is_told_from_what_cannot() {
        for good in [
            "",
            "quay.example",
            "quay.example/org/",
            "localhost:5000",
            "localhost:5000/team/x",
            "library",
        ] {
            assert_eq!(wrong(good), None, "{good}");
        }
        for bad in [
            "https://quay.example/org",
            "quay.example/ org",
            "quay.example/org/x:v1",
            "quay.example/x@sha256:00",
            "x:",
            "x:v1",
        ] {
            assert!(wrong(bad).is_some(), "{bad}");
        }
    }
}
