//! What an HTTP answer other than 2xx of a webhook is called in error texts.
//!
//! Decides the wording Kubernetes clients use for each status.

use serde_json::Value;

/// Longer pages are cut.
const PAGE_LIMIT: usize = 2048;

/// Returns the text for an answer with `code`; `body` is quoted where it is text and the code says nothing itself.
pub(super) fn of_status(code: u16, content_type: &str, body: &[u8]) -> String {
    if let Some(message) = status_message(content_type, body) {
        return message;
    }
    let page = page(content_type, body);
    match code {
        400 => "the server rejected our request for an unknown reason".to_owned(),
        401 => "the server has asked for the client to provide credentials".to_owned(),
        404 => "the server could not find the requested resource".to_owned(),
        405 => "the server does not allow this method on the requested resource".to_owned(),
        406 if page == "unknown" => {
            "the server was unable to respond with a content type that the client supports".to_owned()
        }
        403 | 406 | 415 => page,
        409 => "the server reported a conflict".to_owned(),
        422 => "the server rejected our request due to an error in our request".to_owned(),
        429 => "the server has received too many requests and has asked us to try again later".to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
                .to_owned()
        }
        500.. => format!("an error on the server ({page:?}) has prevented the request from succeeding"),
        _ => format!("the server responded with the status code {code} but did not return more information"),
    }
}

/// A webhook may answer with a `Status` object; its message is the text then.
fn status_message(content_type: &str, body: &[u8]) -> Option<String> {
    if !content_type.contains("json") {
        return None;
    }
    let status: Value = serde_json::from_slice(body).ok()?;
    let is_status = status.get("kind")? == "Status" && status.get("apiVersion")? == "v1";
    status
        .get("message")
        .filter(|_| is_status)
        .and_then(Value::as_str)
        .map(str::to_owned)
}

fn page(content_type: &str, body: &[u8]) -> String {
    if !content_type.is_empty() && !content_type.starts_with("text/") {
        return "unknown".to_owned();
    }
    let text: String = String::from_utf8_lossy(body)
        .trim()
        .chars()
        .take(PAGE_LIMIT)
        .collect();
    if text.is_empty() {
        "unknown".to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::of_status;

    #[test]
    fn words_statuses_as_kubernetes_clients_do() {
        let rows = [
            (
                500,
                "text/plain",
                "error page\n",
                "an error on the server (\"error page\") has prevented the request from succeeding",
            ),
            (
                500,
                "application/json",
                "{}",
                "an error on the server (\"unknown\") has prevented the request from succeeding",
            ),
            (
                503,
                "text/plain",
                "error page",
                "the server is currently unable to handle the request",
            ),
            (
                404,
                "text/plain",
                "error page",
                "the server could not find the requested resource",
            ),
            (
                302,
                "",
                "",
                "the server responded with the status code 302 but did not return more information",
            ),
            (
                500,
                "application/json",
                r#"{"kind":"Status","apiVersion":"v1","message":"own words"}"#,
                "own words",
            ),
        ];
        for (code, content_type, body, expected) in rows {
            assert_eq!(of_status(code, content_type, body.as_bytes()), expected);
        }
    }
}
