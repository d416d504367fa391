//! The rule about a version label that is changed or removed. Page: `tests/rules/version-reference.md`.
//!
//! Counts the clusters that use the template because of its version. Another rule (`deletion`) covers deleted templates.

use crate::rules::reach::{Reach, reference_to, type_of};
use crate::subject::{Subject, Template, rules};
use api::names::labels::TEMPLATE_VERSION;
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use model::AddonVersion;
use store::Kind;

const WITHDRAWN: &str = "version/withdrawn";

rules! { pub(in crate::rules) RULES of Template {
    warns WITHDRAWN, Update, withdrawn =>
        "The version label of a template does not change while clusters use it.\n\n\
         A cluster that requires a version without a template keeps its current manifests and receives no changes \
         (`VersionNotFound`). A cluster that requires no version is updated to the new default version, which may be \
         lower. Warns when the label is changed or removed, with the number of clusters of each kind. Create another \
         template for the new version first, and update the clusters to it.";
} }

fn withdrawn(subject: &Subject<'_, Template>, findings: &mut Findings) {
    let (addon, facts) = (subject.body.addon, subject.facts);
    let Some((_, label)) = subject.old.as_ref().and_then(|old| old.version.as_ref()) else {
        return;
    };
    let Ok(version) = AddonVersion::parse(label) else {
        return;
    };
    let now = subject.body.version.as_ref();
    let now = now.and_then(|(_, label)| AddonVersion::parse(label).ok());
    let Some(says) = facts.addon(addon).filter(|_| now.as_ref() != Some(&version)) else {
        return;
    };
    let Some(standing) = Reach::of(facts, addon, says, subject.effort) else {
        return;
    };
    let Some((asking, following)) = users(&standing, subject.name) else {
        return;
    };
    let mut details = Vec::new();
    if asking > 0 {
        let clusters = counted(asking, addon, ["requires", "require"]);
        details.push(format!("{clusters} this version, and no template would have it"));
    }
    if following > 0 {
        let next = next_default(&standing, &version, now);
        let becomes = next.map_or_else(
            || "and no template would have a version".to_owned(),
            |next| format!("which becomes {}", quoted(next.as_str())),
        );
        let clusters = counted(following, addon, ["follows", "follow"]);
        details.push(format!("{clusters} the default version, {becomes}"));
    }
    let detail = details.join("; ");
    let path = Path::root().key("metadata").key("labels").entry(TEMPLATE_VERSION);
    let fault = Fault::of_text(Class::Forbidden, label, detail);
    let fault = fault.hint("create a template for the new version first, and update the clusters to it");
    findings.warn(fault.at(path, WITHDRAWN));
}

/// Returns how many clusters use a template because they require its version, and how many because it is the default.
fn users(standing: &Reach<'_>, template: &str) -> Option<(usize, usize)> {
    let config = reference_to(Kind::Template, "", template)?;
    let (mut asking, mut following) = (0_usize, 0_usize);
    for (_, home, peer) in standing.clusters() {
        let (_, named) = standing.effective(home, peer, &type_of(Kind::Template));
        if !named.is_empty() || standing.uses(home, peer, &config).is_none() {
            continue;
        }
        let count = if standing.asked(home, peer).is_some() {
            &mut asking
        } else {
            &mut following
        };
        *count = count.saturating_add(1);
    }
    (asking > 0 || following > 0).then_some((asking, following))
}

fn next_default(
    standing: &Reach<'_>,
    withdrawn: &AddonVersion,
    now: Option<AddonVersion>,
) -> Option<AddonVersion> {
    let kept = standing.versions.keys().filter(|version| *version != withdrawn);
    let all: Vec<AddonVersion> = kept.cloned().chain(now).collect();
    AddonVersion::default_of(&all).cloned()
}

fn counted(count: usize, addon: &str, [one, many]: [&str; 2]) -> String {
    let (clusters, does) = if count == 1 {
        ("cluster", one)
    } else {
        ("clusters", many)
    };
    format!("{count} {clusters} of add-on {} {does}", quoted(addon))
}
