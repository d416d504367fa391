//! Runs every target for a while on mutations of the kept corpus: `smoke [SECONDS] [SEED] [TARGET]`.
//!
//! An input that panics, or takes longer than a deadline, is kept under `artifacts/` and makes the run fail. An input
//! that ends the process (no stack, no memory) is the one in `artifacts/TARGET/running`.

use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tidegate_fuzz::mutate::{Dice, mutated};
use tidegate_fuzz::targets::{TARGETS, Target};

/// No input may take longer, in a build that is hardly optimized.
const DEADLINE: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let number =
        |text: Option<String>, default: u64| text.and_then(|text| text.parse().ok()).unwrap_or(default);
    let (seconds, seed) = (number(args.next(), 60), number(args.next(), 1));
    let only = args.next();
    let wanted = |target: &&Target| only.as_deref().is_none_or(|only| only == target.0);
    let targets: Vec<Target> = TARGETS.iter().filter(wanted).copied().collect();
    let share = Duration::from_secs(seconds) / u32::try_from(targets.len().max(1)).unwrap_or(1);
    println!("seed {seed}, {} targets, {share:?} each", targets.len());
    let mut faults = 0;
    for target in targets {
        // As much stack as the servers give their threads.
        let thread = std::thread::Builder::new()
            .name(target.0.to_owned())
            .stack_size(2 << 20);
        let run = thread
            .spawn(move || smoke(target, share, seed))
            .expect("a thread");
        faults += run.join().unwrap_or(1);
    }
    if faults == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
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
        // One file that stays open: making it anew for every input takes longer than most inputs do.
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
