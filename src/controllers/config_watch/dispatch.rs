//! Hands references to the watch of their type.
//!
//! Decides when a watch begins (with the first reference to its type) and ends (with the last). Never looks itself.

use std::collections::BTreeMap;

use kube::Client;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tracing::debug;

use super::served::Discovery;
use super::type_watch::{Order, TypeWatch};
use store::{ConfigRef, ConfigType, ConfigWatchList, Event};

/// The watch of one type.
#[derive(Debug)]
struct Watched {
    orders: mpsc::UnboundedSender<Order>,
    references: usize,
    task: AbortHandle,
}

/// Watches everything that is requested, until the sender of the watch lists has ended.
pub(in crate::controllers) async fn look_out(
    client: Client,
    mut watch_lists: mpsc::UnboundedReceiver<ConfigWatchList>,
    events: mpsc::Sender<Event>,
) {
    let discovery = Discovery::new(client.clone());
    let mut types: BTreeMap<ConfigType, Watched> = BTreeMap::new();
    let mut tasks = JoinSet::new();
    while let Some(ConfigWatchList { begin, end }) = watch_lists.recv().await {
        while tasks.try_join_next().is_some() {}
        for config in begin {
            let watched = types.entry(config.of.clone()).or_insert_with(|| {
                debug!(of = %config.of, "watch started");
                let (orders, receiver) = mpsc::unbounded_channel();
                let watch = TypeWatch::new(
                    client.clone(),
                    discovery.clone(),
                    config.of.clone(),
                    receiver,
                    events.clone(),
                );
                Watched {
                    orders,
                    references: 0,
                    task: tasks.spawn(watch.run()),
                }
            });
            watched.references = watched.references.saturating_add(1);
            pass_on(watched, Order::Begin(config));
        }
        for config in end {
            leave(&mut types, config);
        }
    }
}

fn leave(types: &mut BTreeMap<ConfigType, Watched>, config: ConfigRef) {
    let of = config.of.clone();
    let Some(watched) = types.get_mut(&of) else {
        return;
    };
    watched.references = watched.references.saturating_sub(1);
    if watched.references == 0 {
        debug!(%of, "watch stopped");
        watched.task.abort();
        types.remove(&of);
    } else {
        pass_on(watched, Order::End(config));
    }
}

/// A watch only ends before its orders do when the whole program is stopping.
fn pass_on(watched: &Watched, order: Order) {
    let _sent = watched.orders.send(order).is_ok();
}
