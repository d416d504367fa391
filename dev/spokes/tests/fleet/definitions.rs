//! The repository's own custom resource definitions. The test hub prunes, defaults and validates by them, so that a fleet
//! that writes what the schemas forbid fails its test, as it would fail on a real hub.

use std::{collections::BTreeMap, fs, path::Path};

use schema::Schema;
use serde_json::Value;

/// Schemas by plural.
pub(crate) struct Definitions(BTreeMap<String, Schema>);

impl Definitions {
    /// Reads `manifests/crds`.
    pub(crate) fn read() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests/crds");
        let folders = ["ours", "hub-without-ocm"].map(|kept| folder.join(kept));
        let files = folders
            .iter()
            .flat_map(|folder| fs::read_dir(folder).expect("the generated definitions"));
        let texts = files.map(|file| fs::read_to_string(file.expect("a file").path()).expect("a text"));
        Self(texts.map(|text| definition(&text)).collect())
    }

    /// Returns the object as a hub would store it; what it would refuse or drop fails the test.
    pub(crate) fn admit(&self, plural: &str, mut object: Value, old: Option<&Value>) -> Value {
        let Some(schema) = self.0.get(plural) else {
            assert_eq!(plural, "namespaces", "there is no definition of {plural}");
            return object;
        };
        let dropped = schema.prune(&mut object);
        assert_eq!(
            dropped,
            Vec::<String>::new(),
            "unknown fields in {plural}: {object:#}"
        );
        schema.apply_defaults(&mut object);
        let faults: Vec<_> = schema
            .validate(&object, old)
            .errors
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(faults, Vec::<String>::new(), "{plural}: {object:#}");
        object
    }
}

fn definition(text: &str) -> (String, Schema) {
    let definition: Value = serde_saphyr::from_str(text).expect("a definition in YAML");
    let plural = definition
        .pointer("/spec/names/plural")
        .and_then(Value::as_str)
        .expect("a plural");
    let schema = definition
        .pointer("/spec/versions/0/schema/openAPIV3Schema")
        .expect("a schema");
    (
        plural.to_owned(),
        Schema::parse(schema).expect("a structural schema"),
    )
}
