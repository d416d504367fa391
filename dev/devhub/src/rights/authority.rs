//! The one who answers what is allowed.
//!
//! Decides by the stored roles and bindings of this moment; they are read again only after one of them changed.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch::Receiver;

use super::question::Question;
use super::rule::Rule;
use super::rule_index::{Pages, RuleIndex};
use crate::admission::UserInfo;
use crate::error::ApiError;
use crate::identity::ADMINS;
use crate::store::{Page, Store, Table};

/// How requests are authorized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authz {
    /// Every authenticated user may do everything.
    #[default]
    Allow,
    /// Roles and bindings decide; who brings no credentials is `system:anonymous`.
    Rbac,
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Whether it is allowed.
    pub(crate) allowed: bool,
    /// Why; may be empty.
    pub(crate) reason: String,
}

/// A table with the news of its changes.
#[derive(Debug)]
struct Source {
    table: Arc<Table>,
    newest: Receiver<u64>,
}

/// What is allowed on one hub.
#[derive(Debug)]
pub(crate) struct Rights {
    mode: Authz,
    sources: [Source; 4],
    read: Mutex<([u64; 4], Arc<RuleIndex>)>,
}

/// Tells whether nothing is refused to a user, whatever the roles say.
pub(crate) fn is_master(user: &UserInfo) -> bool {
    user.groups.iter().any(|group| group == ADMINS)
}

impl Rights {
    /// Returns what is allowed on a hub with this store.
    pub(crate) fn new(mode: Authz, store: &Store) -> Self {
        let plurals = ["clusterroles", "roles", "clusterrolebindings", "rolebindings"];
        let sources = plurals.map(|plural| {
            let table = store.table(&format!("{plural}.{}", super::GROUP));
            let newest = table.changes();
            Source { table, newest }
        });
        Self {
            mode,
            sources,
            // No store is at version 0, so the first question reads.
            read: Mutex::new(([0; 4], Arc::default())),
        }
    }

    /// Returns how requests are authorized.
    pub(crate) fn mode(&self) -> Authz {
        self.mode
    }

    /// Answers a question.
    pub(crate) fn decide(&self, user: &UserInfo, question: &Question) -> Verdict {
        if self.mode == Authz::Allow || is_master(user) {
            return Verdict {
                allowed: true,
                reason: String::new(),
            };
        }
        let rule_index = self.rule_index();
        let grants = rule_index.grants(user, question.namespace());
        match grants.list.iter().find(|grant| grant.rule.allows(question)) {
            Some(grant) => Verdict {
                allowed: true,
                reason: grant.reason(),
            },
            None => Verdict {
                allowed: false,
                reason: match grants.faults.as_slice() {
                    [] => String::new(),
                    faults => format!("RBAC: {}", aggregated(faults)),
                },
            },
        }
    }

    /// Refuses what is not allowed.
    pub(crate) fn require(&self, user: &UserInfo, question: &Question) -> Result<(), ApiError> {
        let verdict = self.decide(user, question);
        if verdict.allowed {
            return Ok(());
        }
        Err(question.refusal(&user.name, &verdict.reason))
    }

    /// Returns all rules of a user in a namespace, and what could not be read.
    pub(crate) fn rules(&self, user: &UserInfo, namespace: &str) -> (Vec<Rule>, Option<String>) {
        if self.mode == Authz::Allow {
            return (Rule::everything().into(), None);
        }
        let rule_index = self.rule_index();
        let grants = rule_index.grants(user, namespace);
        let rules = grants.list.iter().map(|grant| grant.rule.clone()).collect();
        let fault = (!grants.faults.is_empty()).then(|| aggregated(&grants.faults));
        (rules, fault)
    }

    /// Returns roles and bindings as they are now.
    pub(super) fn rule_index(&self) -> Arc<RuleIndex> {
        // Read before the objects: what changes in between is read again next time.
        let now = self.sources.each_ref().map(|source| *source.newest.borrow());
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.0 != now {
            let [cluster_roles, roles, cluster_bindings, bindings] = self.sources.each_ref().map(objects);
            let pages = Pages {
                cluster_roles,
                roles,
                cluster_bindings,
                bindings,
            };
            *read = (now, Arc::new(RuleIndex::read(&pages)));
        }
        Arc::clone(&read.1)
    }
}

fn objects(source: &Source) -> Vec<serde_json::Value> {
    let snapshot = source.table.list(&Page::default());
    let records = snapshot.map(|snapshot| snapshot.records).unwrap_or_default();
    records
        .iter()
        .map(|record| record.decode("", "", record.version))
        .collect()
}

/// Joins several faults as Go does.
fn aggregated(faults: &[String]) -> String {
    let mut different: Vec<&str> = Vec::new();
    for fault in faults {
        if !different.contains(&fault.as_str()) {
            different.push(fault);
        }
    }
    match different.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(", ")),
    }
}
