//! Names of container images: registry, repository, tag and digest.
//!
//! Decides which texts a container runtime can read as one. Never looks whether the image exists.

use kubernetes::field::{Class, Fault};

/// The longest name of a repository, with its registry.
const LONGEST_NAME: usize = 255;
/// The longest tag.
const LONGEST_TAG: usize = 128;
/// The shortest digest.
const SHORTEST_DIGEST: usize = 32;

/// The name of a container image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageReference(String);

impl ImageReference {
    /// Reads `registry.example.com:5000/team/agent:v1@sha256:…`; everything but the repository may be left out.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let Some(detail) = fault(text) else {
            return Ok(Self(text.to_owned()));
        };
        let bare = text.trim();
        let bare = bare.split_once("://").map_or(bare, |(_, rest)| rest);
        let hint = (bare != text && fault(bare).is_none()).then(|| format!("did you mean \"{bare}\"?"));
        Err(Fault::of_text(Class::Invalid, text, detail).hint_if(hint))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns what would be right.
fn fault(text: &str) -> Option<&'static str> {
    if text.contains("://") {
        return Some("must be the name of an image, without a scheme");
    }
    if text.chars().any(char::is_whitespace) {
        return Some("must be the name of an image, without spaces");
    }
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    if digest.is_some_and(|digest| !is_digest(digest)) {
        return Some("must end with a digest such as \"sha256:…\" after \"@\"");
    }
    // A point and a colon before the last slash belong to the registry.
    let path = rest.rfind('/').map_or(0, |slash| slash.saturating_add(1));
    let last = rest.get(path..).unwrap_or_default();
    let (name, tag) = match last.split_once(':') {
        Some((last, tag)) => (
            rest.get(..path.saturating_add(last.len())).unwrap_or_default(),
            Some(tag),
        ),
        None => (rest, None),
    };
    if tag.is_some_and(|tag| !is_tag(tag)) {
        return Some("must have a tag of letters, digits, \"_\", \".\" and \"-\" after \":\"");
    }
    if name.len() > LONGEST_NAME {
        return Some("must have at most 255 characters before its tag");
    }
    let repository = match name.split_once('/') {
        Some((first, rest)) if is_registry_like(first) => {
            if !is_registry(first) {
                return Some("must begin with a registry such as \"registry.example.com:5000\"");
            }
            rest
        }
        Some(_) | None => name,
    };
    let is_right = repository.split('/').all(is_component);
    (!is_right).then_some(
        "must name a repository in lower case letters and digits, with \".\", \"_\" or \"-\" between them",
    )
}

/// As container runtimes tell a registry from the first part of a repository.
fn is_registry_like(first: &str) -> bool {
    first.contains(['.', ':']) || first == "localhost" || first.bytes().any(|byte| byte.is_ascii_uppercase())
}

fn is_registry(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => (host, Some(port)),
        Some(_) | None => (text, None),
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_part = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !part.is_empty() && part.bytes().all(inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_host = match address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => host.split('.').all(is_part),
    };
    is_host && port.is_none_or(is_port)
}

fn is_component(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends_well = |byte: Option<&u8>| byte.is_some_and(|byte| is_word(*byte));
    let bytes = text.as_bytes();
    if !ends_well(bytes.first()) || !ends_well(bytes.last()) {
        return false;
    }
    let separators = text.split(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit());
    let mut separators = separators.filter(|between| !between.is_empty());
    separators.all(|between| matches!(between, "." | "_" | "__") || between.bytes().all(|byte| byte == b'-'))
}

fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut bytes = text.bytes();
    text.len() <= LONGEST_TAG
        && bytes.next().is_some_and(is_word)
        && bytes.all(|byte| is_word(byte) || byte == b'.' || byte == b'-')
}

fn is_digest(text: &str) -> bool {
    let Some((algorithm, hex)) = text.split_once(':') else {
        return false;
    };
    let is_algorithm = algorithm
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"+._-".contains(&byte));
    !algorithm.is_empty()
        && is_algorithm
        && hex.len() >= SHORTEST_DIGEST
        && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images_are_distinguished_from_other_texts() {
        let digest = format!("agent@sha256:{}", "a1".repeat(32));
        for right in [
            "agent",
            "agent:v1",
            "team/agent",
            "a__b/c-d.e--f:1.2.3_x-y",
            "registry.example.com/agent",
            "registry.example.com:5000/team/agent:v1",
            "localhost/agent",
            "localhost:5000/agent:v1",
            "REGISTRY/agent",
            "[2001:db8::1]:5000/agent",
            &digest,
        ] {
            assert_eq!(
                ImageReference::parse(right).map(|one| one.0),
                Ok(right.to_owned())
            );
        }
        let long = format!("agent:{}", "x".repeat(129));
        for wrong in [
            "",
            "Agent",
            "a b",
            " agent",
            "https://registry.example.com/agent",
            "agent:",
            "agent:.v1",
            &long,
            "agent@sha256",
            "agent@sha256:12",
            "team//agent",
            "/agent",
            "agent/",
            "a_-b",
            "-agent",
            "registry.example.com:port/agent",
            "registry..com/agent",
            "[2001:db8::zz]:5000/agent",
            &"a".repeat(256),
        ] {
            assert!(ImageReference::parse(wrong).is_err(), "{wrong}");
        }
    }
}
