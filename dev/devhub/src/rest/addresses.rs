//! Addresses and ports of services.
//!
//! Decides which ones are taken at the moment of a write; which one a service gets is decided beside the kind.

use serde_json::Value;

use super::call::Call;
use super::metadata::text;
use crate::builtin::workloads::{Taken, provide};
use crate::store::Page;

/// Gives a service what it lacks.
pub(super) fn give(call: &Call, service: &mut Value) {
    let mut taken = Taken::default();
    if let Ok(snapshot) = call.served.table.list(&Page::default()) {
        for record in &snapshot.records {
            let other = call.served.decode(record, record.version);
            if text(&other, "uid") != text(service, "uid") {
                taken.note(&other);
            }
        }
    }
    provide(service, &mut taken, &mut |below| rand::random_range(0..below));
}
