//! The subcommand: collects, has it examined, prints.
//!
//! Decides what is asked. What is wrong with it is decided by `doctor`.

use std::process::ExitCode;

use doctor::{Colours, HubFacts, Stage, examine, json, text};
use field::Shown;

use super::{DoctorArgs, collect, fleet, rights};
use crate::cli::hub::HubPlace;
use crate::cli::print::{is_coloured, print};
use crate::cli::{CliError, OutputFormat, connect};

pub(in crate::cli) fn run(args: &DoctorArgs) -> Result<ExitCode, CliError> {
    let runtime = connect::runtime()?;
    let facts = runtime.block_on(collected(args))?;
    let report = examine(&facts);
    let status = report.exit_status(args.fail_on.severity());
    match args.output {
        OutputFormat::Text if is_coloured() => print(&Shown::painted(&text(&report, Colours::On)))?,
        OutputFormat::Text => print(&Shown::page(&text(&report, Colours::Off)))?,
        OutputFormat::Json => print(&Shown::json(&format!("{:#}\n", json(&report, status))))?,
    }
    Ok(ExitCode::from(status))
}

async fn collected(args: &DoctorArgs) -> Result<HubFacts, CliError> {
    let place = HubPlace {
        kubeconfig: args.kubeconfig.as_deref(),
        context: args.context.as_deref(),
        ..HubPlace::default()
    };
    let config = connect::config_of(place).await?;
    let other = config.clone();
    let client = connect::client(config)?;
    let mut facts = HubFacts {
        stage: Stage::Running,
        ..HubFacts::default()
    };
    collect::reach(&client, &mut facts)
        .await
        .map_err(|source| CliError::Act {
            act: "reach the hub",
            source: source.into(),
        })?;
    collect::kinds(&client, &mut facts).await;
    collect::managers(
        &client,
        (args.stock_lease.0.as_ref(), Some(&args.elect)),
        &mut facts,
    )
    .await;
    collect::webhooks(&client, args.gate.as_deref(), &mut facts).await;
    collect::answer(&client, &mut facts).await;
    facts.fleet = fleet::fleet(&client).await;
    let account = connect::client(other.impersonating(args.account.clone()))?;
    facts.account = match &args.account {
        Some(account) => account.clone(),
        None => rights::whoami(&account).await,
    };
    let elect = Some((args.elect.namespace.as_str(), args.elect.name.as_str()));
    let runs = rights::Runs {
        controllers: args.controllers,
        only: args.only,
        web_page: args.ui,
    };
    let needed = rights::needed(runs, elect);
    facts.rights = rights::judged(&account, needed).await;
    Ok(facts)
}
