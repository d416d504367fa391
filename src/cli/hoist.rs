//! Flags of the hub before the command: `tidegate --context hub rollout list`.
//!
//! Decides only the order of the words. The command itself reads its flags, and rejects those that it does not have.

use std::ffi::OsString;

use clap::{Args as _, Command};

use super::HubArgs;

/// Flags of the program itself that take a value.
const OWN_WITH_VALUE: [&str; 1] = ["color"];

/// Returns the words of a command line with the flags of the hub behind the command.
pub(super) fn hoisted(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words = words.into_iter();
    let known = HubArgs::augment_args(Command::new("hub"));
    let mut before: Vec<OsString> = words.next().into_iter().collect();
    let mut moved = Vec::new();
    let mut rest = Vec::new();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        let Some(flag) = text.strip_prefix("--").filter(|flag| !flag.is_empty()) else {
            let is_short = text.starts_with('-') && text.len() > 1 && text != "--";
            if is_short {
                before.push(word);
                continue;
            }
            rest.push(word);
            break;
        };
        let (name, has_value) = flag
            .split_once('=')
            .map_or((flag, false), |(name, _)| (name, true));
        let found = known.get_arguments().find(|arg| arg.get_long() == Some(name));
        let takes_value = match found {
            Some(arg) => arg.get_action().takes_values(),
            None => OWN_WITH_VALUE.contains(&name),
        };
        let to = if found.is_some() { &mut moved } else { &mut before };
        to.push(word);
        if takes_value && !has_value {
            to.extend(words.next());
        }
    }
    rest.extend(words);
    let end = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
    if rest.is_empty() {
        before.extend(moved);
        return before;
    }
    rest.splice(end..end, moved);
    before.extend(rest);
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_the_hub_may_stand_before_the_command() {
        let rows = [
            ("tidegate rollout list", "tidegate rollout list"),
            (
                "tidegate --context hub rollout list -o json",
                "tidegate rollout list -o json --context hub",
            ),
            (
                "tidegate -q --color never --kubeconfig=k --token t why x -- y",
                "tidegate -q --color never why x --kubeconfig=k --token t -- y",
            ),
            (
                "tidegate --insecure-skip-tls-verify top",
                "tidegate top --insecure-skip-tls-verify",
            ),
            ("tidegate --version", "tidegate --version"),
            ("tidegate --context hub", "tidegate --context hub"),
            ("tidegate check --context hub", "tidegate check --context hub"),
        ];
        for (line, expected) in rows {
            let words = hoisted(line.split(' ').map(OsString::from));
            let words: Vec<String> = words
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            assert_eq!(words.join(" "), expected, "{line}");
        }
    }
}
