//! Waits for a state of a hub, independent of the speed of the machine.

use std::fmt::Debug;
use std::future::Future;
use std::time::{Duration, Instant};

/// How long a slow machine may take for anything.
const PATIENCE: Duration = Duration::from_mins(1);

/// Waits until something is seen unchanged for so long, and returns it.
///
/// What is written again and again at a shorter interval never comes to rest, which is a panic.
pub(crate) async fn at_rest<T: PartialEq + Debug, F: Future<Output = T>>(
    quiet: Duration,
    mut look: impl FnMut() -> F,
) -> T {
    let patience = Instant::now() + PATIENCE;
    let (mut seen, mut since) = (look().await, Instant::now());
    while since.elapsed() < quiet {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = look().await;
        if now != seen {
            assert!(Instant::now() < patience, "it never comes to rest: {now:?}");
            (seen, since) = (now, Instant::now());
        }
    }
    seen
}

/// Waits up to a minute; panics unless it came to be so.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, check: impl FnMut() -> F) {
    assert!(comes(check).await, "{what}: it never comes");
}

/// Waits up to a minute; panics with what is there instead unless it came to be so.
pub(crate) async fn eventually_or<F: Future<Output = bool>, S: Future<Output: Debug>>(
    what: &str,
    seen: impl FnOnce() -> S,
    check: impl FnMut() -> F,
) {
    let came = comes(check).await;
    let instead = if came { None } else { Some(seen().await) };
    assert!(came, "{what}: it never comes; there is {instead:#?}");
}

/// Looks again and again, up to a minute, until there is something to see.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.expect(what)
}

/// Looks for so long; returns whether it was so all the time: what must not happen has had its time to.
pub(crate) async fn stays<F: Future<Output = bool>>(quiet: Duration, mut check: impl FnMut() -> F) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < quiet {
        if !check().await {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    check().await
}

/// Waits up to a minute; returns whether it came to be so.
pub(crate) async fn comes<F: Future<Output = bool>>(mut check: impl FnMut() -> F) -> bool {
    let patience = Instant::now() + PATIENCE;
    while Instant::now() < patience {
        if check().await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    check().await
}
