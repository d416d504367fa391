//! Which flags belong to which part of the program.
//!
//! A flag that has no effect with `--only` or `--controllers` is an error, not ignored: an administrator who gives it expects an effect.

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory as _};

use crate::cli::{AuditTo, CertificatesArg, Cli, ControllersMode, Only};
use crate::controllers::CheckEndpoint;
use kubernetes::field::quoted;

/// Flags that the gate alone has no use for.
const OF_CONTROLLERS: [&str; 19] = [
    "agent_groups",
    "audit",
    "certificate_life",
    "cluster_configs",
    "compat",
    "discovery_labels",
    "elect",
    "grpc_server_account",
    "failures",
    "hook_timeout",
    "hook_timeout_policy",
    "progressing_reasons",
    "removal_budget",
    "signing_namespace",
    "startup_time",
    "template_sharing",
    "ui",
    "ui_hosts",
    "unset_variables",
];
/// Flags that the controllers alone have no use for.
const OF_THE_GATE: [&str; 8] = [
    "bind",
    "certificate",
    "certificate_name",
    "client_ca",
    "client_names",
    "key",
    "linger",
    "path_secret",
];

/// Flags that the keeper of the certificate has a use for; all others are refused.
const OF_CERTIFICATES: [&str; 21] = [
    "as",
    "as_group",
    "certificate_life",
    "certificate_name",
    "certificate_secret",
    "certificates",
    "context",
    "health",
    "insecure_skip_tls_verify",
    "kubeconfig",
    "linger",
    "log_format",
    "log_level",
    "metrics",
    "only",
    "otlp",
    "otlp_ratio",
    "request_timeout",
    "server",
    "token",
    "user",
];

/// Flags for controllers that write.
const OF_WRITERS: [&str; 6] = [
    "check_endpoint",
    "elect",
    "notify_ca_file",
    "notify_token_file",
    "notify_url",
    "stock_lease",
];
const CONTROLLERS_REST: &str = "controllers, which do not run";

/// Returns what is wrong with the flags of `serve`, if anything is.
pub(in crate::cli) fn contradiction(serve: &ArgMatches) -> Option<String> {
    let given = |flag: &&&str| serve.value_source(flag) == Some(ValueSource::CommandLine);
    let mode = serve
        .get_one::<ControllersMode>("controllers")
        .filter(|_| given(&&"controllers"));
    let only = serve.get_one::<Only>("only");
    if let Some(words) = modes_contradict(mode, only) {
        return Some(words.to_owned());
    }
    if only == Some(&Only::Certificates) {
        return beside_certificates(serve);
    }
    let endpoints = serve
        .get_many::<CheckEndpoint>("check_endpoint")
        .into_iter()
        .flatten();
    let mut names: Vec<&str> = endpoints.map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    let mut pairs = names.iter().zip(names.iter().skip(1));
    if let Some((name, _)) = pairs.find(|(one, other)| one == other) {
        return Some(format!(
            "--check-endpoint has two endpoints with the name {}",
            quoted(name)
        ));
    }
    if mode == Some(&ControllersMode::Observe) {
        let reports = serve.get_one::<AuditTo>("audit") == Some(&AuditTo::Reports) && given(&&"audit");
        let flag = OF_WRITERS
            .iter()
            .find(given)
            .copied()
            .or_else(|| reports.then_some("audit reports"));
        if let Some(flag) = flag {
            let flag = flag.replace('_', "-");
            return Some(format!(
                "--{flag} requires controllers that write; remove it with --controllers observe"
            ));
        }
    }
    if let Some(words) = certificates(serve, only) {
        return Some(words);
    }
    let (half, flags, rest) = match (mode, only) {
        (Some(ControllersMode::Off), _) => (
            "--controllers off",
            OF_CONTROLLERS.iter().chain(&OF_WRITERS),
            CONTROLLERS_REST,
        ),
        (_, Some(Only::Gate)) => (
            "--only gate",
            OF_CONTROLLERS.iter().chain(&OF_WRITERS),
            CONTROLLERS_REST,
        ),
        (_, Some(Only::Controllers)) => (
            "--only controllers",
            OF_THE_GATE.iter().chain(&[]),
            "webhook, which does not run",
        ),
        (_, Some(Only::Certificates) | None) => return None,
    };
    let flag = flags.copied().find(|flag| given(&flag))?.replace('_', "-");
    Some(format!(
        "--{flag} applies only to the {rest} with {half}; remove it"
    ))
}

/// What the keeper of the certificate has no use for: it is one thing, made in one way.
fn beside_certificates(serve: &ArgMatches) -> Option<String> {
    let given = |flag: &&str| serve.value_source(flag) == Some(ValueSource::CommandLine);
    let way = serve.get_one::<CertificatesArg>("certificates")?;
    if given(&"certificates") && *way != CertificatesArg::SelfManaged {
        return Some(
            "--only certificates creates the certificate: set --certificates self-managed, or remove --certificates"
                .to_owned(),
        );
    }
    let command = Cli::command();
    let flags = command.find_subcommand("serve")?.get_arguments();
    let mut others = flags
        .map(|flag| flag.get_id().as_str())
        .filter(|flag| !OF_CERTIFICATES.contains(flag));
    let flag = others.find(given)?.replace('_', "-");
    Some(format!(
        "--{flag} has no effect with --only certificates; remove it"
    ))
}

/// What the flags of certificates need of each other, and who makes certificates.
fn certificates(serve: &ArgMatches, only: Option<&Only>) -> Option<String> {
    let given = |flag: &&str| serve.value_source(flag) == Some(ValueSource::CommandLine);
    let way = serve.get_one::<CertificatesArg>("certificates")?;
    let (others, instead): (&[&str], _) = match way {
        CertificatesArg::Files => (
            &["certificate_secret", "certificate_life"],
            "--certificates secret or self-managed",
        ),
        CertificatesArg::Secret => (
            &["certificate", "key", "certificate_life"],
            "another value of --certificates",
        ),
        CertificatesArg::SelfManaged => (&["certificate", "key"], "--certificates files"),
    };
    if let Some(flag) = others.iter().copied().find(|flag| given(flag)) {
        return Some(format!("--{} requires {instead}", flag.replace('_', "-")));
    }
    match way {
        CertificatesArg::Secret if only == Some(&Only::Controllers) => Some(
            "--certificates secret applies only to the webhook, which does not run with --only controllers; remove it"
                .to_owned(),
        ),
        CertificatesArg::SelfManaged if only == Some(&Only::Controllers) => Some(
            "--certificates self-managed requires a separate process with its own service account: remove it with --only controllers, \
             and run `tidegate serve --only certificates`"
                .to_owned(),
        ),
        CertificatesArg::Files | CertificatesArg::Secret | CertificatesArg::SelfManaged => None,
    }
}

fn modes_contradict(mode: Option<&ControllersMode>, only: Option<&Only>) -> Option<&'static str> {
    match (mode?, only?) {
        (ControllersMode::Off, Only::Controllers) => {
            Some("--controllers off and --only controllers cannot be used together")
        }
        (ControllersMode::Observe | ControllersMode::On, Only::Gate) => {
            Some("--only gate implies --controllers off; remove one of them")
        }
        (_, Only::Certificates) => Some("--only certificates runs no controllers; remove --controllers"),
        (ControllersMode::Off, Only::Gate)
        | (ControllersMode::Observe | ControllersMode::On, Only::Controllers) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the errors of a command line; empty if there are none.
    fn said(line: &str) -> String {
        let words = ["tidegate", "serve"].into_iter().chain(line.split_whitespace());
        let matches = Cli::command().try_get_matches_from(words).expect("it parses");
        contradiction(matches.subcommand_matches("serve").expect("serve")).unwrap_or_default()
    }

    #[test]
    fn flags_of_the_other_half_are_refused() {
        let rows = [
            ("--elect a/b --bind 127.0.0.1:0", false),
            (
                "--only gate --bind 127.0.0.1:0 --certificate c --key k --metrics 127.0.0.1:0",
                false,
            ),
            ("--only gate --elect a/b", true),
            ("--only gate --audit reports", true),
            ("--only gate --hook-timeout 5m", true),
            ("--only gate --stock-lease none", true),
            (
                "--only controllers --elect a/b --audit metrics --metrics 127.0.0.1:0",
                false,
            ),
            ("--only controllers --bind 127.0.0.1:0", true),
            ("--only controllers --key k", true),
            ("--controllers off --bind 127.0.0.1:0", false),
            ("--controllers off --only gate", false),
            ("--controllers off --elect a/b", true),
            ("--check-endpoint a=http://p --check-endpoint b=http://p", false),
            ("--check-endpoint a=http://p --check-endpoint a=http://q", true),
            ("--only gate --check-endpoint a=http://p", true),
            ("--controllers off --only controllers", true),
            ("--controllers on --only gate", true),
            ("--controllers observe --only gate", true),
            ("--controllers observe --only controllers --audit metrics", false),
            ("--controllers observe", false),
            ("--controllers observe --audit reports", true),
            ("--controllers observe --check-endpoint a=http://p", true),
            ("--controllers observe --elect a/b", true),
            ("--notify-url https://a/b", false),
            ("--controllers observe --notify-url https://a/b", true),
            ("--only gate --notify-url https://a/b", true),
            ("--controllers on --elect a/b", false),
            ("--certificates self-managed --certificate-life 24h", false),
            ("--only controllers --certificates self-managed", true),
            (
                "--only certificates --certificates self-managed --certificate-name gate.example --certificate-secret a/b",
                false,
            ),
            (
                "--only certificates --certificate-life 24h --metrics 127.0.0.1:0 --health 127.0.0.1:0 --log-format json",
                false,
            ),
            ("--only certificates --certificates files", true),
            ("--only certificates --certificate c", true),
            ("--only certificates --bind 127.0.0.1:0", true),
            ("--only certificates --elect a/b", true),
            ("--only certificates --audit metrics", true),
            ("--only certificates --preflight", true),
            ("--only certificates --controllers on", true),
            ("--only controllers --certificate-name gate.example", true),
            (
                "--only gate --certificates secret --certificate-secret a/b",
                false,
            ),
            ("--only gate --certificates self-managed", false),
            (
                "--only gate --certificates self-managed --certificate-life 24h",
                true,
            ),
            ("--only controllers --certificates secret", true),
            ("--certificates self-managed --key k", true),
            ("--certificates secret --certificate-life 24h", true),
            ("--certificate-secret a/b", true),
        ];
        for (line, expected) in rows {
            assert_eq!(!said(line).is_empty(), expected, "{line}: {}", said(line));
        }
        let words = said("--only controllers --certificate c");
        assert_eq!(
            words,
            "--certificate applies only to the webhook, which does not run with --only controllers; remove it"
        );
    }

    #[test]
    fn every_flag_that_is_named_exists() {
        let command = Cli::command();
        let serve = command.find_subcommand("serve").expect("serve");
        let all = OF_CONTROLLERS.iter().chain(&OF_THE_GATE).chain(&OF_WRITERS);
        for flag in all.chain(&OF_CERTIFICATES) {
            assert!(serve.get_arguments().any(|arg| arg.get_id() == flag), "{flag}");
        }
    }
}
