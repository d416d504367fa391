//! What clusters are upgraded to: a version of OpenShift, its channel, its update service, its image.
//!
//! Decides which texts are those. Never looks whether a release exists.

use std::cmp::Ordering;
use std::fmt;

use semver::Version;

use api::cluster::UpgradeVersion;
use kubernetes::field::{Class, Fault, Path, Violation};

use crate::image::ImageReference;
use crate::rollout::keep;
use crate::rule;

/// A version of OpenShift: a semantic version, without a leading `v`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OcpVersion(Version);

impl OcpVersion {
    /// Reads `4.12.0`, `4.12.0-rc.1`, `4.15.0-0.okd-2024-03-10-010116`.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        Version::parse(text).map(Self).map_err(|_error| {
            let meant = text.trim().trim_start_matches(['v', 'V']);
            let meant = (meant != text && Version::parse(meant).is_ok())
                .then(|| format!("did you mean \"{meant}\"?"));
            Fault::of_text(Class::Invalid, text, "must be a version such as \"4.12.0\"").hint_if(meant)
        })
    }

    /// Returns major and minor number.
    pub fn minor(&self) -> (u64, u64) {
        (self.0.major, self.0.minor)
    }

    /// Returns how many minor versions lie from `from` up to this one; absent where the major number changes or it is lower.
    pub fn minors_above(&self, from: &Self) -> Option<u64> {
        if self.0.major != from.0.major {
            return None;
        }
        self.0.minor.checked_sub(from.0.minor)
    }
}

impl Ord for OcpVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0
            .cmp_precedence(&other.0)
            .then_with(|| self.0.build.cmp(&other.0.build))
    }
}

impl PartialOrd for OcpVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for OcpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A channel of releases, such as `stable-4.12`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    text: String,
    minor: (u64, u64),
}

impl Channel {
    /// Reads lower case letters, digits and `-`, then a minor version.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let fault = || Fault::of_text(Class::Invalid, text, "must be a channel such as \"stable-4.12\"");
        let (name, version) = text.rsplit_once('-').ok_or_else(fault)?;
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-');
        let minor = version
            .split_once('.')
            .and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
        match (is_name, minor) {
            (true, Some(minor)) => Ok(Self {
                text: text.to_owned(),
                minor,
            }),
            (false, _) | (_, None) => Err(fault()),
        }
    }

    /// Returns the channel as its author wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the minor version that the channel leads to. It carries the releases of the one before as well.
    pub fn minor(&self) -> (u64, u64) {
        self.minor
    }
}

fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// What clusters are upgraded to. There is a version, or an image, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    version: Option<OcpVersion>,
    image: Option<String>,
    channel: Option<Channel>,
    upstream: Option<String>,
    hops: Vec<OcpVersion>,
}

impl Target {
    /// Reads `spec.clusterVersion`, which stands at `path`.
    pub fn parse(raw: &UpgradeVersion, path: &Path) -> Result<Self, Vec<Violation>> {
        let mut wrong = Vec::new();
        let version = given(&raw.version).and_then(|text| {
            let read = OcpVersion::parse(text);
            keep(
                read.map_err(|fault| fault.at(path.key("version"), rule::UPGRADE_VERSION)),
                &mut wrong,
            )
        });
        let channel = given(&raw.channel).and_then(|text| {
            let read = Channel::parse(text);
            keep(
                read.map_err(|fault| fault.at(path.key("channel"), rule::UPGRADE_CHANNEL)),
                &mut wrong,
            )
        });
        let upstream = given_in(raw.upstream.as_deref()).and_then(|text| {
            let read = parse_upstream(text);
            keep(
                read.map_err(|fault| fault.at(path.key("upstream"), rule::UPGRADE_UPSTREAM)),
                &mut wrong,
            )
        });
        let image = given_in(raw.image.as_deref()).and_then(|text| {
            let read = parse_image(text);
            keep(
                read.map_err(|fault| fault.at(path.key("image"), rule::UPGRADE_IMAGE)),
                &mut wrong,
            )
        });
        if raw.version.is_empty() && given_in(raw.image.as_deref()).is_none() {
            let fault = Fault::bare(Class::Required, "must be set unless there is an image");
            wrong.push(fault.at(path.key("version"), rule::UPGRADE_VERSION));
        }
        if let (Some(version), Some(channel)) = (&version, &channel)
            && channel.minor() < version.minor()
        {
            let detail = format!(
                "must be a channel of the minor version of \"{version}\" or later: an earlier channel does not have this release"
            );
            let fault = Fault::of_text(Class::Invalid, channel.as_str(), detail);
            wrong.push(fault.at(path.key("channel"), rule::UPGRADE_CHANNEL));
        }
        let hops = parse_hops(&raw.hops, version.as_ref(), &path.key("hops"), &mut wrong);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(Self {
            version,
            image,
            channel,
            upstream,
            hops,
        })
    }

    /// Returns what a stored work asks for, as far as it names a release.
    pub fn observed(version: &str, image: &str) -> Self {
        Self {
            version: OcpVersion::parse(version).ok(),
            image: given(image).map(str::to_owned),
            ..Self::default()
        }
    }

    /// Returns the versions that a cluster goes through before the last one.
    pub fn hops(&self) -> &[OcpVersion] {
        &self.hops
    }

    /// Returns what a cluster with this version is upgraded to first; one with an unknown version goes through every hop.
    #[must_use]
    pub fn first(&self, has: Option<&OcpVersion>) -> Self {
        let mut hops = self.hops.iter();
        let next = hops.find(|hop| has.is_none_or(|has| has < *hop));
        next.map_or_else(|| self.clone(), |hop| self.at(hop))
    }

    /// Returns what a cluster is upgraded to when it has this version; nothing after the last one, or after one that is no hop.
    pub fn after(&self, version: &str) -> Option<Self> {
        let at = self.hops.iter().position(|hop| hop.to_string() == version)?;
        let next = self.hops.get(at.saturating_add(1));
        Some(next.map_or_else(|| self.clone(), |hop| self.at(hop)))
    }

    /// The image is that of the last version.
    fn at(&self, hop: &OcpVersion) -> Self {
        Self {
            version: Some(hop.clone()),
            image: None,
            ..self.clone()
        }
    }

    /// Returns the version, where one is given.
    pub fn version(&self) -> Option<&OcpVersion> {
        self.version.as_ref()
    }

    /// Returns the image of the release, where one is given.
    pub fn image(&self) -> Option<&str> {
        self.image.as_deref()
    }

    /// Returns the channel, where one is given.
    pub fn channel(&self) -> Option<&Channel> {
        self.channel.as_ref()
    }

    /// Returns the address of the update service, where one is given.
    pub fn upstream(&self) -> Option<&str> {
        self.upstream.as_deref()
    }
}

fn parse_hops(
    raw: &[String],
    last: Option<&OcpVersion>,
    path: &Path,
    wrong: &mut Vec<Violation>,
) -> Vec<OcpVersion> {
    let mut hops: Vec<OcpVersion> = Vec::new();
    for (at, text) in raw.iter().enumerate() {
        let at = path.index(at);
        let hop = OcpVersion::parse(text).map_err(|fault| fault.at(at.clone(), rule::UPGRADE_HOPS));
        let Some(hop) = keep(hop, wrong) else {
            continue;
        };
        let before = hops.last();
        let detail = if before.is_some_and(|before| hop <= *before) {
            before.map(|before| format!("must be higher than the hop before it, \"{before}\""))
        } else if last.is_some_and(|last| hop >= *last) {
            last.map(|last| format!("must be lower than clusterVersion.version, \"{last}\""))
        } else {
            before.and_then(|before| skipped(before, &hop))
        };
        if let Some(detail) = detail {
            wrong.push(Fault::of_text(Class::Invalid, text, detail).at(at, rule::UPGRADE_HOPS));
        }
        hops.push(hop);
    }
    match (hops.last(), last) {
        (Some(hop), Some(last)) => {
            if let Some(detail) = skipped(hop, last).filter(|_| hop < last) {
                let fault = Fault::of_text(Class::Invalid, &hop.to_string(), detail);
                let at = path.index(raw.len().saturating_sub(1));
                wrong.push(fault.at(at, rule::UPGRADE_HOPS));
            }
        }
        (Some(_), None) => {
            let fault = Fault::bare(
                Class::Forbidden,
                "needs clusterVersion.version, the version after the last hop",
            );
            wrong.push(fault.at(path.clone(), rule::UPGRADE_HOPS));
        }
        (None, _) => {}
    }
    hops
}

/// OpenShift does not skip a minor version.
fn skipped(from: &OcpVersion, to: &OcpVersion) -> Option<String> {
    let minors = to.minors_above(from)?;
    let (major, minor) = from.minor();
    (minors > 1).then(|| {
        format!(
            "must not skip a minor version: between \"{from}\" and \"{to}\", add a version {major}.{}",
            minor.saturating_add(1)
        )
    })
}

fn given(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn given_in(text: Option<&str>) -> Option<&str> {
    text.and_then(given)
}

fn parse_upstream(text: &str) -> Result<String, Fault> {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    let is_right = host.is_some_and(|host| !host.is_empty() && !host.starts_with(':'))
        && !text
            .chars()
            .any(|letter| letter.is_whitespace() || letter.is_control());
    if is_right {
        return Ok(text.to_owned());
    }
    Err(Fault::of_text(
        Class::Invalid,
        text,
        "must be a URL such as \"https://updates.example.com/graph\"",
    ))
}

fn parse_image(text: &str) -> Result<String, Fault> {
    ImageReference::parse(text)?;
    if text.contains('@') {
        return Ok(text.to_owned());
    }
    let detail = "must name a release by its digest, such as \"registry.example.com/release@sha256:…\": a tag may refer to another release later";
    Err(Fault::of_text(Class::Invalid, text, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(version: &str, channel: &str, upstream: &str, image: &str) -> Result<Target, Vec<String>> {
        let raw = UpgradeVersion {
            channel: channel.to_owned(),
            version: version.to_owned(),
            upstream: Some(upstream.to_owned()),
            image: Some(image.to_owned()),
            hops: Vec::new(),
        };
        Target::parse(&raw, &Path::root().key("clusterVersion"))
            .map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
    }

    const IMAGE: &str =
        "quay.io/release@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn an_empty_text_is_as_good_as_none() {
        let found = target("4.12.0", "stable-4.12", "", "").expect("the example of the proposal");
        assert_eq!(
            found.version().map(ToString::to_string).as_deref(),
            Some("4.12.0")
        );
        assert_eq!((found.upstream(), found.image()), (None, None));
        assert!(target("", "", "", IMAGE).is_ok(), "an image alone");
    }

    #[test]
    fn every_fault_is_reported_with_its_field() {
        let rows = [
            ("v4.12.0||||version", "did you mean \"4.12.0\"?"),
            ("4.12||||version", "must be a version"),
            ("|stable-4.12|||version", "unless there is an image"),
            ("4.12.0|stable|||channel", "must be a channel"),
            ("4.12.0|Stable-4.12|||channel", "must be a channel"),
            ("4.12.0|stable-4.x|||channel", "must be a channel"),
            ("4.12.0|stable-4.11|||channel", "does not have this release"),
            ("4.12.0||updates.example.com||upstream", "must be a URL"),
            ("4.12.0||https://||upstream", "must be a URL"),
            ("4.12.0|||quay.io/release:4.12.0|image", "by its digest"),
            ("4.12.0|||a b|image", "must be the name of an image"),
        ];
        for (fields, said) in rows {
            let fields: Vec<&str> = fields.split('|').collect();
            let [version, channel, upstream, image, key] = fields[..] else {
                panic!("five fields");
            };
            let place = format!("clusterVersion.{key}");
            let wrong = target(version, channel, upstream, image).expect_err(said);
            assert_eq!(wrong.len(), 1, "{wrong:?}");
            assert!(
                wrong[0].starts_with(&place) && wrong[0].contains(said),
                "{wrong:?}"
            );
        }
        let both = target("x", "y", "", "").expect_err("both are wrong");
        assert_eq!(both.len(), 2, "{both:?}");
    }

    #[test]
    fn a_channel_may_lead_further_than_the_version() {
        for channel in ["stable-4.12", "eus-4.14", "candidate-4.13", "stable-scos-4.12"] {
            assert!(target("4.12.0", channel, "", "").is_ok(), "{channel}");
        }
    }

    #[test]
    fn versions_are_ordered_and_minors_counted() {
        let version = |text: &str| OcpVersion::parse(text).expect("a version");
        assert!(version("4.12.0-rc.1") < version("4.12.0"));
        assert!(version("4.9.0") < version("4.12.0"));
        assert_eq!(version("4.12.1").minors_above(&version("4.12.0")), Some(0));
        assert_eq!(version("4.13.0").minors_above(&version("4.11.9")), Some(2));
        assert_eq!(version("4.11.0").minors_above(&version("4.12.0")), None);
        assert_eq!(version("5.0.0").minors_above(&version("4.12.0")), None);
    }
}
