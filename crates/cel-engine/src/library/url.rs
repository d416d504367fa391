//! `url`, `isURL` and the members of a URL.
//!
//! Decides what a URL is like Go's `url.ParseRequestURI`: absolute, or an absolute path.

use ::cel::common::types::{CelBool, CelList, CelMap, CelMapKey, CelString, Kind, Type};
use ::cel::common::value::{StaticVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError, add_member_overload, add_overload};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Write as _;

type Result<T> = std::result::Result<T, ExecutionError>;

static URL: Type = Type::simple_type(Kind::Opaque, "kubernetes.URL");

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    text: String,
    scheme: String,
    host: String,
    path: String,
    query: String,
}

impl Url {
    /// Reads a URL.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || text.chars().any(|c| c.is_ascii_control()) {
            return None;
        }
        let (scheme, rest) = if text.starts_with('/') {
            ("", text)
        } else {
            split_scheme(text)?
        };
        let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = match before.strip_prefix("//") {
            Some(after) if !scheme.is_empty() => {
                after.split_at_checked(after.find('/').unwrap_or(after.len()))?
            }
            Some(_) | None if before.starts_with('/') => ("", before),
            Some(_) | None => ("", ""),
        };
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let port_ok = split_port(host).1.bytes().all(|b| b.is_ascii_digit());
        if !port_ok || host.contains(' ') || !escapes_are_whole(path) {
            return None;
        }
        let scheme = scheme.to_ascii_lowercase();
        Some(Self {
            text: text.to_owned(),
            scheme,
            host: host.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
        })
    }
}

impl Url {
    /// Returns the URL as it was read.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut letters = scheme.chars();
    let shaped = letters.next()?.is_ascii_alphabetic()
        && letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    (shaped && !rest.is_empty()).then_some((scheme, rest))
}

/// Splits a host from its port; a colon inside brackets belongs to an IPv6 address.
fn split_port(host: &str) -> (&str, &str) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        Some(_) | None => (host, ""),
    }
}

fn escapes_are_whole(text: &str) -> bool {
    let hex = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_hexdigit());
    text.split('%').skip(1).all(|after| {
        let mut letters = after.chars();
        hex(letters.next()) && hex(letters.next())
    })
}

impl Val for Url {
    fn get_type(&self) -> &Type {
        &URL
    }

    fn cel_type() -> &'static Type {
        &URL
    }

    fn equals(&self, other: &dyn Val) -> bool {
        other
            .downcast_ref::<Self>()
            .is_some_and(|other| self.text == other.text)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Url {}

/// Adds the functions.
pub(super) fn register(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    env.add_type(URL.to_owned())?;
    add_overload!(env, fn url: (CelString<'_>) -> Result<Url>)?;
    add_overload!(env, fn is_url: (CelString<'_>) -> CelBool, name = "isURL")?;
    add_member_overload!(env, fn get_scheme: (Url) -> CelString<'_>)?;
    add_member_overload!(env, fn get_host: (Url) -> CelString<'_>)?;
    add_member_overload!(env, fn get_hostname: (Url) -> CelString<'_>)?;
    add_member_overload!(env, fn get_port: (Url) -> CelString<'_>)?;
    add_member_overload!(env, fn get_escaped_path: (Url) -> CelString<'_>)?;
    add_member_overload!(env, fn get_query: (Url) -> CelMap<'_>)
}

fn url(text: &CelString<'_>) -> Result<Url> {
    let wrong = || {
        format!(
            "URL parse error during conversion from string: parse {:?}: invalid URI for request",
            text.inner()
        )
    };
    Url::parse(text.inner()).ok_or_else(|| ExecutionError::function_error("url", wrong()))
}

fn is_url(text: &CelString<'_>) -> CelBool {
    Url::parse(text.inner()).is_some().into()
}

fn get_scheme(this: &Url) -> CelString<'static> {
    this.scheme.clone().into()
}

fn get_host(this: &Url) -> CelString<'static> {
    this.host.clone().into()
}

fn get_hostname(this: &Url) -> CelString<'static> {
    split_port(&this.host)
        .0
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned()
        .into()
}

fn get_port(this: &Url) -> CelString<'static> {
    split_port(&this.host).1.to_owned().into()
}

fn get_escaped_path(this: &Url) -> CelString<'static> {
    let mut out = String::with_capacity(this.path.len());
    for byte in this.path.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@%!*'()".contains(&byte);
        if plain {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out.into()
}

#[expect(
    clippy::disallowed_types,
    reason = "the engine's maps are hash maps; nothing here depends on their order"
)]
fn get_query(this: &Url) -> CelMap<'static> {
    let mut values: BTreeMap<String, Vec<Box<dyn Val>>> = BTreeMap::new();
    let query = this.query.split('#').next().unwrap_or_default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        values
            .entry(unescape(name))
            .or_default()
            .push(Box::new(CelString::from(unescape(value))));
    }
    let entry = |(name, list): (String, Vec<Box<dyn Val>>)| -> (CelMapKey<'static>, Box<dyn Val>) {
        (CelMapKey::from(name), Box::new(CelList::from(list)))
    };
    CelMap::from(
        values
            .into_iter()
            .map(entry)
            .collect::<std::collections::HashMap<_, _>>(),
    )
}

fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let (high, low) = (digit(bytes.next()), digit(bytes.next()));
                let code = high
                    .zip(low)
                    .and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
                out.extend(code);
            }
            other => out.push(other),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_differ_from_other_texts() {
        let rows = [
            ("https://example.com:80/a?b=c", true),
            ("http://[::1]:8080/", true),
            ("/path", true),
            ("mailto:a@b.c", true),
            ("example.com", false),
            ("../x", false),
            ("https://a:b/", false),
            ("", false),
        ];
        for (text, wanted) in rows {
            assert_eq!(Url::parse(text).is_some(), wanted, "{text}");
        }
    }
}
