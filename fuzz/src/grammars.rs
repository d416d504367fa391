//! The small languages of untrusted input: selectors, paths, patterns, quantities, images, signers, names.
//!
//! Each input is parsed by both parsers where there are two, and the result is used: it must terminate, and the parsers must agree.

use kubernetes::json_path::JsonPath;
use kubernetes::labels::{Selector, written};
use kubernetes::names::{self, Unit};
use kubernetes::quantity::Quantity;
use kubernetes::{json_pointer, regexp};
use model::{ImageReference, OwnSigner, ReservedSigners, check_certificate_name, parse_quantity};
use serde_json::Value;
use store::HookTimeout;
use tidegate::server::PathSecrets;

/// A text, a line break, and what it is matched against: JSON for paths and selectors, any text for patterns.
pub fn grammars(bytes: &[u8]) {
    let whole = String::from_utf8_lossy(bytes);
    let (text, rest) = whole.split_once('\n').unwrap_or((&whole, "{}"));
    let object = serde_json::from_str::<Value>(rest).unwrap_or(Value::Null);
    selectors(text, &object);
    if let Ok(path) = JsonPath::parse(text) {
        let _ = path.find(&object);
    }
    if let Ok(pattern) = regexp::Pattern::parse(text) {
        assert_eq!(pattern.text(), text, "a pattern is printed as it was written");
        let _ = pattern.matches(rest);
    }
    quantities(text);
    references(text);
    spelling(text);
    let _ = HookTimeout::parse(text);
    if let Ok(secrets) = PathSecrets::parse(&whole) {
        assert!(!secrets.first().is_empty(), "a secret is never empty");
    }
}

fn selectors(text: &str, object: &Value) {
    match Selector::parse(text) {
        Ok(selector) => {
            let everything = selector.is_everything();
            assert!(
                !everything || selector.matches_object(object),
                "nothing asked is always so"
            );
        }
        Err(fault) => assert!(!fault.is_empty(), "a refusal says why"),
    }
    let _ = written(object);
}

fn quantities(text: &str) {
    let read = Quantity::parse(text);
    let _ = parse_quantity(text);
    let Some(read) = read else {
        return;
    };
    let told = read.to_string();
    let again = Quantity::parse(&told);
    assert!(
        again.is_some(),
        "{told:?} is printed for {text:?} and cannot be parsed"
    );
    let _ = (read.as_integer(), read.float(), read.plus(read), read.negated());
}

fn references(text: &str) {
    if let Ok(image) = ImageReference::parse(text) {
        assert_eq!(image.as_str(), text, "an image is asked for as it was written");
    }
    if let Ok(signer) = OwnSigner::parse(text, "helloworld", &ReservedSigners::default()) {
        let domain = signer.as_str().split('/').next().unwrap_or_default();
        let hubs = domain == "kubernetes.io" || domain.ends_with(".kubernetes.io");
        assert!(!hubs, "a custom signer must not sign for Kubernetes");
    }
    let _ = check_certificate_name(text, "helloworld");
}

fn spelling(text: &str) {
    let agrees = |is_right: bool, faults: Vec<String>| {
        assert_eq!(is_right, faults.is_empty(), "{text:?}: {faults:?}");
    };
    agrees(
        names::is_dns1123_label(text),
        names::dns1123_label_faults(text, Unit::Bytes),
    );
    agrees(
        names::is_dns1123_subdomain(text),
        names::dns1123_subdomain_faults(text, Unit::Bytes),
    );
    agrees(names::is_label_value(text), names::label_value_faults(text));
    assert_eq!(
        json_pointer::unescape(&json_pointer::escape(text)),
        text,
        "a step comes back"
    );
}
