//! What looks like a credential.
//!
//! Decides it by the name of a field and by the looks of a text; `docs/snapshot.md` has the list. When in doubt a text is one: a dump
//! that lacks a word is read again, one that has a password is not unread.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Stands for a text.
pub(super) const TEXT: &str = "redacted";

/// A field whose name has one of these holds a credential.
const WORDS: [&str; 20] = [
    "password",
    "masterkey",
    "sharedkey",
    "signingkey",
    "encryptionkey",
    "hmackey",
    "sshkey",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "clientkey",
    "credential",
    "authorization",
    "dockerconfigjson",
    "dockercfg",
    "cookie",
];
/// Or is one of these.
const WHOLE: [&str; 7] = ["auth", "creds", "pass", "pwd", "psk", "bearer", "kubeconfig"];
/// Or ends so, behind a sign that joins words: `DB_PASS`, `mysql-pwd`.
const ENDS: [&str; 4] = ["_pass", "_pwd", "-pass", "-pwd"];
/// Unless it ends so: then it is about a credential, and not one.
const ABOUT: [&str; 37] = [
    "name",
    "names",
    "ref",
    "refs",
    "reference",
    "namespace",
    "path",
    "file",
    "dir",
    "type",
    "kind",
    "version",
    "url",
    "uri",
    "endpoint",
    "host",
    "issuer",
    "audience",
    "audiences",
    "expiry",
    "expiration",
    "seconds",
    "ttl",
    "mode",
    "policy",
    "enabled",
    "provider",
    "driver",
    "format",
    "algorithm",
    "class",
    "pullsecret",
    "pullsecrets",
    "secrets",
    "existingsecret",
    "fromsecret",
    "tlssecret",
];

/// Tells whether a field of this name holds a credential.
pub(super) fn is_sensitive(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    let last = name
        .rsplit(['/', '.'])
        .next()
        .unwrap_or(name)
        .to_ascii_lowercase();
    let named = WORDS.iter().any(|word| plain.contains(word));
    let whole = WHOLE.contains(&plain.as_str()) || WHOLE.contains(&last.trim_start_matches('-'));
    let ends = ENDS.iter().any(|end| name.to_ascii_lowercase().ends_with(end));
    (named || whole || ends) && !is_about(name)
}

/// Tells whether a field of this name is about a credential, or names the object that holds one.
pub(super) fn is_about(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let plain: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    ABOUT.iter().any(|end| plain.ends_with(end))
}

/// Returns the variables of a template that a text contains.
pub(super) fn variables_in(text: &str) -> impl Iterator<Item = String> {
    let pieces = text.split("{{").skip(1);
    let names = pieces.filter_map(|piece| Some(piece.split_once("}}")?.0.trim()));
    names.filter(|name| !name.is_empty()).map(str::to_owned)
}

/// What was found in a text in the place of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found<'t> {
    /// A credential: it is taken out.
    Credential(&'t str),
    /// A text that only names variables: it stays, and their values are credentials.
    Variable(&'t str),
}

/// Receives what is found.
type Finds<'f> = &'f mut dyn FnMut(Found<'_>);

/// Tells whether a text only says where the value comes from: a variable of a template or of a shell.
pub(super) fn is_variable(text: &str) -> bool {
    let text = text.trim();
    let braces = text.starts_with("{{") && text.ends_with("}}");
    let shell =
        text.starts_with("$(") && text.ends_with(')') || text.starts_with("${") && text.ends_with('}');
    text.is_empty() || text == TEXT || braces || shell
}

/// Takes the credentials out of a text, and tells `found` each of them; nothing when there is none.
pub(super) fn cleaned(text: &str, found: Finds<'_>) -> Option<String> {
    let mut out = text.to_owned();
    for (pattern, keep) in PATTERNS.iter() {
        if !pattern.is_match(&out) {
            continue;
        }
        out = pattern
            .replace_all(&out, |groups: &Captures<'_>| replaced(groups, *keep, found))
            .into_owned();
    }
    let pairs = PAIR.replace_all(&out, |groups: &Captures<'_>| pair(groups, found));
    let out = blocks(&pairs, found);
    (out != text).then_some(out)
}

/// Takes out the lines that stand below `password: |`, as YAML writes texts of several lines.
fn blocks(text: &str, found: Finds<'_>) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut below: Option<usize> = None;
    let lines = text.split_inclusive('\n').map(|line| {
        let content = line.trim();
        match below {
            Some(outer) if content.is_empty() || indent(line) > outer => {
                if content.is_empty() || is_variable(content) {
                    found(Found::Variable(content));
                    return line.to_owned();
                }
                found(Found::Credential(content));
                line.replacen(content, TEXT, 1)
            }
            Some(_) | None => {
                below = begins_block(content).then(|| indent(line));
                line.to_owned()
            }
        }
    });
    lines.collect()
}

/// Tells whether a line names a credential and leaves it to the lines below.
fn begins_block(line: &str) -> bool {
    let Some((name, rest)) = line.split_once(':') else {
        return false;
    };
    let rest = rest.trim();
    let mark = rest.trim_start_matches(['|', '>']);
    let is_mark = mark.len() < rest.len() && mark.chars().all(|c| matches!(c, '+' | '-' | '0'..='9'));
    is_mark && is_sensitive(name.trim_matches(['"', '\'', '-', ' ']))
}

/// What of a match goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goes {
    /// All of it.
    All,
    /// The second group; the others stay. Only where it has more than small letters: otherwise it is a word.
    Word,
    /// User and password of an address.
    User,
}

static PATTERNS: LazyLock<Vec<(Regex, Goes)>> = LazyLock::new(|| {
    let pattern = |text: &str| Regex::new(text).expect("a constant pattern compiles");
    vec![
        (
            pattern(
                r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|\z)",
            ),
            Goes::All,
        ),
        (
            pattern(r#"([A-Za-z][A-Za-z0-9+.-]*://)([^/\s@"'`<>]+)@"#),
            Goes::User,
        ),
        (
            pattern(r"eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)*"),
            Goes::All,
        ),
        (
            pattern(r"(?i)\b((?:bearer|basic)\s+)([A-Za-z0-9._~+/=-]{6,})"),
            Goes::Word,
        ),
        (pattern(r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b"), Goes::All),
        (
            pattern(
                r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|AIza[\w-]{30,}|sk-[\w-]{20,}|sha256~[\w-]{20,})",
            ),
            Goes::All,
        ),
    ]
});

/// A name and a value in a text: `--password=x`, `PASSWORD: x`, `"password": "x"`, `--token x`.
static PAIR: LazyLock<Regex> = LazyLock::new(|| {
    let text = r#"(?im)(?:(^[\s"'-]*)|([\s;&?,{"']))([A-Za-z0-9_./-]*(?:pass|pwd|secret|token|key|credential|auth|cookie|psk|bearer|dockercfg|dockerconfigjson)[A-Za-z0-9_.-]*)(["'\\]*[ \t]*[=:][ \t]*["'\\]*|\s+)([^\s"'`,;&\\]{3,})"#;
    Regex::new(text).expect("a constant pattern compiles")
});

fn replaced(groups: &Captures<'_>, goes: Goes, found: Finds<'_>) -> String {
    let group = |number: usize| groups.get(number).map_or("", |group| group.as_str());
    match goes {
        Goes::All => {
            found(Found::Credential(group(0)));
            TEXT.to_owned()
        }
        Goes::Word => {
            let word = group(2);
            found(Found::Variable(word));
            if is_variable(word) || !word.chars().any(|letter| !letter.is_ascii_lowercase()) {
                return group(0).to_owned();
            }
            found(Found::Credential(word));
            format!("{}{TEXT}", group(1))
        }
        Goes::User => {
            let user = group(2);
            found(Found::Variable(user));
            if user.split(':').all(is_variable) {
                return group(0).to_owned();
            }
            found(Found::Credential(user));
            match user.split_once(':') {
                Some((_, password)) => {
                    found(Found::Credential(password));
                    format!("{}{TEXT}:{TEXT}@", group(1))
                }
                None => format!("{}{TEXT}@", group(1)),
            }
        }
    }
}

fn pair(groups: &Captures<'_>, found: Finds<'_>) -> String {
    let group = |number: usize| groups.get(number).map_or("", |group| group.as_str());
    let (before, name, between, value) = (format!("{}{}", group(1), group(2)), group(3), group(4), group(5));
    let whole = group(0).to_owned();
    let is_scheme = ["bearer", "basic"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word));
    if is_scheme || !is_sensitive(name) {
        return whole;
    }
    // A sentence has words before a colon, and blanks between all of its words.
    let starts = groups.get(1).is_some() || before.contains(['\n', '"', '\'', '{', ',']);
    let is_flag = name.starts_with('-') || before.ends_with('-');
    let joined = match between.trim_matches(['"', '\'', '\\', ' ', '\t', '\n', '\r']) {
        "=" => true,
        ":" => starts || !between.contains(' '),
        _ => is_flag,
    };
    if !joined {
        return whole;
    }
    if is_variable(value) || value.starts_with(['=', '$', '{', '(', '<']) {
        found(Found::Variable(value));
        return whole;
    }
    found(Found::Credential(value));
    format!("{before}{name}{between}{TEXT}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_credentials_are_distinguished_from_names_about_them() {
        for name in [
            "password",
            "DB_PASSWORD",
            "DB_PASS",
            "MYSQL_PWD",
            "SIGNING_KEY",
            "clientSecret",
            "aws_secret_access_key",
            "apiKey",
            "api-key",
            "token",
            "bearerToken",
            "privateKey",
            ".dockerconfigjson",
            "auth",
            "Authorization",
            "client-key-data",
            "example.com/token",
            "proxyPass.pwd",
            "--password",
            "kubeconfig",
        ] {
            assert!(is_sensitive(name), "{name}");
        }
        for name in [
            "secretName",
            "secretRef",
            "tokenExpirationSeconds",
            "imagePullSecret",
            "tokenFile",
            "authType",
            "key",
            "name",
            "kubeClientDriver",
            "author",
            "secretNamespace",
            "passwordPolicy",
            "signerName",
            "certificate",
            "secrets",
            "existingSecret",
            "cert-manager.io/inject-ca-from-secret",
        ] {
            assert!(!is_sensitive(name), "{name}");
        }
    }

    fn shown(text: &str) -> (String, Vec<String>) {
        let mut all = Vec::new();
        let out = cleaned(text, &mut |one| match one {
            Found::Credential(one) => all.push(one.to_owned()),
            Found::Variable(_) => {}
        });
        (out.unwrap_or_else(|| text.to_owned()), all)
    }

    #[test]
    fn credentials_are_seen_in_texts_by_their_looks() {
        for (text, expected) in [
            (
                "http://user:hunter22@proxy:3128/",
                "http://redacted:redacted@proxy:3128/",
            ),
            ("https://tok3n@host", "https://redacted@host"),
            ("x --password=hunter22 y", "x --password=redacted y"),
            ("--token hunter22", "--token redacted"),
            (
                "curl -H 'Authorization: Bearer abcDEF123456'",
                "curl -H 'Authorization: Bearer redacted'",
            ),
            (
                "a: 1\n  password: \"hunter22\"\nb: 2",
                "a: 1\n  password: \"redacted\"\nb: 2",
            ),
            ("{\"apiKey\": \"hunter22\"}", "{\"apiKey\": \"redacted\"}"),
            ("eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl!", "redacted!"),
            ("id AKIAIOSFODNN7EXAMPLE.", "id redacted."),
            (
                "a\n-----BEGIN EC PRIVATE KEY-----\nMHcCAQ\n-----END EC PRIVATE KEY-----\nb",
                "a\nredacted\nb",
            ),
            ("-----BEGIN PRIVATE KEY-----\nnever ends", "redacted"),
            (
                "DSN=mysql://root:s3cret99@db/x?y",
                "DSN=mysql://redacted:redacted@db/x?y",
            ),
        ] {
            let (out, found) = shown(text);
            assert_eq!(out, expected);
            assert!(!found.is_empty(), "{text}");
        }
    }

    #[test]
    fn sentences_variables_and_addresses_stay() {
        for text in [
            "cannot read the token: permission denied",
            "object.spec.token == 'x' && has(object.spec.secret)",
            "--password=$(DB_PASSWORD) --token={{TOKEN}}",
            "https://proxy.example.com:3128/path@v2",
            "basic authentication is off",
            "secretName: pull",
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
            "quay.io/a/b@sha256:0123",
        ] {
            assert_eq!(shown(text).0, text);
        }
    }
}
