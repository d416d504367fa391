//! How long `check` takes: a folder with thirty faults, and one with a thousand add-ons.

#![expect(clippy::disallowed_methods, reason = "a bench reads files and clocks")]

use std::path::Path;

use divan::Bencher;
use lint::check::{Background, File, MissingFacts, check};
use lint::report::{Format, Style, render};

fn main() {
    divan::main();
}

fn folder() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/check");
    ["addons/first.yaml", "addons/list.yaml", "instances.yml"]
        .iter()
        .map(|name| File {
            path: (*name).to_owned(),
            text: std::fs::read_to_string(root.join(name)).expect("a file of the example folder"),
        })
        .collect()
}

#[divan::bench]
fn thirty_faults(bencher: Bencher<'_, '_>) {
    let files = folder();
    let background = Background::default();
    bencher.bench_local(|| {
        let report = check(&files, &background, MissingFacts::Warn);
        assert!(report.findings.len() >= 30);
        render(&report, Format::Sarif, Style::default())
    });
}

#[divan::bench(sample_count = 10)]
fn a_thousand_add_ons(bencher: Bencher<'_, '_>) {
    let one = "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ClusterManagementAddOn\nmetadata:\n  name: addon-N\nspec:\n  installStrategy:\n    type: Placements\n    placements:\n    - {name: p, namespace: default}\n";
    let text: Vec<String> = (0..1000)
        .map(|number| one.replace('N', &number.to_string()))
        .collect();
    let files = [File {
        path: "all.yaml".to_owned(),
        text: text.join("---\n"),
    }];
    let background = Background::default();
    bencher.bench_local(|| {
        let report = check(&files, &background, MissingFacts::Warn);
        assert_eq!(report.checked.len(), 1000);
        report
    });
}
