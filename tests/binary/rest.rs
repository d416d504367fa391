//! The cost of the idle program.

use std::time::Duration;

use crate::rig::Dev;

/// Counted is work, not time: a busy machine takes none of it away. A controller that wakes itself takes a whole core.
#[test]
fn a_hub_at_rest_is_left_alone_by_the_program() {
    let dev = Dev::start(&["--clusters", "2"]);
    dev.comes_to_rest(Duration::from_secs(3));
    let Some(before) = dev.processor_time() else {
        return;
    };
    std::thread::sleep(Duration::from_secs(8));
    let taken = dev
        .processor_time()
        .expect("it told before")
        .saturating_sub(before);
    assert!(
        taken < Duration::from_secs(2),
        "{taken:?} of work in eight seconds at rest"
    );
}
