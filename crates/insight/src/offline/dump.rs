//! The dump of a hub: one JSON document that `check`, `plan` and `why` read instead of a live hub.
//!
//! Decides its form. The same hub gives the same bytes, the time aside: objects are sorted, fields too. Never holds a
//! credential: neither a Secret nor what looks like one, wherever it stands.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::definitions::Definition;
use super::hub::Hub;
use super::redact;
use kubernetes::field::Path;
use store::{Absence, ConfigLookup, ConfigRef, ConfigType, Kind, ObservedConfig};

/// The version of the form; a dump of another one is refused.
pub const FORMAT: u64 = 1;
const KIND: &str = "TidegateSnapshot";

/// A dump: a hub and the time at which it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// When it was read.
    pub taken_at: Timestamp,
    /// What was read.
    pub hub: Hub,
    /// How the hub's controllers behave, in the words of their flags; empty where they publish nothing.
    pub controllers: BTreeMap<String, String>,
    /// Why their settings could not be read: what depends on them cannot be decided from this dump.
    pub controllers_unread: Option<String>,
}

/// Why a text is no dump.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// It is no JSON, or lacks what a dump has.
    #[error("not a dump of a hub: {0}")]
    Malformed(String),
    /// Another kind of document.
    #[error("not a dump of a hub: its kind is {0:?}, but `tidegate snapshot` writes {KIND:?}")]
    Foreign(String),
    /// Written by another version of this program.
    #[error(
        "the dump has format {0}, but this version reads format {FORMAT}; create the dump again with `tidegate snapshot`"
    )]
    Format(u64),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    taken_at: Timestamp,
    complete: Vec<String>,
    objects: Vec<Object>,
    #[serde(default)]
    configs: Vec<WrittenConfig>,
    #[serde(default)]
    definitions: Vec<Value>,
    #[serde(default)]
    controllers: BTreeMap<String, String>,
    #[serde(default)]
    controllers_unread: Option<String>,
}

/// An object of the hub; no tree is built of one with too many values.
struct Object(Value);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(reader)?;
        let read: Value = kubernetes::bounds::read(text.get(), &Path::root()).map_err(D::Error::custom)?;
        let lacks_text = |field: &&str| {
            read.pointer(field)
                .and_then(Value::as_str)
                .is_none_or(str::is_empty)
        };
        match ["/apiVersion", "/kind", "/metadata/name"]
            .into_iter()
            .find(lacks_text)
        {
            Some(field) => Err(D::Error::custom(format!(
                "each item of objects must be a Kubernetes object, but one item has no string at {field}"
            ))),
            None => Ok(Self(read)),
        }
    }
}

#[derive(Deserialize)]
struct WrittenConfig {
    group: String,
    resource: String,
    namespace: String,
    name: String,
    #[serde(default)]
    absent: Option<String>,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    generation: i64,
    #[serde(default)]
    hash: String,
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    format: u64,
}

impl Dump {
    /// Reads a dump.
    pub fn read(text: &str) -> Result<Self, DumpError> {
        let malformed = |error: serde_json::Error| DumpError::Malformed(error.to_string());
        // The head first: what another kind of document lacks is not what is wrong with it.
        let head: Head = serde_json::from_str(text).map_err(malformed)?;
        if head.kind != KIND {
            return Err(DumpError::Foreign(head.kind));
        }
        if head.format != FORMAT {
            return Err(DumpError::Format(head.format));
        }
        let written: Written = serde_json::from_str(text).map_err(malformed)?;
        let mut hub = Hub::default();
        for name in &written.complete {
            let known = Kind::ALL.into_iter().find(|kind| kind.word() == name);
            let unknown = || DumpError::Malformed(format!("unknown kind {name:?}"));
            hub.complete(known.ok_or_else(unknown)?);
        }
        for definition in &written.definitions {
            let known = Definition::read(definition);
            hub.define(known.ok_or_else(|| DumpError::Malformed("a definition lacks its names".to_owned()))?);
        }
        for Object(object) in written.objects {
            hub.put(object);
        }
        hub.mark_redacted();
        for config in written.configs {
            let (config, answer) = config.read()?;
            hub.answer(config, answer);
        }
        Ok(Self {
            taken_at: written.taken_at,
            hub,
            controllers: written.controllers,
            controllers_unread: written.controllers_unread,
        })
    }

    /// Returns the dump as text, without bookkeeping and without Secrets.
    pub fn render(&self) -> String {
        self.redacted().render()
    }

    /// Returns the dump without bookkeeping and without Secrets.
    pub fn redacted(&self) -> RedactedDump {
        let (keys, objects): (Vec<_>, Vec<_>) = self.hub.objects().iter().unzip();
        let known = keys.len();
        let objects = objects.into_iter().map(std::sync::Arc::as_ref);
        let mut all: Vec<Value> = objects.chain(self.hub.policies()).cloned().collect();
        let hides = redact::strip(&mut all);
        let policies = all.split_off(known);
        let objects = keys.into_iter().cloned().zip(all).collect();
        RedactedDump {
            dump: Self {
                taken_at: self.taken_at,
                hub: self.hub.with_objects(objects, policies),
                controllers: self.controllers.clone(),
                controllers_unread: self.controllers_unread.clone(),
            },
            hides,
        }
    }
}

/// A dump without bookkeeping and without Secrets.
#[derive(Clone, Debug)]
pub struct RedactedDump {
    dump: Dump,
    hides: bool,
}

impl RedactedDump {
    /// Returns the hub; nothing where no credential was in it, so that it plans what the hub plans.
    pub fn redacted_hub(&mut self) -> Option<&mut Hub> {
        self.hides.then_some(&mut self.dump.hub)
    }

    /// Returns the dump as text.
    pub fn render(&self) -> String {
        let Dump {
            taken_at,
            hub,
            controllers,
            controllers_unread,
        } = &self.dump;
        let objects = hub.objects().values().map(std::sync::Arc::as_ref);
        let objects: Vec<Value> = objects.chain(hub.policies()).cloned().collect();
        let complete: Vec<&str> = Kind::ALL
            .into_iter()
            .filter(|kind| hub.completed().contains(kind))
            .map(Kind::word)
            .collect();
        let configs: Vec<Value> = hub.answers().iter().map(config).collect();
        let definitions: Vec<Value> = hub.definitions().map(Definition::written).collect();
        let head = [
            ("kind", json!(KIND)),
            ("format", json!(FORMAT)),
            ("takenAt", json!(taken_at.to_string())),
            ("complete", json!(complete)),
        ];
        let told = (!controllers.is_empty()).then(|| ("controllers", json!(controllers)));
        let unread = controllers_unread
            .as_ref()
            .map(|why| ("controllersUnread", json!(why)));
        let head: Vec<String> = head
            .iter()
            .chain(&told)
            .chain(&unread)
            .map(|(field, value)| format!("\"{field}\": {value},\n"))
            .collect();
        let definitions = if definitions.is_empty() {
            String::new()
        } else {
            format!("\"definitions\": {},\n", lines(&definitions))
        };
        let (configs, objects) = (lines(&configs), lines(&objects));
        format!(
            "{{\n{}{definitions}\"configs\": {configs},\n\"objects\": {objects}\n}}\n",
            head.concat()
        )
    }
}

/// One line an object: a dump can be compared with another one line by line.
fn lines(values: &[Value]) -> String {
    if values.is_empty() {
        return "[]".to_owned();
    }
    let lines: Vec<String> = values.iter().map(Value::to_string).collect();
    format!("[\n{}\n]", lines.join(",\n"))
}

fn config((config, answer): (&ConfigRef, &ConfigLookup)) -> Value {
    let ConfigRef { of, namespace, name } = config;
    let mut value =
        json!({"group": *of.group, "resource": *of.resource, "namespace": **namespace, "name": **name});
    let more = match answer {
        ConfigLookup::Exists(seen) => {
            json!({"uid": *seen.uid, "version": *seen.version, "generation": seen.generation, "hash": *seen.hash})
        }
        ConfigLookup::Absent(absence) => json!({"absent": absence_word(*absence)}),
    };
    if let (Value::Object(fields), Value::Object(more)) = (&mut value, more) {
        fields.extend(more);
    }
    value
}

const ABSENCES: [Absence; 3] = [Absence::Missing, Absence::NeedsNamespace, Absence::HasNoNamespace];

fn absence_word(absence: Absence) -> &'static str {
    match absence {
        Absence::Missing => "missing",
        Absence::NeedsNamespace => "needs-namespace",
        Absence::HasNoNamespace => "has-no-namespace",
    }
}

impl WrittenConfig {
    fn read(self) -> Result<(ConfigRef, ConfigLookup), DumpError> {
        let config = ConfigRef {
            of: ConfigType {
                group: self.group.into(),
                resource: self.resource.into(),
            },
            namespace: self.namespace.into(),
            name: self.name.into(),
        };
        let answer = match self.absent {
            None => ConfigLookup::Exists(ObservedConfig {
                uid: self.uid.into(),
                version: self.version.into(),
                generation: self.generation,
                hash: self.hash.into(),
            }),
            Some(word) => {
                let known = ABSENCES
                    .into_iter()
                    .find(|absence| absence_word(*absence) == word);
                let unknown = || DumpError::Malformed(format!("unknown absence {word:?}"));
                ConfigLookup::Absent(known.ok_or_else(unknown)?)
            }
        };
        Ok((config, answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump() -> Dump {
        let mut hub = Hub::default();
        for name in ["b", "a"] {
            hub.put(
                json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
                "metadata": {"name": name, "uid": name, "resourceVersion": "7"}, "spec": {}}),
            );
        }
        hub.complete(Kind::Cluster);
        let config = |name: &str| ConfigRef {
            of: ConfigType {
                group: "g".into(),
                resource: "rs".into(),
            },
            namespace: "".into(),
            name: name.into(),
        };
        hub.answer(config("x"), ConfigLookup::Absent(Absence::NeedsNamespace));
        hub.answer(
            config("y"),
            ConfigLookup::Exists(ObservedConfig::of(&json!({"spec": {}, "metadata": {"uid": "u"}}))),
        );
        Dump {
            taken_at: "2026-01-01T00:00:00Z".parse().expect("a time"),
            hub,
            controllers: BTreeMap::from([("compat".to_owned(), "ocm".to_owned())]),
            controllers_unread: Some("forbidden".to_owned()),
        }
    }

    #[test]
    fn a_dump_is_read_as_it_was_written() {
        let text = dump().render();
        let again = Dump::read(&text).expect("a dump");
        assert_eq!(again.hub.answers(), dump().hub.answers());
        assert_eq!(again.hub.completed(), dump().hub.completed());
        assert_eq!(again.controllers, dump().controllers);
        assert_eq!(again.controllers_unread, dump().controllers_unread);
        assert_eq!(again.render(), text);
        assert!(
            text.find("\"name\":\"a\"") < text.find("\"name\":\"b\""),
            "sorted: {text}"
        );
    }

    #[test]
    fn what_is_no_dump_says_why() {
        for (text, said) in [
            ("", "EOF"),
            ("[]", "not a dump of a hub"),
            ("{\"kind\": \"List\"}", "\"List\""),
            ("{\"kind\": \"TidegateSnapshot\", \"format\": 9}", "format 9"),
            ("{\"kind\": \"TidegateSnapshot\", \"format\": 1}", "takenAt"),
            (
                "{\"kind\": \"TidegateSnapshot\", \"format\": 1, \"takenAt\": \"2026-01-01T00:00:00Z\", \"complete\": [\"X\"], \"objects\": []}",
                "\"X\"",
            ),
            (
                "{\"kind\": \"TidegateSnapshot\", \"format\": 1, \"takenAt\": \"2026-01-01T00:00:00Z\", \"complete\": [], \"objects\": [1]}",
                "no string at /apiVersion",
            ),
            (
                "{\"kind\": \"TidegateSnapshot\", \"format\": 1, \"takenAt\": \"2026-01-01T00:00:00Z\", \"complete\": [],
                  \"objects\": [{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": 3}]}",
                "no string at /metadata/name",
            ),
        ] {
            let error = Dump::read(text).expect_err(text).to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
