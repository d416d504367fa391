//! The path of a request.
//!
//! Decides what a path addresses, from its segments alone; whether that exists is decided elsewhere.

use super::query::decode;

/// What a path addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/version`.
    Version,
    /// `/healthz`, `/livez`, `/readyz`.
    Health(String),
    /// `/api`.
    Api,
    /// `/apis`.
    Apis,
    /// `/apis/<group>`.
    Group(String),
    /// `/api/v1` or `/apis/<group>/<version>`.
    GroupVersion(String, String),
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3` (empty) or a document below it.
    OpenApiV3(String),
    /// Something below a group and version.
    Resource(Target),
    /// Nothing known.
    Unknown,
}

/// A resource, an object or a part of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    /// Group, empty for the core group.
    pub(crate) group: String,
    /// Version.
    pub(crate) version: String,
    /// Namespace, if the path has one.
    pub(crate) namespace: Option<String>,
    /// Plural of the resource.
    pub(crate) resource: String,
    /// Name of the object.
    pub(crate) name: Option<String>,
    /// Everything behind the name.
    pub(crate) subresource: Vec<String>,
    /// Whether the path has the old `/watch/` form.
    pub(crate) watch: bool,
}

/// Parses a path.
pub(crate) fn parse_path(path: &str) -> Route {
    let segments: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|part| decode(part, false))
        .collect();
    let words: Vec<&str> = segments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["version"] => Route::Version,
        [name @ ("healthz" | "livez" | "readyz"), ..] => Route::Health((*name).to_owned()),
        ["openapi", "v2"] => Route::OpenApiV2,
        ["openapi", "v3", rest @ ..] => Route::OpenApiV3(rest.join("/")),
        ["api"] => Route::Api,
        ["apis"] => Route::Apis,
        ["apis", group] => Route::Group((*group).to_owned()),
        ["api", version] => Route::GroupVersion(String::new(), (*version).to_owned()),
        ["apis", group, version] => Route::GroupVersion((*group).to_owned(), (*version).to_owned()),
        ["api", version, rest @ ..] => Route::Resource(target("", version, rest)),
        ["apis", group, version, rest @ ..] => Route::Resource(target(group, version, rest)),
        _ => Route::Unknown,
    }
}

fn target(group: &str, version: &str, rest: &[&str]) -> Target {
    let (watch, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        rest => (false, rest),
    };
    let (namespace, rest) = match rest {
        // A namespace is itself an object with parts; everything else below it is a resource in it.
        ["namespaces", _, "status" | "finalize"] => (None, rest),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some((*namespace).to_owned()), rest),
        rest => (None, rest),
    };
    Target {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace,
        resource: rest.first().map(|part| (*part).to_owned()).unwrap_or_default(),
        name: rest.get(1).map(|part| (*part).to_owned()),
        subresource: rest.iter().skip(2).map(|part| (*part).to_owned()).collect(),
        watch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, namespace: Option<&str>, resource: &str, name: Option<&str>, sub: &[&str]) {
        let Route::Resource(target) = parse_path(path) else {
            panic!("{path} is no resource")
        };
        assert_eq!(target.namespace.as_deref(), namespace, "{path}");
        assert_eq!(target.resource, resource, "{path}");
        assert_eq!(target.name.as_deref(), name, "{path}");
        assert_eq!(target.subresource, sub, "{path}");
    }

    #[test]
    fn resources_objects_and_subresources_are_distinguished() {
        check("/api/v1/namespaces", None, "namespaces", None, &[]);
        check("/api/v1/namespaces/a", None, "namespaces", Some("a"), &[]);
        check(
            "/api/v1/namespaces/a/finalize",
            None,
            "namespaces",
            Some("a"),
            &["finalize"],
        );
        check(
            "/api/v1/namespaces/a/configmaps",
            Some("a"),
            "configmaps",
            None,
            &[],
        );
        check(
            "/apis/g/v1/namespaces/a/things/x/status",
            Some("a"),
            "things",
            Some("x"),
            &["status"],
        );
        check("/apis/g/v1/things/x%20y", None, "things", Some("x y"), &[]);
    }

    #[test]
    fn documents_are_no_resources() {
        assert_eq!(
            parse_path("/apis/g/v1"),
            Route::GroupVersion("g".into(), "v1".into())
        );
        assert_eq!(
            parse_path("/openapi/v3/apis/g/v1"),
            Route::OpenApiV3("apis/g/v1".into())
        );
        assert_eq!(parse_path("/readyz"), Route::Health("readyz".into()));
        assert_eq!(parse_path("/nosuch"), Route::Unknown);
    }
}
