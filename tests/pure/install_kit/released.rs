//! `.ci/release`: the values of a release are required and complete.

use std::path::Path;
use std::process::Command;

use crate::kit::manifests::{documents, repository};

const VALUES: [(&str, &str); 5] = [
    ("IMAGE_REPOSITORY", "registry.example.com/acme/tidegate"),
    ("PROJECT_URL", "https://example.com/tidegate?a&b"),
    ("DOWNLOAD_URL", "https://example.com/download"),
    ("MAINTAINER_NAME", "Example & Co."),
    ("MAINTAINER_EMAIL", "tidegate@example.com"),
];
const PLATFORMS: [&str; 4] = ["linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"];

/// Runs the script without one of the values; returns whether it succeeded, and what it printed.
fn release(words: &[&str], without: &str) -> (bool, String) {
    let mut command = Command::new("bash");
    command.arg(repository(".ci/release")).args(words);
    for (name, value) in VALUES {
        command.env_remove(name);
        if name != without {
            command.env(name, value);
        }
    }
    let ran = command.output().expect("bash starts");
    let text = [ran.stdout, ran.stderr].concat();
    (ran.status.success(), String::from_utf8(text).expect("a text"))
}

fn archives(folder: &Path) {
    for platform in PLATFORMS {
        let name = format!("tidegate-{}-{platform}.tar.gz", env!("CARGO_PKG_VERSION"));
        std::fs::write(folder.join(name), platform).expect("writable");
    }
}

#[test]
fn a_release_needs_every_value() {
    let folder = tempfile::tempdir().expect("a folder");
    archives(folder.path());
    let (from, to) = (folder.path().to_string_lossy(), folder.path().join("out"));
    let to = to.to_string_lossy();
    for (name, _) in VALUES {
        for words in [&["check"][..], &["fill", &from, &to]] {
            let (succeeded, text) = release(words, name);
            assert!(
                !succeeded && text.contains(&format!("{name} is not set")),
                "{words:?}: {text}"
            );
        }
    }
    std::fs::remove_file(folder.path().join(format!(
        "tidegate-{}-darwin-arm64.tar.gz",
        env!("CARGO_PKG_VERSION")
    )))
    .expect("an archive");
    let (succeeded, text) = release(&["fill", &from, &to], "");
    assert!(
        !succeeded && text.contains("darwin-arm64.tar.gz does not exist"),
        "{text}"
    );
}

#[test]
fn a_filled_release_has_no_placeholder() {
    let folder = tempfile::tempdir().expect("a folder");
    archives(folder.path());
    let out = folder.path().join("out");
    let (succeeded, text) = release(
        &["fill", &folder.path().to_string_lossy(), &out.to_string_lossy()],
        "",
    );
    assert!(succeeded, "{text}");
    let read = |path: &str| documents(&out.join(path).to_string_lossy()).remove(0);
    let image = format!("registry.example.com/acme/tidegate:{}", env!("CARGO_PKG_VERSION"));
    let csv = read("olm/manifests/tidegate.clusterserviceversion.yaml");
    assert_eq!(csv["metadata"]["annotations"]["containerImage"], image);
    assert_eq!(csv["spec"]["maintainers"][0]["name"], "Example & Co.");
    assert_eq!(csv["spec"]["links"][0]["url"], "https://example.com/tidegate?a&b");
    let krew = read("krew.yaml");
    assert_eq!(krew["spec"]["version"], format!("v{}", env!("CARGO_PKG_VERSION")));
    assert!(
        krew["spec"]["shortDescription"]
            .as_str()
            .is_some_and(|text| text.len() <= 50)
    );
    let mut sums = Vec::new();
    for (platform, entry) in PLATFORMS
        .iter()
        .zip(krew["spec"]["platforms"].as_array().expect("platforms"))
    {
        let uri = entry["uri"].as_str().expect("an address");
        let name = format!(
            "https://example.com/download/tidegate-{}-{platform}.tar.gz",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(uri, name);
        let selector = &entry["selector"]["matchLabels"];
        let named = format!(
            "{}-{}",
            selector["os"].as_str().expect("os"),
            selector["arch"].as_str().expect("arch")
        );
        assert_eq!(named, *platform);
        let sum = entry["sha256"].as_str().expect("a digest");
        assert!(sum.len() == 64 && !sums.contains(&sum), "{sum}");
        sums.push(sum);
    }
    let values = read("chart/values.yaml");
    assert_eq!(
        values["image"]["repository"],
        "registry.example.com/acme/tidegate"
    );
    assert_eq!(
        read("chart/Chart.yaml")["maintainers"][0]["email"],
        "tidegate@example.com"
    );
    let deployment = std::fs::read_to_string(out.join("deploy/gate/deployment.yaml")).expect("a file");
    assert!(deployment.contains(&format!("image: {image}\n")));
}

/// The chart and the sources have one version.
#[test]
fn the_chart_has_the_version_of_the_program() {
    let chart = documents("charts/tidegate/Chart.yaml").remove(0);
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}
