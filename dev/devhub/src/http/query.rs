//! The query string.
//!
//! Decides how a query is split; the meaning of parameters belongs to who reads them.

/// Parameters of a request, in order, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Splits a raw query. Stray separators are ignored: some clients start every query with one.
    pub(crate) fn parse(raw: &str) -> Self {
        let pairs = raw
            .split('&')
            .filter(|part| !part.is_empty())
            .map(|part| {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                (decode(name, true), decode(value, true))
            })
            .collect();
        Self(pairs)
    }

    /// Returns the first value of a parameter.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns the first value of a parameter, empty if it is absent.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.first(name).unwrap_or_default()
    }

    /// Returns all values of a parameter.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.0
            .iter()
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// Returns a switch as Kubernetes reads it: present and neither `false` nor `0`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.first(name)
            .is_some_and(|value| !matches!(value, "false" | "0"))
    }

    /// Adds or replaces a parameter.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.0.retain(|(key, _)| key != name);
        self.0.push((name.to_owned(), value.to_owned()));
    }
}

/// Resolves `%41` in a name that came in a header or a path.
pub(crate) fn unescaped(text: &str) -> String {
    decode(text, false)
}

/// Resolves `%41` and, in queries, `+`. Broken escapes stay as they are.
pub(crate) fn decode(text: &str, plus_is_space: bool) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' if plus_is_space => out.push(b' '),
            b'%' => {
                let rest = bytes.as_slice_pair();
                match rest.and_then(|(high, low)| Some((hex(high)? << 4) | hex(low)?)) {
                    Some(value) => {
                        out.push(value);
                        bytes.next();
                        bytes.next();
                    }
                    None => out.push(b'%'),
                }
            }
            other => out.push(other),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

trait NextTwo {
    fn as_slice_pair(&self) -> Option<(u8, u8)>;
}

impl NextTwo for std::str::Bytes<'_> {
    fn as_slice_pair(&self) -> Option<(u8, u8)> {
        let mut ahead = self.clone();
        Some((ahead.next()?, ahead.next()?))
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::Query;

    #[test]
    fn stray_separators_and_escapes_are_understood() {
        let query = Query::parse("&limit=500&labelSelector=a%3Db+c&dryRun=All&dryRun=x&watch");
        assert_eq!(query.first("limit"), Some("500"));
        assert_eq!(query.text("labelSelector"), "a=b c");
        assert_eq!(query.all("dryRun"), ["All", "x"]);
        assert!(query.flag("watch"));
        assert!(!Query::parse("watch=false").flag("watch"));
        assert_eq!(Query::parse("a=%zz%4").text("a"), "%zz%4");
    }
}
