//! A webhook that is not Tidegate's: TLS on a free loopback port, with responses from its routes.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::serve::Listener;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tidegate::server::Authority;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A running webhook; ended when dropped.
pub(crate) struct Hook {
    pub(crate) url: String,
    task: JoinHandle<()>,
}

impl Hook {
    pub(crate) async fn start(authority: &Authority, routes: Router) -> Self {
        let issued = authority.issue(["127.0.0.1"]).expect("a certificate");
        let chain = CertificateDer::pem_slice_iter(issued.chain_pem().as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .expect("PEM");
        let key = PrivateKeyDer::from_pem_slice(issued.key_pem().as_bytes()).expect("PEM");
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("a pair");
        let tcp = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("https://{}", tcp.local_addr().expect("an address"));
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let serving = axum::serve(Tls { tcp, acceptor }, routes);
        let task = tokio::spawn(async move { serving.await.expect("it serves") });
        Self { url, task }
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Tls {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, address)) = self.tcp.accept().await else {
                continue;
            };
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}
