//! `tidegate lsp` as an editor meets it: the protocol, spoken with the real binary over pipes.
//!
//! Never asserts what a rule says; it asserts that it arrives where it stands, and that the conversation goes on.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};

use crate::memory::{lists, status, template};
use crate::rig::{PATIENCE, repository, run, tidegate};

const WRONG: &str = "manifests/examples/wrong/01-rollout.yaml";

/// An editor with a server.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    heard: Receiver<Value>,
    asked: i64,
    folder: tempfile::TempDir,
}

fn next(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        length = line.strip_prefix("Content-Length: ")?.parse().ok()?;
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

impl Editor {
    /// Starts a server that nothing was said to.
    fn silent() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = tidegate()
            .args(["lsp", "--stdio"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (tell, heard) = mpsc::channel();
        std::thread::spawn(move || {
            while let Some(message) = next(&mut output) {
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            heard,
            asked: 0,
            folder,
        }
    }

    /// Starts a server for a folder with these files.
    fn of(files: &[(&str, &str)]) -> Self {
        let mut editor = Self::silent();
        for (name, text) in files {
            std::fs::write(editor.path(name), text).expect("writable");
        }
        let root = editor.address("");
        let answer = editor.ask(
            "initialize",
            &json!({"processId": null, "rootUri": root, "capabilities": {"unheard": ["of"]}}),
        );
        let can = &answer["result"]["capabilities"];
        assert_eq!(
            (&can["positionEncoding"], &can["hoverProvider"]),
            (&json!("utf-16"), &json!(true)),
            "{answer:#}"
        );
        editor.tell("initialized", &json!({}));
        editor
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("a folder").join(name)
    }

    fn address(&self, name: &str) -> String {
        format!(
            "file://{}",
            self.path(name).to_string_lossy().trim_end_matches('/')
        )
    }

    fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("not closed yet");
        input
            .write_all(bytes)
            .and_then(|()| input.flush())
            .expect("it listens");
    }

    fn say(&mut self, message: &Value) {
        let text = message.to_string();
        self.write(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Asks, and waits for the answer.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.hear(method, |message| (message["id"] == id).then(|| message.clone()))
    }

    /// Waits for a message of which something is to be had.
    fn hear<T>(&self, what: &str, wanted: impl Fn(&Value) -> Option<T>) -> T {
        loop {
            let message = self
                .heard
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| json!({"silence": what}));
            assert!(message.get("silence").is_none(), "nothing comes: {what}");
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
            if let Some(found) = wanted(&message) {
                return found;
            }
        }
    }

    fn open(&mut self, name: &str, text: &str) {
        let file = json!({"uri": self.address(name), "languageId": "yaml", "version": 1, "text": text});
        self.tell("textDocument/didOpen", &json!({"textDocument": file}));
    }

    fn change(&mut self, name: &str, version: i64, text: &str) {
        let file = json!({"uri": self.address(name), "version": version});
        self.tell(
            "textDocument/didChange",
            &json!({"textDocument": file, "contentChanges": [{"text": text}]}),
        );
    }

    /// Waits for what is found in a version of a file; none is what lies in the folder.
    fn found(&self, name: &str, version: Option<i64>) -> Vec<Value> {
        let address = self.address(name);
        self.hear(name, |message| {
            let params = &message["params"];
            let is_it = message["method"] == "textDocument/publishDiagnostics"
                && params["uri"] == address
                && params["version"].as_i64() == version;
            is_it.then(|| params["diagnostics"].as_array().cloned().unwrap_or_default())
        })
    }

    fn at(&self, name: &str, line: usize, character: usize) -> Value {
        json!({"textDocument": {"uri": self.address(name)}, "position": {"line": line, "character": character}})
    }

    fn ended(mut self) -> ExitStatus {
        drop(self.input.take());
        let begun = std::time::Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it was started") {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn rules(found: &[Value]) -> Vec<&str> {
    let mut rules: Vec<&str> = found.iter().filter_map(|one| one["code"].as_str()).collect();
    rules.sort_unstable();
    rules
}

fn example(path: &str) -> String {
    std::fs::read_to_string(repository(path)).expect("an example")
}

/// What is underlined, as an editor would show it.
fn underlined(text: &str, found: &Value) -> String {
    let number =
        |pointer: &str| usize::try_from(found.pointer(pointer).and_then(Value::as_u64).unwrap_or_default());
    let line = text
        .lines()
        .nth(number("/range/start/line").expect("small"))
        .unwrap_or_default();
    let units: Vec<u16> = line.encode_utf16().collect();
    let (start, end) = (
        number("/range/start/character").expect("small"),
        number("/range/end/character").expect("small"),
    );
    String::from_utf16_lossy(units.get(start..end).unwrap_or_default())
}

#[test]
fn what_the_check_says_is_underlined_and_goes_when_it_is_mended() {
    let wrong = example(WRONG);
    let mut editor = Editor::of(&[("wrong.yaml", &wrong)]);
    let lying = editor.found("wrong.yaml", None);
    assert!(
        lying.len() >= 3,
        "what lies in the folder is judged unopened: {lying:#?}"
    );

    editor.open("wrong.yaml", &wrong);
    let found = editor.found("wrong.yaml", Some(1));
    let checked = run(&[
        "check",
        "-o",
        "json",
        &editor.path("wrong.yaml").to_string_lossy(),
    ]);
    let report: Value = serde_json::from_str(&checked.stdout).expect("a report");
    let mut told: Vec<&str> = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter_map(|one| one["rule"].as_str())
        .collect();
    told.sort_unstable();
    assert_eq!(
        rules(&found),
        told,
        "no finding more and none less than tidegate check"
    );
    let time = found
        .iter()
        .find(|one| one["code"] == "rollout/min-success-time")
        .expect("the rule");
    assert_eq!(underlined(&wrong, time), "banana");
    assert_eq!(
        (&time["severity"], &time["source"]),
        (&json!(1), &json!("tidegate"))
    );

    let right = wrong
        .replace("banana\n", "5m\n")
        .replace("130%", "30%")
        .replace("-1", "1");
    editor.change("wrong.yaml", 2, &right);
    let left = editor.found("wrong.yaml", Some(2));
    assert!(left.iter().all(|one| one["severity"] != 1), "{left:#?}");
    assert_eq!(
        std::fs::read_to_string(editor.path("wrong.yaml")).expect("still there"),
        wrong,
        "nothing is written"
    );
    let file = json!({"textDocument": {"uri": editor.address("wrong.yaml")}});
    editor.tell("textDocument/didClose", &file);
    assert_eq!(
        editor.found("wrong.yaml", None).len(),
        lying.len(),
        "what lies in the folder counts again"
    );
}

#[test]
fn words_are_shown_and_names_of_the_folder_offered() {
    let placement = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: all-clusters, namespace: open-cluster-management}\n";
    let wrong = example(WRONG);
    let mut editor = Editor::of(&[("placement.yaml", placement)]);
    editor.open("wrong.yaml", &wrong);
    editor.found("wrong.yaml", Some(1));
    let line = wrong
        .lines()
        .position(|line| line.contains("minSuccessTime"))
        .expect("the line");
    let hover = editor.ask("textDocument/hover", &editor.at("wrong.yaml", line, 14));
    let text = hover
        .pointer("/result/contents/value")
        .and_then(Value::as_str)
        .unwrap_or_default();
    assert!(
        text.contains("progressive.minSuccessTime** (string)"),
        "{hover:#}"
    );
    let nowhere = editor.ask("textDocument/hover", &editor.at("wrong.yaml", 0, 0));
    assert_eq!(nowhere["result"], Value::Null);

    let typing = wrong.replace("name: all-clusters", "name: all-");
    editor.change("wrong.yaml", 2, &typing);
    let line = typing
        .lines()
        .position(|line| line.contains("name: all-"))
        .expect("the line");
    let column = typing.lines().nth(line).expect("the line").len();
    let offers = editor.ask("textDocument/completion", &editor.at("wrong.yaml", line, column));
    let edit = &offers["result"][0]["textEdit"];
    assert_eq!(edit["newText"], "all-clusters", "{offers:#}");
    assert_eq!(
        edit.pointer("/range/start/character"),
        Some(&json!(column - "all-".len()))
    );
}

#[test]
fn places_are_counted_in_utf_16_whatever_ends_a_line() {
    let emoji = example(WRONG).replace(
        "minSuccessTime: banana",
        "minSuccessTime: \"\u{1f30a}\u{1f30a}\"   # \u{1f30a}",
    );
    let windows = emoji.replace('\n', "\r\n");
    let mut editor = Editor::of(&[]);
    for (name, text) in [
        ("unix.yaml", &emoji),
        ("windows.yaml", &windows),
        ("\u{e4} \u{1f30a}%.yaml", &emoji),
    ] {
        // Each alone: two of one name are a finding of their own.
        let address = format!(
            "{}/{}",
            editor.address(""),
            name.replace('%', "%25").replace(' ', "%20")
        );
        let file = json!({"uri": address, "languageId": "yaml", "version": 7, "text": text});
        editor.tell("textDocument/didOpen", &json!({"textDocument": file}));
        let found = editor.hear(name, |message| {
            let params = &message["params"];
            (params["uri"] == address && params["version"] == 7).then(|| params["diagnostics"].clone())
        });
        let all = found.as_array().expect("findings");
        let time = all
            .iter()
            .find(|one| one["code"] == "rollout/min-success-time")
            .expect("the rule");
        assert_eq!(underlined(text, time), "\"\u{1f30a}\u{1f30a}\"", "{time:#}");
        editor.tell(
            "textDocument/didClose",
            &json!({"textDocument": {"uri": address}}),
        );
    }
}

#[test]
fn a_huge_file_is_judged_or_told_and_the_conversation_goes_on() {
    let wrong = example(WRONG);
    let many: String = (0..2_000)
        .map(|number| wrong.replace("name: banana", &format!("name: banana-{number}")) + "---\n")
        .collect();
    let mut editor = Editor::of(&[]);
    editor.open("many.yaml", &many);
    assert_eq!(
        editor.found("many.yaml", Some(1)).len(),
        1_000,
        "no editor shows more"
    );
    editor.change("many.yaml", 2, &"a: b\n".repeat(4 << 20));
    let found = editor.found("many.yaml", Some(2));
    assert!(
        found.len() == 1
            && found[0]["message"]
                .as_str()
                .is_some_and(|text| text.contains("MiB")),
        "{found:#?}"
    );
    editor.change("many.yaml", 3, &"[".repeat(1 << 20));
    assert_eq!(editor.found("many.yaml", Some(3)).len(), 1);
}

#[test]
fn a_file_of_small_values_takes_no_many_times_its_size() {
    let mut editor = Editor::of(&[]);
    editor.open("maps.json", &template(&lists(6_000_000)));
    let found = editor.found("maps.json", Some(1));
    let told = found.iter().filter_map(|one| one["message"].as_str());
    assert!(told.clone().any(|text| text.contains("values")), "{found:#?}");
    let peak = status(editor.child.id(), "VmHWM:") / 1024;
    assert!(peak < 300, "{peak} MiB");
}

#[test]
fn nonsense_is_refused_and_hides_nothing() {
    let mut editor = Editor::of(&[]);
    editor.write(b"what is this?\r\n\r\nContent-Length: 7\r\n\r\n{\"a\": [");
    editor.hear("an error", |message| {
        (message["error"]["code"] == -32700).then_some(())
    });
    let deep = "[".repeat(200_000);
    editor.write(format!("Content-Length: {}\r\n\r\n{deep}", deep.len()).as_bytes());
    editor.hear("an error", |message| {
        (message["error"]["code"] == -32700).then_some(())
    });
    for (method, params, code) in [
        ("textDocument/rename", json!({}), -32601),
        ("textDocument/hover", json!({"textDocument": 5}), -32602),
        ("textDocument/completion", Value::Null, -32602),
        ("initialize", json!({}), -32601),
    ] {
        assert_eq!(editor.ask(method, &params)["error"]["code"], code, "{method}");
    }
    for params in [json!(null), json!({"textDocument": {"uri": 1}}), json!([])] {
        editor.tell("textDocument/didOpen", &params);
        editor.tell("textDocument/didChange", &params);
        editor.tell("textDocument/didClose", &params);
        editor.tell("$/nobody/knows/this", &params);
    }
    for uri in [
        "",
        "file:",
        "file:///%00",
        "file:///no/such/place.yaml",
        "untitled:One",
        "https://example.com/a.yaml",
    ] {
        let file = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": "kind: ["});
        editor.tell("textDocument/didOpen", &json!({"textDocument": file}));
        let at = json!({"textDocument": {"uri": uri}, "position": {"line": 4_294_967_295_u32, "character": 4_294_967_295_u32}});
        assert!(
            editor.ask("textDocument/completion", &at).get("result").is_some(),
            "{uri}"
        );
    }
    assert_eq!(editor.ask("shutdown", &Value::Null)["result"], Value::Null);
}

#[test]
fn the_order_of_the_protocol_is_kept_and_the_end_has_its_status() {
    let mut early = Editor::silent();
    assert_eq!(
        early.ask("textDocument/hover", &json!({}))["error"]["code"],
        -32002
    );
    early.tell("exit", &Value::Null);
    assert_eq!(early.ended().code(), Some(1), "without shutdown");

    let mut orderly = Editor::of(&[]);
    assert!(sockets(&orderly).is_empty(), "no network");
    orderly.ask("shutdown", &Value::Null);
    assert_eq!(
        orderly.ask("textDocument/hover", &json!({}))["error"]["code"],
        -32600
    );
    orderly.tell("exit", &Value::Null);
    assert_eq!(orderly.ended().code(), Some(0));

    let left = Editor::of(&[]);
    assert_eq!(left.ended().code(), Some(1), "the pipe is closed");
    let wrong = run(&[
        "lsp",
        "--facts",
        "/no/such/dump",
        "--enforcement",
        "/no/such/file",
    ]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("dump") && wrong.stderr.contains("/no/such/file"),
        "{}",
        wrong.stderr
    );
}

/// The sockets that a server has open.
fn sockets(editor: &Editor) -> Vec<PathBuf> {
    let held = Path::new("/proc").join(editor.child.id().to_string()).join("fd");
    let links = std::fs::read_dir(held).expect("it runs").flatten();
    links
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter(|target| target.to_string_lossy().starts_with("socket:"))
        .collect()
}
