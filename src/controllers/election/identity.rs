//! Who stands behind the identity in a Lease.
//!
//! Decides by its form alone: OCM's add-on manager, like every controller of client-go, calls itself `<host>_<uuid>`, a replica of
//! Tidegate `tidegate_<host>_<uuid>`. A host name has no underscore, so neither form can be taken for the other. Never believes more
//! of an identity than whom to name.

use crate::telemetry::Holder;

/// What the identities of Tidegate's replicas begin with.
const OURS: &str = "tidegate_";

/// Returns the identity of a replica: the host says where it runs, the rest tells two lives of the same pod apart.
pub fn identity(host: &str, life: &str) -> String {
    format!("{OURS}{host}_{life}")
}

/// Returns who holds a Lease with this identity.
pub(in crate::controllers) fn holder(identity: &str) -> Holder {
    let ours = identity.strip_prefix(OURS).is_some_and(is_of_a_host);
    match identity {
        "" => Holder::Nobody,
        _ if ours => Holder::Tidegate,
        _ if is_of_a_host(identity) => Holder::Stock,
        _ => Holder::Other,
    }
}

/// `<host>_<uuid>`
fn is_of_a_host(identity: &str) -> bool {
    let Some((host, life)) = identity.split_once('_') else {
        return false;
    };
    let groups: Vec<&str> = life.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let is_hex = |group: &&str| group.chars().all(|letter| letter.is_ascii_hexdigit());
    !host.is_empty() && lengths == [8, 4, 4, 4, 12] && groups.iter().all(is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_never_taken_for_that_of_ocms_manager() {
        let life = "0d9c1f6e-5b1e-4a43-8f0e-3a5c5c1a9f10";
        let rows = [
            (
                format!("cluster-manager-addon-manager-controller-7d4b-x2x_{life}"),
                Holder::Stock,
            ),
            (identity("tidegate-0", life), Holder::Tidegate),
            // A host may have our name.
            (format!("tidegate_{life}"), Holder::Stock),
            (identity("tidegate", life), Holder::Tidegate),
            (String::new(), Holder::Nobody),
            ("somebody".to_owned(), Holder::Other),
            ("tidegate_".to_owned(), Holder::Other),
            (format!("_{life}"), Holder::Other),
        ];
        for (identity, expected) in rows {
            assert_eq!(holder(&identity), expected, "{identity}");
        }
    }
}
