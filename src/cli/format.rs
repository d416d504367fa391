//! Output formats: the names of a command, and `jsonpath=TEMPLATE`.

use std::ffi::OsStr;
use std::marker::PhantomData;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, ValueEnum};
use kubernetes::json_path::Template;

/// A format that can be a template, besides its names.
pub(super) trait DocumentFormat: ValueEnum + Send + Sync + 'static {
    /// Returns the format of a template.
    fn json_path(template: &'static Template) -> Self;
}

/// Reads a format. A template lives as long as the program, which reads at most one.
#[derive(Debug)]
pub(super) struct FormatParser<F>(PhantomData<F>);

impl<F> FormatParser<F> {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<F> Clone for FormatParser<F> {
    fn clone(&self) -> Self {
        Self::new()
    }
}

/// The begin of a format that is a template.
pub(super) const JSON_PATH: &str = "jsonpath=";

impl<F: DocumentFormat> TypedValueParser for FormatParser<F> {
    type Value = F;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<F, clap::Error> {
        let text = value.to_string_lossy();
        let flag = arg.map_or_else(|| "--output".to_owned(), ToString::to_string);
        if let Some(template) = text.strip_prefix(JSON_PATH) {
            return match Template::parse(template) {
                Ok(template) => Ok(F::json_path(Box::leak(Box::new(template)))),
                Err(why) => {
                    let told = format!("invalid value '{text}' for '{flag}': {why}");
                    Err(clap::Error::raw(ErrorKind::ValueValidation, told).format(&mut command.clone()))
                }
            };
        }
        let named = F::value_variants().iter();
        let mut named = named.filter(|format| {
            let name = format.to_possible_value();
            name.is_some_and(|name| name.matches(&text, false))
        });
        named.next().cloned().ok_or_else(|| {
            let names = F::value_variants()
                .iter()
                .filter_map(ValueEnum::to_possible_value);
            let names = names.map(|name| name.get_name().to_owned());
            let names = names.chain([format!("{JSON_PATH}TEMPLATE")]).collect();
            let mut error = clap::Error::new(ErrorKind::InvalidValue).with_cmd(command);
            error.insert(ContextKind::InvalidArg, ContextValue::String(flag));
            error.insert(ContextKind::InvalidValue, ContextValue::String(text.into_owned()));
            error.insert(ContextKind::ValidValue, ContextValue::Strings(names));
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let all = F::value_variants().iter();
        Some(Box::new(all.filter_map(ValueEnum::to_possible_value)))
    }
}
