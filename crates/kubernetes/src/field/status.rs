//! The refusal as a Kubernetes `Status`.
//!
//! Decides the exact form of a denial: with `reason: Invalid`, code 422 and `details.{kind,name,causes}` kubectl prints its own
//! bullet list, one bullet per cause. But `kubectl apply --force`, Argo CD's `Force` and Flux's `force` take every 422 for an
//! immutable field, delete the object and create it again: whatever is stored already is refused with 403, in a message that
//! brings its own bullets. Never decides whether to refuse.

use serde::Serialize;

use super::{Violation, text};

/// The field of a cause that is about the whole object: kubectl writes the field before every message, also an empty one.
const WHOLE: &str = "object";
/// The most causes in one answer; the rest is counted.
pub const MOST_CAUSES: usize = 20;
/// The longest `message`, in bytes.
pub const MESSAGE_LIMIT: usize = 4096;
/// The faults that a message tells in one line, in bytes. Flux (a condition) and Argo CD (a result) show people the message
/// alone; kubectl shows the causes, up to [`MOST_CAUSES`] of them.
const ONE_LINE: usize = 1000;

/// Which object a status speaks of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// API group of the object.
    pub group: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object; empty while the API server has not generated one.
    pub name: String,
}

/// A `Status` of the Kubernetes API, as an admission response carries it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    #[serde(rename = "status")]
    outcome: &'static str,
    message: String,
    reason: &'static str,
    code: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    kind: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<Cause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Cause {
    reason: &'static str,
    message: String,
    field: String,
}

impl Status {
    /// Returns the refusal of a new object with these faults, in their given order.
    pub fn invalid(identity: &Identity, violations: &[Violation]) -> Self {
        let message = message(identity, violations, ONE_LINE, listed);
        Self::refusal(422, "Invalid", message, identity, violations)
    }

    /// Returns the refusal of a change or deletion of an object that is stored, with these faults: no client takes it for a
    /// reason to delete the object.
    pub fn forbidden(identity: &Identity, violations: &[Violation]) -> Self {
        let message = with_joined_words(message(identity, violations, MESSAGE_LIMIT, bullets));
        Self::refusal(403, "Forbidden", message, identity, violations)
    }

    fn refusal(
        code: u16,
        reason: &'static str,
        message: String,
        identity: &Identity,
        violations: &[Violation],
    ) -> Self {
        let mut causes: Vec<Cause> = violations.iter().take(MOST_CAUSES).map(Cause::of).collect();
        let more = violations.len().saturating_sub(MOST_CAUSES);
        if more > 0 {
            causes.push(Cause {
                reason: "FieldValueInvalid",
                message: format!("and {more} more"),
                field: WHOLE.to_owned(),
            });
        }
        Self {
            outcome: "Failure",
            message,
            reason,
            code,
            details: Some(Details {
                name: text::one_line(&identity.name),
                group: text::one_line(&identity.group),
                kind: text::one_line(&identity.kind),
                causes,
                retry_after_seconds: None,
            }),
        }
    }

    /// Returns a failure that is not about a field of the object.
    pub fn failure(code: u16, reason: &'static str, message: impl AsRef<str>) -> Self {
        let message = text::one_line(message.as_ref());
        Self {
            outcome: "Failure",
            message: capped(message),
            reason,
            code,
            details: None,
        }
    }

    /// Returns the same for a caller that may ask again after so many seconds; clients of Kubernetes do so by themselves.
    #[must_use]
    pub fn again_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = Some(seconds);
        self
    }

    /// Returns the one-line message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the HTTP code.
    pub fn code(&self) -> u16 {
        self.code
    }
}

impl Cause {
    fn of(violation: &Violation) -> Self {
        Self {
            reason: violation.class().reason(),
            message: violation.body(),
            field: if violation.path().segments().is_empty() {
                WHOLE.to_owned()
            } else {
                violation.path().to_string()
            },
        }
    }
}

// The same words as `metav1.NewInvalid`: clients other than kubectl show only this text.
fn message(
    identity: &Identity,
    violations: &[Violation],
    limit: usize,
    several: fn(&[String]) -> String,
) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut left = limit;
    for violation in violations.iter().take(MOST_CAUSES) {
        let told = violation.to_string();
        // One is always told, however long it is.
        if !parts.is_empty() && told.len() > left {
            break;
        }
        left = left.saturating_sub(told.len());
        parts.push(told);
    }
    let more = violations.len().saturating_sub(parts.len());
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    let faults = match parts.as_slice() {
        [only] => format!(" {only}"),
        parts => several(parts),
    };
    let Identity { group, kind, name } = identity;
    let [group, kind] = [group, kind].map(|word| text::one_line(word));
    let dot = if group.is_empty() { "" } else { "." };
    capped(format!(
        "{kind}{dot}{group} {} is invalid:{faults}",
        text::quoted(name)
    ))
}

fn listed(parts: &[String]) -> String {
    format!(" [{}]", parts.join(", "))
}

/// As kubectl lists the causes of an invalid object.
fn bullets(parts: &[String]) -> String {
    format!("\n* {}", parts.join("\n* "))
}

/// Flux with `force` deletes an object whose refusal has one of these words in it, whatever the code: it takes them for an immutable
/// field.
pub const WORDS_OF_IMMUTABLE_FIELDS: [&str; 2] = ["is immutable", "immutable field"];

/// Joins these words by a no-break space, which looks the same and is another text; the space may be any that patterns know.
fn with_joined_words(mut message: String) -> String {
    for words in WORDS_OF_IMMUTABLE_FIELDS {
        for space in [" ", "\t", "\n", "\r", "\u{c}"] {
            let [found, joined] = [space, "\u{a0}"].map(|between| words.replace(' ', between));
            if message.contains(&found) {
                message = message.replace(&found, &joined);
            }
        }
    }
    message
}

fn capped(message: String) -> String {
    if message.len() <= MESSAGE_LIMIT {
        return message;
    }
    let mut out = String::with_capacity(MESSAGE_LIMIT);
    for letter in message.chars() {
        if out.len() + letter.len_utf8() + 3 > MESSAGE_LIMIT {
            break;
        }
        out.push(letter);
    }
    out.push_str("...");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Class, Fault, Path};
    use expect_test::expect;

    fn identity() -> Identity {
        Identity {
            group: "example.com".into(),
            kind: "Widget".into(),
            name: "w1".into(),
        }
    }

    fn faults(count: usize) -> Vec<Violation> {
        (0..count)
            .map(|n| {
                Fault::of_text(Class::Invalid, "x", "must be y")
                    .at(Path::root().key("spec").index(n), "family/rule")
            })
            .collect()
    }

    #[test]
    fn one_line_stays_readable_and_counts_what_it_leaves_out() {
        let status = Status::invalid(&identity(), &faults(30));
        let message = status.message();
        assert!(
            message.starts_with("Widget.example.com \"w1\" is invalid: [spec[0]: "),
            "{message}"
        );
        assert!(message.len() < 1200, "{message}");
        let told = message.matches("[family/rule]").count();
        assert!(told > 5, "{message}");
        assert!(
            message.ends_with(&format!(", and {} more]", 30 - told)),
            "{message}"
        );
        let causes = status.details.expect("details").causes;
        assert_eq!(causes.len(), MOST_CAUSES + 1, "kubectl shows these");
        // A change of what is stored is Forbidden: of that kubectl, too, shows the message alone.
        let changed = Status::forbidden(&identity(), &faults(18));
        assert_eq!(changed.message().matches("[family/rule]").count(), 18);
    }

    #[test]
    fn no_refusal_of_a_change_reads_like_one_of_an_immutable_field() {
        for text in [
            "the owner is immutable",
            "is\timmutable",
            "an immutable field",
            "is immutable field",
        ] {
            let fault = Fault::bare(Class::Invalid, text).at(Path::root().key("spec"), "policy/owner");
            let message = Status::forbidden(&identity(), &[fault]).message().to_owned();
            // As Flux looks for it: `\s` of Go's regular expressions is white space of ASCII.
            let seen = message.replace(|letter: char| letter.is_ascii_whitespace(), " ");
            let read = WORDS_OF_IMMUTABLE_FIELDS.map(|words| seen.contains(words));
            assert_eq!(read, [false, false], "{message}");
            assert!(message.contains("immutable"), "{message}");
        }
    }

    #[test]
    fn a_refusal_has_the_form_that_kubectl_prints_as_bullets() {
        let status = Status::invalid(&identity(), &faults(2));
        expect![[r#"
            {
              "status": "Failure",
              "message": "Widget.example.com \"w1\" is invalid: [spec[0]: Invalid value: \"x\": must be y [family/rule], spec[1]: Invalid value: \"x\": must be y [family/rule]]",
              "reason": "Invalid",
              "code": 422,
              "details": {
                "name": "w1",
                "group": "example.com",
                "kind": "Widget",
                "causes": [
                  {
                    "reason": "FieldValueInvalid",
                    "message": "Invalid value: \"x\": must be y [family/rule]",
                    "field": "spec[0]"
                  },
                  {
                    "reason": "FieldValueInvalid",
                    "message": "Invalid value: \"x\": must be y [family/rule]",
                    "field": "spec[1]"
                  }
                ]
              }
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&status).expect("a status is JSON"));
    }

    #[test]
    fn a_refused_change_is_no_reason_to_delete_anything() {
        let status = Status::forbidden(&identity(), &faults(2));
        expect![[r#"
            Widget.example.com "w1" is invalid:
            * spec[0]: Invalid value: "x": must be y [family/rule]
            * spec[1]: Invalid value: "x": must be y [family/rule]"#]]
        .assert_eq(status.message());
        assert_eq!((status.code(), status.reason), (403, "Forbidden"));
        let causes = status.details.expect("a refusal has details").causes;
        assert_eq!(causes.len(), 2, "programs read them");
        let single = Status::forbidden(&identity(), &faults(1));
        assert!(!single.message().contains('\n'), "{}", single.message());
    }

    #[test]
    fn more_than_twenty_faults_are_counted_and_the_message_stays_short() {
        let status = Status::invalid(&identity(), &faults(500));
        let details = status.details.clone().expect("a refusal has details");
        assert_eq!(details.causes.len(), MOST_CAUSES + 1);
        assert_eq!(details.causes[MOST_CAUSES].message, "and 480 more");
        assert!(status.message().len() <= MESSAGE_LIMIT);
        assert!(!status.message().contains('\n'));
    }
}
