//! What is answered to each message of an editor.
//!
//! Decides in which order the protocol wants things, and when findings are sent: only what has changed since they were sent last. What is
//! found, shown and offered the editor room says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gen_lsp_types::{
    CompletionOptions, CompletionParams, Diagnostic, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, HoverParams, InitializeResult, PositionEncodingKind, PublishDiagnosticsParams,
    ServerCapabilities, ServerInfo, TextDocumentContentChangeEvent, TextDocumentPositionParams,
    TextDocumentSyncKind, TextDocumentSyncOptions,
};
use jiff::Timestamp;
use lsp::Workspace;
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::place::{address_of, name_of, path_of};
use crate::cli::CliError;
use crate::cli::check::read;
use crate::cli::print::print_framed;
use field::Shown;

/// How far a conversation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The editor has not said who it is.
    Begins,
    /// Questions are answered.
    Serves,
    /// The editor has said that it will end this.
    Closes,
    /// It is over.
    Over,
}

/// What has to be done once the editor is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// Nothing has changed since findings were sent.
    Nothing,
    /// What the editor holds has changed.
    Judging,
    /// What lies in the folder may have changed as well.
    Reading,
}

/// A conversation with an editor.
#[derive(Debug)]
pub(super) struct Server {
    workspace: Workspace,
    folders: Vec<PathBuf>,
    /// The addresses by which the editor calls what it holds.
    addresses: BTreeMap<String, String>,
    /// What was sent last, by file: in which version, and what.
    sent: BTreeMap<String, (Option<i32>, Vec<Diagnostic>)>,
    pub(super) phase: Phase,
    /// Whether the editor tells of changed files when it is asked to.
    watches: bool,
    pub(super) due: Due,
}

impl Server {
    pub(super) fn new(workspace: Workspace) -> Self {
        Self {
            workspace,
            folders: Vec::new(),
            addresses: BTreeMap::new(),
            sent: BTreeMap::new(),
            phase: Phase::Begins,
            watches: false,
            due: Due::Nothing,
        }
    }

    /// Takes a message, and answers it where it is a question.
    pub(super) fn take(&mut self, message: Message) -> Result<(), CliError> {
        match message {
            Message::Request(asked) => {
                let answer = self.answer(asked);
                say(&Message::Response(answer))
            }
            Message::Notification(told) => self.hear(told),
            // Whether files are watched is the only question that is asked here, and nothing hangs on the answer.
            Message::Response(_) => Ok(()),
        }
    }

    fn answer(&mut self, asked: Request) -> Response {
        let Request { id, method, params } = asked;
        let refused = |code: ErrorCode, why: &str| Response::new_err(id.clone(), code as i32, why.to_owned());
        match (self.phase, method.as_str()) {
            (Phase::Begins, "initialize") => Response::new_ok(id, self.begin(&params)),
            (Phase::Begins, _) => refused(
                ErrorCode::ServerNotInitialized,
                "the first question has to be initialize",
            ),
            (Phase::Closes | Phase::Over, _) => {
                refused(ErrorCode::InvalidRequest, "shutdown was asked for already")
            }
            (Phase::Serves, "shutdown") => {
                self.phase = Phase::Closes;
                Response::new_ok(id, Value::Null)
            }
            (Phase::Serves, "textDocument/hover") => self.at(id, params, |asked: HoverParams| {
                (asked.text_document_position_params, Workspace::hover)
            }),
            (Phase::Serves, "textDocument/completion") => self.at(id, params, |asked: CompletionParams| {
                (asked.text_document_position_params, Workspace::complete)
            }),
            (Phase::Serves, _) => refused(
                ErrorCode::MethodNotFound,
                &format!("nothing is known of {method}"),
            ),
        }
    }

    /// Answers a question about a place in a file.
    fn at<P: DeserializeOwned, A: serde::Serialize>(
        &self,
        id: RequestId,
        params: Value,
        read: impl Fn(
            P,
        ) -> (
            TextDocumentPositionParams,
            fn(&Workspace, &str, gen_lsp_types::Position) -> A,
        ),
    ) -> Response {
        match serde_json::from_value(params) {
            Ok(asked) => {
                let (at, answer) = read(asked);
                let name = name_of(&at.text_document.uri.0);
                Response::new_ok(id, answer(&self.workspace, &name, at.position))
            }
            Err(error) => Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string()),
        }
    }

    /// Learns who asks. Read by hand: an editor that says something unknown about itself is served all the same.
    fn begin(&mut self, params: &Value) -> InitializeResult {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let listed = params.get("workspaceFolders").and_then(Value::as_array);
        let mut addresses: Vec<String> = listed
            .into_iter()
            .flatten()
            .filter_map(|folder| text(folder.get("uri")?))
            .collect();
        if addresses.is_empty() {
            addresses.extend(params.get("rootUri").and_then(text));
        }
        self.folders = addresses.iter().filter_map(|address| path_of(address)).collect();
        let watches = params.pointer("/capabilities/workspace/didChangeWatchedFiles/dynamicRegistration");
        self.watches = watches.and_then(Value::as_bool).unwrap_or_default();
        self.phase = Phase::Serves;
        let sync = TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::Full),
            save: Some(true.into()),
            ..TextDocumentSyncOptions::default()
        };
        InitializeResult {
            capabilities: ServerCapabilities {
                position_encoding: Some(PositionEncodingKind::UTF16),
                text_document_sync: Some(sync.into()),
                hover_provider: Some(true.into()),
                completion_provider: Some(CompletionOptions {
                    trigger_characters: Some(vec![" ".to_owned()]),
                    ..CompletionOptions::default()
                }),
                ..ServerCapabilities::default()
            },
            server_info: Some(ServerInfo {
                name: "tidegate".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        }
    }

    fn hear(&mut self, told: Notification) -> Result<(), CliError> {
        let Notification { method, params } = told;
        match (self.phase, method.as_str()) {
            (Phase::Closes, "exit") => self.phase = Phase::Over,
            (Phase::Begins | Phase::Serves | Phase::Over, "exit") => {
                return Err(CliError::Serve {
                    part: "the conversation with the editor",
                    source: "it ends without asking for shutdown".into(),
                });
            }
            (Phase::Serves, "initialized") => {
                self.due = Due::Reading;
                if self.watches {
                    return say_value(&watch());
                }
            }
            (Phase::Serves, "textDocument/didOpen") => match serde_json::from_value(params) {
                Ok(DidOpenTextDocumentParams { text_document: file }) => {
                    self.hold(file.uri.0, file.version, file.text);
                }
                Err(error) => return complain(&method, &error),
            },
            (Phase::Serves, "textDocument/didChange") => match serde_json::from_value(params) {
                Ok(changed) => self.change(changed),
                Err(error) => return complain(&method, &error),
            },
            (Phase::Serves, "textDocument/didClose") => match serde_json::from_value(params) {
                Ok(DidCloseTextDocumentParams { text_document: file }) => {
                    let name = name_of(&file.uri.0);
                    self.workspace.release(&name);
                    self.addresses.remove(&name);
                    self.due = Due::Reading;
                }
                Err(error) => return complain(&method, &error),
            },
            (Phase::Serves, "textDocument/didSave" | "workspace/didChangeWatchedFiles") => {
                self.due = Due::Reading;
            }
            // What an editor tells besides is nothing that anything hangs on.
            (Phase::Begins | Phase::Serves | Phase::Closes | Phase::Over, _) => {}
        }
        Ok(())
    }

    fn change(&mut self, changed: DidChangeTextDocumentParams) {
        let file = changed.text_document;
        // Whole texts were asked for; of several the last one counts.
        let whole = changed
            .content_changes
            .into_iter()
            .rev()
            .find_map(|change| match change {
                TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => {
                    Some(whole.text)
                }
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(_) => None,
            });
        if let Some(text) = whole {
            self.hold(file.text_document_identifier.uri.0, file.version, text);
        }
    }

    fn hold(&mut self, address: String, version: i32, text: String) {
        let name = name_of(&address);
        self.workspace.hold(&name, version, text);
        self.addresses.insert(name, address);
        self.due = self.due.max(Due::Judging);
    }

    /// Judges everything, and tells what has changed.
    pub(super) fn publish(&mut self, now: Timestamp) -> Result<(), CliError> {
        let due = std::mem::replace(&mut self.due, Due::Nothing);
        if due == Due::Reading {
            self.read_folders()?;
        }
        let mut found = self.workspace.judge(now).clone();
        for name in self.sent.keys() {
            // What is well again has to be said.
            found.entry(name.clone()).or_default();
        }
        for (name, diagnostics) in found {
            let version = self.workspace.version(&name);
            let now = (version, diagnostics);
            if self.sent.get(&name) == Some(&now) {
                continue;
            }
            let address = self
                .addresses
                .get(&name)
                .cloned()
                .unwrap_or_else(|| address_of(&name));
            let params = PublishDiagnosticsParams::new(address.into(), version, now.1.clone());
            say(&Message::Notification(Notification::new(
                "textDocument/publishDiagnostics".to_owned(),
                params,
            )))?;
            if now.0.is_none() && now.1.is_empty() {
                self.sent.remove(&name);
            } else {
                self.sent.insert(name, now);
            }
        }
        Ok(())
    }

    fn read_folders(&mut self) -> Result<(), CliError> {
        let (mut files, mut unreadable) = (Vec::new(), Vec::new());
        for folder in &self.folders {
            let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
            let why = if is_too_wide(&real) {
                "a whole home or machine is not read".to_owned()
            } else {
                match read([&real]) {
                    Ok(read) => {
                        files.extend(read.files);
                        unreadable.extend(read.unreadable);
                        continue;
                    }
                    Err(error) => error.one_line(),
                }
            };
            let words = format!(
                "tidegate judges only what is open of \"{}\": {why}",
                real.display()
            );
            say(&note(&words))?;
        }
        self.workspace.read(files, unreadable);
        Ok(())
    }
}

/// Editors take the home for the folder of a lone file in it.
fn is_too_wide(folder: &Path) -> bool {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    folder.parent().is_none() || home.is_some_and(|home| home == folder)
}

/// Asks to be told of changed files.
fn watch() -> Value {
    let watchers = json!([{"globPattern": "**/*.{yaml,yml,json}"}]);
    json!({"jsonrpc": "2.0", "id": "watch", "method": "client/registerCapability", "params": {"registrations": [
        {"id": "watch", "method": "workspace/didChangeWatchedFiles", "registerOptions": {"watchers": watchers}}]}})
}

/// A line for the log of the editor.
fn note(words: &str) -> Message {
    // 2 is a warning.
    Message::Notification(Notification::new(
        "window/logMessage".to_owned(),
        json!({"type": 2, "message": words}),
    ))
}

/// Tells of a message that was passed over.
fn complain(method: &str, error: &serde_json::Error) -> Result<(), CliError> {
    say(&note(&format!("{method} was passed over: {error}")))
}

/// Answers what is no message, as the protocol has it: to no request, with the id `null`.
pub(super) fn refuse(why: &str) -> Result<(), CliError> {
    let code = ErrorCode::ParseError as i32;
    say_value(&json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": why}}))
}

fn say(message: &Message) -> Result<(), CliError> {
    let mut value = serde_json::to_value(message).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("jsonrpc".to_owned(), json!("2.0"));
    }
    say_value(&value)
}

fn say_value(value: &Value) -> Result<(), CliError> {
    print_framed(&Shown::json(&value.to_string()))
}
