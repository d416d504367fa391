//! The variable `authorizer` of admission's expressions.
//!
//! Decides what it is called and which resource is the request's own; who may do what is known elsewhere.

use std::sync::Arc;

use cel_engine::{Activation, Program};
use serde_json::json;

use super::attributes::Attributes;

/// Binds `authorizer` and `authorizer.requestResource`, if the request has surroundings: they know the rights of its user.
pub(super) fn admit(activation: &mut Activation<'_, '_>, request: &Attributes) {
    let Some(context) = &request.context else {
        return;
    };
    activation.authorize(Arc::clone(&context.authority()));
    let quoted = |text: &str| json!(text).to_string();
    let mut source = format!(
        "authorizer.group({}).resource({})",
        quoted(&request.group),
        quoted(&request.resource)
    );
    let parts = [
        ("subresource", request.subresource.as_str()),
        ("namespace", request.request_namespace()),
        ("name", &request.name),
    ];
    for (part, value) in parts.into_iter().filter(|(_, value)| !value.is_empty()) {
        source = format!("{source}.{part}({})", quoted(value));
    }
    let Ok(program) = Program::compile(&source) else {
        return;
    };
    if let Ok(answer) = activation.answer(&program) {
        activation.bind_answer("authorizer.requestResource", answer);
    }
}
