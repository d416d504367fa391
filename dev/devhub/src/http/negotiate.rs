//! The `Accept` header.
//!
//! Decides in which encoding and which form an answer is written. Protobuf is never written: a client that also takes JSON gets JSON.

use crate::error::ApiError;
use crate::table::MetaVersion;

/// How bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Encoding {
    /// JSON.
    #[default]
    Json,
    /// YAML.
    Yaml,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Form {
    /// The objects themselves.
    #[default]
    Objects,
    /// A `Table` of `meta.k8s.io` in this version.
    Table(MetaVersion),
    /// `PartialObjectMetadata` of `meta.k8s.io` in this version.
    Metadata(MetaVersion),
}

/// What a client accepts and we can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Accepted {
    /// Encoding.
    pub(crate) encoding: Encoding,
    /// Form.
    pub(crate) form: Form,
}

/// Which forms and which refusal a path has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Menu {
    /// Custom resources: all forms.
    Custom,
    /// Objects of built-in kinds.
    BuiltinObject,
    /// Lists of built-in kinds, which also stream.
    BuiltinList,
}

/// Chooses the first clause that can be served. No header means JSON.
pub(crate) fn negotiate(header: Option<&str>, menu: Menu) -> Result<Accepted, ApiError> {
    let Some(header) = header.map(str::trim).filter(|header| !header.is_empty()) else {
        return Ok(Accepted::default());
    };
    header.split(',').find_map(clause).ok_or_else(|| refusal(menu))
}

fn clause(text: &str) -> Option<Accepted> {
    let mut parts = text.split(';').map(str::trim);
    let encoding = match parts.next()? {
        "application/json" | "*/*" | "application/*" => Encoding::Json,
        "application/yaml" => Encoding::Yaml,
        _ => return None,
    };
    let (mut wanted, mut group, mut version) = ("", "", "");
    for part in parts {
        match part.split_once('=') {
            Some(("as", value)) => wanted = value,
            Some(("g", value)) => group = value,
            Some(("v", value)) => version = value,
            Some(("stream", value)) if value != "watch" => return None,
            _ => {}
        }
    }
    let form = match (wanted, group) {
        ("", _) => Form::Objects,
        ("Table", "meta.k8s.io") => Form::Table(MetaVersion::parse(version)?),
        ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io") => {
            Form::Metadata(MetaVersion::parse(version)?)
        }
        _ => return None,
    };
    Some(Accepted { encoding, form })
}

/// Returns the refusal of a client that takes nothing of what is written.
pub(crate) fn refusal(menu: Menu) -> ApiError {
    const OBJECT: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    const STREAM: &str = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    let message = match menu {
        Menu::Custom => format!("only the following media types are accepted: {OBJECT}"),
        Menu::BuiltinObject => format!("406: Not Acceptable\n\nAvailable representations: {OBJECT}"),
        Menu::BuiltinList => format!("406: Not Acceptable\n\nAvailable representations: {OBJECT}, {STREAM}"),
    };
    let error = ApiError::new(406, "NotAcceptable", message);
    if menu == Menu::Custom {
        error
    } else {
        error.with_details(serde_json::json!({}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(header: &str) -> Option<Accepted> {
        negotiate(Some(header), Menu::Custom).ok()
    }

    #[test]
    fn the_first_clause_that_can_be_served_wins() {
        let table = Accepted {
            encoding: Encoding::Json,
            form: Form::Table(MetaVersion::V1),
        };
        let json = Accepted::default();
        assert_eq!(
            chosen("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"),
            Some(table)
        );
        assert_eq!(
            chosen("application/json;g=meta.k8s.io;v=v1;as=Table"),
            Some(table)
        );
        assert_eq!(
            chosen("application/json;as=Table;v=v2;g=meta.k8s.io,application/json"),
            Some(json)
        );
        assert_eq!(
            chosen("application/vnd.kubernetes.protobuf,application/json"),
            Some(json)
        );
        assert_eq!(chosen("application/vnd.kubernetes.protobuf"), None);
        assert_eq!(chosen("text/html"), None);
        assert_eq!(negotiate(None, Menu::Custom).ok(), Some(json));
    }
}
