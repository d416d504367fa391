//! Faults as text, for command lines: `<cluster>=<fault>[,<key>=<value>…][:<message or duration>]`.
//!
//! ```text
//! cluster5=offline                     cluster5=offline,for=30s
//! cluster3=apply-failure:quota exceeded
//! cluster4=hook-failure:denied          cluster6=hook-hang
//! cluster*=delay:2s                    cluster2=unavailable,work=addon-hello-*,from=2:crash loop
//! cluster3=upgrade-stall               cluster4=pre-fail,for=20s:no space left
//! ```

use std::{fmt, str::FromStr, time::Duration};

use kubernetes::duration::GoDuration;

use super::{Fault, FaultRule, Faults, upgrade};
use crate::pattern::Pattern;

const FAULTS: &str = "delay, apply-failure, unavailable, hook-failure, hook-hang, offline";
const KEYS: &str = "work, manifest, from, for";

/// A text is no fault; says what would be one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a fault: {fault}")]
pub struct FaultTextError {
    text: String,
    fault: String,
}

impl FromStr for FaultRule {
    type Err = FaultTextError;

    fn from_str(text: &str) -> Result<Self, FaultTextError> {
        parse_rule(text).map_err(|fault| FaultTextError {
            text: text.to_owned(),
            fault,
        })
    }
}

impl Faults {
    /// Returns the faults that these texts write, or the first text that is none.
    pub fn parse<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Result<Self, FaultTextError> {
        texts.into_iter().map(|text| text.as_ref().parse()).collect()
    }
}

fn parse_rule(text: &str) -> Result<FaultRule, String> {
    let Some((cluster, rest)) = text.split_once('=') else {
        return Err("write <cluster>=<fault>, for example cluster3=offline".to_owned());
    };
    if cluster.trim().is_empty() {
        return Err("the name of the cluster is missing before \"=\"".to_owned());
    }
    let (head, value) = match rest.split_once(':') {
        Some((head, value)) => (head, Some(value.trim()).filter(|value| !value.is_empty())),
        None => (rest, None),
    };
    let mut words = head.split(',').map(str::trim);
    let fault = parse_fault(words.next().unwrap_or_default(), value)?;
    let mut rule = FaultRule::new(cluster.trim(), fault);
    for word in words {
        add_condition(&mut rule, word)?;
    }
    check_conditions(&rule)?;
    Ok(rule)
}

fn parse_fault(kind: &str, value: Option<&str>) -> Result<Fault, String> {
    let message = |otherwise: &str| value.unwrap_or(otherwise).to_owned();
    match kind {
        "delay" => match value {
            Some(value) => parse_duration(value).map(Fault::Delay),
            None => Err("a delay needs a duration, for example delay:5s".to_owned()),
        },
        "apply-failure" => Ok(Fault::ApplyFailure {
            message: message("refused by a scripted fault"),
        }),
        "unavailable" => Ok(Fault::Unavailable {
            message: message("Resource is not available"),
        }),
        "hook-failure" => Ok(Fault::HookFailure {
            message: message("failed by a scripted fault"),
        }),
        "hook-hang" | "offline" => match (value, kind) {
            (Some(value), _) => Err(format!("{kind} takes no message, but got \"{value}\"")),
            (None, "hook-hang") => Ok(Fault::HookHang),
            (None, _) => Ok(Fault::Offline),
        },
        other => parse_upgrade_fault(other, value),
    }
}

fn parse_upgrade_fault(kind: &str, value: Option<&str>) -> Result<Fault, String> {
    let words = upgrade::WORDS;
    if let Some(fault) = upgrade::parse_upgrade(kind, value) {
        fault.map(Fault::Upgrade)
    } else if let Some(fault) = upgrade::parse_job(kind, value) {
        fault.map(|(jobs, fault)| Fault::Job(jobs, fault))
    } else if kind.is_empty() {
        Err(format!(
            "the fault is missing after \"=\"; it is one of {FAULTS}, {words}"
        ))
    } else {
        Err(format!(
            "there is no fault \"{kind}\"; it is one of {FAULTS}, {words}"
        ))
    }
}

fn add_condition(rule: &mut FaultRule, word: &str) -> Result<(), String> {
    let Some((key, value)) = word.split_once('=') else {
        return Err(format!("\"{word}\" is not <key>=<value>; a key is one of {KEYS}"));
    };
    if value.is_empty() {
        return Err(format!("\"{key}\" has no value"));
    }
    match key {
        "work" => rule.work = Some(Pattern::new(value)),
        "manifest" => rule.manifest = Some(Pattern::new(value)),
        "for" => rule.heals_after = Some(parse_duration(value)?),
        "from" => match value.parse() {
            Ok(generation) if generation > 0 => rule.from_generation = generation,
            Ok(_) | Err(_) => return Err(format!("from=\"{value}\" is not a generation; they count from 1")),
        },
        other => return Err(format!("there is no key \"{other}\"; a key is one of {KEYS}")),
    }
    Ok(())
}

fn check_conditions(rule: &FaultRule) -> Result<(), String> {
    let narrow = rule.work.is_some() || rule.from_generation > 0;
    match rule.fault {
        Fault::Offline if narrow || rule.manifest.is_some() => {
            Err("offline concerns the whole cluster: it takes no work, manifest or from".to_owned())
        }
        Fault::Upgrade(_) if narrow || rule.manifest.is_some() => {
            Err("the upgrade of a cluster is no work: it takes no work, manifest or from".to_owned())
        }
        Fault::Delay(_) if rule.manifest.is_some() => {
            Err("a delay concerns whole works: it takes no manifest".to_owned())
        }
        Fault::Offline
        | Fault::Delay(_)
        | Fault::ApplyFailure { .. }
        | Fault::Unavailable { .. }
        | Fault::HookFailure { .. }
        | Fault::HookHang
        | Fault::Job(..)
        | Fault::Upgrade(_) => Ok(()),
    }
}

pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let read = GoDuration::parse(text).ok().and_then(GoDuration::length);
    read.ok_or_else(|| format!("\"{text}\" is not a duration; write for example 500ms, 5s or 1m30s"))
}

impl fmt::Display for FaultRule {
    /// Writes the rule as it is read, the cluster included.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}={}", self.cluster.as_str(), self.on_cluster())
    }
}

impl FaultRule {
    /// Returns the rule as it is read behind the name of its cluster.
    pub fn on_cluster(&self) -> String {
        let word = |kind: &str, said: Option<String>| (kind.to_owned(), said);
        let (mut text, said) = match &self.fault {
            Fault::Delay(duration) => word("delay", Some(GoDuration::from(*duration).to_string())),
            Fault::ApplyFailure { message } => word("apply-failure", Some(message.clone())),
            Fault::Unavailable { message } => word("unavailable", Some(message.clone())),
            Fault::HookFailure { message } => word("hook-failure", Some(message.clone())),
            Fault::HookHang => word("hook-hang", None),
            Fault::Offline => word("offline", None),
            Fault::Job(jobs, fault) => upgrade::job_text(*jobs, fault),
            Fault::Upgrade(fault) => upgrade::upgrade_text(fault),
        };
        for (key, pattern) in [("work", &self.work), ("manifest", &self.manifest)] {
            if let Some(pattern) = pattern {
                text.extend([",", key, "=", pattern.as_str()]);
            }
        }
        if self.from_generation > 0 {
            text.extend([",from=", &self.from_generation.to_string()]);
        }
        if let Some(lasts) = self.heals_after {
            text.extend([",for=", &GoDuration::from(lasts).to_string()]);
        }
        text.extend(said.iter().flat_map(|said| [":", said.as_str()]));
        text
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delay(duration) => write!(out, "delay of {duration:?}"),
            Self::ApplyFailure { message } => write!(out, "apply failure \"{message}\""),
            Self::Unavailable { message } => write!(out, "unavailable \"{message}\""),
            Self::HookFailure { message } => write!(out, "hook failure \"{message}\""),
            Self::HookHang => write!(out, "hanging hook"),
            Self::Offline => write!(out, "offline"),
            Self::Job(jobs, fault) => write!(out, "{}", upgrade::job_text(*jobs, fault).0),
            Self::Upgrade(fault) => write!(out, "{}", upgrade::upgrade_text(fault).0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(text: &str, wanted: &FaultRule) {
        assert_eq!(text.parse::<FaultRule>().as_ref(), Ok(wanted), "{text}");
        let again = wanted.to_string();
        assert_eq!(again.parse::<FaultRule>().as_ref(), Ok(wanted), "{again}");
    }

    fn wrong(text: &str, wanted: &str) {
        let seen = text.parse::<FaultRule>().expect_err(text).to_string();
        assert_eq!(seen, format!("\"{text}\" is not a fault: {wanted}"));
    }

    fn failure(message: &str) -> Fault {
        Fault::ApplyFailure {
            message: message.to_owned(),
        }
    }

    #[test]
    fn a_fault_is_a_cluster_a_kind_and_what_is_said() {
        let seconds = Duration::from_secs;
        right("cluster5=offline", &FaultRule::new("cluster5", Fault::Offline));
        right(
            "cluster5=offline,for=30s",
            &FaultRule::new("cluster5", Fault::Offline).healing_after(seconds(30)),
        );
        right(
            "cluster3=apply-failure:quota: 3 of 3, none=left",
            &FaultRule::new("cluster3", failure("quota: 3 of 3, none=left")),
        );
        right(
            "cluster3=apply-failure",
            &FaultRule::new("cluster3", failure("refused by a scripted fault")),
        );
        right(
            "c1=hook-hang,for=5s",
            &FaultRule::new("c1", Fault::HookHang).healing_after(seconds(5)),
        );
        right(
            "c1=hook-failure:denied",
            &FaultRule::new(
                "c1",
                Fault::HookFailure {
                    message: "denied".to_owned(),
                },
            ),
        );
        right(
            "cluster*=delay:1m30s",
            &FaultRule::new("cluster*", Fault::Delay(seconds(90))),
        );
        right(
            "c2=unavailable,work=addon-*,manifest=agent,from=2,for=500ms:crash loop",
            &FaultRule::new(
                "c2",
                Fault::Unavailable {
                    message: "crash loop".to_owned(),
                },
            )
            .for_work("addon-*")
            .for_manifest("agent")
            .from_generation(2)
            .healing_after(Duration::from_millis(500)),
        );
    }

    #[test]
    fn what_is_no_fault_says_what_would_be_one() {
        wrong(
            "cluster3",
            "write <cluster>=<fault>, for example cluster3=offline",
        );
        wrong("=offline", "the name of the cluster is missing before \"=\"");
        wrong(
            "c=",
            "the fault is missing after \"=\"; it is one of delay, apply-failure, unavailable, hook-failure, hook-hang, offline, \
             upgrade-stall, upgrade-fail, upgrade-rejected, upgrade-slow, not-upgradeable, pools-lag, offline-during-upgrade, \
             and job-, pre-, post- or operators- with fail, slow, hang or retry",
        );
        wrong(
            "c=flood",
            "there is no fault \"flood\"; it is one of delay, apply-failure, unavailable, hook-failure, hook-hang, offline, \
             upgrade-stall, upgrade-fail, upgrade-rejected, upgrade-slow, not-upgradeable, pools-lag, offline-during-upgrade, \
             and job-, pre-, post- or operators- with fail, slow, hang or retry",
        );
        wrong("c=delay", "a delay needs a duration, for example delay:5s");
        wrong(
            "c=delay:soon",
            "\"soon\" is not a duration; write for example 500ms, 5s or 1m30s",
        );
        wrong(
            "c=delay:-5s",
            "\"-5s\" is not a duration; write for example 500ms, 5s or 1m30s",
        );
        wrong("c=hook-hang:bye", "hook-hang takes no message, but got \"bye\"");
        wrong("c=offline:bye", "offline takes no message, but got \"bye\"");
        wrong(
            "c=offline,from=2",
            "offline concerns the whole cluster: it takes no work, manifest or from",
        );
        wrong(
            "c=delay,manifest=x:5s",
            "a delay concerns whole works: it takes no manifest",
        );
        wrong(
            "c=apply-failure,until=5s",
            "there is no key \"until\"; a key is one of work, manifest, from, for",
        );
        wrong(
            "c=apply-failure,work",
            "\"work\" is not <key>=<value>; a key is one of work, manifest, from, for",
        );
        wrong("c=apply-failure,work=", "\"work\" has no value");
        wrong(
            "c=apply-failure,from=0",
            "from=\"0\" is not a generation; they count from 1",
        );
    }
}
