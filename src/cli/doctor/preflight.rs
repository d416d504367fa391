//! `serve --preflight`: the same look, before anything starts.
//!
//! Decides what can be right before the gate answers: webhooks and Lease come later. Errors keep the program from starting; the rest is
//! told and waits.

use kube::Client;
use kubernetes::field::{Shown, counted};
use operate::doctor::{Colours, HubFacts, Report, Runs, Severity, Stage, examine, needed, text};

use super::collect::Named;
use super::{collect, rights};
use crate::cli::print::{complain, complaints_are_coloured};
use crate::cli::{CliError, ServeArgs};

/// Checks the hub; fails on a problem that would prevent the program from working.
pub(in crate::cli) async fn preflight(client: &Client, args: &ServeArgs) -> Result<(), CliError> {
    let mut facts = HubFacts {
        stage: Stage::BeforeStart,
        ..HubFacts::default()
    };
    collect::reach(client, &mut facts)
        .await
        .map_err(CliError::acting("reach the hub"))?;
    collect::kinds(client, &mut facts).await;
    collect::managers(
        client,
        args.stock_lease.0.as_ref(),
        args.elect.as_ref().map(|place| (place, Named::Yes)),
        &mut facts,
    )
    .await;
    collect::webhooks(client, None, &mut facts).await;
    facts.account = rights::whoami(client).await;
    let elect = args
        .elect
        .as_ref()
        .map(|place| (place.namespace.as_str(), place.name.as_str()));
    let runs = Runs {
        controllers: args.controllers.into(),
        only: args.half().map(Into::into),
        web_page: args.ui.ui.is_some(),
    };
    let needed = needed(runs, elect);
    facts.rights = rights::judged(client, needed).await;
    judged(&examine(&facts))
}

fn judged(report: &Report) -> Result<(), CliError> {
    let page = if complaints_are_coloured() {
        Shown::painted(&text(report, Colours::On))
    } else {
        Shown::page(&text(report, Colours::Off))
    };
    complain(&page);
    match report.count(Severity::Error) {
        0 => Ok(()),
        errors => Err(CliError::Refused(
            format!(
                "the hub is not ready for Tidegate: {} above; without --preflight, the program starts and waits",
                counted(errors, "error")
            )
            .into(),
        )),
    }
}
