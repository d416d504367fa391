//! JSON pointers into a version of a definition, and how they read as paths of fields.
//!
//! Decides nothing.

use kubernetes::json_pointer::{escape, unescape};

/// Where the schema of a version begins.
pub(super) const SCHEMA: &str = "/schema/openAPIV3Schema";
/// Where the columns of a version stand.
pub(super) const COLUMNS: &str = "/additionalPrinterColumns";

/// Returns the pointer one step further down.
pub(super) fn below(pointer: &str, step: &str) -> String {
    format!("{pointer}/{}", escape(step))
}

/// Returns a pointer into a schema as the path of a field: `spec.installStrategy.placements[].addonSpec`.
pub(super) fn path_of(pointer: &str) -> String {
    let mut path = String::new();
    let mut steps = pointer.strip_prefix(SCHEMA).unwrap_or(pointer).split('/').skip(1);
    while let Some(step) = steps.next() {
        match step {
            "properties" => {
                let name = steps.next().map(unescape);
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name.as_deref().unwrap_or("*"));
            }
            "items" => path.push_str("[]"),
            "additionalProperties" => path.push_str("{}"),
            other => {
                path.push(' ');
                path.push_str(other);
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_read_as_paths_of_fields() {
        for (pointer, path) in [
            ("/schema/openAPIV3Schema/properties/spec/properties/a", "spec.a"),
            (
                "/schema/openAPIV3Schema/properties/spec/properties/a/items/properties/b",
                "spec.a[].b",
            ),
            ("/schema/openAPIV3Schema/properties/status/properties", "status.*"),
            (
                "/schema/openAPIV3Schema/properties/a~1b/additionalProperties/properties/c~0d",
                "a/b{}.c~d",
            ),
        ] {
            assert_eq!(path_of(pointer), path);
        }
        assert_eq!(below("/properties", "a/b~c"), "/properties/a~1b~0c");
    }
}
