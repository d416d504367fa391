//! What is wrong with an expression, and where.
//!
//! Decides places: byte offset, line and column, the latter two from one. Never decides whether something is wrong.

use ::cel::ParseErrors;
use ::cel::common::ast::SourceInfo;
use std::fmt;

/// Why an expression does not compile: all its faults, in the order of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// Whether the expression may be right but uses something that this engine lacks.
    pub unsupported: bool,
    /// The faults; one at least.
    pub faults: Vec<Fault>,
    source: String,
}

/// One fault and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub message: String,
    /// Bytes before the fault.
    pub offset: usize,
    /// The line, from one.
    pub line: usize,
    /// The column in code points, from one.
    pub column: usize,
}

impl CompileError {
    /// Makes the error of one fault at a part of an expression.
    pub(super) fn at(source: &str, info: &SourceInfo, id: u64, message: String) -> Self {
        let (offset, line, column) = place(source, info, id);
        Self::of(
            source,
            vec![Fault {
                message,
                offset,
                line,
                column,
            }],
        )
    }

    /// Makes the error of several faults, in the order of their places.
    pub(super) fn all(
        source: &str,
        info: &SourceInfo,
        faults: impl IntoIterator<Item = (u64, usize, String)>,
    ) -> Self {
        let mut faults: Vec<Fault> = faults
            .into_iter()
            .map(|(id, back, message)| {
                let (offset, line, column) = place(source, info, id);
                Fault {
                    message,
                    offset: offset.saturating_sub(back),
                    line,
                    column: column.saturating_sub(back).max(1),
                }
            })
            .collect();
        faults.sort_by_key(|fault| fault.offset);
        faults.dedup();
        Self::of(source, faults)
    }

    /// Makes the error of an expression as a whole.
    pub(super) fn whole(source: &str, message: String) -> Self {
        Self::of(
            source,
            vec![Fault {
                message,
                offset: 0,
                line: 1,
                column: 1,
            }],
        )
    }

    /// Makes the error of an expression that cannot be parsed.
    pub(super) fn syntax(source: &str, errors: &ParseErrors) -> Self {
        let faults = errors.errors.iter().map(|error| {
            let (line, column) = error.pos;
            let (line, column) = (
                usize::try_from(line).unwrap_or(1),
                usize::try_from(column).unwrap_or(1),
            );
            Fault {
                message: format!("Syntax error: {}", error.msg.trim_start_matches("Syntax error: ")),
                offset: offset(source, line, column),
                line: line.max(1),
                column: column.max(1),
            }
        });
        Self::of(source, faults.collect())
    }

    fn of(source: &str, faults: Vec<Fault>) -> Self {
        Self {
            unsupported: false,
            faults,
            source: source.to_owned(),
        }
    }

    /// Marks the expression as one that another engine may understand.
    pub(super) fn unsupported(mut self) -> Self {
        self.unsupported = true;
        self
    }
}

/// Returns the byte offset, line and column of a part of an expression.
pub(super) fn place(source: &str, info: &SourceInfo, id: u64) -> (usize, usize, usize) {
    let start = info
        .offset_for(id)
        .map_or(0, |(start, _)| usize::try_from(start).unwrap_or(0));
    let before = source.get(..start).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (before.len(), line, column)
}

fn offset(source: &str, line: usize, column: usize) -> usize {
    let lines = source.split_inclusive('\n');
    let before: usize = lines.clone().take(line.saturating_sub(1)).map(str::len).sum();
    let within = lines.skip(line.saturating_sub(1)).flat_map(str::chars);
    let columns: usize = within.take(column.saturating_sub(1)).map(char::len_utf8).sum();
    (before + columns).min(source.len())
}

impl fmt::Display for CompileError {
    /// Prints every fault with its line and a caret below it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.faults.iter().enumerate() {
            let Fault {
                message,
                line,
                column,
                ..
            } = fault;
            let text = self
                .source
                .lines()
                .nth(line.saturating_sub(1))
                .unwrap_or_default();
            let dots = ".".repeat(column.saturating_sub(1));
            let end = if at == 0 { "" } else { "\n" };
            write!(
                out,
                "{end}ERROR: <input>:{line}:{column}: {message}\n | {text}\n | {dots}^"
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for CompileError {}
