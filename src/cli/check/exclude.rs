//! Which files below a folder are not validated: those that a pattern excludes.
//!
//! Decides what a pattern matches. The patterns are those of `--exclude`, and those in `.tidegateignore` of this folder and of each folder
//! that is validated.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use crate::cli::CliError;
use crate::files;
use kubernetes::field::quoted;

/// Name of the file with patterns.
const IGNORE_FILE: &str = ".tidegateignore";
/// The largest such file, in bytes.
const LARGEST: u64 = 1 << 20;

/// What is left out.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Exclusions {
    patterns: Vec<Exclusion>,
    /// The folders that were asked for: a pattern also counts from there.
    roots: Vec<PathBuf>,
}

/// A pattern, and where it is written.
#[derive(Clone, Debug)]
struct Exclusion {
    pattern: Pattern,
    text: String,
    origin: String,
    /// Whether it must match a file: not one of a folder that is not validated.
    counts: bool,
    has_matched: Cell<bool>,
}

/// A pattern: `vendor`, `*.tmp.yaml`, `apps/*/generated`, `**/testdata`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    /// Its parts between slashes.
    parts: Vec<String>,
    /// Whether it counts in any folder, because it has no slash.
    anywhere: bool,
}

impl Pattern {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            return None;
        }
        let inner = text.trim_start_matches("./").trim_end_matches('/');
        let anywhere = !inner.contains('/');
        let parts = inner.split('/').filter(|part| !part.is_empty());
        let parts: Vec<String> = parts.map(str::to_owned).collect();
        (!parts.is_empty()).then_some(Self { parts, anywhere })
    }

    /// Whether it matches a path, or a folder above it.
    fn matches(&self, path: &[String]) -> bool {
        if self.anywhere {
            let first = self.parts.first().map_or("", String::as_str);
            return path.iter().any(|name| is_like(first, name));
        }
        is_above(&self.parts, path)
    }
}

/// Whether the parts of a pattern match the beginning of a path.
fn is_above(parts: &[String], path: &[String]) -> bool {
    match parts.split_first() {
        None => true,
        Some((first, rest)) if first == "**" => {
            (0..=path.len()).any(|at| path.get(at..).is_some_and(|path| is_above(rest, path)))
        }
        Some((first, rest)) => path
            .split_first()
            .is_some_and(|(name, path)| is_like(first, name) && is_above(rest, path)),
    }
}

/// Whether a name is one of a pattern with `*` and `?`.
fn is_like(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // Where the last star was, and how far the name had been read then.
    let (mut at, mut read, mut star) = (0, 0, None);
    while read < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(letter) if *letter == '?' || Some(letter) == name.get(read) => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((last, from)) = star else {
                    return false;
                };
                star = Some((last, from + 1));
                at = last + 1;
                read = from + 1;
            }
        }
    }
    pattern
        .get(at..)
        .is_some_and(|rest| rest.iter().all(|letter| *letter == '*'))
}

fn parts(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for part in path.components() {
        if let std::path::Component::Normal(name) = part {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names
}

impl Exclusions {
    /// Reads the patterns of a command line, and those in the files of the folders.
    pub(in crate::cli) fn read(patterns: &[String], paths: &[PathBuf]) -> Result<Self, CliError> {
        let folders = paths.iter().filter(|path| path.is_dir()).cloned();
        let roots: Vec<PathBuf> = folders.collect();
        let exclusion = |text: &str, origin: &str, counts: bool| {
            Some(Exclusion {
                pattern: Pattern::parse(text)?,
                text: text.trim().to_owned(),
                origin: origin.to_owned(),
                counts,
                has_matched: Cell::new(false),
            })
        };
        let of_flag = |text: &String| exclusion(text, "--exclude", !roots.is_empty());
        let mut found: Vec<Exclusion> = patterns.iter().filter_map(of_flag).collect();
        let here = PathBuf::from(".");
        let here = Some(&here).filter(|here| !roots.contains(here));
        for folder in here.into_iter().chain(&roots) {
            let path = folder.join(IGNORE_FILE);
            if path.exists() {
                let text = files::read_text(&path, LARGEST).map_err(CliError::reading(&path))?;
                let origin = path.display().to_string();
                let counts = roots.contains(folder);
                found.extend(text.lines().filter_map(|line| exclusion(line, &origin, counts)));
            }
        }
        Ok(Self {
            patterns: found,
            roots,
        })
    }

    /// Returns whether a file is excluded.
    pub(in crate::cli) fn excludes(&self, path: &Path) -> bool {
        let from_root = self.roots.iter().filter_map(|root| path.strip_prefix(root).ok());
        let ways = std::iter::once(path).chain(from_root);
        let mut is_excluded = false;
        for way in ways.map(parts) {
            for one in self.patterns.iter().filter(|one| one.pattern.matches(&way)) {
                one.has_matched.set(true);
                is_excluded = true;
            }
        }
        is_excluded
    }

    /// Returns a warning for each pattern that no file has matched until now.
    pub(in crate::cli) fn unmatched(&self) -> impl Iterator<Item = String> {
        let unmatched = self
            .patterns
            .iter()
            .filter(|one| one.counts && !one.has_matched.get());
        unmatched.map(|Exclusion { text, origin, .. }| {
            format!(
                "warning: the pattern {} of {origin} matches no manifest",
                quoted(text)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_files_and_folders() {
        let rows = [
            ("vendor", "a/vendor/b.yaml", true),
            ("vendor/", "vendor/b.yaml", true),
            ("vendor", "a/vendors/b.yaml", false),
            ("*.tmp.yaml", "a/b.tmp.yaml", true),
            ("*.tmp.yaml", "a/b.yaml", false),
            ("a/*/c", "a/b/c/d.yaml", true),
            ("a/*/c", "x/a/b/c/d.yaml", false),
            ("**/c", "x/a/b/c/d.yaml", true),
            ("./a/b.yaml", "a/b.yaml", true),
            ("a/?.yaml", "a/bc.yaml", false),
            ("/a", "a/b.yaml", true),
        ];
        for (pattern, path, expected) in rows {
            let pattern = Pattern::parse(pattern).expect("a pattern");
            assert_eq!(
                pattern.matches(&parts(Path::new(path))),
                expected,
                "{pattern:?} {path}"
            );
        }
        assert_eq!(Pattern::parse("# comment"), None);
        assert_eq!(Pattern::parse("  "), None);
    }
}
