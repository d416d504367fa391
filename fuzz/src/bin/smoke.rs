//! Runs every target for some seconds on mutations of the stored corpus: `smoke [SECONDS] [SEED] [TARGET]`.
//!
//! An input that panics, or takes longer than a deadline, is kept under `artifacts/` and makes the run fail. An input
//! that ends the process (no stack, no memory) is the one in `artifacts/TARGET/running`; every target has a process of its own, so that
//! the others are run all the same.

use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use tidegate_fuzz::mutate::{Dice, mutated};
use tidegate_fuzz::targets::{TARGETS, Target};

/// No input may take longer, in a build that is hardly optimized.
const DEADLINE: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| {
        words
            .get(at)
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let (seconds, seed) = (number(0, 60), number(1, 1));
    let only = words.get(2);
    let wanted = |target: &&Target| only.is_none_or(|only| only == target.0);
    let targets: Vec<Target> = TARGETS.iter().filter(wanted).copied().collect();
    // Run one target here: this process was started by the loop below, or the caller named one target.
    if let (Some(_), [target]) = (only, &targets[..]) {
        return ended(alone(*target, Duration::from_secs(seconds), seed));
    }
    let share = seconds.checked_div(targets.len() as u64).unwrap_or(0);
    println!("seed {seed}, {} targets, {share} s each", targets.len());
    // Each in a process of its own: a crash in one does not stop the others.
    let faults = targets
        .iter()
        .filter(|target| !apart(target.0, share, seed))
        .count();
    ended(faults + usize::from(targets.is_empty()))
}

fn ended(faults: usize) -> ExitCode {
    if faults == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs a target in a process of its own; returns whether nothing was found.
fn apart(name: &str, share: u64, seed: u64) -> bool {
    let program = std::env::current_exe().expect("this program is a file");
    let words = [share.to_string(), seed.to_string(), name.to_owned()];
    let status = Command::new(program).args(words).status().expect("it starts");
    // An exit code comes from the run itself, which has already printed why.
    if status.code().is_none() {
        let input = root().join("artifacts").join(name).join("running");
        println!("{name}: the process ended ({status}): {}", input.display());
    }
    status.success()
}

/// Runs a target on as much stack as the servers give their threads.
fn alone(target: Target, share: Duration, seed: u64) -> usize {
    let thread = std::thread::Builder::new()
        .name(target.0.to_owned())
        .stack_size(2 << 20);
    let run = thread
        .spawn(move || smoke(target, share, seed))
        .expect("a thread");
    run.join().unwrap_or(1)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("corpus").join(name))
        .map(|entries| {
            entries
                .filter_map(|entry| entry.ok().map(|entry| entry.path()))
                .collect()
        })
        .unwrap_or_default();
    files.sort();
    files.iter().filter_map(|file| std::fs::read(file).ok()).collect()
}

fn smoke((name, target): Target, share: Duration, seed: u64) -> usize {
    let artifacts = root().join("artifacts").join(name);
    std::fs::create_dir_all(&artifacts).expect("the folder can be made");
    let (corpus, running) = (corpus(name), artifacts.join("running"));
    assert!(!corpus.is_empty(), "{name} has no corpus");
    let (mut dice, start) = (
        Dice::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        Instant::now(),
    );
    let (mut runs, mut faults) = (0_usize, 0);
    let file = std::fs::File::create(&running).expect("the input can be written");
    while runs < corpus.len() || (start.elapsed() < share && faults < 5) {
        let input = corpus
            .get(runs)
            .cloned()
            .unwrap_or_else(|| mutated(&corpus, &mut dice));
        runs += 1;
        // One file that stays open: creating it again for every input takes longer than most inputs do.
        file.write_all_at(&input, 0).expect("the input can be written");
        file.set_len(input.len() as u64)
            .expect("the input can be written");
        let begun = Instant::now();
        let fine = catch_unwind(AssertUnwindSafe(|| target(&input))).is_ok();
        let took = begun.elapsed();
        if !fine || took > DEADLINE {
            faults += 1;
            let kept = artifacts.join(format!("{}-{seed}-{runs}", if fine { "slow" } else { "panic" }));
            std::fs::write(&kept, &input).expect("the input can be written");
            println!(
                "{name}: {} after {took:?}: {}",
                if fine { "slow" } else { "panic" },
                kept.display()
            );
        }
    }
    std::fs::remove_file(&running).expect("the input can be removed");
    println!("{name}: {runs} inputs, {faults} faults");
    faults
}
