//! The ways around a webhook, one row each: the requests that a way consists of. The caller checks what is stored.

use serde_json::{Map, Value, json};

use super::rig::{ADDONS, Ask, OTHER, address, ask, collection};

/// Annotations and finalizers that only make an object larger begin like this.
pub(crate) const PADDING: &str = "pad.example.com/";
/// One more than the gate looks through in a list.
const MANY: usize = 10_001;

/// What is stored before a way is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// Nothing.
    Nothing,
    /// An innocent object.
    Innocent,
    /// An innocent object that a finalizer keeps after its deletion.
    Going,
}

/// What the hub itself does with an innocent object on this way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hub {
    /// Stores it.
    Stores,
    /// Stores nothing of it, and accepts or denies; or an innocent object is too large for the webhook as well.
    StoresNothing,
    /// Stores it if the kind has a field for it.
    Either,
}

/// How the requests of a way are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// One after another.
    InTurn,
    /// All at once.
    AtOnce,
    /// As dry runs, which store nothing: only the response counts.
    Dry,
}

/// A way past the gate.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) from: From,
    pub(crate) hub: Hub,
    /// How the requests are sent.
    pub(crate) manner: Manner,
    /// Whether it costs so much that of many rules only every sixth is sent this way.
    pub(crate) is_heavy: bool,
    requests: fn(&Scene<'_>) -> Option<Vec<Ask>>,
}

/// What is wanted, and what is there.
pub(crate) struct Scene<'a> {
    /// The object that is to be stored.
    pub(crate) wanted: &'a Value,
    /// The object that is stored, as the hub shows it; null when there is none.
    pub(crate) stored: &'a Value,
}

impl Way {
    /// Returns the requests; nothing where the way does not lead through this kind of object.
    pub(crate) fn requests(&self, scene: &Scene<'_>) -> Option<Vec<Ask>> {
        (self.requests)(scene)
    }
}

const fn way(name: &'static str, from: From, requests: fn(&Scene<'_>) -> Option<Vec<Ask>>) -> Way {
    Way {
        name,
        from,
        hub: Hub::Stores,
        manner: Manner::InTurn,
        is_heavy: false,
        requests,
    }
}

const fn refused_by_the_hub(way: Way) -> Way {
    Way {
        hub: Hub::StoresNothing,
        ..way
    }
}

const fn heavy(way: Way) -> Way {
    Way {
        is_heavy: true,
        ..way
    }
}

const fn dry(way: Way) -> Way {
    Way {
        hub: Hub::StoresNothing,
        manner: Manner::Dry,
        ..way
    }
}

/// Every way.
pub(crate) const WAYS: [Way; 45] = [
    way("create", From::Nothing, |s| Some(vec![s.post(s.wanted)])),
    way("create, YAML", From::Nothing, |s| {
        Some(vec![s.typed("application/yaml", s.post(s.wanted))])
    }),
    way("create, fields not validated", From::Nothing, |s| {
        Some(vec![s.query("fieldValidation=Ignore", s.post(s.wanted))])
    }),
    way("create, other version", From::Nothing, |s| {
        Some(vec![ask(
            "POST",
            collection(s.wanted, OTHER),
            &s.in_other_version(s.wanted),
        )])
    }),
    way("create, annotations at the limit", From::Nothing, |s| {
        Some(vec![s.post(&s.at_the_limit())])
    }),
    heavy(way("create, 10,002 annotations", From::Nothing, |s| {
        Some(vec![s.post(&s.padded("annotations", 10_002))])
    })),
    heavy(way("create, 10,002 labels", From::Nothing, |s| {
        Some(vec![s.post(&s.padded("labels", 10_002))])
    })),
    refused_by_the_hub(heavy(way(
        "create, long list of finalizers",
        From::Nothing,
        |s| Some(vec![s.post(&s.held_by(MANY))]),
    ))),
    refused_by_the_hub(heavy(way("create, long list in the spec", From::Nothing, |s| {
        Some(vec![s.post(&s.with_long_list()?)])
    }))),
    refused_by_the_hub(way("create, nested deep", From::Nothing, |s| {
        Some(vec![s.post(&s.nested()?)])
    })),
    way("create, large text", From::Nothing, |s| {
        let text = "x".repeat(250 << 10);
        Some(vec![s.post(&s.with(
            "/metadata/annotations",
            &json!({"pad.example.com/text": text}),
        ))])
    }),
    way("create, large unknown fields", From::Nothing, |s| {
        let mut wanted = s.wanted.clone();
        wanted["padding"] = (0..MANY).map(|n| json!([n])).collect();
        wanted["spec"]["padding"] = wanted["padding"].clone();
        Some(vec![s.post(&wanted)])
    }),
    way("create, keys twice in JSON", From::Nothing, |s| {
        Some(vec![s.raw("application/json", &s.twice(true))])
    }),
    Way {
        hub: Hub::Either,
        ..way("create, keys twice in JSON, reversed", From::Nothing, |s| {
            Some(vec![s.raw("application/json", &s.twice(false))])
        })
    },
    way("create, keys twice in YAML", From::Nothing, |s| {
        Some(vec![s.raw("application/yaml", &s.twice(true))])
    }),
    way("create, generateName", From::Nothing, |s| {
        let mut wanted = s.wanted.clone();
        let name = wanted["metadata"].as_object_mut()?.remove("name")?;
        wanted["metadata"]["generateName"] = json!(format!("{}-", name.as_str()?));
        Some(vec![s.post(&wanted)])
    }),
    way("create, with a status", From::Nothing, |s| {
        Some(vec![s.post(&s.with("/status", &json!({"conditions": []})))])
    }),
    way("create, born going", From::Nothing, |s| {
        let mut wanted = s.held_by(1);
        wanted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        Some(vec![s.post(&wanted)])
    }),
    refused_by_the_hub(way("create, in a List", From::Nothing, |s| {
        let list = json!({"apiVersion": s.wanted["apiVersion"], "kind": format!("{}List", s.wanted["kind"].as_str()?), "items": [s.wanted]});
        Some(vec![
            s.post(&list),
            s.post(&json!({"apiVersion": "v1", "kind": "List", "items": [s.wanted]})),
        ])
    })),
    refused_by_the_hub(way("create, protobuf", From::Nothing, |s| {
        Some(vec![
            s.typed("application/vnd.kubernetes.protobuf", s.post(s.wanted)),
        ])
    })),
    Way {
        manner: Manner::AtOnce,
        ..heavy(way("create, eight at once and large", From::Nothing, |s| {
            Some(vec![s.post(&s.at_the_limit()); 8])
        }))
    },
    way("create by applying", From::Nothing, |s| Some(vec![s.apply("")])),
    way("create by applying, by force", From::Nothing, |s| {
        Some(vec![s.apply("&force=true")])
    }),
    way("create by replacing", From::Nothing, |s| {
        Some(vec![
            ask("PUT", address(s.wanted, "v1alpha1"), s.wanted),
            s.apply("&force=true&fieldValidation=Ignore"),
        ])
    }),
    dry(way("dry run of a create", From::Nothing, |s| {
        Some(vec![s.query("dryRun=All", s.post(s.wanted))])
    })),
    way("replace", From::Innocent, |s| Some(vec![s.put(s.wanted)])),
    way("replace, YAML", From::Innocent, |s| {
        Some(vec![s.typed("application/yaml", s.put(s.wanted))])
    }),
    refused_by_the_hub(way("replace, old metadata", From::Innocent, |s| {
        let mut wanted = s.wanted.clone();
        wanted["metadata"]["resourceVersion"] = json!("1");
        Some(vec![ask("PUT", address(s.wanted, "v1alpha1"), &wanted)])
    })),
    way("merge patch", From::Innocent, |s| {
        Some(vec![s.merge(&s.both(), "")])
    }),
    way("merge patch, other version", From::Innocent, |s| {
        Some(vec![s.typed(
            "application/merge-patch+json",
            ask("PATCH", address(s.wanted, OTHER), &s.both()),
        )])
    }),
    heavy(way("merge patch, large", From::Innocent, |s| {
        let mut patch = s.both();
        patch["metadata"]["annotations"] = s.padded("annotations", 10_002)["metadata"]["annotations"].clone();
        Some(vec![s.merge(&patch, "")])
    })),
    way("JSON patch", From::Innocent, |s| {
        let mut patch = vec![json!({"op": "add", "path": "/spec", "value": s.wanted["spec"]})];
        patch.extend(
            s.metadata().iter().map(
                |(name, value)| json!({"op": "add", "path": format!("/metadata/{name}"), "value": value}),
            ),
        );
        Some(vec![s.typed(
            "application/json-patch+json",
            ask("PATCH", address(s.wanted, "v1alpha1"), &json!(patch)),
        )])
    }),
    refused_by_the_hub(way("strategic merge patch", From::Innocent, |s| {
        Some(vec![s.typed(
            "application/strategic-merge-patch+json",
            ask("PATCH", address(s.wanted, "v1alpha1"), &s.both()),
        )])
    })),
    way("apply over it", From::Innocent, |s| {
        Some(vec![s.apply("&force=true")])
    }),
    way("labels, then spec", From::Innocent, |s| {
        Some(vec![
            s.merge(&json!({"metadata": s.metadata()}), ""),
            s.merge(&json!({"spec": s.spec()}), ""),
        ])
    }),
    way("spec, then labels", From::Innocent, |s| {
        Some(vec![
            s.merge(&json!({"spec": s.spec()}), ""),
            s.merge(&json!({"metadata": s.metadata()}), ""),
        ])
    }),
    way("field by field", From::Innocent, |s| {
        let spec = s.spec();
        let fields = spec.as_object()?;
        let mut all: Vec<Ask> = fields
            .iter()
            .map(|(name, value)| s.merge(&json!({"spec": {name: value}}), ""))
            .collect();
        for (name, value) in s.metadata() {
            all.push(s.merge(&json!({"metadata": {name: value}}), ""));
        }
        Some(all)
    }),
    way("a finalizer with it", From::Innocent, |s| {
        let mut patch = s.both();
        patch["metadata"]["finalizers"] = json!(["pad.example.com/hold"]);
        Some(vec![s.merge(&patch, "")])
    }),
    refused_by_the_hub(way("status, replaced", From::Innocent, |s| {
        let put = s.put(s.wanted);
        Some(vec![Ask {
            path: format!("{}/status", put.path),
            ..put
        }])
    })),
    refused_by_the_hub(way("status, patched", From::Innocent, |s| {
        let patch = s.merge(&s.both(), "");
        Some(vec![Ask {
            path: format!("{}/status", patch.path),
            ..patch
        }])
    })),
    refused_by_the_hub(way("scale", From::Innocent, |s| {
        let put = s.put(s.wanted);
        let patch = s.merge(&s.both(), "");
        Some(vec![
            Ask {
                path: format!("{}/scale", put.path),
                ..put
            },
            Ask {
                path: format!("{}/scale", patch.path),
                ..patch
            },
        ])
    })),
    dry(way("dry run of a patch", From::Innocent, |s| {
        Some(vec![s.merge(&s.both(), "?dryRun=All")])
    })),
    way("going, then patched", From::Going, |s| {
        Some(vec![s.merge(&s.both(), "")])
    }),
    way("going, then applied over", From::Going, |s| {
        Some(vec![s.apply("&force=true")])
    }),
    way("going, then replaced", From::Going, |s| {
        let mut wanted = s.wanted.clone();
        wanted["metadata"]["finalizers"] = s.stored["metadata"]["finalizers"].clone();
        Some(vec![s.put(&wanted)])
    }),
];

impl Scene<'_> {
    fn post(&self, object: &Value) -> Ask {
        ask("POST", collection(self.wanted, "v1alpha1"), object)
    }

    fn put(&self, object: &Value) -> Ask {
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = self.stored["metadata"]["resourceVersion"].clone();
        ask("PUT", address(self.wanted, "v1alpha1"), &object)
    }

    fn merge(&self, patch: &Value, query: &str) -> Ask {
        let path = format!("{}{query}", address(self.wanted, "v1alpha1"));
        self.typed("application/merge-patch+json", ask("PATCH", path, patch))
    }

    fn apply(&self, more: &str) -> Ask {
        let path = format!("{}?fieldManager=bypass{more}", address(self.wanted, "v1alpha1"));
        self.typed("application/apply-patch+yaml", ask("PATCH", path, self.wanted))
    }

    fn typed(&self, content: &'static str, ask: Ask) -> Ask {
        let _ = self;
        Ask { content, ..ask }
    }

    fn query(&self, query: &str, ask: Ask) -> Ask {
        let _ = self;
        Ask {
            path: format!("{}?{query}", ask.path),
            ..ask
        }
    }

    fn raw(&self, content: &'static str, body: &str) -> Ask {
        Ask {
            body: body.to_owned(),
            ..self.typed(content, self.post(self.wanted))
        }
    }

    /// Labels and annotations that are wanted, and absent ones as null.
    fn metadata(&self) -> Map<String, Value> {
        let parts = ["labels", "annotations"].into_iter();
        parts
            .map(|name| {
                (
                    name.to_owned(),
                    self.wanted["metadata"]
                        .get(name)
                        .cloned()
                        .unwrap_or_else(|| json!({})),
                )
            })
            .map(|(name, wanted)| {
                let mut patch = wanted.as_object().cloned().unwrap_or_default();
                let stored = self.stored["metadata"][&name].as_object().into_iter().flatten();
                for (key, _) in stored {
                    patch.entry(key.clone()).or_insert(Value::Null);
                }
                (name, Value::Object(patch))
            })
            .collect()
    }

    /// The spec that is wanted, as a patch: what is stored and not wanted is null.
    fn spec(&self) -> Value {
        let mut patch = self.wanted["spec"].clone();
        if let (Some(fields), Some(stored)) = (patch.as_object_mut(), self.stored["spec"].as_object()) {
            for name in stored.keys() {
                fields.entry(name.clone()).or_insert(Value::Null);
            }
        }
        patch
    }

    fn both(&self) -> Value {
        json!({"metadata": self.metadata(), "spec": self.spec()})
    }

    fn in_other_version(&self, object: &Value) -> Value {
        let _ = self;
        let mut object = object.clone();
        let version = object["apiVersion"].as_str().unwrap_or_default();
        if version.starts_with(ADDONS) {
            object["apiVersion"] = json!(format!("{ADDONS}/{OTHER}"));
        }
        object
    }

    fn with(&self, pointer: &str, value: &Value) -> Value {
        let mut wanted = self.wanted.clone();
        let mut part = &mut wanted;
        for name in pointer.trim_start_matches('/').split('/') {
            part = &mut part[name];
        }
        match (part, value) {
            (Value::Object(fields), Value::Object(more)) => fields.extend(more.clone()),
            (part, value) => *part = value.clone(),
        }
        wanted
    }

    fn padded(&self, part: &str, count: usize) -> Value {
        let all: Map<String, Value> = (0..count).map(|n| (format!("{PADDING}{n}"), json!(""))).collect();
        self.with(&format!("/metadata/{part}"), &Value::Object(all))
    }

    /// 256 KiB of annotations, less what the object has of its own.
    fn at_the_limit(&self) -> Value {
        let all: Map<String, Value> = (0..250)
            .map(|n| (format!("{PADDING}{n:04}"), json!("x".repeat(1 << 10))))
            .collect();
        self.with("/metadata/annotations", &Value::Object(all))
    }

    fn held_by(&self, count: usize) -> Value {
        let all: Vec<String> = (0..count).map(|n| format!("{PADDING}{n}")).collect();
        self.with("/metadata/finalizers", &json!(all))
    }

    /// The object with its first list of objects made long: the denied part stays in front.
    fn with_long_list(&self) -> Option<Value> {
        // Ten thousand large items are gigabytes, and no hub reads such a request.
        fn is_small(item: &Value) -> bool {
            item.is_object() && item.to_string().len() < 1 << 10
        }
        fn grow(value: &mut Value) -> bool {
            match value {
                Value::Array(items) if items.last().is_some_and(is_small) => {
                    let last = items.last().cloned().unwrap_or_default();
                    for n in items.len()..MANY {
                        let mut more = last.clone();
                        if more.get("name").is_some() {
                            more["name"] = json!(format!("pad-{n}"));
                        }
                        items.push(more);
                    }
                    true
                }
                Value::Array(items) => items.iter_mut().any(grow),
                Value::Object(fields) => fields.values_mut().any(grow),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
            }
        }
        let mut wanted = self.wanted.clone();
        grow(&mut wanted["spec"]).then_some(wanted)
    }

    /// Only manifests of a template can contain any value.
    fn nested(&self) -> Option<Value> {
        let mut wanted = self.wanted.clone();
        let manifests = wanted.pointer_mut("/spec/agentSpec/workload/manifests")?;
        let deep = (0..70).fold(json!(1), |inner, _| json!([inner]));
        manifests.as_array_mut()?.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "deep", "namespace": "default"}, "deep": deep}));
        Some(wanted)
    }

    /// The object with an innocent spec beside its own.
    fn twice(&self, innocent_first: bool) -> String {
        let (wanted, spec) = (&self.wanted, &self.wanted["spec"]);
        let whole = json!({"apiVersion": wanted["apiVersion"], "kind": wanted["kind"], "metadata": wanted["metadata"]}).to_string();
        let head = whole.strip_suffix('}').unwrap_or(&whole);
        if innocent_first {
            format!("{head},\"spec\":{{}},\"spec\":{spec}}}")
        } else {
            format!("{head},\"spec\":{spec},\"spec\":{{}}}}")
        }
    }
}
