//! Every text that OCM's own manager writes, written here independently: `docs/ocm/compat.md` has the same table.
//!
//! The scripts `tests/plans/compat-*.txt` must show each of them, and no other text in its place.

use store::Compat;

use crate::kit::manifests::repository;

/// Whose words a story asks for.
pub(crate) fn compat(script: &str) -> Compat {
    if script.lines().any(|line| line == "setting compat ocm") {
        Compat::Ocm
    } else {
        Compat::Tidegate
    }
}

/// A condition: its type, then status, reason and message; `…` matches text of another component, `#` a number.
const INSTANCE: &[(&str, &[&str])] = &[
    (
        "Configured",
        &[
            "True ConfigurationsConfigured | Configurations configured",
            "False ConfigurationsNotConfigured | Configurations updated and not configured yet",
        ],
    ),
    (
        "Progressing",
        &[
            "False ConfigurationUnsupported | Configuration with gvr example.com/widgets is not supported for this addon",
            "False WaitingForManifestApplied | Waiting for ManagedClusterAddOn ManifestApplied condition",
            "False WaitingForHostingManifestApplied | Waiting for ManagedClusterAddOn HostingManifestApplied condition",
            "True Progressing | progressing... no addon works",
            "True Progressing | progressing... mca and work configs mismatch",
            "True Progressing | progressing... work is not ready",
            "False Completed | completed with no errors.",
        ],
    ),
    (
        "ManifestApplied",
        &[
            "True AddonManifestApplied | manifests of addon are applied successfully",
            "True AddonManifestApplied | no manifest need to apply",
            "False AddonManifestAppliedFailed | failed to apply the manifests of addon",
            "False ManifestWorkApplyFailed | failed to get manifest from agent interface: …",
        ],
    ),
    (
        "Available",
        &[
            "Unknown WorkNotFound | Addon manifestWork is not found",
            "Unknown WorkNotApplied | Addon manifestWork is not applied yet",
            "False WorkNotApplied | …",
            "True ProbeAvailable | hello add-on is available.",
            "True WorkApplied | Addon manifestWork is applied",
        ],
    ),
    (
        "RegistrationApplied",
        &["True NilRegistration | Registration of the addon agent is configured"],
    ),
];

const PROGRESSION: &[&str] = &[
    "True Progressing | selected clusters #. configured addons #/# progressing..., # failed # timeout.",
    "False Completed | selected clusters #. configured addons #/# completed with no errors, # failed # timeout.",
];

/// Tidegate's additional conditions.
const OURS: [&str; 4] = ["Ready", "Reconciling", "Stalled", "Assigned"];

/// Every condition that the stories show: whether of a placement, its type, and the rest without its time.
fn shown() -> Vec<(bool, String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(repository("tests/plans")).expect("the stories") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is_output = path.extension().is_some_and(|extension| extension == "out");
        if !name.starts_with("compat-") || !is_output {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a story");
        let mut is_instance = false;
        for line in text.lines() {
            // Instances are shown under the name of their cluster, placements under their own.
            if line.starts_with("  c") && line.contains(" spec=") {
                is_instance = true;
            }
            if line.starts_with("  placement ") || line.starts_with('>') {
                is_instance = false;
            }
            if let Some(condition) = line.strip_prefix("    ").and_then(condition) {
                found.push((!is_instance, condition.0, condition.1));
            }
        }
    }
    found
}

/// `Type=Status Reason hh:mm:ss | message` without the time.
fn condition(line: &str) -> Option<(String, String)> {
    let (head, message) = line.split_once(" | ")?;
    let (kind, rest) = head.split_once('=')?;
    let (said, time) = rest.rsplit_once(' ')?;
    let is_whole = !line.starts_with(' ') && time.len() == 8 && said.contains(' ');
    is_whole.then(|| (kind.to_owned(), format!("{said} | {message}")))
}

fn without_numbers(text: &str) -> String {
    let mut bare = String::new();
    for letter in text.chars() {
        if !letter.is_ascii_digit() {
            bare.push(letter);
        } else if !bare.ends_with('#') {
            bare.push('#');
        }
    }
    bare
}

/// Whether a text is in the table, where `…` matches text of another component.
fn is(text: &str, said: &str) -> bool {
    match text.strip_suffix('…') {
        Some(beginning) => said.starts_with(beginning),
        None => said == text,
    }
}

#[test]
fn the_stories_show_every_text_of_ocm_and_no_other() {
    let shown = shown();
    let mut wrong = Vec::new();
    for (is_placement, kind, said) in &shown {
        let is_known = if *is_placement {
            kind == "Progressing" && PROGRESSION.contains(&without_numbers(said).as_str())
        } else {
            let row = INSTANCE.iter().find(|(known, _)| known == kind);
            OURS.contains(&kind.as_str())
                || row
                    .is_none_or(|(_, texts)| texts.iter().any(|text| is(text, said)) || said.ends_with("| m"))
        };
        if !is_known {
            wrong.push(format!("not OCM's: {kind}={said}"));
        }
    }
    for (kind, texts) in INSTANCE {
        for text in *texts {
            if !shown
                .iter()
                .any(|(is_placement, of, said)| !is_placement && of == kind && is(text, said))
            {
                wrong.push(format!("no story shows {kind}={text}"));
            }
        }
    }
    for text in PROGRESSION {
        if !shown
            .iter()
            .any(|(is_placement, _, said)| *is_placement && without_numbers(said) == *text)
        {
            wrong.push(format!("no story shows {text}"));
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
