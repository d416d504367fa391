//! What the account of Tidegate may do on the hub.
//!
//! Decides how a missing right is reported. Which rights there are, and what is lost where one may be withheld, is in the table of
//! calls.

use std::collections::BTreeMap;

use crate::doctor::calls::row;
use crate::doctor::facts::{HubFacts, Reading};
use crate::doctor::finding::{Finding, several};
use crate::doctor::rights::{Judged, Right};
use kubernetes::field::{Listing, counted};

const RIGHTS: &str = "rights/account";

/// How many rights are named; the rest is counted.
const NAMED: usize = 4;

pub(super) fn rights(facts: &HubFacts) -> Vec<Finding> {
    let judged = match &facts.rights {
        Reading::NotAsked => return Vec::new(),
        Reading::Refused(why) => {
            let seen = format!("the permissions of {} cannot be read: {why}", facts.account);
            return vec![Finding::unknown(RIGHTS, seen)];
        }
        Reading::Seen(judged) => judged,
    };
    let account = &facts.account;
    let mut findings = Vec::new();
    let asked: Vec<&Judged> = judged.iter().filter(|one| one.allowed.is_ok()).collect();
    if let Some((one, why)) = judged
        .iter()
        .find_map(|one| Some((one, one.allowed.as_ref().err()?)))
    {
        let rest = judged.len() - asked.len();
        let seen = format!(
            "{} could not be checked, such as `{}`: {why}",
            counted(rest, "right"),
            one.right.words()
        );
        findings.push(Finding::unknown(RIGHTS, seen));
    }
    let missing: Vec<&Right> = asked
        .iter()
        .filter(|one| one.allowed == Ok(false))
        .map(|one| &one.right)
        .collect();
    let (mut needed, mut by_loss) = (Vec::new(), BTreeMap::<&str, Vec<&Right>>::new());
    for right in missing {
        match loss(right) {
            Some(lost) => by_loss.entry(lost).or_default().push(right),
            None => needed.push(right),
        }
    }
    let command = |rights: &[&Right]| {
        let first = rights.first().map(|right| right.words()).unwrap_or_default();
        format!("kubectl auth can-i {first} --as={account}")
    };
    let fix = "apply the roles in manifests/rbac of this version, and bind them to the account";
    if !needed.is_empty() {
        let seen = format!(
            "{account} lacks permission to: {}",
            named(&needed, facts.fleet.listing)
        );
        findings.push(Finding::error(RIGHTS, seen).fix(fix).command(command(&needed)));
    }
    for (lost, rights) in by_loss {
        let seen = format!(
            "{account} lacks permission to: {}; as a result, {lost}",
            named(&rights, facts.fleet.listing)
        );
        findings.push(Finding::warning(RIGHTS, seen).fix(fix).command(command(&rights)));
    }
    if findings.is_empty() {
        let seen = format!(
            "{account} has all {} that it requires",
            counted(asked.len(), "permission")
        );
        findings.push(Finding::ok(RIGHTS, seen));
    }
    findings
}

fn named(rights: &[&Right], listing: Listing) -> String {
    let words: Vec<String> = rights.iter().map(|right| right.words()).collect();
    several(&words, listing.most(NAMED))
}

fn loss(right: &Right) -> Option<&'static str> {
    row(right).and_then(|call| call.lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;

    fn judged(group: &str, resource: &str, allowed: Result<bool, String>) -> Judged {
        let right = Right {
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: String::new(),
            verb: "list".to_owned(),
            namespace: String::new(),
            name: String::new(),
        };
        Judged { right, allowed }
    }

    fn said(all: Vec<Judged>) -> Vec<(Severity, String)> {
        let facts = HubFacts {
            account: "system:serviceaccount:tidegate:tidegate-gate".to_owned(),
            rights: Reading::Seen(all),
            ..HubFacts::default()
        };
        rights(&facts)
            .into_iter()
            .map(|one| (one.severity, format!("{} {}", one.seen, one.command)))
            .collect()
    }

    #[test]
    fn a_right_that_is_needed_stops_and_one_that_may_be_withheld_says_what_is_lost() {
        const WORK: &str = "work.open-cluster-management.io";
        let found = said(vec![
            judged(WORK, "manifestworks", Ok(true)),
            judged("", "namespaces", Ok(true)),
        ]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, Severity::Ok);
        let found = said(vec![
            judged(WORK, "manifestworks", Ok(false)),
            judged("", "namespaces", Ok(false)),
        ]);
        assert_eq!(found[0].0, Severity::Error);
        let command = "kubectl auth can-i list manifestworks.work.open-cluster-management.io -A --as=system:serviceaccount:tidegate:tidegate-gate";
        assert!(found[0].1.ends_with(command), "{}", found[0].1);
        assert_eq!(found[1].0, Severity::Warning);
        assert!(found[1].1.contains("cannot be evaluated"));
        // What is read by its name before a removal may not be withheld either.
        for resource in ["placements", "placementdecisions"] {
            let mut one = judged("cluster.open-cluster-management.io", resource, Ok(false));
            "get".clone_into(&mut one.right.verb);
            let found = said(vec![one]);
            let command = format!("kubectl auth can-i get {resource}.cluster.open-cluster-management.io -A");
            assert_eq!(found[0].0, Severity::Error);
            assert!(found[0].1.contains(&command), "{}", found[0].1);
        }
        let found = said(vec![judged(WORK, "manifestworks", Err("timed out".to_owned()))]);
        assert_eq!(found[0].0, Severity::Unknown);
        assert_eq!(found.len(), 1, "what was not asked is not called sound");
    }
}
