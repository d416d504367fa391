//! What of a rollout's picture is told to a page that has the one before.
//!
//! Decides how little that is: of ten thousand clusters those that say anything else. Pure.

use insight::cockpit::{ClusterView, Picture};
use serde_json::{Value, json};

/// Returns a picture for a page that has none, or whose clusters are others now.
pub(super) fn whole(picture: &Picture) -> Value {
    json!({ "picture": picture })
}

/// Returns what has changed since the picture that a page has; nothing when nothing has.
pub(super) fn change(had: &Picture, picture: &Picture) -> Option<Value> {
    if had == picture {
        return None;
    }
    let same = had.clusters.len() == picture.clusters.len()
        && had
            .clusters
            .iter()
            .zip(&picture.clusters)
            .all(|(one, other)| one.name == other.name);
    if !same {
        return Some(whole(picture));
    }
    let each = had.clusters.iter().zip(&picture.clusters);
    let changed: Vec<&ClusterView> = each
        .filter(|(one, other)| one != other)
        .map(|(_, other)| other)
        .collect();
    Some(json!({ "picture": picture.without_clusters(), "changed": changed }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::visibility::samples::picture;
    use insight::cockpit::ClusterState;

    #[test]
    fn only_clusters_that_say_anything_else_are_told() {
        let had = picture("hello", &["a", "b", "c"]);
        assert_eq!(change(&had, &had.clone()), None);
        let mut moved = had.clone();
        moved.clusters[1].state = ClusterState::Soaking;
        let told = change(&had, &moved).expect("a change");
        assert_eq!(told["changed"].as_array().map(Vec::len), Some(1));
        assert_eq!(told["changed"][0]["name"], "b");
        assert_eq!(told["picture"]["clusters"], json!([]));
        assert_eq!(told["picture"]["target"]["name"], "hello");
        let other = picture("hello", &["a", "b", "d"]);
        let told = change(&had, &other).expect("a change");
        assert_eq!(told["picture"]["clusters"].as_array().map(Vec::len), Some(3));
    }
}
