//! What an instance says about its end: its finalizers, since when it goes, and what its user wishes for its hooks.
//!
//! Decides how annotations are read: a wish that cannot be read never makes an end less careful. Never decides what happens.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubernetes::duration::GoDuration;
use serde_json::Value;

use crate::decode::read::annotation;
use crate::names::Names;
use crate::record::SparseTime;
use crate::terms;
use model::Name;

/// How long pre-delete hooks may take, counted from the deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookTimeout {
    /// No end is set.
    Never,
    /// This long.
    After(SignedDuration),
}

impl Default for HookTimeout {
    fn default() -> Self {
        Self::After(SignedDuration::from_mins(10))
    }
}

impl HookTimeout {
    /// Reads `10m`, `1h30m`, `90s`; `0` means that no end is set.
    pub fn parse(text: &str) -> Option<Self> {
        let length = SignedDuration::try_from(GoDuration::parse(text).ok()?.length()?).ok()?;
        Some(if length.is_zero() {
            Self::Never
        } else {
            Self::After(length)
        })
    }

    /// Returns the moment at which the time is over.
    pub fn end(self, since: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Never => None,
            Self::After(length) => since.checked_add(length).ok(),
        }
    }
}

/// What happens to an instance whose hooks have not completed in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeoutPolicy {
    /// It goes without them.
    #[default]
    Release,
    /// It stays until they complete, or until a user asks to skip them.
    Block,
}

impl TimeoutPolicy {
    /// Reads `release` and `block`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "release" => Some(Self::Release),
            "block" => Some(Self::Block),
            _ => None,
        }
    }
}

/// The attempts at the hooks that have failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedHook {
    /// How many.
    pub times: u32,
    /// When the last one was seen to fail.
    pub at: Timestamp,
    /// Uid of its work, so that one failure is counted once.
    pub work: Name,
}

impl FailedHook {
    fn parse(text: &str) -> Option<Self> {
        let noted: Value = serde_json::from_str(text).ok()?;
        Some(Self {
            times: u32::try_from(noted.get("times")?.as_u64()?).ok()?,
            at: noted.get("at")?.as_str()?.parse().ok()?,
            work: noted.get("work")?.as_str()?.into(),
        })
    }

    /// Returns the text that is in the annotation.
    pub fn render(&self) -> String {
        serde_json::json!({"times": self.times, "at": self.at.to_string(), "work": &*self.work}).to_string()
    }
}

/// What an instance says about its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Farewell {
    /// `metadata.finalizers`, in order, those of others included: the list is patched as a whole.
    pub finalizers: Box<[Name]>,
    created: SparseTime,
    since: SparseTime,
    /// Absent where nothing is said about hooks, as nearly everywhere: a fleet has this a hundred thousand times.
    hooks: Option<Box<Hooks>>,
}

/// What is said about the hooks of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Hooks {
    skip: bool,
    timeout: Option<HookTimeout>,
    policy: Option<TimeoutPolicy>,
    failed: Option<FailedHook>,
}

impl Farewell {
    pub(crate) fn of(metadata: &ObjectMeta, names: &mut Names) -> Self {
        let finalizers = metadata.finalizers.iter().flatten();
        let wish = |key: &str| annotation(metadata, key).map(|text| text.trim());
        let hooks = Hooks {
            skip: wish(terms::SKIP_HOOKS) == Some("true"),
            timeout: wish(terms::HOOK_TIMEOUT).and_then(HookTimeout::parse),
            // Who wrote anything here cares about the hooks: a slip of the pen must not let them go.
            policy: wish(terms::HOOK_TIMEOUT_POLICY)
                .map(|text| TimeoutPolicy::parse(text).unwrap_or(TimeoutPolicy::Block)),
            failed: wish(terms::HOOK_FAILED).and_then(FailedHook::parse),
        };
        Self {
            finalizers: finalizers.map(|finalizer| names.share(finalizer)).collect(),
            created: metadata.creation_timestamp.as_ref().map(|time| time.0).into(),
            since: metadata.deletion_timestamp.as_ref().map(|time| time.0).into(),
            hooks: (hooks != Hooks::default()).then(|| Box::new(hooks)),
        }
    }

    /// Returns `metadata.creationTimestamp`.
    pub fn created(&self) -> Option<Timestamp> {
        self.created.get()
    }

    /// Returns `metadata.deletionTimestamp`.
    pub fn since(&self) -> Option<Timestamp> {
        self.since.get()
    }

    /// Returns whether the hooks must not run.
    pub fn skips_hooks(&self) -> bool {
        self.hooks.as_ref().is_some_and(|hooks| hooks.skip)
    }

    /// Returns how long the hooks may take, if the instance has a wish of its own.
    pub fn timeout(&self) -> Option<HookTimeout> {
        self.hooks.as_ref()?.timeout
    }

    /// Returns what happens after that, if the instance has a wish of its own.
    pub fn policy(&self) -> Option<TimeoutPolicy> {
        self.hooks.as_ref()?.policy
    }

    /// Returns the attempts that have failed.
    pub fn failed(&self) -> Option<&FailedHook> {
        self.hooks.as_ref()?.failed.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn times_are_read_as_go_reads_them_and_nought_has_no_end() {
        for (text, read) in [
            ("10m", Some(HookTimeout::default())),
            ("90s", Some(HookTimeout::After(SignedDuration::from_secs(90)))),
            ("0", Some(HookTimeout::Never)),
            ("0s", Some(HookTimeout::Never)),
            ("-5m", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(HookTimeout::parse(text), read, "{text}");
        }
    }

    #[test]
    fn a_time_without_end_never_ends() {
        let since: Timestamp = "2030-01-01T00:00:00Z".parse().expect("a time");
        assert_eq!(HookTimeout::Never.end(since), None);
        let end = HookTimeout::default().end(since).map(|end| end.to_string());
        assert_eq!(end.as_deref(), Some("2030-01-01T00:10:00Z"));
    }

    fn of(annotations: &[(&str, &str)]) -> Farewell {
        let annotations: BTreeMap<String, String> = annotations
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let metadata = ObjectMeta {
            annotations: Some(annotations),
            ..ObjectMeta::default()
        };
        Farewell::of(&metadata, &mut Names::default())
    }

    #[test]
    fn a_policy_that_cannot_be_read_blocks() {
        for (text, policy) in [
            ("release", TimeoutPolicy::Release),
            (" block ", TimeoutPolicy::Block),
            ("Release", TimeoutPolicy::Block),
            ("", TimeoutPolicy::Block),
        ] {
            assert_eq!(
                of(&[(terms::HOOK_TIMEOUT_POLICY, text)]).policy(),
                Some(policy),
                "{text:?}"
            );
        }
        assert_eq!(of(&[]), Farewell::default());
    }

    #[test]
    fn only_the_word_true_skips_hooks() {
        assert!(of(&[(terms::SKIP_HOOKS, "true")]).skips_hooks());
        assert!(!of(&[(terms::SKIP_HOOKS, "yes")]).skips_hooks());
    }

    #[test]
    fn failed_attempts_read_back_as_they_were_written() {
        let failed = FailedHook {
            times: 3,
            at: "2030-01-01T00:00:05Z".parse().expect("a time"),
            work: "uid-7".into(),
        };
        assert_eq!(
            of(&[(terms::HOOK_FAILED, &failed.render())]).failed(),
            Some(&failed)
        );
        for text in [
            "",
            "3",
            "{\"times\":-1}",
            "{\"times\":1,\"at\":\"x\",\"work\":\"y\"}",
        ] {
            assert_eq!(of(&[(terms::HOOK_FAILED, text)]).failed(), None, "{text}");
        }
    }
}
