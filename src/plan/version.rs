//! Whether a change of configuration goes down to a lower version.
//!
//! Decides by the versions that templates carry as a label, then by those that `AddOnHubConfig`s ask for. Never guesses: an
//! object that is gone, or a text that is no version, makes no rollback.

use semver::Version;

use crate::snapshot::{ConfigRef, Kind, Reference, View};

/// Returns whether what is assigned is lower than what was applied last.
pub(super) fn goes_down(view: &View<'_>, assigned: &[Reference]) -> bool {
    [Kind::Template, Kind::HubConfig]
        .into_iter()
        .find_map(|kind| change(view, assigned, kind))
        .is_some_and(|(before, after)| after < before)
}

/// Returns the versions before and after, if they are known and differ.
fn change(view: &View<'_>, assigned: &[Reference], kind: Kind) -> Option<(Version, Version)> {
    let is_of_kind = |reference: &&Reference| {
        let of = &reference.config.of;
        Kind::of_config(&of.group, &of.resource) == Some(kind)
    };
    assigned.iter().filter(is_of_kind).find_map(|reference| {
        let applied = reference.applied.as_ref()?;
        let before = ConfigRef {
            of: reference.config.of.clone(),
            namespace: applied.namespace.clone(),
            name: applied.name.clone(),
        };
        let (before, after) = (version(view, &before)?, version(view, &reference.config)?);
        (before != after).then_some((before, after))
    })
}

fn version(view: &View<'_>, config: &ConfigRef) -> Option<Version> {
    parse(view.config(config)?.version.as_deref()?)
}

/// Reads `v1.2.3`, and what leaves the last numbers out.
fn parse(text: &str) -> Option<Version> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let numbers = text.split(['-', '+']).next().unwrap_or_default();
    let rest = text.strip_prefix(numbers).unwrap_or_default();
    let lacking = match numbers.split('.').count() {
        1 => ".0.0",
        2 => ".0",
        _ => "",
    };
    Version::parse(&format!("{numbers}{lacking}{rest}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_with_and_without_their_last_numbers() {
        let rows = [
            ("v1", Some("1.0.0")),
            ("0.10", Some("0.10.0")),
            ("v1.2.3-rc.1+b", Some("1.2.3-rc.1+b")),
            ("v1-rc.1", Some("1.0.0-rc.1")),
            ("latest", None),
            ("", None),
            ("v1.2.3.4", None),
        ];
        for (text, expected) in rows {
            let read = parse(text).map(|version| version.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
        assert!(parse("v2") < parse("v10"));
    }
}
