//! Import cycles between the files of one crate.
//!
//! Uses are found by `use` declarations and by paths in the text; re-exports are followed to the defining file. A `mod.rs` that lists and
//! re-exports its modules uses none of them. Uses inside of macros are not found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

// Compiled once: to compile them takes longer than to search a file.
static DECLARATION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").expect("it is right"));
static ITEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:struct|enum|fn|trait|type|const|static|mod)\s+(\w+)").expect("it is right")
});
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(?:crate|super|self)(?:::\w+)+").expect("it is right"));

/// A module, as the names of the path that leads to it.
type Module = Vec<String>;

struct Source {
    path: String,
    text: String,
    uses: Vec<Use>,
    items: BTreeSet<String>,
}

struct Use {
    is_exported: bool,
    path: Vec<String>,
}

struct Crate {
    files: BTreeMap<Module, Source>,
}

/// Returns the circles among the files of a crate, the largest first; `files` by their path, all below `root`.
pub(crate) fn circles(files: &BTreeMap<String, String>, root: &str) -> Vec<Vec<String>> {
    let inside = files.iter().filter(|(path, _)| !is_test(path));
    let files = inside.map(|(path, text)| {
        let text = without_comments(&without_tests(text));
        let source = Source {
            path: path.clone(),
            uses: uses(&text),
            items: items(&text),
            text,
        };
        (module(path, root), source)
    });
    let program = Crate {
        files: files.collect(),
    };
    let edges = program
        .files
        .iter()
        .map(|(module, source)| (module, program.used_by(module, source)))
        .collect();
    let mut found: Vec<Vec<String>> = components(&edges)
        .into_iter()
        .filter(|circle| circle.len() > 1)
        .map(|circle| {
            circle
                .iter()
                .map(|module| program.files[*module].path.clone())
                .collect()
        })
        .collect();
    found.sort_by_key(|circle: &Vec<String>| std::cmp::Reverse(circle.len()));
    found
}

fn is_test(path: &str) -> bool {
    path.ends_with("_tests.rs")
        || ["/tests/", "/trials/", "/testing/"]
            .iter()
            .any(|word| path.contains(word))
}

fn module(path: &str, root: &str) -> Module {
    let inside = path.strip_prefix(root).unwrap_or(path).trim_start_matches('/');
    let mut names: Module = inside
        .trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect();
    if names
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
    {
        names.pop();
    }
    names
}

/// Leaves out the module of tests, and whatever else is only there for them.
fn without_tests(text: &str) -> String {
    let (mut kept, mut lines) = (String::new(), text.lines());
    while let Some(line) = lines.next() {
        if line != "#[cfg(test)]" {
            kept.push_str(line);
            kept.push('\n');
        } else if lines.next().is_none_or(|item| item.ends_with('{')) {
            break;
        }
    }
    kept
}

fn without_comments(text: &str) -> String {
    let code = |line: &'_ str| line.split("//").next().unwrap_or_default().to_owned();
    text.lines().map(code).collect::<Vec<_>>().join("\n")
}

/// Returns every path of every `use` declaration.
fn uses(text: &str) -> Vec<Use> {
    let paths = |found: regex::Captures<'_>| {
        let is_exported = found.get(1).is_some();
        let path = |path: String| Use {
            is_exported,
            path: path.split("::").map(|name| name.trim().to_owned()).collect(),
        };
        expanded(&found[2]).into_iter().map(path).collect::<Vec<_>>()
    };
    DECLARATION.captures_iter(text).flat_map(paths).collect()
}

/// Returns the paths of a tree: `a::{b, c::d}` is `a::b` and `a::c::d`; new names are left out.
fn expanded(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((before, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.trim().to_owned()];
    };
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut member, mut members) = (0_usize, String::new(), Vec::new());
    for c in inner.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                members.push(std::mem::take(&mut member));
                continue;
            }
            _ => {}
        }
        member.push(c);
    }
    members.push(member);
    let members = members.iter().filter(|member| !member.trim().is_empty());
    members
        .flat_map(|member| expanded(member))
        .map(|path| format!("{}{path}", before.trim()))
        .collect()
}

impl Crate {
    fn used_by(&self, module: &Module, source: &Source) -> BTreeSet<&Module> {
        let declared = source.uses.iter().map(|one| one.path.clone());
        let used: BTreeSet<&Module> = declared
            .chain(spelled_out(&source.text))
            .filter_map(|path| self.absolute(module, &path))
            .filter_map(|path| self.defined_in(&path, 8))
            .filter(|used| *used != module)
            .collect();
        let lists = source.path.ends_with("/mod.rs") || source.path.ends_with("/lib.rs");
        let below = |used: &Module| lists && used.starts_with(module);
        used.into_iter().filter(|used| !below(used)).collect()
    }

    /// Returns a path from the root of the crate; nothing for what belongs to another crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        let first = path.first()?;
        let supers = path.iter().take_while(|name| *name == "super").count();
        match first.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([module.as_slice(), &path[1..]].concat()),
            "super" => Some([&module[..module.len().checked_sub(supers)?], &path[supers..]].concat()),
            _ => {
                let child = [module.as_slice(), std::slice::from_ref(first)].concat();
                let is_child = self.files.contains_key(&child);
                is_child.then(|| [module.as_slice(), path].concat())
            }
        }
    }

    /// Returns the module that defines what a path names.
    fn defined_in(&self, path: &[String], steps: usize) -> Option<&Module> {
        let known = (0..=path.len())
            .rev()
            .find_map(|length| self.files.get_key_value(&path[..length]));
        let (module, source) = known?;
        let Some(name) = path.get(module.len()).filter(|_| steps > 0) else {
            return Some(module);
        };
        for export in source.uses.iter().filter(|one| one.is_exported) {
            let Some(target) = self.absolute(module, &export.path) else {
                continue;
            };
            let is_name = target.last() == Some(name);
            let is_star = target.last().is_some_and(|last| last == "*");
            let target = if is_star {
                [&target[..target.len() - 1], std::slice::from_ref(name)].concat()
            } else {
                target
            };
            if !is_name && !is_star || target == path[..=module.len()] {
                continue;
            }
            let found = self.defined_in(&target, steps - 1);
            let holds = |found: &Module| is_name || self.files[found].items.contains(name);
            if let Some(found) = found.filter(|found| holds(found)) {
                return Some(found);
            }
        }
        Some(module)
    }
}

/// Returns the names that a text defines.
fn items(text: &str) -> BTreeSet<String> {
    ITEM.captures_iter(text)
        .map(|found| found[1].to_owned())
        .collect()
}

/// Returns the paths that stand in a text, those of `use` declarations as far as their first brace.
fn spelled_out(text: &str) -> Vec<Vec<String>> {
    let names = |found: regex::Match<'_>| found.as_str().split("::").map(str::to_owned).collect();
    PATH.find_iter(text).map(names).collect()
}

/// Returns the strongly connected components, by Kosaraju's two walks.
fn components<'a>(edges: &BTreeMap<&'a Module, BTreeSet<&'a Module>>) -> Vec<Vec<&'a Module>> {
    let mut backwards: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
    for (from, all) in edges {
        for to in all {
            backwards.entry(to).or_default().insert(from);
        }
    }
    let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
    for start in edges.keys() {
        walk(start, edges, &mut seen, &mut order);
    }
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    for start in order.into_iter().rev() {
        let mut component = Vec::new();
        walk(start, &backwards, &mut seen, &mut component);
        found.push(component);
    }
    found
}

/// Walks from a module to all that can be reached, and lists each after those behind it.
fn walk<'a>(
    start: &'a Module,
    edges: &BTreeMap<&'a Module, BTreeSet<&'a Module>>,
    seen: &mut BTreeSet<&'a Module>,
    order: &mut Vec<&'a Module>,
) {
    if !seen.insert(start) {
        return;
    }
    for next in edges.get(start).into_iter().flatten() {
        walk(next, edges, seen, order);
    }
    order.push(start);
}
