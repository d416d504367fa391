//! Image mirrors: from which registry the images of pods are pulled.
//!
//! Every mirror is tried on the image that the template names; the last one that changes it wins. A source matches whole
//! segments of the path only: a mirror of `quay.example/org` says nothing about `quay.example/organics/x`.

use serde_json::Value;

use super::pod::{Object, containers};
use crate::size_budget::SizeBudget;
use api::v1alpha1::ImageMirror;

/// Replaces the images of a pod, those of its init containers included: a pod does not start with only some of them.
pub(super) fn mirror(pod: &mut Object, mirrors: &[ImageMirror], budget: &SizeBudget) {
    for list in ["containers", "initContainers"] {
        for container in containers(pod, list) {
            let Some(Value::String(image)) = container.get_mut("image") else {
                continue;
            };
            // Each mirror that is tried takes a part of the budget as well.
            let tried = mirrors.iter().rev().take_while(|_| budget.take(1));
            let mirrored = tried.filter_map(|one| through(image, one));
            let last = mirrored.into_iter().find(|found| found != image);
            if let Some(found) = last.filter(|found| budget.take(found.len())) {
                *image = found;
            }
        }
    }
}

/// Returns the image as one mirror has it.
fn through(image: &str, through: &ImageMirror) -> Option<String> {
    let source = through.source.trim_end_matches('/');
    let mirror = through.mirror.trim_end_matches('/');
    let rest = if source.is_empty() {
        let last = image.rsplit('/').next().unwrap_or(image);
        format!("/{last}")
    } else {
        let rest = image.strip_prefix(source)?;
        ends_segment(rest).then(|| rest.to_owned())?
    };
    Some(format!("{mirror}{rest}").trim_start_matches('/').to_owned())
}

/// What follows a whole segment: the end, the next segment, a tag or a digest, but neither more letters nor a port.
fn ends_segment(rest: &str) -> bool {
    match rest.chars().next() {
        None | Some('/' | '@') => true,
        Some(':') => !rest.contains('/'),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_source_matches_whole_segments() {
        let rows = [
            (
                "quay.example/org/x:v1",
                "quay.example/org",
                "local/m",
                "local/m/x:v1",
            ),
            (
                "quay.example/org/x:v1",
                "quay.example/org/",
                "local/m/",
                "local/m/x:v1",
            ),
            (
                "quay.example/org/x:v1",
                "quay.example/org/x",
                "local/y",
                "local/y:v1",
            ),
            (
                "quay.example/org/x@sha256:1",
                "quay.example/org/x",
                "local/y",
                "local/y@sha256:1",
            ),
            (
                "quay.example/organics/x:v1",
                "quay.example/org",
                "local/m",
                "quay.example/organics/x:v1",
            ),
            ("localhost:5000/x:v1", "localhost", "local", "localhost:5000/x:v1"),
            ("localhost:5000/x:v1", "localhost:5000", "local", "local/x:v1"),
            ("quay.example/org/x:v1", "", "local/m", "local/m/x:v1"),
            ("quay.example/org/x:v1", "", "", "x:v1"),
            ("quay.example/org/x:v1", "quay.example/org", "", "x:v1"),
            (
                "docker.example/x:v1",
                "quay.example",
                "local",
                "docker.example/x:v1",
            ),
        ];
        for (image, source, mirror, expected) in rows {
            let one = ImageMirror {
                mirror: mirror.to_owned(),
                source: source.to_owned(),
            };
            let found = through(image, &one).unwrap_or_else(|| image.to_owned());
            assert_eq!(found, expected, "{image} {source} {mirror}");
        }
    }

    #[test]
    fn the_last_mirror_that_changes_the_image_wins_in_every_container() {
        let one = |source: &str, mirror: &str| ImageMirror {
            mirror: mirror.to_owned(),
            source: source.to_owned(),
        };
        let mirrors = [
            one("quay.example", "first"),
            one("quay.example/org", "second"),
            one("docker.example", "third"),
        ];
        let pod = json!({"containers": [{"image": "quay.example/org/a"}, {"image": "quay.example/b"}, {"name": "none"}],
            "initContainers": [{"image": "quay.example/org/c"}]});
        let mut pod = pod.as_object().unwrap().clone();
        mirror(&mut pod, &mirrors, &SizeBudget::default());
        let expected = json!({"containers": [{"image": "second/a"}, {"image": "first/b"}, {"name": "none"}],
            "initContainers": [{"image": "second/c"}]});
        assert_eq!(Value::Object(pod), expected);
    }
}
