//! What expressions evaluate to, what is refused when a schema is parsed, and that no expression runs for long.

use cel_engine::Program;
use schema::{ErrorClass, Schema};
use serde_json::{Value, json};

fn eval(source: &str, object: &Value) -> Result<Value, String> {
    Program::compile(source)?.eval(&[("object", object)])
}

#[test]
fn functions_of_kubernetes_are_there() {
    let object = json!({"names": ["a", "b"], "weights": [0.5, 0.5], "n": 3, "url": "https://example.com:6443/a?x=1&x=2", "labels": {"k": "v"}});
    let rows = [
        ("object.names.isSorted()", json!(true)),
        ("object.weights.sum() == 1.0", json!(true)),
        ("[3, 1, 2].max() - [3, 1, 2].min()", json!(2)),
        ("object.names.indexOf('b')", json!(1)),
        ("['a', 'a'].lastIndexOf('a')", json!(1)),
        ("[1, 2].first().value() + [3].last().value()", json!(4)),
        ("'abc 123'.find('[0-9]+')", json!("123")),
        ("'1, 2, 3'.findAll('[0-9]+', 2)", json!(["1", "2"])),
        ("'abc'.matches('^[a-c]+$')", json!(true)),
        ("matches('abc', 'd')", json!(false)),
        ("'a-b'.split('-').join('+').upperAscii()", json!("A+B")),
        ("'aaa'.replace('a', 'b', 2)", json!("bba")),
        ("'%s has %d'.format(['x', object.n])", json!("x has 3")),
        (
            "url(object.url).getHost() + ' ' + url(object.url).getPort()",
            json!("example.com:6443 6443"),
        ),
        ("url(object.url).getQuery()['x']", json!(["1", "2"])),
        ("isURL('nope')", json!(false)),
        ("quantity('500Mi').isLessThan(quantity('1Gi'))", json!(true)),
        ("quantity('1k').add(5).asInteger()", json!(1005)),
        ("isQuantity('abc')", json!(false)),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", json!(true)),
        ("string(cidr('10.1.2.3/8').masked())", json!("10.0.0.0/8")),
        (
            "ip('fe80::1').isLinkLocalUnicast() && ip.isCanonical('::1')",
            json!(true),
        ),
        (
            "sets.intersects([1], [1, 2]) && !sets.contains([1], [2])",
            json!(true),
        ),
        ("math.greatest(1, 5, 3)", json!(5)),
        ("object.?nope.orValue('none')", json!("none")),
        (
            "'k' in object.labels && object.labels.all(k, object.labels[k] == 'v')",
            json!(true),
        ),
    ];
    for (source, wanted) in rows {
        assert_eq!(eval(source, &object), Ok(wanted), "{source}");
    }
}

#[test]
fn failures_read_like_the_reference_engine() {
    let object = json!({"zero": 0, "list": [1], "text": "a"});
    let rows = [
        ("1 / object.zero", "division by zero"),
        ("1 % object.zero", "modulus by zero"),
        ("object.nope == 1", "no such key: nope"),
        ("object.list[3]", "index out of bounds: 3"),
        ("object.text < 1", "no such overload"),
        ("9223372036854775807 + 1", "integer overflow"),
        (
            "'a'.matches('[' + object.text)",
            "error parsing regexp: missing closing ]: `[a`",
        ),
    ];
    for (source, wanted) in rows {
        assert_eq!(eval(source, &object), Err(wanted.to_owned()), "{source}");
    }
}

fn spec(properties: &Value, rules: &Value) -> Value {
    json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": properties, "x-kubernetes-validations": rules}}})
}

#[test]
fn what_this_engine_lacks_differs_from_what_is_wrong() {
    let properties = json!({"v": {"type": "string"}, "n": {"type": "integer"}});
    let rows = [
        (
            "google.protobuf.Int32Value{value: self.n} == 1",
            ErrorClass::Internal,
            "type 'google.protobuf.Int32Value' is not supported by this server",
        ),
        (
            "Object{spec: 1} == self.v",
            ErrorClass::Invalid,
            "undeclared reference to 'Object' (in container '')",
        ),
        (
            "jsonpatch.escapeKey(self.v) == 'a'",
            ErrorClass::Invalid,
            "undeclared reference to 'escapeKey' (in container '')",
        ),
        (
            "self.v.matches('[')",
            ErrorClass::Invalid,
            "invalid matches argument",
        ),
        (
            "self.v == string(duration('1 hour'))",
            ErrorClass::Invalid,
            "invalid duration argument",
        ),
        (
            "self.v.frobnicate()",
            ErrorClass::Invalid,
            "undeclared reference to 'frobnicate' (in container '')",
        ),
        (
            "slef.v == 'a'",
            ErrorClass::Invalid,
            "undeclared reference to 'slef' (in container '')",
        ),
        ("self.nope == 'a'", ErrorClass::Invalid, "undefined field 'nope'"),
        (
            "self.n.x == 'a'",
            ErrorClass::Invalid,
            "type 'int' does not support field selection",
        ),
        (
            "self.v",
            ErrorClass::Invalid,
            "cel expression must evaluate to a bool",
        ),
        ("self.v ==", ErrorClass::Invalid, "Syntax error"),
    ];
    for (rule, class, words) in rows {
        let errors = Schema::parse(&spec(&properties, &json!([{"rule": rule}]))).expect_err(rule);
        assert_eq!(errors.len(), 1, "{rule}: {errors:?}");
        assert_eq!(errors[0].class, class, "{rule}");
        assert!(errors[0].message.contains(words), "{rule}: {}", errors[0].message);
    }
}

fn messages(schema: &Value, new: &Value) -> Vec<String> {
    let schema = Schema::parse(schema).expect("a valid schema");
    schema
        .validate(new, None)
        .errors
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn values_have_the_types_of_their_schema() {
    let properties = json!({
        "ratio": {"type": "number"}, "port": {"x-kubernetes-int-or-string": true},
        "at": {"type": "string", "format": "date-time"}, "ttl": {"type": "string", "format": "duration"},
        "blob": {"type": "string", "format": "byte"}, "a-b": {"type": "string"}, "namespace": {"type": "string"},
    });
    let object = json!({"spec": {"ratio": 1, "port": 80, "at": "2024-01-01T00:00:00Z", "ttl": "90m", "blob": "YQ==", "a-b": "x", "namespace": "n"}});
    for rule in [
        "self.ratio == 1.0 && type(self.ratio) == double",
        "type(self.port) == int",
        "self.at < timestamp('2025-01-01T00:00:00Z')",
        "self.ttl == duration('1h30m')",
        "self.blob == b'a'",
        "self.a__dash__b == 'x' && self.__namespace__ == 'n'",
    ] {
        let schema = spec(&properties, &json!([{"rule": rule}]));
        assert_eq!(messages(&schema, &object), Vec::<String>::new(), "{rule}");
    }
}

#[test]
fn a_rule_that_cannot_be_evaluated_refuses_the_object() {
    let properties = json!({"n": {"type": "integer"}, "m": {"type": "object", "additionalProperties": {"type": "integer"}}});
    let rows = [
        (
            "self.m['a'] > 1",
            "spec: Invalid value: \"object\": no such key: a evaluating rule: self.m['a'] > 1",
        ),
        (
            "dyn(self.n) > 'a'",
            "spec: Invalid value: \"object\": 'no such overload': call arguments did not match a supported operator, \
             function or macro signature for rule: dyn(self.n) > 'a'",
        ),
    ];
    for (rule, wanted) in rows {
        let schema = spec(&properties, &json!([{"rule": rule}]));
        assert_eq!(
            messages(&schema, &json!({"spec": {"n": 1, "m": {}}})),
            [wanted],
            "{rule}"
        );
    }
}

#[test]
fn a_rule_that_costs_too_much_ends_all_rules() {
    let items = json!({"type": "array", "items": {"type": "integer"}});
    let schema = spec(
        &json!({"l": items}),
        &json!([{"rule": "self.l.all(a, self.l.all(b, self.l.all(c, true)))"}, {"rule": "false", "message": "never told"}]),
    );
    let list: Vec<i64> = (0..500).collect();
    assert_eq!(
        messages(&schema, &json!({"spec": {"l": list}})),
        [
            "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules \
          will be run due to call cost exceeds limit for rule: self.l.all(a, self.l.all(b, self.l.all(c, true)))"
        ]
    );
}

#[test]
fn reasons_and_field_paths_shape_the_violation() {
    let properties =
        json!({"a": {"type": "string"}, "m": {"type": "object", "additionalProperties": {"type": "string"}}});
    let rows = [
        (
            json!({"rule": "false", "reason": "FieldValueRequired", "fieldPath": ".a", "message": "a is needed"}),
            "spec.a: Required value: a is needed",
        ),
        (
            json!({"rule": "false", "reason": "FieldValueForbidden", "fieldPath": ".m['x']", "message": "no"}),
            "spec.m[x]: Forbidden: no",
        ),
        (
            json!({"rule": "false", "messageExpression": "'n is ' + self.a"}),
            "spec: Invalid value: n is b",
        ),
        (
            json!({"rule": "false", "messageExpression": "self.m['gone']", "message": "fallback"}),
            "spec: Invalid value: fallback",
        ),
    ];
    for (rule, wanted) in rows {
        let schema = spec(&properties, &json!([rule]));
        assert_eq!(messages(&schema, &json!({"spec": {"a": "b", "m": {}}})), [wanted]);
    }
}
