//! Objects that cannot be read.

use store::Store;

/// Returns every object that the store could not read: what is wrong with it, and the command that shows it.
pub fn malformed(store: &Store) -> Vec<(String, String)> {
    let faults = store.faults().iter().map(|(key, why)| {
        let namespace: &str = &key.namespace;
        let place = if namespace.is_empty() {
            String::new()
        } else {
            format!(" -n {namespace}")
        };
        let words = format!("{} {}: {why}", key.kind.address().kind, key.name);
        let command = format!(
            "kubectl get {} {}{place} -o yaml",
            key.kind.address().resource,
            key.name
        );
        (words, command)
    });
    faults.collect()
}
