//! Deletion of collections.
//!
//! Decides which objects go: those that a list with the same parameters shows, one after the other.

use super::call::Call;
use super::delete::{self, delete_object};
use super::{list, represent};
use crate::admission::Warnings;
use crate::error::ApiError;
use crate::http::Reply;

/// Answers a DELETE of a collection with the objects as they were.
pub(super) async fn delete_collection(call: &Call, warnings: &mut Warnings) -> Result<Reply, ApiError> {
    let options = delete::options(call)?;
    let listed = list::select(call).await?;
    for item in &listed.items {
        let record = &item.record;
        let mut one = call.clone();
        record.namespace().clone_into(&mut one.namespace);
        record.name().clone_into(&mut one.name);
        match delete_object(&one, options.clone(), warnings).await {
            Err(error) if error.code != 404 => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    represent::list(call, &listed)
}
