//! `serve --only certificates`: the keeper of the webhook's certificate, alone.
//!
//! It has an account of its own: the right to change the webhook configurations, which can be turned into every other right of the
//! hub, belongs neither to the process with the open port nor to the controllers.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tracing::info;

use super::run::announce;
use crate::cli::{CliError, Only, ServeArgs, connect, signals};
use crate::controllers::CertificateKeeper;
use crate::server::Health;
use crate::telemetry::Metrics;
use admission::Facts;

/// Keeps the certificate until the end.
pub(super) async fn serve(args: &ServeArgs, metrics: Metrics) -> Result<(), CliError> {
    let mut end = signals::end_requested()?;
    let config = connect::config_of(&args.hub).await?;
    let health = Health::default();
    info!(
        version = env!("CARGO_PKG_VERSION"), hub = %config.cluster_url, only = "certificates", "tidegate starts"
    );
    let client = connect::counted_client(config, &metrics)?;
    let pages = args.endpoint.pages(Some(Only::Certificates), &health, &metrics)?;
    let keeper = CertificateKeeper::alone(&client, args.endpoint.kept(), metrics)
        .await
        .map_err(CliError::starting("the certificate controller"))?;
    // It needs no facts of the fleet: it is ready unless something is in the way of the certificate.
    health.rests_on(Arc::new(ArcSwap::from_pointee(Facts::default().completed())));
    announce("certificates", &pages);
    let mut trouble = keeper.trouble();
    loop {
        let words = trouble.borrow_and_update().clone();
        health.waits_for(words.map(|words| format!("a certificate that can be renewed: {words}")));
        tokio::select! {
            () = end.requested() => break,
            changed = trouble.changed() => if changed.is_err() { break },
        }
    }
    info!("stopping");
    health.drain();
    keeper.shutdown().await;
    Ok(())
}
