//! The keys by which replicas recognise what one of them has written into an object, from the folder of `--record-keys`.
//!
//! Decides which files are keys, and what is used where there are none: a key of this process alone. Never prints a key.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use hash::Keys;
use tracing::{info, warn};
use uuid::Uuid;

use super::CliError;
use crate::files::{names, read};
use admission::Rulebook;

/// The largest key, in bytes.
const LARGEST: u64 = 4096;
/// How often the folder is looked at; a mounted Secret takes a minute to change anyway.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Keys that are replaced while the program runs.
pub(super) type SharedKeys = Arc<ArcSwap<Keys>>;

/// Reads the keys of a folder. Where there are none, the key is one of this process alone, which no other replica knows.
pub(super) fn open(folder: Option<&Path>) -> Result<SharedKeys, CliError> {
    let found = folder
        .map(keys)
        .transpose()
        .map_err(|reason| CliError::ReadFlag {
            flag: "record-keys",
            reason,
        })?;
    let keys = found.flatten().unwrap_or_else(|| {
        if let Some(folder) = folder {
            warn!(
                folder = %folder.display(),
                "no key in the folder of --record-keys: records of other replicas do not count, and those of this process end with it"
            );
        }
        own()
    });
    Ok(Arc::new(ArcSwap::from_pointee(keys)))
}

/// Brings every new key to the gate and to the controllers; what cannot be used is logged, and the keys stay as they are.
pub(super) async fn follow(folder: Option<&Path>, shared: &SharedKeys, rulebook: &ArcSwap<Rulebook>) {
    let Some(folder) = folder else {
        return std::future::pending().await;
    };
    let mut told = None;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let found = keys(folder);
        let fault = found.as_ref().err().cloned();
        if let Some(fault) = fault.as_ref().filter(|fault| told.as_ref() != Some(*fault)) {
            warn!(fault, "new keys cannot be used, the old ones stay");
        }
        told = fault;
        if let Ok(Some(keys)) = found
            && **shared.load() != keys
        {
            let keys = Arc::new(keys);
            shared.store(Arc::clone(&keys));
            rulebook.rcu(|old| Rulebook {
                keys: Arc::clone(&keys),
                ..Rulebook::clone(old)
            });
            info!("keys of records replaced");
        }
    }
}

/// 244 random bits.
fn own() -> Keys {
    let halves = [Uuid::new_v4(), Uuid::new_v4()];
    Keys::new([halves.iter().flat_map(|half| *half.as_bytes()).collect()])
}

/// Reads every file of a folder, in the order of their names; none where there is no file. What begins with a dot belongs to the
/// mount of a Secret.
fn keys(folder: &Path) -> Result<Option<Keys>, String> {
    let names = names(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = names
        .iter()
        .filter(|name| !name.to_string_lossy().starts_with('.'));
    let secrets = names.map(|name| {
        let path = folder.join(name);
        let bytes = read(&path, LARGEST).map_err(|error| format!("{}: {error}", path.display()))?;
        let shown = path.display();
        let length = bytes.len();
        if length < Keys::SHORTEST {
            return Err(format!(
                "{shown}: {length} bytes: a key has at least {}",
                Keys::SHORTEST
            ));
        }
        Ok(bytes)
    });
    let secrets = secrets.collect::<Result<Vec<_>, _>>()?;
    Ok((!secrets.is_empty()).then(|| Keys::new(secrets)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_key_by_name_signs_and_every_key_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
        assert_eq!(
            keys(folder.path()),
            Ok(None),
            "a folder without keys, as an optional Secret that does not exist"
        );
        put("1", &"a".repeat(32));
        put("..data", "of the mount");
        let first = keys(folder.path()).expect("keys").expect("one");
        let signed = first.sign(&["x"]).expect("a key");
        put("2", &"b".repeat(32));
        let both = keys(folder.path()).expect("keys").expect("two");
        assert!(both.verifies(&["x"], &signed) && both.sign(&["x"]) != Some(signed));
        put("3", "short");
        let fault = keys(folder.path()).expect_err("a short key");
        assert!(fault.ends_with("/3: 5 bytes: a key has at least 32"), "{fault}");
        assert!(keys(&folder.path().join("none")).is_err());
        assert_ne!(own(), own());
    }
}
