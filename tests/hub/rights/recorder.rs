//! A client that acts as a service account and records its requests with the attributes that an authorizer uses.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use kube::Client;
use kube::client::Body;

/// One thing that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    pub(crate) verb: String,
    pub(crate) group: String,
    /// With its subresource: `managedclusteraddons/status`.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// What was asked for so far, and what of it was forbidden.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    calls: Arc<Mutex<BTreeSet<Call>>>,
    forbidden: Arc<Mutex<BTreeSet<Call>>>,
}

impl Record {
    pub(crate) fn calls(&self) -> BTreeSet<Call> {
        self.calls.lock().expect("no thread panics").clone()
    }

    pub(crate) fn forbidden(&self) -> BTreeSet<Call> {
        self.forbidden.lock().expect("no thread panics").clone()
    }
}

/// Returns a client of a service account of the namespace `tidegate`.
pub(crate) fn acting_as(account: &str, admin: &Client, record: &Record) -> Client {
    let user = format!("system:serviceaccount:tidegate:{account}");
    let groups = [
        "system:serviceaccounts",
        "system:serviceaccounts:tidegate",
        "system:authenticated",
    ];
    let (admin, record) = (admin.clone(), record.clone());
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let headers = request.headers_mut();
        let value = HeaderValue::from_str(&user).expect("a name");
        headers.insert(HeaderName::from_static("impersonate-user"), value);
        for group in groups {
            headers.append(
                HeaderName::from_static("impersonate-group"),
                HeaderValue::from_static(group),
            );
        }
        let call = call(&request);
        let (admin, record) = (admin.clone(), record.clone());
        async move {
            let answer = admin.send(request).await?;
            if let Some(call) = call {
                if answer.status() == StatusCode::FORBIDDEN {
                    record
                        .forbidden
                        .lock()
                        .expect("no thread panics")
                        .insert(call.clone());
                }
                record.calls.lock().expect("no thread panics").insert(call);
            }
            Ok::<_, kube::Error>(answer)
        }
    });
    Client::new(service, "default")
}

/// Reads a request; nothing for what is no resource.
fn call(request: &Request<Body>) -> Option<Call> {
    let mut words = request.uri().path().trim_matches('/').split('/');
    let group = match words.next()? {
        "api" => "",
        "apis" => words.next()?,
        _ => return None,
    };
    let _version = words.next()?;
    let mut rest: Vec<&str> = words.collect();
    let mut namespace = "";
    // `namespaces/x` alone is a namespace, and so it is with one of its own subresources.
    if rest.len() > 2 && rest.first() == Some(&"namespaces") && !["status", "finalize"].contains(rest.get(2)?)
    {
        namespace = rest.get(1)?;
        rest.drain(..2);
    }
    let name = rest.get(1).copied().unwrap_or_default();
    let resource = match rest.get(2) {
        Some(sub) => format!("{}/{sub}", rest.first()?),
        None => (*rest.first()?).to_owned(),
    };
    let query = request.uri().query().unwrap_or_default();
    let watches = query
        .split('&')
        .any(|pair| pair == "watch=true" || pair == "watch=1");
    let verb = match *request.method() {
        Method::GET if watches => "watch",
        Method::GET if name.is_empty() => "list",
        Method::GET => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if name.is_empty() => "deletecollection",
        Method::DELETE => "delete",
        _ => return None,
    };
    Some(Call {
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}
