//! Rules about the image mirrors of an AddOnDeploymentConfig.
//!
//! Refuses sources and mirrors that cannot be the prefix of an image name.

use std::collections::BTreeMap;

use crate::subject::{DeploymentConfig, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path, quoted};

const REGISTRY: &str = "deployment-config/registry";

rules! { pub(in crate::rules) RULES of DeploymentConfig {
    refuses REGISTRY, CreateAndUpdate, registry =>
        "`source` and `mirror` of a registry are prefixes of image names.\n\n\
         The controllers replace the prefix `source` of an image by `mirror`, for example `registry.example.com:5000/team`. A \
         scheme, a space, a tag or a digest in a prefix would result in an image name that no cluster can pull. Refused. Two \
         entries with the same `source` warn, because only the last one is used, and so does an entry with equal `source` and \
         `mirror`, which has no effect.";
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
            let fault = Fault::of_text(Class::Invalid, mirror, "has no effect: it is equal to source");
            findings.warn(fault.at(entry.path.key("mirror"), REGISTRY));
        }
        match sources.get(source) {
            None => {
                sources.insert(source, &entry.path);
            }
            Some(before) => {
                let detail = format!("is also the source of {before}, which therefore has no effect");
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
        return Some(fault("must not contain whitespace"));
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
    fn a_prefix_of_an_image_has_no_scheme_tag_or_digest() {
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
