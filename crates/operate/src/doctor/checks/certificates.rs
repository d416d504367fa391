//! Checks the webhook's certificate and the `caBundle`s of the webhook configurations.
//!
//! The certificate is verified where the facts are collected, in the same way as an API server does it.

use jiff::{SignedDuration, Timestamp};

use crate::doctor::facts::{HubFacts, Reading, ShownCertificate, Stage, Trust};
use crate::doctor::finding::Finding;
use crate::doctor::webhooks::endpoints;

const BUNDLE: &str = "webhooks/ca-bundle";
const LIFE: &str = "certificate/life";

/// A certificate should be renewed before this part of its lifetime (a sixth) is left; tools renew at a third.
const LAST_PART: i32 = 6;
const A_WEEK: SignedDuration = SignedDuration::from_hours(7 * 24);

pub(super) fn bundles(facts: &HubFacts) -> Vec<Finding> {
    let Reading::Seen(lists) = &facts.webhooks else {
        return Vec::new();
    };
    let places = endpoints(lists);
    let mut findings = Vec::new();
    for place in &places {
        if place.ca_bundle.is_empty() {
            let seen = format!(
                "the webhooks at {} have no caBundle: the API server trusts only the CAs of its own system",
                place.text()
            );
            findings.push(
                Finding::warning(BUNDLE, seen)
                    .fix("set caBundle (docs/operate/certificates.md). The certificate process sets it (see its log), cert-manager sets it if the \
                           annotation cert-manager.io/inject-ca-from is present, or you set it yourself")
                    .command("kubectl get validatingwebhookconfiguration tidegate-guard -o yaml"),
            );
        }
    }
    for (asked, reading) in &facts.certificates {
        if let Reading::Seen(shown) = reading {
            findings.extend(trusted(asked, shown));
        }
    }
    findings
}

fn trusted(asked: &str, shown: &ShownCertificate) -> Option<Finding> {
    match &shown.trust {
        Trust::Yes(name) => {
            let seen = format!("caBundle matches the certificate of {asked} for {name}");
            Some(Finding::ok(BUNDLE, seen))
        }
        Trust::No(why) => {
            let seen = format!("the API server does not accept the certificate of {asked}: {why}");
            Some(
                Finding::error(BUNDLE, seen)
                    .fix("put the CA of that certificate into caBundle of both webhook configurations, or give the webhook a \
                           certificate of that CA for this name")
                    .command("kubectl get secret tidegate-tls -n tidegate -o jsonpath='{.data.ca\\.crt}'"),
            )
        }
        Trust::Unknown => None,
    }
}

pub(super) fn shown(facts: &HubFacts) -> Vec<Finding> {
    let now = match &facts.dates {
        Reading::Seen(dates) => dates.hub,
        Reading::NotAsked | Reading::Refused(_) => return Vec::new(),
    };
    let findings = facts
        .certificates
        .iter()
        .filter_map(|(asked, reading)| match reading {
            Reading::NotAsked => Some(
                Finding::note(
                    LIFE,
                    format!("the certificate of {asked} was not checked from this machine"),
                )
                .fix("pass an address of the webhook that this machine can reach: --gate HOST:PORT")
                .command("kubectl port-forward -n tidegate deployment/tidegate-gate 9443"),
            ),
            Reading::Refused(why) => {
                let seen = format!("{asked} presents no certificate: {why}");
                let fix =
                    "start the webhook there, or pass an address that this machine can reach: --gate HOST:PORT";
                Some(match facts.stage {
                    Stage::Running => Finding::unknown(LIFE, seen).fix(fix),
                    Stage::BeforeStart => return None,
                })
            }
            Reading::Seen(shown) => Some(life(shown, now)),
        });
    findings.collect()
}

fn life(shown: &ShownCertificate, now: Timestamp) -> Finding {
    let from = &shown.from;
    let fix = "renew it, and check why it was not renewed automatically (docs/operate/certificates.md); the webhook reloads new files automatically";
    let command = "kubectl get certificate,secret -n tidegate";
    if now > shown.not_after {
        let seen = format!("the certificate of {from} expired at {}", shown.not_after);
        return Finding::error(LIFE, seen).fix(fix).command(command);
    }
    if now < shown.not_before {
        let seen = format!(
            "the certificate of {from} is not valid before {}",
            shown.not_before
        );
        return Finding::error(LIFE, seen)
            .fix("synchronize the clocks, or wait")
            .command("timedatectl status");
    }
    let rest = shown.not_after.duration_since(now);
    let whole = shown.not_after.duration_since(shown.not_before);
    let days = rest.as_hours() / 24;
    let seen = format!(
        "the certificate of {from} expires at {} (in {days} days)",
        shown.not_after
    );
    // A short life is renewed often: a week is late only for one that lasts for months.
    if rest < whole / LAST_PART || (rest < A_WEEK && whole > A_WEEK * 8) {
        return Finding::warning(LIFE, seen).fix(fix).command(command);
    }
    Finding::ok(LIFE, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::Dates;
    use crate::doctor::finding::Severity;
    use crate::doctor::webhooks::tests::registered;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    fn facts(now: &str, trust: Trust) -> HubFacts {
        let certificate = ShownCertificate {
            from: "127.0.0.1:9443".to_owned(),
            not_before: at("2030-01-01T00:00:00Z"),
            not_after: at("2030-04-01T00:00:00Z"),
            trust,
        };
        let now = at(now);
        HubFacts {
            dates: Reading::Seen(Dates { hub: now, here: now }),
            certificates: BTreeMap::from([(
                "service tidegate/tidegate:443".to_owned(),
                Reading::Seen(certificate),
            )]),
            webhooks: Reading::Seen(registered()),
            ..HubFacts::default()
        }
    }

    #[test]
    fn the_end_of_a_certificate_is_reported_before_and_after() {
        for (now, severity) in [
            ("2030-02-01T00:00:00Z", Severity::Ok),
            ("2030-03-20T00:00:00Z", Severity::Warning),
            ("2030-04-02T00:00:00Z", Severity::Error),
            ("2029-12-31T00:00:00Z", Severity::Error),
        ] {
            let found = shown(&facts(now, Trust::Unknown));
            assert_eq!(found[0].severity, severity, "{}", found[0].seen);
        }
        let mut facts = facts("2030-02-01T00:00:00Z", Trust::Unknown);
        facts.certificates.insert(
            "service tidegate/tidegate:443".to_owned(),
            Reading::Refused("refused".to_owned()),
        );
        assert_eq!(shown(&facts)[0].severity, Severity::Unknown);
        facts.stage = Stage::BeforeStart;
        assert!(shown(&facts).is_empty(), "no webhook answers before the start");
        facts
            .certificates
            .insert("service tidegate/tidegate:443".to_owned(), Reading::NotAsked);
        assert_eq!(shown(&facts)[0].severity, Severity::Note);
    }

    #[test]
    fn a_wrong_or_missing_bundle_is_reported() {
        let now = "2030-02-01T00:00:00Z";
        let found = bundles(&facts(now, Trust::Yes("tidegate.tidegate.svc".to_owned())));
        assert_eq!((found.len(), found[0].severity), (1, Severity::Ok), "{found:?}");
        let found = bundles(&facts(now, Trust::No("unknown issuer".to_owned())));
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].seen.contains("unknown issuer"));
        let mut lists = registered();
        let mut bare = facts(now, Trust::Unknown);
        for webhook in lists.mutating[0]["webhooks"].as_array_mut().expect("a list") {
            webhook["clientConfig"]["caBundle"] = json!("");
        }
        bare.webhooks = Reading::Seen(lists);
        let found = bundles(&bare);
        assert_eq!(
            (found.len(), found[0].severity),
            (1, Severity::Warning),
            "{found:?}"
        );
    }
}
