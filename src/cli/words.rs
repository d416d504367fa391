//! Parsers of values that several flags share.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use kubernetes::duration::GoDuration;

/// Where something with a namespace lies: a Lease, a Secret, an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasePlace {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Reads a namespace and a name.
pub(super) fn lease(text: &str) -> Result<LeasePlace, String> {
    let fits = |part: &str| !part.is_empty() && !part.contains('/');
    match text.split_once('/') {
        Some((namespace, name)) if fits(namespace) && fits(name) => Ok(LeasePlace {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }),
        Some(_) | None => Err("write a namespace and a name, for instance tidegate/leader".to_owned()),
    }
}

/// Reads a length of time as Kubernetes writes it.
pub(super) fn length(text: &str) -> Result<Duration, String> {
    let read = GoDuration::parse(text).ok().and_then(GoDuration::length);
    read.ok_or_else(|| "must be a duration, such as 10s, 1m30s or 0".to_owned())
}

/// Reads how long a request may take: a length of time, or a number of seconds as for kubectl.
pub(super) fn request_timeout(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    seconds.map_or_else(|| length(text), Ok)
}

/// The words of a flag, each with its help and its value.
pub(super) type Choices<T> = &'static [(&'static str, &'static str, T)];

/// Returns the parser of a flag that takes one of some words.
pub(super) fn one_of<T: Clone + Send + Sync + 'static>(all: Choices<T>) -> impl TypedValueParser<Value = T> {
    let words = all
        .iter()
        .map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(words).try_map(move |given| {
        let found = all.iter().find(|(word, ..)| *word == given);
        found
            .map(|(.., value)| value.clone())
            .ok_or("must be one of the values")
    })
}
