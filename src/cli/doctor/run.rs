//! The subcommand: collects, has it examined, prints.
//!
//! Decides what is asked. What is wrong with it is decided by `doctor`.

use std::process::ExitCode;

use kubernetes::field::{Listing, Shown};
use operate::doctor::{
    Colours, HubFacts, Reading, Report, Runs, Stage, doctor_report, examine, needed, text,
};

use super::collect::Named;
use super::{DoctorArgs, collect, confinement, fleet, rights};
use crate::cli::print::{document, is_coloured, listing, print, print_document};
use crate::cli::{CliError, LeasePlace, OutputFormat, connect};

pub(in crate::cli) fn run(args: &DoctorArgs) -> Result<ExitCode, CliError> {
    let runtime = connect::runtime()?;
    let (report, status) = match runtime.block_on(collected(args)) {
        Ok(facts) => {
            let report = examine(&facts);
            let status = report.exit_status(args.fail_on.severity());
            (report, status)
        }
        // A program that asked gets what it can read.
        Err(error) if args.output != OutputFormat::Text => {
            (Report::unreached(error.one_line()), error.exit_status())
        }
        Err(error) => return Err(error),
    };
    match args.output {
        OutputFormat::Text if is_coloured() => print(&Shown::painted(&text(&report, Colours::On)))?,
        OutputFormat::Text => print(&Shown::page(&text(&report, Colours::Off)))?,
        OutputFormat::Json | OutputFormat::Yaml | OutputFormat::JsonPath(_) => {
            print_document(&document(&doctor_report(&report, status))?, args.output)?;
        }
    }
    Ok(ExitCode::from(status))
}

async fn collected(args: &DoctorArgs) -> Result<HubFacts, CliError> {
    let config = connect::config_of(&args.connection).await?;
    let other = config.clone();
    let client = connect::client(config)?;
    let mut facts = HubFacts {
        stage: Stage::Running,
        ..HubFacts::default()
    };
    collect::reach(&client, &mut facts)
        .await
        .map_err(CliError::acting("reach the hub"))?;
    collect::kinds(&client, &mut facts).await;
    let named = if args.elect.is_some() {
        Named::Yes
    } else {
        Named::No
    };
    let place = args.elect.clone().unwrap_or_else(|| LeasePlace {
        namespace: "tidegate".to_owned(),
        name: "leader".to_owned(),
    });
    let settings = args.behaviour.settings.read(client.clone()).await;
    let known = args.behaviour.quietly(&settings).map(|(known, _)| known);
    let stock = known.as_ref().ok().and_then(|known| known.stock_lease.0.as_ref());
    collect::managers(&client, stock, Some((&place, named)), &mut facts).await;
    if let Err(error) = &known {
        // Which Lease OCM's manager holds is one of these settings.
        facts.stock = Reading::Refused(error.one_line());
    }
    collect::webhooks(&client, args.gate.as_deref(), &mut facts).await;
    confinement::confinement(&client, &place.namespace, &mut facts).await;
    collect::answer(&client, &mut facts).await;
    let settings = known.map(|known| known.settings()).unwrap_or_default();
    facts.fleet = fleet::fleet(&client, settings).await;
    facts.fleet.listing = match args.output {
        OutputFormat::Json | OutputFormat::Yaml | OutputFormat::JsonPath(_) => Listing::Whole,
        OutputFormat::Text => listing(args.all),
    };
    let account = connect::client(other.impersonating(args.account.clone()))?;
    facts.account = match &args.account {
        Some(account) => account.clone(),
        None => rights::whoami(&account).await,
    };
    let elect = Some((place.namespace.as_str(), place.name.as_str()));
    let runs = Runs {
        controllers: args.controllers.into(),
        only: args.only.map(Into::into),
        web_page: args.ui,
    };
    let needed = needed(runs, elect);
    facts.rights = rights::judged(&account, needed).await;
    Ok(facts)
}
