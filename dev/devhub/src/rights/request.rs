//! From a request to what it wants to do.
//!
//! Decides the verb and the attributes as Kubernetes derives them from method, path and query.

use super::question::{About, Question, ResourceAttributes};
use crate::http::{Query, Route, Target};
use crate::selector::FieldSelector;

/// Returns what a request wants to do.
pub(crate) fn question(method: &str, path: &str, route: &Route, query: &Query) -> Question {
    match route {
        Route::Resource(target) => of_resource(method, target, query),
        Route::Version
        | Route::Health(_)
        | Route::Api
        | Route::Apis
        | Route::Group(_)
        | Route::GroupVersion(..)
        | Route::OpenApiV2
        | Route::OpenApiV3(_)
        | Route::Unknown => Question {
            verb: method.to_lowercase(),
            about: About::Path(path.to_owned()),
        },
    }
}

fn of_resource(method: &str, target: &Target, query: &Query) -> Question {
    let mut name = target.name.clone().unwrap_or_default();
    // A namespace is looked at from inside of it.
    let namespace = match (&target.namespace, target.resource.as_str()) {
        (Some(namespace), _) => namespace.clone(),
        (None, "namespaces") => name.clone(),
        (None, _) => String::new(),
    };
    let verb = match method {
        _ if target.watch => "watch",
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" if name.is_empty() => "deletecollection",
        "DELETE" => "delete",
        "GET" | "HEAD" if name.is_empty() => {
            name = selected_name(query).unwrap_or_default();
            if query.flag("watch") { "watch" } else { "list" }
        }
        "GET" | "HEAD" => "get",
        _ => "",
    };
    Question {
        verb: verb.to_owned(),
        about: About::Resource(ResourceAttributes {
            group: target.group.clone(),
            resource: target.resource.clone(),
            subresource: target.subresource.first().cloned().unwrap_or_default(),
            namespace,
            name,
        }),
    }
}

/// Returns the only name that a field selector can match.
fn selected_name(query: &Query) -> Option<String> {
    let selector = FieldSelector::parse(query.text("fieldSelector")).ok()?;
    selector.exact_name().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::parse_path;

    #[test]
    fn verbs_and_attributes_follow_from_method_path_and_query() {
        for (method, path, query, expected) in [
            ("GET", "/api/v1/namespaces/a/pods", "", "list /pods/ a ''"),
            (
                "GET",
                "/api/v1/namespaces/a/pods",
                "watch=true",
                "watch /pods/ a ''",
            ),
            (
                "GET",
                "/api/v1/namespaces/a/pods",
                "fieldSelector=metadata.name%3Dx",
                "list /pods/ a 'x'",
            ),
            ("GET", "/api/v1/watch/namespaces/a/pods", "", "watch /pods/ a ''"),
            (
                "GET",
                "/api/v1/namespaces/a/pods/x",
                "watch=true",
                "get /pods/ a 'x'",
            ),
            (
                "PATCH",
                "/apis/g/v1/things/x/status",
                "",
                "patch g/things/status  'x'",
            ),
            (
                "DELETE",
                "/apis/g/v1/things",
                "",
                "deletecollection g/things/  ''",
            ),
            ("DELETE", "/apis/g/v1/things/x", "", "delete g/things/  'x'"),
            ("GET", "/api/v1/namespaces/a", "", "get /namespaces/ a 'a'"),
            (
                "PUT",
                "/api/v1/namespaces/a/finalize",
                "",
                "update /namespaces/finalize a 'a'",
            ),
            ("POST", "/api/v1/namespaces", "", "create /namespaces/  ''"),
            ("GET", "/apis/g/v1", "", "get /apis/g/v1"),
            ("HEAD", "/metrics", "", "head /metrics"),
        ] {
            let question = question(method, path, &parse_path(path), &Query::parse(query));
            let about = match question.about {
                About::Path(path) => path,
                About::Resource(asked) => format!(
                    "{}/{}/{} {} '{}'",
                    asked.group, asked.resource, asked.subresource, asked.namespace, asked.name
                ),
            };
            assert_eq!(
                format!("{} {about}", question.verb),
                expected,
                "{method} {path}?{query}"
            );
        }
    }
}
