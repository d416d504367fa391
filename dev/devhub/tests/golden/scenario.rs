//! Scenario files: one header, steps, and the order of resource versions at the end.
//!
//! Decides how a file is read. The format is described in `tests/data/golden/README.md`.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// One recorded file.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) header: Header,
    pub(crate) steps: Vec<Step>,
    /// `$rv` symbols by rising value.
    pub(crate) order: Vec<String>,
    /// The whole file, to ask whether it needs the webhook.
    pub(crate) uses_webhook: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) namespaces: Vec<String>,
    #[serde(default)]
    pub(crate) options: Options,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Options {
    /// Times get numbered symbols instead of one for all.
    pub(crate) time_symbols: bool,
    /// The order of field managers is compared as well.
    pub(crate) keep_managed_fields_order: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Step {
    pub(crate) id: String,
    pub(crate) verb: String,
    pub(crate) note: Option<String>,
    #[serde(default)]
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) query: String,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Option<Value>,
    pub(crate) body_text: Option<String>,
    pub body_base64: Option<String>,
    pub(crate) body_size: Option<usize>,
    pub(crate) body_repeat: Option<usize>,
    pub(crate) auth: Option<String>,
    #[serde(default)]
    pub(crate) save: BTreeMap<String, String>,
    pub(crate) sleep_ms: Option<u64>,
    #[serde(default)]
    pub(crate) align_second: bool,
    pub(crate) poll: Option<Poll>,
    pub(crate) stream: Option<Stream>,
    #[serde(default)]
    pub(crate) compare: Compare,
    pub(crate) pick: Option<Pick>,
    pub(crate) at: Option<String>,
    #[serde(default)]
    pub(crate) ignore: Vec<String>,
    #[serde(default)]
    pub(crate) unstable: Value,
    #[serde(default)]
    pub(crate) expect: Expect,
}

impl Step {
    /// Tells whether nothing of the answer is compared.
    pub(crate) fn is_unstable(&self) -> bool {
        !matches!(self.unstable, Value::Null | Value::Bool(false))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Compare {
    #[default]
    Exact,
    Status,
    Values,
    Present,
    None,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Poll {
    pub(crate) timeout_ms: u64,
    pub(crate) interval_ms: u64,
    pub(crate) until: Until,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Until {
    pub(crate) status: Option<u16>,
    pub(crate) subset: Option<Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stream {
    pub(crate) open: Option<String>,
    pub(crate) collect: Option<String>,
    pub(crate) close: Option<String>,
    pub(crate) count: Option<usize>,
    #[serde(default = "five_seconds")]
    pub(crate) timeout_ms: u64,
    #[serde(default = "quarter_second")]
    pub(crate) quiet_ms: u64,
    #[serde(default)]
    pub(crate) until_close: bool,
    #[serde(default)]
    pub(crate) sort_first: usize,
    #[serde(default)]
    pub(crate) ignore: Vec<String>,
}

fn five_seconds() -> u64 {
    5000
}

fn quarter_second() -> u64 {
    250
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Pick {
    pub(crate) array: String,
    pub(crate) key: String,
    #[serde(rename = "in")]
    pub(crate) wanted: Vec<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Expect {
    pub(crate) status: Option<u16>,
    pub(crate) content_type: Option<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) headers: BTreeMap<String, Value>,
    #[serde(deserialize_with = "written")]
    pub(crate) body: Option<Value>,
    pub(crate) body_text: Option<String>,
    pub(crate) values: BTreeMap<String, Value>,
    pub(crate) present: Vec<String>,
    pub(crate) webhook_calls: Option<Vec<Value>>,
    pub(crate) events: Option<Vec<Value>>,
    pub(crate) closed: Option<bool>,
}

/// A written `null` is an expectation, an absent member is none.
fn written<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Returns the folder with the recorded data.
pub(crate) fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/golden")
}

/// Reads every scenario, in the order of the index.
pub(crate) fn all() -> Vec<Scenario> {
    let index = std::fs::read_to_string(data().join("INDEX.tsv")).expect("the index is there");
    let files = index.lines().skip(1).filter_map(|line| line.split('\t').next());
    files.map(read).collect()
}

fn read(file: &str) -> Scenario {
    let text = std::fs::read_to_string(data().join("scenarios").join(file))
        .unwrap_or_else(|cause| panic!("cannot read {file}: {cause}"));
    let mut header = None;
    let mut order = Vec::new();
    let mut steps = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let bad = |cause: serde_json::Error| -> ! { panic!("{file}:{}: {cause}", number + 1) };
        let value: Value = serde_json::from_str(line).unwrap_or_else(|cause| bad(cause));
        match value.get("kind").and_then(Value::as_str) {
            Some("scenario") => header = Some(Header::deserialize(value).unwrap_or_else(|cause| bad(cause))),
            Some("rvOrder") => {
                order = Vec::deserialize(&value["order"]).unwrap_or_else(|cause| bad(cause));
            }
            _ => steps.push(Step::deserialize(value).unwrap_or_else(|cause| bad(cause))),
        }
    }
    let header = header.unwrap_or_else(|| panic!("{file} has no header"));
    Scenario {
        header,
        steps,
        order,
        uses_webhook: text.contains("$WEBHOOK"),
    }
}
