//! The processor time of this thread, independent of other load on the machine.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.expect("a past time"), nanos.expect("less than a second"))
}

/// Returns how much of its time the processor gave to some work of this thread.
pub(crate) fn work(does: impl FnOnce()) -> Duration {
    let begun = now();
    does();
    now().saturating_sub(begun)
}
