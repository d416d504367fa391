//! Versions, channels and images of OpenShift, as far as a toy needs them. The graph of updates is made up: it has every version
//! of a channel.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use semver::Version;
use serde_json::{Value, json};

/// Kubernetes' minor version that came with OpenShift 4.0.
const KUBERNETES_OF_4_0: u64 = 13;

/// A channel: `stable-4.12`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Channel {
    name: String,
    major: u64,
    minor: u64,
}

impl Channel {
    /// Returns the channel that this text names, if it ends with a version.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, version) = text.rsplit_once('-')?;
        let (major, minor) = version.split_once('.')?;
        Some(Self {
            name: name.to_owned(),
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }

    /// Returns the stable channel of a version.
    pub(crate) fn stable(version: &Version) -> String {
        format!("stable-{}.{}", version.major, version.minor)
    }

    /// Returns whether the channel leads to this version: it carries its own minor version and those before it.
    pub(super) fn carries(&self, version: &Version) -> bool {
        (version.major, version.minor) <= (self.major, self.minor)
    }
}

/// Returns the channels in which a version can be found.
pub(super) fn channels_of(version: &Version) -> Vec<String> {
    let minors = [version.minor, version.minor.saturating_add(1)];
    let names = ["candidate", "fast", "stable"].iter();
    names
        .flat_map(|name| minors.map(|minor| format!("{name}-{}.{minor}", version.major)))
        .collect()
}

/// Returns the nearest updates that the channel offers to a cluster of this version, newest first.
pub(super) fn updates(from: &Version, channel: Option<&Channel>) -> Vec<Value> {
    let Some(channel) = channel else {
        return Vec::new();
    };
    let next = from.minor.saturating_add(1);
    let patches = (1..=3).map(|more| Version::new(from.major, from.minor, from.patch.saturating_add(more)));
    let minors = (0..=3).map(|patch| Version::new(from.major, next, patch));
    let mut versions: Vec<_> = patches
        .chain(minors)
        .filter(|version| channel.carries(version))
        .collect();
    versions.sort_by(|one, other| other.cmp(one));
    versions.iter().map(update).collect()
}

/// Returns a version as the lists of updates write it.
fn update(version: &Version) -> Value {
    json!({
        "version": version.to_string(),
        "image": image_of(&version.to_string()),
        "channels": channels_of(version),
    })
}

/// Returns the release image of a version; the same version has the same image.
pub(crate) fn image_of(version: &str) -> String {
    let seed = version.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut dice = StdRng::seed_from_u64(seed);
    let (one, two) = (dice.random::<u128>(), dice.random::<u128>());
    format!("release.example.com/ocp-release@sha256:{one:032x}{two:032x}")
}

/// Returns the version that comes with an image when the wish names none: that of its tag, else the next patch.
pub(super) fn version_of(image: &str, current: &Version) -> Version {
    let tag = image.rsplit_once(':').map(|(_, tag)| tag).unwrap_or_default();
    let tagged = tag.split('-').next().and_then(|version| version.parse().ok());
    tagged.unwrap_or_else(|| Version::new(current.major, current.minor, current.patch.saturating_add(1)))
}

/// Returns the version of Kubernetes that comes with a version of OpenShift.
pub(crate) fn kubernetes_of(version: &Version) -> String {
    let minor = version.minor.saturating_add(KUBERNETES_OF_4_0);
    format!("v1.{minor}.{}", version.patch % 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().expect("a version")
    }

    #[test]
    fn a_channel_carries_its_minor_version_and_older_ones() {
        for (channel, wanted, carried) in [
            ("stable-4.12", "4.12.0", true),
            ("stable-4.12", "4.11.40", true),
            ("stable-4.11", "4.12.0", false),
            ("eus-4.12", "4.13.0", false),
        ] {
            let channel = Channel::parse(channel).expect("a channel");
            assert_eq!(channel.carries(&version(wanted)), carried, "{channel:?} {wanted}");
        }
        assert_eq!(Channel::parse("nightly"), None);
        assert_eq!(Channel::parse("stable-4.x"), None);
    }

    #[test]
    fn images_are_found_by_version_and_versions_by_image() {
        assert_eq!(image_of("4.12.0"), image_of("4.12.0"));
        assert_ne!(image_of("4.12.0"), image_of("4.12.1"));
        let current = version("4.11.9");
        for (image, wanted) in [
            ("release.example.com/ocp-release:4.12.3-x86_64", "4.12.3"),
            ("release.example.com/ocp-release@sha256:abc", "4.11.10"),
        ] {
            assert_eq!(version_of(image, &current), version(wanted));
        }
        assert_eq!(kubernetes_of(&version("4.12.3")), "v1.25.3");
    }

    #[test]
    fn updates_are_those_of_the_channel() {
        let of = |channel: &str| {
            let channel = Channel::parse(channel);
            let updates = updates(&version("4.11.9"), channel.as_ref());
            let text = |update: &Value| update["version"].as_str().unwrap_or_default().to_owned();
            updates.iter().map(text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("stable-4.11"), "4.11.12 4.11.11 4.11.10");
        assert_eq!(
            of("stable-4.12"),
            "4.12.3 4.12.2 4.12.1 4.12.0 4.11.12 4.11.11 4.11.10"
        );
        assert_eq!(of(""), "");
    }
}
