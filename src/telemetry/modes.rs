//! Metrics of the leader, and of writes that are planned but not made.
//!
//! Decides names and labels. What would be written is kept by add-on for the page `/pending`, where names of objects may stand;
//! no metric has one. Never decides who leads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::words::words;

/// How many writes of one add-on the page shows; the rest is counted.
const SHOWN: usize = 500;

/// Which Lease it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseOf {
    /// The one by which the replicas elect.
    Election,
    /// The one of OCM's add-on manager, where that is another.
    Stock,
}

words!(LeaseOf {
    Election => "election",
    Stock => "stock",
});

/// Who holds a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// This replica, or another one of Tidegate.
    Tidegate,
    /// What calls itself as OCM's add-on manager does.
    Stock,
    /// A program that calls itself otherwise.
    Other,
    /// It has no holder: it is free, over, or not there.
    Vacant,
    /// It could not be read yet.
    Unknown,
}

words!(Holder {
    Tidegate => "tidegate",
    Stock => "stock",
    Other => "other",
    Vacant => "none",
    Unknown => "unknown",
});

/// What a write would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Act {
    /// Create an object.
    Create,
    /// Change one.
    Patch,
    /// Change the status of one.
    Status,
    /// Delete one.
    Delete,
    /// Approve or sign a request for a certificate.
    Certify,
}

words!(Act {
    Create => "create",
    Patch => "patch",
    Status => "status",
    Delete => "delete",
    Certify => "certify",
});

/// One write that is not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingAction {
    /// What it would do.
    pub act: Act,
    /// To which resource (plural).
    pub resource: &'static str,
    /// To which object.
    pub object: String,
    /// Why; empty for a status.
    pub why: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeaseHolder {
    lease: LeaseOf,
    holder: Holder,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
struct Pending {
    resource: &'static str,
    act: Act,
}

/// What would be written, by add-on.
type ByOwner = BTreeMap<String, Vec<PendingAction>>;

/// Who writes, and what is not written. Clones tell into the same place.
#[derive(Clone, Debug, Default)]
pub struct ModeMetrics {
    leader: Family<LeaseHolder, Gauge>,
    pending: Family<Pending, Gauge>,
    addons: Gauge,
    observed: Arc<Mutex<Option<ByOwner>>>,
}

impl ModeMetrics {
    pub(super) fn register(&self, all: &mut Registry) {
        all.register(
            "leader",
            "1 for the holder of the leader election Lease, and of the Lease of OCM's add-on manager",
            self.leader.clone(),
        );
        all.register(
            "pending_actions",
            "Writes that --controllers on would make now",
            self.pending.clone(),
        );
        all.register(
            "pending_addons",
            "Add-ons for which --controllers on would write something now",
            self.addons.clone(),
        );
    }

    /// Notes who holds a Lease.
    pub fn held(&self, lease: LeaseOf, holder: Holder) {
        for &one in Holder::ALL {
            let labels = LeaseHolder { lease, holder: one };
            self.leader.get_or_create(&labels).set((one == holder).into());
        }
    }

    /// Notes that nothing is written here, so that there is a page of what would be.
    pub fn observe(&self) {
        self.lock().get_or_insert_default();
    }

    /// Notes what would be written for an owner, by the name under which the page tells it; returns whether that is something
    /// else than before. Nothing where it is written.
    pub fn would_write(&self, owner: &str, actions: Vec<PendingAction>) -> bool {
        let mut guard = self.lock();
        let Some(observed) = guard.as_mut() else {
            return false;
        };
        let before = observed.remove(owner).unwrap_or_default();
        let differs = before != actions;
        for one in &before {
            self.gauge(one).dec();
        }
        for one in &actions {
            self.gauge(one).inc();
        }
        if !actions.is_empty() {
            observed.insert(owner.to_owned(), actions);
        }
        self.addons.set(i64::try_from(observed.len()).unwrap_or(i64::MAX));
        differs
    }

    fn gauge(&self, of: &PendingAction) -> Gauge {
        let labels = Pending {
            resource: of.resource,
            act: of.act,
        };
        self.pending.get_or_create(&labels).clone()
    }

    /// Returns the page of what would be written; nothing where it is written.
    pub fn page(&self) -> Option<String> {
        let guard = self.lock();
        let observed = guard.as_ref()?;
        let mut text = String::new();
        for (owner, actions) in observed {
            for one in actions.iter().take(SHOWN) {
                let act = one.act.word();
                let why = if one.why.is_empty() { "" } else { ": " };
                // Writing into a string cannot fail.
                let _written = writeln!(text, "{owner}: {act} {}{why}{}", one.object, one.why).is_ok();
            }
            let rest = actions.len().saturating_sub(SHOWN);
            if rest > 0 {
                let _written = writeln!(text, "{owner}: and {rest} more").is_ok();
            }
        }
        if text.is_empty() {
            text.push_str("nothing would be written\n");
        }
        Some(text)
    }

    fn lock(&self) -> MutexGuard<'_, Option<ByOwner>> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;

    fn action(act: Act, object: &str) -> PendingAction {
        PendingAction {
            act,
            resource: "manifestworks",
            object: object.to_owned(),
            why: "it is needed",
        }
    }

    fn text(modes: &ModeMetrics) -> String {
        let mut all = Registry::default();
        modes.register(&mut all);
        let mut text = String::new();
        encode(&mut text, &all).expect("text");
        text
    }

    #[test]
    fn what_would_be_written_is_counted_without_names_and_told_with_them() {
        let modes = ModeMetrics::default();
        assert_eq!(modes.page(), None, "no page where everything is written");
        modes.observe();
        assert_eq!(modes.page().as_deref(), Some("nothing would be written\n"));
        let actions = vec![
            action(Act::Create, "ManifestWork c1/a"),
            action(Act::Create, "ManifestWork c2/a"),
        ];
        assert!(modes.would_write("hello", actions.clone()));
        assert!(!modes.would_write("hello", actions), "the same again is no news");
        assert!(modes.would_write("other", vec![action(Act::Delete, "ManifestWork c1/b")]));
        let count = "pending_actions{resource=\"manifestworks\",act=\"create\"} 2";
        assert!(text(&modes).lines().any(|line| line == count), "{}", text(&modes));
        assert!(!text(&modes).contains("hello"));
        let page = modes.page().expect("a page");
        assert!(
            page.starts_with("hello: create ManifestWork c1/a: it is needed\n"),
            "{page}"
        );
        modes.would_write("hello", Vec::new());
        assert!(text(&modes).lines().any(|line| line == "pending_addons 1"));
        let many = vec![action(Act::Create, "x"); SHOWN + 3];
        modes.would_write("hello", many);
        assert!(modes.page().expect("a page").contains("hello: and 3 more\n"));
    }

    #[test]
    fn one_holder_of_a_lease_is_reported() {
        let modes = ModeMetrics::default();
        modes.held(LeaseOf::Stock, Holder::Vacant);
        modes.held(LeaseOf::Stock, Holder::Stock);
        let text = text(&modes);
        for line in [
            "leader{lease=\"stock\",holder=\"stock\"} 1",
            "leader{lease=\"stock\",holder=\"none\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
