//! The objects of a document: itself, or the items of a list.
//!
//! Decides what is a list (`kind: List`, `FooList`). Never knows a kind.

use serde_json::Value;

use super::node::Node;

/// One object as it stands in a text.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    /// Where it stands.
    pub node: &'a Node,
    /// What it says; items of a typed list have the kind of that list.
    pub value: Value,
}

/// Returns the objects of a document, those of lists one by one.
pub fn objects(document: &Node) -> Vec<Object<'_>> {
    let mut found = Vec::new();
    collect(document, None, &mut found);
    found
}

fn collect<'a>(node: &'a Node, of: Option<(&str, &str)>, found: &mut Vec<Object<'a>>) {
    let api_version = node.text("apiVersion");
    let item_kind = node.text("kind").and_then(|kind| kind.strip_suffix("List"));
    let items = item_kind.and_then(|_| node.entry("items"));
    if let (Some(kind), Some(items)) = (item_kind, items) {
        let of = api_version
            .filter(|_| !kind.is_empty())
            .map(|version| (version, kind));
        for item in items.value.items() {
            collect(item, of, found);
        }
        return;
    }
    let mut value = node.value();
    if let (Value::Object(fields), Some((version, kind))) = (&mut value, of) {
        let known = |text: &str| Value::String(text.to_owned());
        fields.entry("apiVersion").or_insert_with(|| known(version));
        fields.entry("kind").or_insert_with(|| known(kind));
    }
    found.push(Object { node, value });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::read;

    fn kinds(text: &str) -> Vec<String> {
        let reading = read(text);
        let all = reading.documents.iter().flat_map(objects);
        all.map(|object| {
            let text = |name: &str| object.value[name].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {}",
                text("apiVersion"),
                text("kind"),
                object.node.span.start.line
            )
        })
        .collect()
    }

    #[test]
    fn lists_are_their_items() {
        assert_eq!(
            kinds(
                "apiVersion: v1\nkind: List\nitems:\n- apiVersion: g/v1\n  kind: A\n- apiVersion: v1\n  kind: BList\n  items:\n  - x: 1\n"
            ),
            ["g/v1 A 4", "v1 B 9"]
        );
        assert_eq!(kinds("kind: List\n"), ["- List 1"]);
        assert_eq!(
            kinds("kind: AllowList\napiVersion: g/v1\nspec: {}\n"),
            ["g/v1 AllowList 1"]
        );
        assert_eq!(kinds("kind: List\nitems: []\n"), Vec::<String>::new());
    }
}
