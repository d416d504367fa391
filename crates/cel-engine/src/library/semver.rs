//! `semver`, `isSemver` and their members.
//!
//! Decides by Semantic Versioning 2.0.0; build metadata is ignored in comparisons. The lenient form drops blanks, a
//! leading `v` and leading zeros, and adds missing numbers.

use ::cel::common::types::{CelBool, CelInt, CelString, Kind, Type};
use ::cel::common::value::{StaticVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError, add_member_overload, add_overload};
use std::any::Any;
use std::cmp::Ordering;

type Result<T> = std::result::Result<T, ExecutionError>;

static SEMVER: Type = Type::simple_type(Kind::Opaque, "kubernetes.Semver");

/// A version.
#[derive(Clone, Debug)]
pub(crate) struct Semver {
    text: String,
    numbers: [u64; 3],
    /// The parts of the pre-release.
    before: Vec<Part>,
}

/// A part of a pre-release: numbers come first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(String),
}

impl Semver {
    /// Reads a version.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (rest, build) = split(text, '+');
        let (core, before) = split(rest, '-');
        let mut numbers = [0; 3];
        let mut parts = core.split('.');
        for number in &mut numbers {
            *number = whole(parts.next()?)?;
        }
        if parts.next().is_some() || build.is_some_and(|build| !build.split('.').all(is_word)) {
            return None;
        }
        let before = match before {
            Some(before) => before.split('.').map(part).collect::<Option<Vec<_>>>()?,
            None => Vec::new(),
        };
        Some(Self {
            text: text.to_owned(),
            numbers,
            before,
        })
    }

    /// Returns the version as it was read.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn order(&self, other: &Self) -> Ordering {
        // A version with a pre-release comes before the one without.
        let released = self.before.is_empty().cmp(&other.before.is_empty());
        self.numbers
            .cmp(&other.numbers)
            .then(released)
            .then_with(|| self.before.cmp(&other.before))
    }
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at)
        .map_or((text, None), |(before, after)| (before, Some(after)))
}

fn whole(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|digit| digit.is_ascii_digit());
    (plain && (text == "0" || !text.starts_with('0')))
        .then(|| text.parse().ok())
        .flatten()
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn part(text: &str) -> Option<Part> {
    if !is_word(text) {
        return None;
    }
    if text.bytes().all(|digit| digit.is_ascii_digit()) {
        return whole(text).map(Part::Number);
    }
    Some(Part::Word(text.to_owned()))
}

/// Makes a strict version of a lenient one, as far as that goes; `None` for a short one with more behind it, which
/// could be meant in two ways.
fn normalized(text: &str) -> Option<String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let strip = |part: &str| {
        let short = part.trim_start_matches('0');
        if part.len() < 2 || short.starts_with(|first: char| first.is_ascii_digit()) {
            let kept = if part.len() < 2 { part } else { short };
            kept.to_owned()
        } else {
            format!("0{short}")
        }
    };
    let mut parts: Vec<String> = text.splitn(3, '.').map(strip).collect();
    if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
        return None;
    }
    while parts.len() < 3 {
        parts.push("0".to_owned());
    }
    Some(parts.join("."))
}

impl Val for Semver {
    fn get_type(&self) -> &Type {
        &SEMVER
    }

    fn cel_type() -> &'static Type {
        &SEMVER
    }

    fn equals(&self, other: &dyn Val) -> bool {
        other
            .downcast_ref::<Self>()
            .is_some_and(|other| self.order(other) == Ordering::Equal)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Semver {}

/// Adds the functions.
pub(super) fn register(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    env.add_type(SEMVER.to_owned())?;
    add_overload!(env, fn strict: (CelString<'_>) -> Result<Semver>, name = "semver")?;
    add_overload!(env, fn lenient: (CelString<'_>, CelBool) -> Result<Semver>, name = "semver")?;
    add_overload!(env, fn is_strict: (CelString<'_>) -> CelBool, name = "isSemver")?;
    add_overload!(env, fn is_lenient: (CelString<'_>, CelBool) -> CelBool, name = "isSemver")?;
    add_member_overload!(env, fn major: (Semver) -> Result<CelInt>)?;
    add_member_overload!(env, fn minor: (Semver) -> Result<CelInt>)?;
    add_member_overload!(env, fn patch: (Semver) -> Result<CelInt>)?;
    add_member_overload!(env, fn is_less_than: (Semver, Semver) -> CelBool)?;
    add_member_overload!(env, fn is_greater_than: (Semver, Semver) -> CelBool)?;
    add_member_overload!(env, fn compare_to: (Semver, Semver) -> CelInt)
}

fn read(text: &str, normalize: bool) -> Option<Semver> {
    if normalize {
        Semver::parse(&normalized(text)?)
    } else {
        Semver::parse(text)
    }
}

fn wrong(text: &str) -> ExecutionError {
    ExecutionError::function_error("semver", why(text))
}

fn wrong_lenient(text: &str) -> ExecutionError {
    match normalized(text) {
        Some(strict) => wrong(&strict),
        None => ExecutionError::function_error(
            "semver",
            "short version cannot contain PreRelease/Build meta data",
        ),
    }
}

/// Says what keeps a text from being a version.
fn why(text: &str) -> String {
    if text.is_empty() {
        return "Version string empty".to_owned();
    }
    let parts: Vec<&str> = text.splitn(3, '.').collect();
    let [major, minor, rest] = parts.as_slice() else {
        return "No Major.Minor.Patch elements found".to_owned();
    };
    let (rest, build) = split(rest, '+');
    let (patch, before) = split(rest, '-');
    for (name, number) in [("Major", major), ("Minor", minor), ("Patch", &patch)] {
        let shown = kubernetes::print::quote(number);
        if number.is_empty() || !number.bytes().all(|digit| digit.is_ascii_digit()) {
            return format!(
                "Invalid character(s) found in {} number {shown}",
                name.to_lowercase()
            );
        }
        if number.len() > 1 && number.starts_with('0') {
            return format!("{name} number must not contain leading zeroes {shown}");
        }
        if number.parse::<u64>().is_err() {
            return format!("strconv.ParseUint: parsing {shown}: value out of range");
        }
    }
    let mut before = before.into_iter().flat_map(|before| before.split('.'));
    if let Some(words) = before.find_map(why_no_part) {
        return words;
    }
    let build = build.into_iter().flat_map(|build| build.split('.'));
    for word in build {
        if word.is_empty() {
            return "Build meta data is empty".to_owned();
        }
        if !is_word(word) {
            return format!(
                "Invalid character(s) found in build meta data {}",
                kubernetes::print::quote(word)
            );
        }
    }
    format!("{} is not a semantic version", kubernetes::print::quote(text))
}

fn why_no_part(word: &str) -> Option<String> {
    let shown = kubernetes::print::quote(word);
    if word.is_empty() {
        return Some("Prerelease is empty".to_owned());
    }
    if !is_word(word) {
        return Some(format!("Invalid character(s) found in prerelease {shown}"));
    }
    let is_number = word.bytes().all(|digit| digit.is_ascii_digit());
    (is_number && word.len() > 1 && word.starts_with('0'))
        .then(|| format!("Numeric PreRelease version must not contain leading zeroes {shown}"))
}

fn strict(text: &CelString<'_>) -> Result<Semver> {
    read(text.inner(), false).ok_or_else(|| wrong(text.inner()))
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the registering macro passes references"
)]
fn lenient(text: &CelString<'_>, normalize: &CelBool) -> Result<Semver> {
    if !*normalize.inner() {
        return strict(text);
    }
    read(text.inner(), true).ok_or_else(|| wrong_lenient(text.inner()))
}

fn is_strict(text: &CelString<'_>) -> CelBool {
    read(text.inner(), false).is_some().into()
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the registering macro passes references"
)]
fn is_lenient(text: &CelString<'_>, normalize: &CelBool) -> CelBool {
    read(text.inner(), *normalize.inner()).is_some().into()
}

fn number(this: &Semver, at: usize) -> Result<CelInt> {
    let number = this.numbers.get(at).copied().unwrap_or(0);
    let too_large = |_error| ExecutionError::function_error("semver", "the number of a version is too large");
    i64::try_from(number).map(CelInt::from).map_err(too_large)
}

fn major(this: &Semver) -> Result<CelInt> {
    number(this, 0)
}

fn minor(this: &Semver) -> Result<CelInt> {
    number(this, 1)
}

fn patch(this: &Semver) -> Result<CelInt> {
    number(this, 2)
}

fn is_less_than(this: &Semver, other: &Semver) -> CelBool {
    (this.order(other) == Ordering::Less).into()
}

fn is_greater_than(this: &Semver, other: &Semver) -> CelBool {
    (this.order(other) == Ordering::Greater).into()
}

fn compare_to(this: &Semver, other: &Semver) -> CelInt {
    CelInt::from(this.order(other) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_like_semantic_versions() {
        let ordered = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.2.3",
            "1.10.0",
        ];
        for pair in ordered.windows(2) {
            let [left, right] = pair else { continue };
            let parse = |text: &str| Semver::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(parse(left).order(&parse(right)), Ordering::Less, "{left} {right}");
        }
    }

    #[test]
    fn only_the_lenient_form_forgives() {
        let rows = [
            ("v1.2", Some("1.2.0")),
            ("v01.002.3-rc.1+b", Some("1.2.3-rc.1+b")),
            ("1.0.00", Some("1.0.0")),
            (" 1.2.3", None),
            ("1.2-rc", None),
            ("v1", Some("1.0.0")),
            ("1.2.3.4", None),
            ("", None),
            ("1.x", None),
            ("1.2.3-01", None),
        ];
        for (text, wanted) in rows {
            assert!(Semver::parse(text).is_none(), "{text}");
            let read = read(text, true);
            assert_eq!(read.as_ref().map(Semver::text), wanted, "{text}");
        }
    }
}
