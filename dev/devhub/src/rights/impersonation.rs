//! Acting as another user.
//!
//! Decides whether a user may, by the verb `impersonate` on every part of whom he wants to be, and who he then is.

use std::collections::BTreeMap;

use http::HeaderMap;

use super::authority::{Authz, is_master};
use super::question::{About, Question, ResourceAttributes};
use crate::admission::UserInfo;
use crate::error::ApiError;
use crate::hub::Hub;
use crate::identity::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED};

const GROUP: &str = "authentication.k8s.io";
const EXTRA: &str = "impersonate-extra-";
const ACCOUNT: &str = "system:serviceaccount:";

/// The user to act as.
#[derive(Debug, Default)]
struct Mask {
    name: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

impl Mask {
    fn read(headers: &HeaderMap) -> Self {
        let all = |name: &str| -> Vec<String> {
            let values = headers.get_all(name).iter();
            values
                .filter_map(|value| value.to_str().ok().map(str::to_owned))
                .collect()
        };
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (header, value) in headers {
            let Some(key) = header.as_str().strip_prefix(EXTRA) else {
                continue;
            };
            if let Ok(value) = value.to_str() {
                extra
                    .entry(crate::http::unescaped(key))
                    .or_default()
                    .push(value.to_owned());
            }
        }
        let first = |name: &str| all(name).into_iter().next().unwrap_or_default();
        Self {
            name: first("impersonate-user"),
            uid: first("impersonate-uid"),
            groups: all("impersonate-group"),
            extra,
        }
    }

    fn is_empty(&self) -> bool {
        self.uid.is_empty() && self.groups.is_empty() && self.extra.is_empty()
    }

    /// Returns what one must be allowed to wear the mask.
    fn questions(&self) -> Vec<Question> {
        let ask = |asked: ResourceAttributes| Question {
            verb: "impersonate".to_owned(),
            about: About::Resource(asked),
        };
        let core = |resource: &str, name: &str| ResourceAttributes {
            resource: resource.to_owned(),
            name: name.to_owned(),
            ..ResourceAttributes::default()
        };
        let mut questions = Vec::new();
        questions.push(ask(match account(&self.name) {
            Some((namespace, name)) => ResourceAttributes {
                namespace: namespace.to_owned(),
                ..core("serviceaccounts", name)
            },
            None => core("users", &self.name),
        }));
        questions.extend(self.groups.iter().map(|group| ask(core("groups", group))));
        for (key, values) in &self.extra {
            questions.extend(values.iter().map(|value| {
                ask(ResourceAttributes {
                    group: GROUP.to_owned(),
                    subresource: key.clone(),
                    ..core("userextras", value)
                })
            }));
        }
        if !self.uid.is_empty() {
            questions.push(ask(ResourceAttributes {
                group: GROUP.to_owned(),
                ..core("uids", &self.uid)
            }));
        }
        questions
    }

    fn wear(mut self) -> UserInfo {
        if self.groups.is_empty()
            && let Some((namespace, _)) = account(&self.name)
        {
            self.groups = vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
            ];
        }
        let all_users = [AUTHENTICATED, UNAUTHENTICATED];
        if !self
            .groups
            .iter()
            .any(|group| all_users.contains(&group.as_str()))
        {
            let group = if self.name == ANONYMOUS {
                UNAUTHENTICATED
            } else {
                AUTHENTICATED
            };
            self.groups.push(group.to_owned());
        }
        UserInfo {
            name: self.name,
            uid: self.uid,
            groups: self.groups,
            extra: self.extra,
        }
    }
}

/// Returns namespace and name of a service account's user.
fn account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(ACCOUNT)?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

/// Returns as whom a user acts.
pub(crate) fn impersonate(hub: &Hub, user: UserInfo, headers: &HeaderMap) -> Result<UserInfo, ApiError> {
    let mask = Mask::read(headers);
    if mask.name.is_empty() {
        return if mask.is_empty() {
            Ok(user)
        } else {
            let text = "groups, extra or uid are requested without impersonating a user";
            Err(ApiError::internal(text))
        };
    }
    for question in mask.questions() {
        // Where everything is allowed, acting as another user is still for administrators only.
        if hub.rights.mode() == Authz::Allow && !is_master(&user) {
            return Err(question.refusal(&user.name, ""));
        }
        hub.rights.require(&user, &question)?;
    }
    Ok(mask.wear())
}
