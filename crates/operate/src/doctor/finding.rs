//! One thing that was looked at, and what it was like.
//!
//! Decides what a severity means for the exit status. Never decides whether something is wrong.

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It is as it should be.
    Ok,
    /// It is worth knowing, and needs no action.
    Note,
    /// It could not be seen.
    Unknown,
    /// It works, and an administrator should look at it.
    Warning,
    /// It does not work: an administrator has to act.
    Error,
}

impl Severity {
    /// Every severity, from the best to the worst.
    pub const ALL: [Self; 5] = [Self::Ok, Self::Note, Self::Unknown, Self::Warning, Self::Error];

    /// Returns its word, in tables and in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at, such as `webhooks/registered`; the same in every run.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What was seen.
    pub seen: String,
    /// What to do about it; empty where there is nothing to do.
    pub fix: String,
    /// What to type; empty where no command does it.
    pub command: String,
}

impl Finding {
    pub(crate) fn ok(id: &'static str, seen: impl Into<String>) -> Self {
        Self::new(id, Severity::Ok, seen)
    }

    pub(crate) fn note(id: &'static str, seen: impl Into<String>) -> Self {
        Self::new(id, Severity::Note, seen)
    }

    pub(crate) fn unknown(id: &'static str, seen: impl Into<String>) -> Self {
        Self::new(id, Severity::Unknown, seen)
    }

    pub(crate) fn warning(id: &'static str, seen: impl Into<String>) -> Self {
        Self::new(id, Severity::Warning, seen)
    }

    pub(crate) fn error(id: &'static str, seen: impl Into<String>) -> Self {
        Self::new(id, Severity::Error, seen)
    }

    fn new(id: &'static str, severity: Severity, seen: impl Into<String>) -> Self {
        Self {
            id,
            severity,
            seen: seen.into(),
            fix: String::new(),
            command: String::new(),
        }
    }

    /// Says what to do about it.
    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    /// Says what to type.
    pub(crate) fn command(mut self, command: impl Into<String>) -> Self {
        self.command = command.into();
        self
    }
}

/// All findings, in the order in which problems should be fixed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What was found.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Returns what is to be said of a hub that could not be asked for anything, and why.
    pub fn unreached(why: impl Into<String>) -> Self {
        Self {
            findings: vec![Finding::unknown("kubernetes/version", why)],
        }
    }

    /// Returns how many findings have a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings
            .iter()
            .filter(|one| one.severity == severity)
            .count()
    }

    /// Returns the exit status: 1 when something has to be done (an error, or from `threshold` on), 2 when nothing has to and
    /// something could not be asked, 0 otherwise.
    pub fn exit_status(&self, threshold: Severity) -> u8 {
        let acts = |one: &Finding| one.severity >= threshold && one.severity > Severity::Unknown;
        if self.findings.iter().any(acts) {
            return 1;
        }
        if self.count(Severity::Unknown) > 0 { 2 } else { 0 }
    }
}

/// Returns the first of some names, and how many there are besides.
pub(crate) fn several(names: &[String], most: usize) -> String {
    let first: Vec<&str> = names.iter().take(most).map(String::as_str).collect();
    let rest = names.len().saturating_sub(most);
    let more = if rest == 0 {
        String::new()
    } else {
        format!(" and {rest} more")
    };
    format!("{}{more}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(all: &[Severity], threshold: Severity) -> u8 {
        let finding = |severity: &Severity| Finding::new("a/b", *severity, "x");
        let report = Report {
            findings: all.iter().map(finding).collect(),
        };
        report.exit_status(threshold)
    }

    #[test]
    fn the_rest_of_many_names_is_counted() {
        let names: Vec<String> = (1..=5).map(|number| format!("c{number}")).collect();
        assert_eq!(several(&names, 2), "c1, c2 and 3 more");
        assert_eq!(several(&names, 5), "c1, c2, c3, c4, c5");
    }

    #[test]
    fn what_has_to_be_done_wins_over_what_could_not_be_asked() {
        use Severity::{Error, Note, Ok, Unknown, Warning};
        let rows: [(&[Severity], Severity, u8); 8] = [
            (&[], Error, 0),
            (&[Ok, Note], Error, 0),
            (&[Ok, Warning], Error, 0),
            (&[Ok, Warning], Warning, 1),
            (&[Unknown, Ok], Error, 2),
            (&[Unknown, Warning], Error, 2),
            (&[Unknown, Error], Error, 1),
            (&[Unknown], Warning, 2),
        ];
        for (all, threshold, expected) in rows {
            assert_eq!(status(all, threshold), expected, "{all:?} {threshold:?}");
        }
    }
}
