//! The part of the add-ons that one of several managers sees.
//!
//! Decides by names: add-ons are shared out in turn, with their objects on the clusters. What belongs to no add-on of the fleet is seen
//! by all managers. Filters lists, and watches line by line.

use http::Uri;
use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::scene::ADDON;

/// Resources whose objects belong to one add-on each, by their names.
const SHARED: [&str; 4] = [
    "clustermanagementaddons",
    "managedclusteraddons",
    "manifestworks",
    "addonrollouts",
];

/// One part of several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub(crate) number: usize,
    pub(crate) of: usize,
}

/// What an answer is, and how it is filtered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// As the hub gives it.
    Whole,
    /// A list, read as a whole.
    List,
    /// A watch.
    Watch,
}

impl Answer {
    /// Returns what a request for objects is answered with.
    pub(crate) fn of(uri: &Uri) -> Self {
        let last = uri.path().rsplit('/').next().unwrap_or_default();
        let asks = |what: &str| {
            uri.query()
                .is_some_and(|query| query.split('&').any(|one| one == what))
        };
        match SHARED.contains(&last) {
            false => Self::Whole,
            true if asks("watch=true") || asks("watch=1") => Self::Watch,
            true => Self::List,
        }
    }
}

#[derive(Deserialize)]
struct Named {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Event<'t> {
    #[serde(borrow)]
    object: &'t RawValue,
}

impl Share {
    /// Returns a list without the objects of other parts.
    pub(crate) fn list(self, text: &[u8]) -> Option<Bytes> {
        let mut list: Value = serde_json::from_slice(text).ok()?;
        let items = list.get_mut("items")?.as_array_mut()?;
        items.retain(|item| self.has(item["metadata"]["name"].as_str().unwrap_or_default()));
        serde_json::to_vec(&list).ok().map(Bytes::from)
    }

    /// Takes the whole lines out of what a watch has sent so far, and returns those about objects of this part.
    pub(crate) fn lines(self, held: &mut Vec<u8>) -> Bytes {
        let end = held
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let rest = held.split_off(end);
        let whole = std::mem::replace(held, rest);
        let lines = whole.split_inclusive(|byte| *byte == b'\n');
        lines.filter(|line| self.shows(line)).flatten().copied().collect()
    }

    fn shows(self, line: &[u8]) -> bool {
        let event = serde_json::from_slice::<Event<'_>>(line);
        let named = event.and_then(|event| serde_json::from_str::<Named>(event.object.get()));
        // What has no name is a bookmark or an error.
        named.map_or(true, |named| self.has(&named.metadata.name))
    }

    fn has(self, name: &str) -> bool {
        let addon = name.strip_prefix("addon-").unwrap_or(name);
        let Some(rest) = addon.strip_prefix(ADDON) else {
            return true;
        };
        let digits = rest.trim_start_matches('-').split('-').next().unwrap_or_default();
        digits.parse().unwrap_or(0_usize) % self.of == self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_of_an_add_on_is_in_one_part() {
        let second = Share { number: 1, of: 2 };
        for (name, is_there) in [
            ("fleetbench", false),
            ("fleetbench-1", true),
            ("fleetbench-12", false),
            ("addon-fleetbench-deploy-0", false),
            ("addon-fleetbench-3-deploy-0", true),
            ("another", true),
        ] {
            assert_eq!(second.has(name), is_there, "{name}");
        }
    }

    #[test]
    fn a_watch_is_filtered_wherever_it_is_cut() {
        let line = |name: &str| {
            format!("{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{{\"name\":\"{name}\"}}}}}}\n")
        };
        let bookmark = "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n";
        let all = format!("{}{}{bookmark}", line("fleetbench"), line("fleetbench-1"));
        let own = format!("{}{bookmark}", line("fleetbench"));
        for cut in 0..all.len() {
            let (share, mut held) = (Share { number: 0, of: 2 }, Vec::new());
            let mut seen = Vec::new();
            let (first, second) = all.as_bytes().split_at(cut);
            for piece in [first, second] {
                held.extend_from_slice(piece);
                seen.extend_from_slice(&share.lines(&mut held));
            }
            assert_eq!(String::from_utf8_lossy(&seen), own, "cut at {cut}");
        }
    }

    #[test]
    fn a_list_is_filtered_and_other_answers_are_not() {
        let list = br#"{"items":[{"metadata":{"name":"fleetbench"}},{"metadata":{"name":"fleetbench-1"}}]}"#;
        let filtered = Share { number: 1, of: 2 }.list(list).expect("a list");
        assert_eq!(filtered, r#"{"items":[{"metadata":{"name":"fleetbench-1"}}]}"#);
        let group = "/apis/addon.open-cluster-management.io/v1alpha1";
        for (path, answer) in [
            (format!("{group}/managedclusteraddons?limit=200"), Answer::List),
            (
                format!("{group}/managedclusteraddons?watch=true&x=y"),
                Answer::Watch,
            ),
            (
                format!("{group}/namespaces/c1/managedclusteraddons/fleetbench"),
                Answer::Whole,
            ),
            (format!("{group}/addontemplates"), Answer::Whole),
        ] {
            assert_eq!(Answer::of(&path.parse().expect("a path")), answer, "{path}");
        }
    }
}
