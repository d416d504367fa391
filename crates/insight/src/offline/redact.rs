//! What a dump leaves out of objects.
//!
//! Decides that bookkeeping and credentials stay behind. Secrets keep their keys, every value the same; what else is a credential
//! is decided by `secret`, in fields, in texts, in JSON and base64 inside of texts. A credential that was found is taken out wherever
//! else it stands: so a work still equals what its template renders. Hashes change by that, and are put right wherever they are
//! mentioned.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use super::find::Finder;
use super::secret::{Found, TEXT, cleaned, is_about, is_sensitive, is_variable, variables_in};
use api::hash::SpecHash;
use store::{Kind, trim_owners};

/// Stands for a value of a Secret: base64, as its schema wants.
pub(super) const VALUE: &str = "cmVkYWN0ZWQ=";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// A credential that is shorter, or a plain word, is only taken out where it was found: it may be a word of something else.
const SHORTEST: usize = 8;
/// A shorter text holds nothing in base64.
const SHORTEST_BASE64: usize = 16;
/// How often something may be packed into something else.
const DEEPEST: usize = 4;

/// Takes out of objects what a dump does not hold; tells whether a credential was among it.
pub(super) fn strip(objects: &mut [Value]) -> bool {
    objects.iter_mut().for_each(bookkeeping);
    let hashes: Vec<String> = objects.iter().map(hashed).collect();
    let mut search = Search::default();
    // A template shows which variables are credentials by where it puts them: they are hidden in configurations and works alike.
    for template in objects
        .iter()
        .map(copied)
        .filter(|object| is_of(object, Kind::Template))
    {
        search.value(&mut template.clone(), 0);
    }
    for object in objects.iter_mut() {
        search.value(object, 0);
    }
    let everywhere = search.everywhere();
    if !everywhere.is_empty() {
        replace_all(objects, &everywhere);
    }
    let after = objects.iter().map(hashed);
    let changed = hashes
        .into_iter()
        .zip(after)
        .filter(|(before, after)| before != after);
    let changed = Finder::of(changed);
    if !changed.is_empty() {
        replace_all(objects, &changed);
    }
    search.hides
}

/// Returns what an object is a copy of, or itself: a copy has the hash of the content in it.
fn copied(object: &Value) -> &Value {
    let copy = object.get("data").filter(|_| is_of(object, Kind::KeptContent));
    copy.unwrap_or(object)
}

fn hashed(object: &Value) -> String {
    SpecHash::of(copied(object)).to_string()
}

fn bookkeeping(object: &mut Value) {
    // Who owns what of an add-on on a cluster is what its plan asks about.
    let owners = is_of(object, Kind::Instance).then(|| {
        let mut copy = object.clone();
        trim_owners(&mut copy);
        copy.pointer_mut("/metadata/managedFields").map(Value::take)
    });
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        metadata.remove("selfLink");
        if let Some(owners) = owners.flatten() {
            metadata.insert("managedFields".to_owned(), owners);
        }
    }
}

fn is_of(object: &Value, kind: Kind) -> bool {
    object.get("kind").and_then(Value::as_str) == Some(kind.address().kind)
}

fn replace_all(objects: &mut [Value], finder: &Finder) {
    for object in objects {
        replace(object, finder);
    }
}

fn replace(value: &mut Value, finder: &Finder) {
    match value {
        Value::String(text) => {
            if let Some(other) = finder.replaced(text) {
                *text = other;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, finder)),
        Value::Object(fields) => {
            if fields.keys().any(|key| !finder.find(key).is_empty()) {
                let old = std::mem::take(fields);
                fields.extend(
                    old.into_iter()
                        .map(|(key, value)| (finder.replaced(&key).unwrap_or(key), value)),
                );
            }
            fields.values_mut().for_each(|field| replace(field, finder));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What is found on the way.
#[derive(Debug, Default)]
struct Search {
    credentials: BTreeSet<String>,
    /// Names of objects, and of what they are: no credential, even where a password is the same word.
    names: BTreeSet<String>,
    /// Variables that templates put in the place of a credential.
    variables: BTreeSet<String>,
    /// Whether anything was taken out.
    hides: bool,
}

impl Search {
    fn value(&mut self, value: &mut Value, depth: usize) {
        match value {
            Value::String(text) => {
                if let Some(other) = self.text(text, depth) {
                    *text = other;
                }
            }
            Value::Array(items) => self.list(items, depth),
            Value::Object(fields) => self.object(fields, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn list(&mut self, items: &mut [Value], depth: usize) {
        let mut is_flag = false;
        for item in items {
            // A flag and its value may be two words of a command.
            let flag = item.as_str().is_some_and(|word| {
                word.starts_with('-') && !word.contains(['=', ' ']) && is_sensitive(word)
            });
            if is_flag && item.as_str().is_some_and(|word| !word.starts_with('-')) {
                self.all(item, TEXT);
            } else {
                self.value(item, depth);
            }
            is_flag = flag;
        }
    }

    fn object(&mut self, fields: &mut Map<String, Value>, depth: usize) {
        // It goes, and what it held may stand elsewhere.
        if let Some(Value::String(applied)) = fields.remove(LAST_APPLIED) {
            let _cleaned = self.text(&applied, depth);
        }
        self.remember(fields);
        let is_secret = fields.get("kind").and_then(Value::as_str) == Some("Secret");
        // Variables of containers and of configurations, headers, feedback: a name, and its value beside it.
        let is_named = fields
            .get("name")
            .and_then(Value::as_str)
            .is_some_and(|name| is_sensitive(name) || self.variables.contains(name));
        for (key, value) in fields.iter_mut() {
            match (key.as_str(), &mut *value) {
                ("data", Value::Object(_)) if is_secret => self.all(value, VALUE),
                ("stringData", Value::Object(_)) if is_secret => self.all(value, TEXT),
                ("value" | "fieldValue", _) if is_named => self.all(value, TEXT),
                (_, Value::String(_)) if is_sensitive(key) => self.all(value, TEXT),
                (_, Value::Array(items)) if is_sensitive(key) && items.iter().all(Value::is_string) => {
                    self.all(value, TEXT);
                }
                (_, Value::Object(parts)) if is_sensitive(key) && parts.values().all(Value::is_string) => {
                    // A volume, a selector: what names a Secret or a place is no credential.
                    for (name, part) in parts.iter_mut() {
                        if is_about(name) {
                            self.value(part, depth);
                        } else {
                            self.all(part, TEXT);
                        }
                    }
                }
                (_, _) => self.value(value, depth),
            }
        }
    }

    fn remember(&mut self, fields: &Map<String, Value>) {
        let metadata = fields.get("metadata").and_then(Value::as_object);
        let names = ["name", "namespace"].map(|field| metadata.and_then(|metadata| metadata.get(field)));
        let kinds = ["kind", "apiVersion"].map(|field| fields.get(field));
        for name in names.into_iter().chain(kinds).flatten().filter_map(Value::as_str) {
            if name.len() >= SHORTEST && !self.names.contains(name) {
                self.names.insert(name.to_owned());
            }
        }
    }

    /// Hides every text below a value.
    fn all(&mut self, value: &mut Value, stand_in: &str) {
        match value {
            Value::String(text) => self.hide(text, stand_in),
            Value::Array(items) => items.iter_mut().for_each(|item| self.all(item, stand_in)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.all(field, stand_in)),
            Value::Number(_) => {
                self.hides = true;
                *value = Value::String(stand_in.to_owned());
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn hide(&mut self, text: &mut String, stand_in: &str) {
        self.variables.extend(variables_in(text));
        if is_variable(text) || text == stand_in {
            return;
        }
        self.found(text);
        stand_in.clone_into(text);
    }

    /// Takes what is a credential out of a text.
    fn text(&mut self, text: &str, depth: usize) -> Option<String> {
        if depth >= DEEPEST {
            return None;
        }
        self.json(text, depth)
            .or_else(|| self.manifest(text))
            .or_else(|| self.base64(text, depth))
            .or_else(|| {
                cleaned(text, &mut |found| match found {
                    Found::Credential(found) => self.found(found),
                    Found::Variable(text) => self.variables.extend(variables_in(text)),
                })
            })
    }

    /// A text that is JSON: an object or a list.
    fn json(&mut self, text: &str, depth: usize) -> Option<String> {
        let inside = text.trim();
        if !(inside.starts_with('{') && inside.ends_with('}')
            || inside.starts_with('[') && inside.ends_with(']'))
        {
            return None;
        }
        let before: Value = serde_json::from_str(inside).ok()?;
        let mut after = before.clone();
        self.value(&mut after, depth + 1);
        (before != after).then(|| after.to_string())
    }

    /// A text that is a manifest of a Secret: all of it.
    fn manifest(&mut self, text: &str) -> Option<String> {
        let is_secret = |line: &str| {
            let line = line.trim_start_matches([' ', '-', '"', '\'', '{']);
            let kind = line
                .strip_prefix("kind")
                .map(|rest| rest.trim_matches([' ', ':', '"', '\'', ',', '\r', '}']));
            kind == Some("Secret")
        };
        if !text.lines().any(is_secret) {
            return None;
        }
        for line in text.lines() {
            let value = line.split_once(": ").map_or(line, |(_, value)| value);
            self.found(value.trim_matches([' ', '"', '\'', ',', '\r']));
        }
        self.found(text);
        Some(TEXT.to_owned())
    }

    /// A text in base64: all of it, when a credential is in it.
    fn base64(&mut self, text: &str, depth: usize) -> Option<String> {
        let inside = unpacked(text)?;
        self.text(&inside, depth + 1)?;
        self.found(text);
        Some(VALUE.to_owned())
    }

    /// Remembers a credential, and what it is when it is packed or unpacked.
    fn found(&mut self, text: &str) {
        self.hides = true;
        let mut all = Vec::new();
        forms(text, DEEPEST, &mut all);
        for form in all {
            if !is_telling(&form) {
                continue;
            }
            for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
                self.credentials.insert(engine.encode(&form));
            }
            self.credentials.insert(form);
        }
    }

    /// Returns what is taken out wherever it stands.
    fn everywhere(&self) -> Finder {
        let pair = |text: &String| (text.clone(), TEXT.to_owned());
        let all = Finder::of(self.credentials.iter().map(pair));
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for name in &self.names {
            names.extend(all.find(name).into_iter().map(|(_, (text, _))| text.as_str()));
        }
        let telling = self
            .credentials
            .iter()
            .filter(|text| !names.contains(text.as_str()));
        Finder::of(telling.map(pair))
    }
}

/// Tells whether a text is a credential wherever it stands: long enough, and no plain word.
fn is_telling(text: &str) -> bool {
    let classes: [fn(&char) -> bool; 4] = [
        char::is_ascii_lowercase,
        char::is_ascii_uppercase,
        char::is_ascii_digit,
        |letter| !letter.is_ascii_alphanumeric() && !matches!(letter, '-' | '.' | ' '),
    ];
    let has = classes
        .iter()
        .filter(|class| text.chars().any(|letter| class(&letter)));
    text.len() >= SHORTEST && text != VALUE && has.count() > 1
}

fn unpacked(text: &str) -> Option<String> {
    let plain: String = text
        .chars()
        .filter(|letter| !letter.is_ascii_whitespace())
        .collect();
    let is_one = |letter: char| letter.is_ascii_alphanumeric() || "+/=_-".contains(letter);
    if plain.len() < SHORTEST_BASE64 || !plain.chars().all(is_one) {
        return None;
    }
    let bare = plain.trim_end_matches('=');
    let bytes = STANDARD_NO_PAD
        .decode(bare)
        .or_else(|_| URL_SAFE_NO_PAD.decode(bare))
        .ok()?;
    String::from_utf8(bytes).ok()
}

/// Returns a text in which `%41` is a letter, as addresses write passwords.
fn unquoted(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let code = piece.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        if let Some(code) = code {
            bytes.push(code);
            bytes.extend(piece.bytes().skip(2));
        } else {
            bytes.push(b'%');
            bytes.extend(piece.bytes());
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Adds what a credential is when it is unpacked: every text of its JSON, the password behind a user's name.
fn forms(text: &str, depth: usize, found: &mut Vec<String>) {
    let text = text.trim();
    found.push(text.to_owned());
    found.push(unquoted(text));
    if depth == 0 {
        return;
    }
    let mut inner: Vec<String> = unpacked(text).into_iter().collect();
    if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
        leaves(&value, &mut inner);
    } else if let Some((_, password)) = text.split_once(':').filter(|_| !text.contains([' ', '/', '\n'])) {
        inner.push(password.to_owned());
    }
    for text in inner {
        forms(&text, depth - 1, found);
    }
}

fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| leaves(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn stripped(object: &Value) -> Value {
        let mut objects = [object.clone()];
        strip(&mut objects);
        let [object] = objects;
        object
    }

    #[test]
    fn of_an_add_on_on_a_cluster_it_is_kept_who_applies_it() {
        let fields = json!({"f:spec": {"f:installNamespace": {}}});
        let entry = json!({"manager": "flux", "operation": "Apply", "time": "2030-01-01T00:00:00Z", "fieldsV1": fields});
        let status = json!({"manager": "registration", "operation": "Update", "subresource": "status"});
        let annotations = json!({LAST_APPLIED: "{\"spec\": {\"desiredVersion\": \"v1\"}}"});
        let object = stripped(&json!({"kind": "ManagedClusterAddOn",
            "metadata": {"managedFields": [entry, status], "annotations": annotations}}));
        let version = json!({"f:spec": {"f:desiredVersion": {}}});
        let kept = json!({"annotations": {}, "managedFields": [
            {"manager": "flux", "operation": "Apply", "fieldsV1": fields},
            {"manager": "kubectl apply", "operation": "Apply", "fieldsV1": version}]});
        assert_eq!(object["metadata"], kept);
    }

    #[test]
    fn a_copy_of_content_keeps_the_hash_that_is_noted() {
        let variable = json!({"name": "PASSWORD", "value": "Hunter2Hunter2"});
        let data = json!({"kind": "AddOnDeploymentConfig", "metadata": {"name": "a"}, "spec": {"customizedVariables": [variable]}});
        let noted =
            json!({"kind": "ClusterManagementAddOn", "status": {"noted": SpecHash::of(&data).to_string()}});
        let mut objects = [json!({"kind": "ControllerRevision", "data": data}), noted];
        assert!(strip(&mut objects));
        let [copy, noted] = objects;
        assert!(!copy.to_string().contains("Hunter2"), "{copy}");
        assert_eq!(noted["status"]["noted"], SpecHash::of(&copy["data"]).to_string());
    }

    #[test]
    fn secrets_keep_their_keys_and_nothing_else() {
        let object = stripped(
            &json!({"metadata": {"managedFields": [1], "annotations": {LAST_APPLIED: "x", "a": "b"}},
            "spec": {"workload": {"manifests": [
                {"kind": "Secret", "data": {"password": "aGVsbG8="}, "stringData": {"token": "hello"},
                    "metadata": {"annotations": {LAST_APPLIED: "{\"data\": \"aGVsbG8=\"}"}}},
                {"kind": "ConfigMap", "data": {"colour": "red"}}]}}}),
        );
        let text = object.to_string();
        for gone in ["aGVsbG8=", "hello", "managedFields", "last-applied"] {
            assert!(!text.contains(gone), "{text}");
        }
        for kept in ["password", "token", "red", "\"a\":\"b\""] {
            assert!(text.contains(kept), "{text}");
        }
    }

    #[test]
    fn hashes_are_put_right_wherever_they_are_mentioned() {
        let config = json!({"spec": {"proxyConfig": {"httpProxy": "http://u:Hunter22@p"}}});
        let before = SpecHash::of(&config).to_string();
        let mention = json!({"status": {"hashes": [format!("{{\"x\":\"{before}\"}}"), "short"]}});
        let mut objects = [mention, config];
        strip(&mut objects);
        let after = SpecHash::of(&objects[1]).to_string();
        assert_ne!(before, after);
        assert_eq!(
            objects[0]["status"]["hashes"][0],
            format!("{{\"x\":\"{after}\"}}")
        );
    }

    #[test]
    fn an_object_without_credentials_stays_as_it_is() {
        let object = json!({"kind": "AddOnTemplate", "metadata": {"name": "hello"}, "spec": {"args": ["--token-file=/a/b", "x"],
            "env": [{"name": "TOKEN", "value": "{{TOKEN}}"}, {"name": "COLOUR", "value": "red"}],
            "proxy": "http://proxy.example.com:3128", "secretName": "pull", "image": "quay.io/a/b@sha256:0123456789abcdef"}});
        assert_eq!(stripped(&object), object);
    }

    #[test]
    fn what_a_template_renders_is_hidden_in_the_work_as_well() {
        let mut objects = [
            json!({"kind": "AddOnDeploymentConfig", "metadata": {"name": "c"},
                "spec": {"customizedVariables": [{"name": "DB_PASSWORD", "value": "Hunter22"}]}}),
            json!({"kind": "ManifestWork", "metadata": {"name": "w"}, "spec": {"args": ["connect root:Hunter22 now"],
                "packed": STANDARD.encode("Hunter22")}}),
        ];
        strip(&mut objects);
        let text = json!(objects).to_string();
        assert!(
            !text.contains("Hunter22") && !text.contains(&STANDARD.encode("Hunter22")),
            "{text}"
        );
        assert_eq!(objects[1]["spec"]["args"][0], "connect root:redacted now");
    }

    #[test]
    fn a_password_that_is_the_name_of_an_object_does_not_rename_it() {
        let mut objects = [
            json!({"kind": "ClusterManagementAddOn", "metadata": {"name": "Helloworld1"}, "spec": {"a": "Helloworld1"}}),
            json!({"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"password": "Helloworld1"}}),
            json!({"kind": "ConfigMap", "metadata": {"name": "d"}, "data": {"password": "clusters"}}),
        ];
        strip(&mut objects);
        assert_eq!(objects[0]["metadata"]["name"], "Helloworld1");
        assert_eq!(objects[0]["spec"]["a"], "Helloworld1");
        assert_eq!(objects[1]["data"]["password"], TEXT);
        assert_eq!(objects[2]["data"]["password"], TEXT);
    }

    /// Puts a credential into an object in every way that people do.
    fn planted(way: usize, secret: &str) -> Value {
        let packed = STANDARD.encode(secret);
        let inner =
            json!({"apiVersion": "v1", "kind": "Secret", "data": {"x": packed}, "stringData": {"y": secret}});
        let applied = json!({"metadata": {"annotations": {LAST_APPLIED: inner.to_string()}}});
        let config =
            json!({"auths": {"quay.io": {"auth": STANDARD.encode(format!("user:{secret}"))}}}).to_string();
        let kubeconfig =
            format!("users:\n- name: a\n  user:\n    token: {secret}\n    client-key-data: {packed}\n");
        match way {
            0 => inner,
            1 => json!({"kind": "List", "items": [inner]}),
            2 => applied,
            3 => json!({"x": [[applied]]}),
            4 => json!({"data": {"manifest": inner.to_string()}}),
            5 => json!({"data": {"manifest": json!([inner.to_string()]).to_string()}}),
            6 => {
                json!({"data": {"manifest": format!("kind: Secret\nstringData:\n  y: {secret}\ndata: {{x: {packed}}}\n")}})
            }
            7 => {
                json!({"httpProxy": format!("http://user:{secret}@proxy:1/"), "httpsProxy": format!("https://{secret}@proxy")})
            }
            8 => json!({"env": [{"name": "DB_PASSWORD", "value": secret}]}),
            9 => json!({"args": ["--password", secret, format!("--token={secret}")]}),
            10 => json!({"command": format!("curl -H 'Authorization: Bearer {secret}' --password {secret}")}),
            11 => json!({"data": {".dockerconfigjson": STANDARD.encode(&config)}}),
            12 => json!({"data": {"config.json": config}}),
            13 => json!({"binaryData": {"config": STANDARD.encode(&config)}}),
            14 => json!({"data": {"kubeconfig.yaml": kubeconfig}}),
            15 => json!({"data": {"x": STANDARD.encode(&kubeconfig)}}),
            16 => json!({"spec": {"clientSecret": secret, "tokens": [secret]}}),
            17 => json!({"metadata": {"annotations": {"example.com/api-key": secret}}}),
            18 => json!({"data": {"app.properties": format!("a=1\ndb.password={secret}\nb=2\n")}}),
            19 => json!({"data": {"app.json": format!("{{\"apiKey\": \"{secret}\", broken")}}),
            20 => {
                json!({"statusFeedback": {"values": [{"name": "token", "fieldValue": {"type": "String", "string": secret}}]}})
            }
            21 => {
                json!({"x": format!("-----BEGIN RSA PRIVATE KEY-----\n{secret}\n-----END RSA PRIVATE KEY-----")})
            }
            22 => {
                json!({"data": {"cert.pem": STANDARD.encode(format!("-----BEGIN PRIVATE KEY-----\n{secret}\n-----END PRIVATE KEY-----"))}})
            }
            23 => json!({"x": format!("eyJhbGciOi.eyJzdWIiOi.{secret}")}),
            _ => json!({"x": format!("ghp_{secret}{secret}")}),
        }
    }

    const WAYS: usize = 25;

    fn wrapped(wrap: usize, inner: Value) -> Value {
        match wrap {
            0 => inner,
            1 => {
                json!({"kind": "AddOnTemplate", "metadata": {"name": "t"}, "spec": {"agentSpec": {"workload": {"manifests": [inner]}}}})
            }
            2 => {
                json!({"kind": "ManifestWork", "metadata": {"name": "w"}, "spec": {"workload": {"manifests": [{"kind": "List", "items": [inner]}]}}})
            }
            3 => json!({"kind": "ConfigMap", "data": {"manifest": inner.to_string()}}),
            _ => json!({"status": {"conditions": [{"message": "x", "more": inner}]}}),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

        #[test]
        fn a_credential_is_nowhere_in_what_is_written(
            ways in proptest::collection::vec((0..WAYS, 0..5_usize), 1..4),
            secret in "[A-Z][a-z]{3,8}[0-9]{3,8}[A-Za-z0-9]{4,12}",
        ) {
            let copy = json!({"kind": "ConfigMap", "data": {"note": format!("it is {secret}."), "packed": STANDARD.encode(&secret), &secret: "x"}});
            let planted = ways.iter().map(|(way, wrap)| wrapped(*wrap, planted(*way, &secret)));
            let mut objects: Vec<Value> = planted.collect();
            // A private key, a token and a proxy's user are credentials as a whole; what is within them is found elsewhere only by the others.
            if ways.iter().any(|(way, _)| !matches!(way, 21..)) {
                objects.push(copy);
            }
            strip(&mut objects);
            let text = json!(objects).to_string();
            let escaped: Vec<String> = secret.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
            for gone in [secret.clone(), STANDARD.encode(&secret), STANDARD_NO_PAD.encode(&secret), escaped.concat()] {
                prop_assert!(!text.contains(&gone), "{gone} of {secret} by {ways:?}: {text}");
            }
            // Nor is it there packed together with something else.
            for word in text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"+/=_-".contains(letter)) {
                let inside = unpacked(word).unwrap_or_default();
                prop_assert!(!inside.contains(&secret), "{inside} by {ways:?}: {text}");
            }
        }
    }
}
