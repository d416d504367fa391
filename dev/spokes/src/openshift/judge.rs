//! Whether the version operator takes up an update: the rules of its preconditions. Never says when.

use semver::Version;

use super::{
    Channel,
    release::{image_of, version_of},
};

/// The update that `spec.desiredUpdate` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(super) version: String,
    pub(super) image: String,
    pub(super) force: bool,
}

/// What the operator makes of a wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Accepted {
        version: Version,
        image: String,
    },
    /// The wish makes no sense: it counts as none.
    Invalid {
        message: String,
    },
    Refused {
        reason: &'static str,
        message: String,
    },
}

/// What a wish is measured by.
pub(super) struct Measure<'a> {
    pub(super) channel: Option<&'a Channel>,
    /// The version that the cluster has or moves to.
    pub(super) current: &'a Version,
    /// The version that it had before, and everything older, newest first.
    pub(super) before: &'a [&'a Version],
    /// Why another minor version is refused.
    pub(super) not_upgradeable: Option<&'a str>,
    /// Why the release is.
    pub(super) rejected: Option<&'a str>,
}

impl Measure<'_> {
    /// Judges a wish.
    pub(super) fn judge(&self, target: &Target) -> Verdict {
        let invalid = |value: &str, why: &str| Verdict::Invalid {
            message: format!(
                "The cluster version is invalid: spec.desiredUpdate.version: Invalid value: \"{value}\": {why}"
            ),
        };
        let version = if target.version.is_empty() {
            version_of(&target.image, self.current)
        } else {
            match Version::parse(&target.version) {
                Ok(version) => version,
                Err(_why) => return invalid(&target.version, "must be a semantic version"),
            }
        };
        let known =
            self.before.contains(&&version) || self.channel.is_some_and(|channel| channel.carries(&version));
        if target.image.is_empty() && !known {
            return invalid(
                &target.version,
                "when image is empty the update must be a previous version or an available update",
            );
        }
        let image = if target.image.is_empty() {
            image_of(&version.to_string())
        } else {
            target.image.clone()
        };
        if let Some(why) = self.rejected {
            return Verdict::Refused {
                reason: "RetrievePayload",
                message: format!(
                    "Retrieving payload failed version=\"{version}\" image=\"{image}\" failure={why}"
                ),
            };
        }
        match self.precondition(&version) {
            Some((name, reason, why)) if !target.force => Verdict::Refused {
                reason: "PreconditionChecks",
                message: format!(
                    "Preconditions failed for payload loaded version=\"{version}\" image=\"{image}\": \
                     Precondition \"{name}\" failed because of \"{reason}\": {why}"
                ),
            },
            Some(_) | None => Verdict::Accepted { version, image },
        }
    }

    /// Returns the precondition that fails, in which way, and why.
    fn precondition(&self, version: &Version) -> Option<(&'static str, &'static str, String)> {
        let current = self.current;
        if version.major != current.major {
            let why = format!("{version} has another major version than {current}");
            return Some(("ClusterVersionGiantHop", "MajorVersionUpdate", why));
        }
        if version.minor > current.minor.saturating_add(1) {
            let why = format!("{version} is more than one minor version from {current}");
            return Some(("ClusterVersionGiantHop", "MultipleMinorVersionsUpdate", why));
        }
        let back = self.before.first().is_some_and(|last| *last == version) && version.minor == current.minor;
        if version < current && !back {
            let why = format!(
                "{version} is less than the current target {current}; only the previous version of the same minor version can be gone back to"
            );
            return Some(("ClusterVersionRollback", "LowDesiredVersion", why));
        }
        let why = self.not_upgradeable.filter(|_| version.minor > current.minor)?;
        let why = format!("Cluster minor level upgrades are not allowed: {why}");
        Some(("ClusterVersionUpgradeable", "AdminAckRequired", why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(target: &Target, more: impl FnOnce(&mut Measure<'_>)) -> String {
        let (current, last) = (Version::new(4, 11, 9), Version::new(4, 11, 4));
        let channel = Channel::parse("stable-4.12");
        let before = [&last];
        let mut measure = Measure {
            channel: channel.as_ref(),
            current: &current,
            before: &before,
            not_upgradeable: None,
            rejected: None,
        };
        more(&mut measure);
        match measure.judge(target) {
            Verdict::Accepted { version, .. } => format!("{version}"),
            Verdict::Invalid { message } => message,
            Verdict::Refused { reason, message } => {
                let why = message
                    .rsplit_once("Precondition ")
                    .map_or(message.as_str(), |(_, why)| why);
                format!("{reason} {why}")
            }
        }
    }

    fn to(version: &str) -> Target {
        Target {
            version: version.to_owned(),
            ..Target::default()
        }
    }

    fn forced(version: &str) -> Target {
        Target {
            force: true,
            ..to(version)
        }
    }

    #[test]
    fn an_update_of_the_channel_is_accepted() {
        for (target, wanted) in [
            (to("4.11.10"), "4.11.10"),
            (to("4.12.0"), "4.12.0"),
            (to("4.11.4"), "4.11.4"),
        ] {
            assert_eq!(verdict(&target, |_| ()), wanted);
        }
        let image = Target {
            image: "release.example.com/ocp-release:4.12.1-x86_64".to_owned(),
            ..Target::default()
        };
        assert_eq!(verdict(&image, |_| ()), "4.12.1", "an image needs no channel");
    }

    #[test]
    fn downgrades_and_giant_hops_are_refused_unless_forced() {
        let far = |measure: &mut Measure<'_>| {
            let channel: &'static Channel =
                Box::leak(Box::new(Channel::parse("stable-4.14").expect("a channel")));
            measure.channel = Some(channel);
        };
        assert_eq!(
            verdict(&to("4.13.0"), far),
            "PreconditionChecks \"ClusterVersionGiantHop\" failed because of \"MultipleMinorVersionsUpdate\": \
             4.13.0 is more than one minor version from 4.11.9"
        );
        assert!(verdict(&to("4.10.30"), |_| ()).contains("ClusterVersionRollback"));
        assert!(
            verdict(&to("4.11.8"), |_| ()).contains("LowDesiredVersion"),
            "not the one before"
        );
        assert_eq!(verdict(&forced("4.13.0"), far), "4.13.0");
    }

    #[test]
    fn a_version_that_no_list_has_is_invalid() {
        assert_eq!(
            verdict(&to("4.13.0"), |_| ()),
            "The cluster version is invalid: spec.desiredUpdate.version: Invalid value: \"4.13.0\": \
             when image is empty the update must be a previous version or an available update"
        );
        assert!(verdict(&to("four"), |_| ()).ends_with("must be a semantic version"));
    }

    #[test]
    fn what_is_not_upgradeable_takes_patches_only() {
        let hold = |measure: &mut Measure<'_>| measure.not_upgradeable = Some("ask first");
        assert!(
            verdict(&to("4.12.0"), hold).ends_with("Cluster minor level upgrades are not allowed: ask first")
        );
        assert_eq!(verdict(&to("4.11.10"), hold), "4.11.10");
        assert!(
            verdict(&forced("4.12.0"), |measure| measure.rejected = Some("unsigned"))
                .starts_with("RetrievePayload Retrieving payload failed version=\"4.12.0\""),
        );
    }
}
