//! How the programs of a real API server are called.
//!
//! Decides every argument.

use std::path::{Path, PathBuf};

use super::Assets;

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// Where the programs listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ports {
    pub(super) etcd: u16,
    pub(super) peers: u16,
    pub(super) apiserver: u16,
}

/// Files in the folder of a real hub.
pub(super) mod file {
    pub(in crate::testing) const CA: &str = "ca.crt";
    pub(in crate::testing) const CERTIFICATE: &str = "apiserver.crt";
    pub(in crate::testing) const KEY: &str = "apiserver.key";
    /// Signs tokens of service accounts.
    pub(in crate::testing) const ACCOUNTS: &str = "accounts.key";
    /// Proves them. A certificate, because older servers find no public key in a PKCS #8 private one.
    pub(in crate::testing) const ACCOUNTS_PROOF: &str = "accounts.crt";
    pub(in crate::testing) const TOKENS: &str = "tokens.csv";
}

/// The flag that makes etcd quick; those before 3.5 lack it.
pub(super) const NO_FSYNC: &str = "--unsafe-no-fsync";

/// Returns how etcd is called: for speed, not for safety.
pub(super) fn etcd(assets: &Assets, dir: &Path, ports: Ports, knows_no_fsync: bool) -> CommandLine {
    let clients = format!("http://127.0.0.1:{}", ports.etcd);
    let peers = format!("http://127.0.0.1:{}", ports.peers);
    let quick = knows_no_fsync.then(|| NO_FSYNC.to_owned());
    let arguments = [
        "--name=devhub".to_owned(),
        format!("--data-dir={}", dir.join("etcd").display()),
        format!("--listen-client-urls={clients}"),
        format!("--advertise-client-urls={clients}"),
        format!("--listen-peer-urls={peers}"),
        format!("--initial-advertise-peer-urls={peers}"),
        format!("--initial-cluster=devhub={peers}"),
    ];
    CommandLine {
        program: assets.etcd.clone(),
        arguments: arguments.into_iter().chain(quick).collect(),
    }
}

/// Returns how kube-apiserver is called: with the plugins that need other controllers switched off.
pub(super) fn apiserver(assets: &Assets, dir: &Path, ports: Ports) -> CommandLine {
    let path = |name: &str| dir.join(name).display().to_string();
    CommandLine {
        program: assets.apiserver.clone(),
        arguments: vec![
            format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", ports.apiserver),
            format!("--cert-dir={}", path("certificates")),
            format!("--tls-cert-file={}", path(file::CERTIFICATE)),
            format!("--tls-private-key-file={}", path(file::KEY)),
            format!("--client-ca-file={}", path(file::CA)),
            format!("--token-auth-file={}", path(file::TOKENS)),
            "--authorization-mode=RBAC".to_owned(),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", path(file::ACCOUNTS_PROOF)),
            format!("--service-account-signing-key-file={}", path(file::ACCOUNTS)),
            "--allow-privileged=true".to_owned(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_listen_on_loopback_only_and_find_each_other() {
        let assets = Assets {
            etcd: PathBuf::from("/assets/etcd"),
            apiserver: PathBuf::from("/assets/kube-apiserver"),
        };
        let ports = Ports {
            etcd: 1,
            peers: 2,
            apiserver: 3,
        };
        let (store, server) = (
            etcd(&assets, Path::new("/run"), ports, true),
            apiserver(&assets, Path::new("/run"), ports),
        );
        assert_eq!(
            (&store.program, &server.program),
            (&assets.etcd, &assets.apiserver)
        );
        assert_eq!(
            store.arguments,
            [
                "--name=devhub",
                "--data-dir=/run/etcd",
                "--listen-client-urls=http://127.0.0.1:1",
                "--advertise-client-urls=http://127.0.0.1:1",
                "--listen-peer-urls=http://127.0.0.1:2",
                "--initial-advertise-peer-urls=http://127.0.0.1:2",
                "--initial-cluster=devhub=http://127.0.0.1:2",
                "--unsafe-no-fsync",
            ]
        );
        let older = etcd(&assets, Path::new("/run"), ports, false);
        assert_eq!(older.arguments[..], store.arguments[..7]);
        for argument in [
            "--etcd-servers=http://127.0.0.1:1",
            "--bind-address=127.0.0.1",
            "--secure-port=3",
            "--tls-cert-file=/run/apiserver.crt",
            "--tls-private-key-file=/run/apiserver.key",
            "--client-ca-file=/run/ca.crt",
            "--token-auth-file=/run/tokens.csv",
            "--service-account-key-file=/run/accounts.crt",
            "--service-account-signing-key-file=/run/accounts.key",
        ] {
            assert!(
                server.arguments.iter().any(|given| given == argument),
                "{argument}"
            );
        }
    }
}
