//! Rules about manifests of a template that no agent can apply, whatever their content is.

use std::collections::BTreeMap;
use std::io;

use crate::body::Node;
use crate::subject::{Subject, Template, rules};
use kubernetes::field::{Class, Fault, Findings, Path};

const IDENTITY: &str = "template/manifest-identity";
const DUPLICATE: &str = "template/duplicate-object";
const SIZE: &str = "template/size";
/// The largest manifest in bytes. Hubs reject ManifestWorks of more than 500 KiB, and a ManifestWork contains more than manifests.
const LARGEST: usize = 409_600;
/// Bytes that are counted for one step.
const BYTES_OF_A_STEP: usize = 64;

rules! { pub(in crate::rules) RULES of Template {
    refuses IDENTITY, CreateAndUpdate, identity =>
        "Every manifest has `apiVersion`, `kind` and `metadata.name`.\n\n\
         The agent on the cluster cannot apply an object without them, and all other manifests of the add-on wait for \
         it. Refused, with one message for each missing field.";
    refuses DUPLICATE, CreateAndUpdate, duplicate =>
        "An object is listed once in a template.\n\n\
         Two manifests with the same group, kind, namespace and name would overwrite each other on the cluster \
         indefinitely. Refused, with the position of the first one. Remove one of the two.";
    refuses SIZE, CreateAndUpdate, size =>
        "Every manifest fits into a ManifestWork.\n\n\
         A hub rejects a ManifestWork of more than 500 KiB. The controllers distribute the manifests of a template over \
         several ManifestWorks, but never divide a manifest. Refused above 400 KiB, with the size. Split the object, \
         for example a large ConfigMap, into several objects.";
} }

fn identity(subject: &Subject<'_, Template>, findings: &mut Findings) {
    for manifest in subject.body.manifests.each(subject.effort) {
        let fields = [
            (manifest.text("apiVersion"), manifest.path.key("apiVersion")),
            (manifest.text("kind"), manifest.path.key("kind")),
            (name(manifest), manifest.path.key("metadata").key("name")),
        ];
        for (text, path) in fields {
            if text.is_none_or(str::is_empty) {
                let fault = Fault::bare(
                    Class::Required,
                    "every manifest must have apiVersion, kind and metadata.name",
                );
                findings.deny(fault.at(path, IDENTITY));
            }
        }
    }
}

fn name<'a>(manifest: &Node<'a>) -> Option<&'a str> {
    manifest.key("metadata")?.text("name")
}

fn duplicate(subject: &Subject<'_, Template>, findings: &mut Findings) {
    let mut first: BTreeMap<[&str; 4], &Path> = BTreeMap::new();
    for manifest in subject.body.manifests.each(subject.effort) {
        let (Some(version), Some(kind), Some(name)) =
            (manifest.text("apiVersion"), manifest.text("kind"), name(manifest))
        else {
            continue;
        };
        // Versions of one API group are the same object.
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let metadata = manifest.key("metadata");
        let namespace = metadata.and_then(|metadata| metadata.text("namespace"));
        let key = [group, kind, namespace.unwrap_or_default(), name];
        match first.get(&key) {
            None => {
                first.insert(key, &manifest.path);
            }
            Some(before) => {
                let shown = format!("{kind} {name}");
                let fault = Fault::of_text(
                    Class::Duplicate,
                    &shown,
                    format!("is already defined at {before}"),
                );
                findings.deny(fault.at(manifest.path.clone(), DUPLICATE));
            }
        }
    }
}

fn size(subject: &Subject<'_, Template>, findings: &mut Findings) {
    for manifest in subject.body.manifests.each(subject.effort) {
        let mut count = Count(0);
        let is_written = serde_json::to_writer(&mut count, manifest.value).is_ok();
        if !subject.effort.spend(count.0 / BYTES_OF_A_STEP) {
            return;
        }
        if !is_written || count.0 <= LARGEST {
            continue;
        }
        let detail = format!(
            "the manifest has {} KiB; it must have at most {} KiB to fit into a ManifestWork",
            count.0.div_ceil(1024),
            LARGEST / 1024
        );
        findings.deny(Fault::bare(Class::TooLong, detail).at(manifest.path.clone(), SIZE));
    }
}

/// Counts the bytes that are written, and discards them.
struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
