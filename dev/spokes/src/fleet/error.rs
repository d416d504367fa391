//! Errors of starting or changing a fleet.

/// The world, or the caller, is in the way of a fleet.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The names of the clusters would be no names.
    #[error(
        "\"{prefix}\" cannot begin the names of clusters: use lower-case letters, digits and \"-\", and begin with a letter"
    )]
    NamePrefix {
        /// What was asked for.
        prefix: String,
    },
    /// A fault is meant for clusters that do not exist.
    #[error("no cluster is called \"{cluster}\": {fleet}")]
    UnknownCluster {
        /// What was asked for.
        cluster: String,
        /// What there is.
        fleet: String,
    },
    /// The hub does not answer, or does not know a kind.
    #[error("cannot list {plural} on the hub: is it running, with the CRDs of Open Cluster Management?")]
    ListKind {
        /// The kind.
        plural: &'static str,
        /// Why.
        source: Box<kube::Error>,
    },
    /// The hub does not take a cluster set.
    #[error("cannot create the cluster set \"{name}\"")]
    CreateSet {
        /// Its name.
        name: String,
        /// Why.
        source: Box<kube::Error>,
    },
    /// The fleet was shut down before it did what the caller waits for.
    #[error("the fleet of simulated clusters has been shut down")]
    Stopped,
}
