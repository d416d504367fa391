//! The checks, in the order in which problems should be fixed.

mod account;
mod backstop;
mod certificates;
mod confinement;
mod fleet;
mod gate;
mod hub;
mod keys;
mod kinds;
mod managers;
mod objects;
mod place;

use super::facts::HubFacts;
use super::finding::Report;

/// Returns what is to be said of a hub: what is wrong first, the worst of it before the rest.
pub fn examine(facts: &HubFacts) -> Report {
    let mut findings = Vec::new();
    findings.extend(hub::kubernetes(&facts.kubernetes));
    findings.extend(hub::clock(&facts.dates));
    findings.extend(kinds::served(facts));
    findings.extend(kinds::own(facts));
    findings.extend(kinds::conversion(facts));
    findings.extend(managers::operator(facts));
    findings.extend(managers::stock(facts));
    findings.extend(managers::election(facts));
    findings.extend(account::rights(facts));
    findings.extend(confinement::separated(facts));
    findings.extend(confinement::in_clusters(facts));
    findings.extend(keys::shared(facts));
    findings.extend(gate::registered(facts));
    findings.extend(backstop::current(facts));
    findings.extend(certificates::bundles(facts));
    findings.extend(certificates::shown(facts));
    findings.extend(gate::answers(facts));
    findings.extend(gate::passes(facts));
    findings.extend(fleet::missing_placements(&facts.fleet));
    findings.extend(fleet::placements(&facts.fleet));
    findings.extend(fleet::clusters(&facts.fleet));
    findings.extend(fleet::agents(facts));
    findings.extend(objects::policies(&facts.fleet));
    findings.extend(objects::stalled(&facts.fleet));
    findings.extend(objects::malformed(&facts.fleet));
    place::put(&mut findings, facts);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    Report { findings }
}
