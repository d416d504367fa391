//! How much memory an input takes while it is parsed and answered: both admission endpoints, conversion, and lists of the hub.

use std::sync::LazyLock;

use admission::{Rulebook, Webhook, decide, wire};
use api::conversion::Extensions;
use api::hash::Keys;
use futures::StreamExt as _;
use kube::Client;
use kube::api::ApiResource;
use peak_alloc::PeakAlloc;
use serde_json::value::RawValue;
use store::Facts;
use tokio::runtime::Runtime;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Memory that any response may take.
const FIXED: usize = 4 << 20;
/// Memory per byte of input: the tree of `{"a":0}` takes 90 bytes per byte, and a decision has a few of them.
const A_BYTE: usize = 400;
/// Upper bound for any input: an object with more than 100,000 values is rejected before it is built.
const MOST: usize = 192 << 20;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.build().expect("a runtime")
});

/// A review of admission, a review of conversion, or an object of a list: whichever it is, and as each.
pub fn amplification(bytes: &[u8]) {
    let readers: [(&str, fn(&[u8])); 4] = [
        ("/validate", |bytes| review(bytes, Webhook::Validate)),
        ("/mutate", |bytes| review(bytes, Webhook::Mutate)),
        ("/convert", convert),
        ("list", list),
    ];
    LazyLock::force(&RUNTIME);
    for (name, read) in readers {
        // Values that are built once, such as schemas, belong to no input.
        read(bytes);
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        read(bytes);
        let peak = ALLOCATOR.peak_usage().saturating_sub(before);
        let most = FIXED + (bytes.len() * A_BYTE).min(MOST);
        assert!(
            peak <= most,
            "{name}: {} bytes take {peak}, and may take {most}",
            bytes.len()
        );
    }
}

fn review(bytes: &[u8], webhook: Webhook) {
    let Ok(review) = wire::Review::decode(bytes) else {
        return;
    };
    let verdict = decide(&review.request(webhook), &Facts::default(), &Rulebook::default());
    drop(wire::encode(review.uid(), &verdict));
}

fn convert(bytes: &[u8]) {
    for extensions in [Extensions::Kept, Extensions::Served] {
        drop(api::conversion::answer(bytes, extensions, &Keys::default()));
    }
}

/// The text as the one item of a page.
fn list(bytes: &[u8]) {
    if serde_json::from_slice::<&RawValue>(bytes).is_err() {
        return;
    }
    let mut page = br#"{"metadata":{},"items":["#.to_vec();
    page.extend_from_slice(bytes);
    page.extend_from_slice(b"]}");
    let resource = ApiResource {
        group: "work.open-cluster-management.io".to_owned(),
        version: "v1".to_owned(),
        api_version: "work.open-cluster-management.io/v1".to_owned(),
        kind: "ManifestWork".to_owned(),
        plural: "manifestworks".to_owned(),
    };
    RUNTIME.block_on(async {
        let page = std::sync::Arc::new(page);
        let hub = tower::service_fn(move |_: http::Request<kube::client::Body>| {
            let body = kube::client::Body::from(page.to_vec());
            async move { Ok::<_, std::io::Error>(http::Response::new(body)) }
        });
        let client = Client::new(hub, "default");
        drop(
            tidegate::controllers::pages(&client, &resource, None)
                .next()
                .await,
        );
    });
}
