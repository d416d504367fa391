//! `tidegate dev`: a hub, the webhook, the controllers and simulated clusters in one process.
//!
//! Starts the parts in order, tells when all serve, and ends them in the opposite order. Decides nothing about add-ons.

use super::args::Demo;
use super::hub::{Folder, Registered, prepare};
use super::{fault, live, parts};
use crate::cli::about::examples::{self, Others};
use crate::cli::print::print;
use crate::cli::{CliError, DevArgs, connect, rulebook, signals};
use crate::controllers::TideOptions;
use kubernetes::field::{Shown, one_line};
use store::Settings;

pub(in crate::cli) fn run(args: DevArgs) -> Result<(), CliError> {
    if let Some(command) = &args.then {
        return fault::run(command);
    }
    let runtime = connect::serving_runtime()?;
    runtime.block_on(serve(args))
}

async fn serve(args: DevArgs) -> Result<(), CliError> {
    let mut end = signals::end_requested()?;
    let folder = prepare(&args.dir)?;
    // Tips name files: they are there wherever this runs.
    examples::write_all(&folder.path().join(EXAMPLES), Others::Kept)?;
    let registered = Registered::default();
    let begun = tokio::select! {
        parts = parts::start(&args, &folder, &registered) => parts.map(Some),
        () = end.requested() => Ok(None),
    };
    let mut started = match begun {
        Ok(Some(parts)) => parts,
        // A hub that is not ours must not go on calling a webhook that has stopped.
        Ok(None) => {
            registered.forget().await;
            return Ok(());
        }
        Err(error) => {
            registered.forget().await;
            return Err(error);
        }
    };
    let told = announce(&started, &folder, &args);
    let shown = match told {
        Ok(()) => {
            let book = started.rulebook();
            tokio::select! {
                shown = live::show(&mut started, args.clusters.into(), settings(&args), &mut end) => shown,
                // Goes on indefinitely: a file that changes is no reason to end.
                () = rulebook::follow(&args.gate, &book) => Ok(()),
            }
        }
        Err(error) => Err(error),
    };
    started.shutdown().await;
    if args.hub.is_none() {
        // Not into the log. A reader that has left misses it.
        print(&Shown::line(
            "The hub has ended and its objects are lost; `tidegate dev` starts with new ones.",
        ))
        .unwrap_or_default();
    }
    shown
}

/// How the controllers of this hub behave.
fn settings(args: &DevArgs) -> Settings {
    args.rights.applied_to(TideOptions::from(&args.tide).settings)
}

const INSTANCE: &str = "kubectl get mca helloworld -n cluster1 -o yaml";

/// Where the examples lie in the folder of the hub.
const EXAMPLES: &str = "examples";

/// Writes a path for a shell; one without NUL always can be.
fn quoted(path: &str) -> String {
    let path = one_line(path);
    shlex::try_quote(&path).map_or_else(|_| path.clone(), Into::into)
}

/// Prints the line that scripts wait for, and three commands for people.
fn announce(parts: &parts::Parts, folder: &Folder, args: &DevArgs) -> Result<(), CliError> {
    let ready = one_line(&devhub::program::ready_line(parts.kubeconfig(), &parts.url()));
    let kubeconfig = quoted(&parts.kubeconfig().display().to_string());
    let examples = folder.path().join(EXAMPLES);
    let apply = |what: &str| {
        format!(
            "kubectl apply -f {}",
            quoted(&examples.join(what).display().to_string())
        )
    };
    let (all, wrong) = (apply(""), apply("wrong/01-rollout.yaml"));
    let [first, second, third] = match args.demo() {
        Demo::AddOn => ["kubectl get managedclusteraddons -A", &wrong, INSTANCE],
        Demo::None => [all.as_str(), &wrong, INSTANCE],
        Demo::Upgrade => [
            "kubectl get mcu -A -w",
            "kubectl get mcu to-4-12 -o yaml",
            "kubectl patch mcu to-4-12 --type merge -p '{\"spec\":{\"suspend\":true}}'",
        ],
    };
    let page = parts.page().map_or_else(String::new, |url| {
        format!("Open the web page in a browser: {url}\n\n")
    });
    let kept = if args.hub.is_none() {
        "The hub is in memory: its objects are lost when it ends.\n\n"
    } else {
        ""
    };
    let lines = format!(
        "{ready}\n\
         \n\
         Try in another terminal:\n  \
         export KUBECONFIG={kubeconfig}\n  \
         {first}\n  \
         {second}\n  \
         {third}\n  \
         tidegate rollout list\n\n\
         {page}{kept}",
    );
    print(&Shown::page(&lines))
}
