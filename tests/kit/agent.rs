//! The agent of the add-on `hello`, for its CertificateSigningRequests, and the Secret that signs them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, KeyPair};
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io";
const CLUSTERS: &str = "system:open-cluster-management:managed-clusters";

/// Returns what a hub lets its clusters do anyway: ask for certificates.
pub(crate) fn rights() -> [Value; 2] {
    let (api, metadata) = (
        format!("{RBAC}/v1"),
        json!({"name": "clusters-ask-for-certificates"}),
    );
    [
        json!({"apiVersion": api, "kind": "ClusterRole", "metadata": metadata, "rules": [
            {"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create"]}]}),
        json!({"apiVersion": api, "kind": "ClusterRoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": metadata["name"]},
            "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": CLUSTERS}]}),
    ]
}

/// Returns a secret that signs for the add-on.
pub(crate) fn authority(namespace: &str) -> Value {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "hello-ca");
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": "hello-ca", "namespace": namespace, "annotations": {"tidegate.io/signs-for": "hello"}},
        "stringData": {"tls.crt": certificate.pem(), "tls.key": key.serialize_pem()}})
}

/// Asks for a certificate as a requester of a cluster; returns what is stored, for the hub itself writes down who asked.
pub(crate) async fn ask(
    client: &Client,
    name: &str,
    (cluster, requester): (&str, &str),
    signer: &str,
    subject: (&str, &[&str]),
) -> Value {
    let body = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": name, "labels": {"open-cluster-management.io/addon-name": "hello",
            "open-cluster-management.io/cluster-name": cluster}},
        "spec": {"request": STANDARD.encode(pem(subject)), "signerName": signer, "username": "anonymous",
            "usages": ["digital signature", "key encipherment", "client auth"]}});
    let request = http::Request::post("/apis/certificates.k8s.io/v1/certificatesigningrequests")
        .header("content-type", "application/json")
        .header("impersonate-user", requester)
        .header("impersonate-group", CLUSTERS)
        .body(body.to_string().into_bytes())
        .expect("a request");
    client.request(request).await.expect("the request is stored")
}

fn pem((user, groups): (&str, &[&str])) -> String {
    let names = vec!["hello.addon.open-cluster-management.io".to_owned()];
    let mut params = CertificateParams::new(names).expect("a DNS name");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, user);
    let kinds = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
    for (kind, group) in kinds.into_iter().zip(groups) {
        params.distinguished_name.push(kind, *group);
    }
    let key = KeyPair::generate().expect("a key");
    params
        .serialize_request(&key)
        .expect("a request")
        .pem()
        .expect("PEM")
}
