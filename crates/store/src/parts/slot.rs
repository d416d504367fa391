//! Putting a new state of an object into the place of its old one.
//!
//! Decides whether they differ in anything that a plan reads: a new revision alone touches no plan.

use crate::record::Meta;

/// Puts `new` into `slot` and returns whether anything but the revision differs.
pub(crate) fn replace<T: PartialEq>(slot: &mut Option<T>, mut new: T, meta: fn(&mut T) -> &mut Meta) -> bool {
    let Some(old) = slot else {
        *slot = Some(new);
        return true;
    };
    let version = std::mem::replace(&mut meta(&mut new).version, meta(old).version.clone());
    let differs = *old != new;
    meta(&mut new).version = version;
    *old = new;
    differs
}
