//! What the expressions of an admission policy see, and what happens when they fail.

use cel_engine::{Access, Activation, Authority, Decision, EvalError, Program, Purpose};
use serde_json::{Value, json};
use std::sync::Arc;

fn object() -> Value {
    json!({
        "metadata": {"namespace": "cluster1", "labels": {"app.kubernetes.io/name": "x", "a-b": "1"}},
        "spec": {"replicas": 3, "in": "y", "items": [{"n": 1}, {"n": 0}]},
        "nothing": null,
    })
}

fn compiled(source: &str) -> Program {
    Program::build(source)
        .map_err(|error| error.to_string())
        .expect("it compiles")
}

fn eval(source: &str) -> Result<Value, EvalError> {
    let object = object();
    let mut activation = Activation::new(1_000_000);
    activation.bind("object", &object);
    activation.eval(&compiled(source))
}

fn failed<T>(words: &str) -> Result<T, EvalError> {
    Err(EvalError::Failed(words.to_owned()))
}

#[test]
fn property_names_are_not_escaped() {
    for source in [
        "object.metadata.namespace == 'cluster1'",
        "'app.kubernetes.io/name' in object.metadata.labels",
        "object.metadata.labels['a-b'] == '1'",
        "object.metadata.labels.`a-b` == '1'",
        "object.spec['in'] == 'y'",
        "!has(object.metadata.__namespace__)",
    ] {
        assert_eq!(eval(source), Ok(json!(true)), "{source}");
    }
}

#[test]
fn errors_are_values_and_never_allow() {
    for source in [
        "object.nope == 1 || true",
        "true || object.nope == 1",
        "!(object.nope == 1 && false)",
        "object.spec.items.exists(i, 1 / i.n == 1)",
        "!object.spec.items.all(i, 1 / i.n == 2)",
        "object.spec.items.exists(at, i, 1 / i.n == 1)",
        "!object.spec.items.all(at, i, 1 / i.n == 2)",
    ] {
        assert_eq!(eval(source), Ok(json!(true)), "{source}");
    }
    let rows = [
        ("object.nope == 1 || false", "no such key: nope"),
        ("object.nope == 1 && true", "no such key: nope"),
        ("!(object.nope == 1)", "no such key: nope"),
        ("object.spec.items.exists(i, 1 / i.n == 3)", "division by zero"),
        (
            "object.spec.items.exists(at, i, 1 / i.n == 3)",
            "division by zero",
        ),
        ("object.spec.items.all(i, 1 / i.n == 1)", "division by zero"),
        (
            "object.spec.items.filter(i, 1 / i.n == 1).size() == 1",
            "division by zero",
        ),
        (
            "object.spec.items.map(i, 1 / i.n).size() == 2",
            "division by zero",
        ),
        (
            "object.spec.items.transformList(at, i, 1 / i.n).size() == 2",
            "division by zero",
        ),
        (
            "object.spec.items.exists_one(i, 1 / i.n == 1)",
            "division by zero",
        ),
        (
            "{'a': 1}.transformMapEntry(k, v, {'x': v, 'y': object.nope}).size() == 0",
            "no such key: nope",
        ),
        (
            "['a', 'b'].transformMapEntry(i, v, {'x': v}).size() == 1",
            "insert failed: key \"x\" already exists",
        ),
    ];
    for (source, words) in rows {
        assert_eq!(eval(source), failed(words), "{source}");
    }
    for source in [
        "object.nothing.x == 1",
        "object.spec.items + 1 == 2",
        "object.spec ? true : false",
    ] {
        assert_eq!(
            eval(source),
            Err(EvalError::NoOverload("no such overload".to_owned())),
            "{source}"
        );
    }
}

#[test]
fn only_truth_values_hold() {
    let object = object();
    let mut activation = Activation::new(1_000_000);
    activation.bind("object", &object);
    for source in [
        "object.spec.replicas",
        "'true'",
        "null",
        "[true]",
        "optional.of(true)",
    ] {
        let words = "cel expression must evaluate to a bool";
        assert_eq!(activation.holds(&compiled(source)), failed(words), "{source}");
    }
}

#[test]
fn loops_over_maps_see_the_keys_in_order() {
    for _ in 0..20 {
        let rows = [
            ("{'c': 1, 'a': 2, 'b': 3}.map(k, k)", json!(["a", "b", "c"])),
            (
                "{'c': 1, 'a': 2, 'b': 3}.transformList(k, v, v)",
                json!([2, 3, 1]),
            ),
            ("{'b': 1, 'a': 2}.filter(k, true).join(',')", json!("a,b")),
        ];
        for (source, wanted) in rows {
            assert_eq!(eval(source), Ok(wanted), "{source}");
        }
    }
}

#[test]
fn two_variable_loops_respect_the_names_around_them() {
    let rows = [
        ("[1, 2].all(i, v, [v].exists(i, i == v))", json!(true)),
        (
            "[10, 20].transformList(i, v, [5].map(v, v + i)[0])",
            json!([5, 6]),
        ),
        (
            "[[1], [2]].transformList(i, l, l.transformList(i, v, i * 10 + v))",
            json!([[1], [2]]),
        ),
        ("[{'n': 1}].transformList(i, object, object.n)", json!([1])),
        ("{'a': {'b': 1}}.transformMap(k, v, v.b + 1)", json!({"a": 2})),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, k)", json!({"b": "b"})),
        ("{'a': 1}.transformMapEntry(k, v, {k + 'x': v})", json!({"ax": 1})),
        ("[3, 4].existsOne(i, v, v == i + 3)", json!(false)),
        (
            "cel.bind(object, {'spec': 1}, object.spec) + object.spec.replicas",
            json!(4),
        ),
    ];
    for (source, wanted) in rows {
        assert_eq!(eval(source), Ok(wanted), "{source}");
    }
}

#[test]
fn variables_are_lazy_memoised_and_fail_where_they_are_touched() {
    let object = object();
    let mut request = Activation::new(100_000);
    request.bind("object", &object);
    let programs = [
        ("fine", compiled("object.spec.replicas + 1")),
        ("broken", compiled("object.nope")),
        ("later", compiled("variables.fine * 2")),
        ("dear", compiled("lists.range(1000).map(i, i).size()")),
        ("early", compiled("variables.unknown")),
        ("quantity", compiled("quantity('1Gi')")),
    ];
    let mut policy = request.inner(100_000);
    for (name, program) in &programs {
        policy.declare(name, program);
    }
    assert_eq!(policy.eval(&compiled("variables.later")), Ok(json!(8)));
    assert_eq!(policy.holds(&compiled("true || variables.broken == 1")), Ok(true));
    // A variable that is declared is there; `has` evaluates it, and fails with it.
    assert_eq!(policy.holds(&compiled("has(variables.fine)")), Ok(true));
    assert_eq!(
        policy.holds(&compiled("has(variables.later) && variables.later == 8")),
        Ok(true)
    );
    assert_eq!(
        policy.holds(&compiled("has(variables.broken)")),
        failed("no such key: nope")
    );
    assert_eq!(policy.holds(&compiled("true || has(variables.broken)")), Ok(true));
    assert_eq!(
        policy.holds(&compiled(
            "[{'fine': 1}].all(variables, has(variables.fine) && !has(variables.later))"
        )),
        Ok(true),
        "a variable of a loop hides it"
    );
    assert_eq!(
        policy.holds(&compiled("variables.broken == 1")),
        failed("no such key: nope")
    );
    assert_eq!(
        policy.holds(&compiled("variables.early == 1")),
        failed("no such key: unknown")
    );
    assert_eq!(
        policy.holds(&compiled("variables.quantity.isGreaterThan(quantity('1G'))")),
        Ok(true)
    );
    let before = policy.left();
    assert_eq!(policy.eval(&compiled("variables.dear")), Ok(json!(1000)));
    let first = before - policy.left();
    assert_eq!(policy.eval(&compiled("variables.dear")), Ok(json!(1000)));
    let second = before - first - policy.left();
    assert!(first > 1000 && second < 10, "{first} {second}");
    // The variables of one policy are not those of the next.
    let next = request.inner(100_000);
    assert!(next.eval(&compiled("variables.fine")).is_err());
}

/// Knows who may read secrets, and nothing else.
#[derive(Debug)]
struct Roles;

impl Authority for Roles {
    fn decide(&self, access: &Access) -> Decision {
        match (access.resource.as_str(), access.verb.as_str()) {
            ("secrets", "get") => Decision::Allowed {
                reason: "role admin".to_owned(),
            },
            ("secrets", _) => Decision::Denied {
                reason: "no role".to_owned(),
            },
            _ => Decision::Unknown {
                error: "no value was read".to_owned(),
            },
        }
    }
}

#[test]
fn an_authority_that_does_not_know_allows_nothing() {
    let mut activation = Activation::new(1_000_000);
    activation.authorize(Arc::new(Roles));
    let secrets = compiled("authorizer.group('').resource('secrets').namespace('n')");
    let mut inner = activation.inner(1_000_000);
    inner.declare("secrets", &secrets);
    assert_eq!(
        inner.holds(&compiled("variables.secrets.check('get').allowed()")),
        Ok(true)
    );
    assert_eq!(
        inner.holds(&compiled("variables.secrets.check('list').allowed()")),
        Ok(false)
    );
    let unknown = "authorizer.group('apps').resource('deployments').check('get')";
    assert_eq!(
        inner.holds(&compiled(&format!("{unknown}.allowed()"))),
        failed("no value was read")
    );
    assert_eq!(inner.holds(&compiled(&format!("{unknown}.errored()"))), Ok(true));
    let absent = Activation::new(1_000_000);
    assert!(absent.holds(&compiled(&format!("{unknown}.allowed()"))).is_err());
}

#[test]
fn mutations_make_objects_and_patches() {
    let mutation = |source: &str| Program::build_for(source, Purpose::Mutation);
    let rows = [
        (
            "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b~c'), value: 'x'}]",
            json!([{"op": "add", "path": "/metadata/labels/a~1b~0c", "value": "x"}]),
        ),
        (
            "Object{spec: Object.spec{items: [Object.spec.items{n: 1}], ?gone: object.?nope}}",
            json!({"spec": {"items": [{"n": 1}]}}),
        ),
    ];
    let object = object();
    let mut activation = Activation::new(1_000_000);
    activation.bind("object", &object);
    for (source, wanted) in rows {
        let program = mutation(source).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(activation.eval(&program), Ok(wanted), "{source}");
    }
    let refused = [
        (
            "Object{spec: Object.status{n: 1}}",
            "unexpected type name \"Object.status\", expected \"Object.spec\", which matches field name path from root \
             Object type",
        ),
        ("JSONPatch{verb: 'add'}", "undefined field 'verb'"),
        (
            "JSONPatch{op: 'append', path: '/a'}",
            "a JSON patch knows add, remove, replace, move, copy and test",
        ),
    ];
    for (source, words) in refused {
        let error = mutation(source).expect_err(source);
        assert_eq!(error.faults[0].message, words, "{source}");
        assert!(Program::build(source).is_err(), "{source}");
    }
}

#[test]
fn faults_have_a_place() {
    let rows = [
        ("object.spec ==", 14, 1, 15),
        ("true &&\n  nope(1)", 14, 2, 7),
        ("'é' + nope(1)", 11, 1, 11),
        ("'a'.matches('[')", 12, 1, 13),
        ("[1].all(i, i, true)", 11, 1, 12),
    ];
    for (source, offset, line, column) in rows {
        let error = Program::build(source).expect_err(source);
        let fault = &error.faults[0];
        assert_eq!(
            (fault.offset, fault.line, fault.column),
            (offset, line, column),
            "{source}: {error}"
        );
    }
}
