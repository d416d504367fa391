//! Addresses that are passed to a program before it listens there.
//!
//! Their ports are below Linux' ephemeral ports: otherwise another test program might get the same port in the moment before it is
//! bound, or while one webhook process replaces another. They are not bound here, but by the program that gets them.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Returns an address of this machine that no program serves on, and that no other caller is given.
pub(crate) fn free_address() -> SocketAddr {
    // Programs that run at the same time begin in different places.
    let begin = std::process::id().wrapping_mul(331);
    let mut tries = (0..COUNT).map(|_| {
        let step = begin.wrapping_add(NEXT.fetch_add(1, Ordering::SeqCst));
        let port = u16::try_from(FIRST + step % COUNT).expect("below 65,536");
        SocketAddr::from(([127, 0, 0, 1], port))
    });
    let free = tries.find(|address| TcpListener::bind(address).is_ok());
    free.expect("one of twelve thousand ports is free")
}
