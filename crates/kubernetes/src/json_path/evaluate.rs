//! Evaluation of JSON paths, with missing members allowed.
//!
//! Decides which values a path finds. An error means that the path does not fit the object; the column then stays empty.

use std::cmp::Ordering;

use serde_json::Value;

use super::parse::{Comparison, Filter, JsonPath, Node, Slice};

/// Maximum number of intermediate values of a path; one with many recursive descents finds the same ones again and again.
const MOST: usize = 1 << 16;

impl JsonPath {
    /// Returns every value that the path finds in `value`.
    pub fn find<'a>(&'a self, value: &'a Value) -> Result<Vec<&'a Value>, String> {
        let mut found = vec![value];
        for node in &self.0 {
            found = node.step(&found)?;
            if found.len() > MOST {
                return Err(format!("the path finds more than {MOST} values"));
            }
        }
        Ok(found)
    }
}

impl Node {
    fn step<'a>(&'a self, input: &[&'a Value]) -> Result<Vec<&'a Value>, String> {
        let mut found = Vec::new();
        match self {
            Self::Literal(value) => found.push(value),
            Self::Recursive => input.iter().for_each(|value| descend(value, &mut found)),
            Self::Field(name) if name.is_empty() => found.extend(input),
            Self::Field(name) => found.extend(input.iter().filter_map(|value| value.as_object()?.get(name))),
            Self::Wildcard => input.iter().for_each(|value| found.extend(children(value))),
            Self::Union(paths) => {
                let pairs = paths
                    .iter()
                    .flat_map(|path| input.iter().map(move |value| path.find(value)));
                found.extend(pairs.collect::<Result<Vec<_>, _>>()?.into_iter().flatten());
            }
            Self::Slice(slice) => {
                for items in lists(input)? {
                    found.extend(slice.of(items)?);
                }
            }
            Self::Filter(filter) => {
                for item in lists(input)?.into_iter().flatten() {
                    found.extend(filter.holds(item)?.then_some(item));
                }
            }
        }
        Ok(found)
    }
}

/// Returns the lists of `input`; nulls are skipped, anything else is an error.
fn lists<'a>(input: &[&'a Value]) -> Result<Vec<&'a [Value]>, String> {
    let mut found = Vec::new();
    for value in input {
        match value {
            Value::Null => {}
            Value::Array(items) => found.push(items.as_slice()),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                return Err(format!("{value} is not array or slice"));
            }
        }
    }
    Ok(found)
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(map) => map.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn descend<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    if found.len() > MOST {
        return;
    }
    if matches!(value, Value::Array(_) | Value::Object(_)) {
        found.push(value);
    }
    for child in children(value) {
        descend(child, found);
    }
}

impl Slice {
    fn of<'a>(&self, items: &'a [Value]) -> Result<Vec<&'a Value>, String> {
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let mut start = self.start.unwrap_or(0);
        if start < 0 {
            start += length;
        }
        let mut end = self.end.unwrap_or(length);
        if end < 0 || (end == 0 && self.derived) {
            end += length;
        }
        if start == end {
            return Ok(Vec::new());
        }
        if !(0..length).contains(&start) || !(0..=length).contains(&end) || start > end {
            return Err(format!(
                "array index out of bounds: index {start}, length {length}"
            ));
        }
        let step = self.step.unwrap_or(1);
        if step <= 0 {
            return Err(format!("step must be > 0, found {step}"));
        }
        let bound = |at: i64| usize::try_from(at).unwrap_or_default();
        let part = items.get(bound(start)..bound(end)).unwrap_or_default();
        Ok(part.iter().step_by(bound(step)).collect())
    }
}

impl Filter {
    fn holds(&self, item: &Value) -> Result<bool, String> {
        let left = self.left.find(item)?;
        let Some((comparison, right)) = &self.test else {
            return Ok(!left.is_empty());
        };
        let right = right.find(item)?;
        match (left.as_slice(), right.as_slice()) {
            ([], _) | (_, []) => Ok(false),
            ([left], [right]) => comparison.holds(left, right),
            _ => Err("can only compare one element at a time".to_owned()),
        }
    }
}

impl Comparison {
    fn holds(self, left: &Value, right: &Value) -> Result<bool, String> {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (Value::Number(left), Value::Number(right)) => left.as_f64().partial_cmp(&right.as_f64()),
            (Value::Bool(left), Value::Bool(right)) if matches!(self, Self::Equal | Self::NotEqual) => {
                Some(left.cmp(right))
            }
            _ => None,
        };
        let order = order.ok_or("incompatible types for comparison")?;
        Ok(match self {
            Self::Equal => order == Ordering::Equal,
            Self::NotEqual => order != Ordering::Equal,
            Self::Less => order == Ordering::Less,
            Self::LessOrEqual => order != Ordering::Greater,
            Self::Greater => order == Ordering::Greater,
            Self::GreaterOrEqual => order != Ordering::Less,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(path: &str) -> Result<Value, String> {
        let object = json!({
            "spec": {"s": "str", "list": ["x", "y", "z"], "objs": [{"k": "a", "v": 1}, {"k": "b", "v": 2}], "o": {"p": 1}, "none": null},
            "metadata": {"labels": {"example.com/x": "lx"}, "annotations": {"a.b/c": "ab"}},
        });
        let path = JsonPath::parse(path)?;
        path.find(&object)
            .map(|values| values.into_iter().cloned().collect())
    }

    /// Each way to a value would find it again: a path of four hundred dots took minutes.
    #[test]
    fn descents_do_not_multiply() {
        assert_eq!(
            JsonPath::parse("....x"),
            Err("invalid multiple recursive descent".to_owned())
        );
        let deep = (0..12).fold(json!(1), |inner, _| json!({"a": inner}));
        let path_of_twelve = JsonPath::parse(&"..a".repeat(12)).expect("a path");
        assert_eq!(path_of_twelve.find(&deep), Ok(vec![&json!(1)]));
        let wide = json!([[[[[[[[1]]]]]]]]);
        let path = JsonPath::parse(&"..*".repeat(60)).expect("a path");
        assert_eq!(path.find(&wide).map(|found| found.len()), Ok(0));
        let deeper = (0..40).fold(json!(1), |inner, _| json!({"a": inner}));
        let refused = path_of_twelve
            .find(&deeper)
            .expect_err("there are billions of ways");
        assert!(refused.starts_with("the path finds more than"), "{refused}");
    }

    #[test]
    fn paths_find_what_kubernetes_finds() {
        for (path, expected) in [
            (".spec.s", json!(["str"])),
            ("$.spec.s", json!(["str"])),
            (".spec.list[0]", json!(["x"])),
            (".spec.list[*]", json!(["x", "y", "z"])),
            (".spec.list[-1:]", json!(["z"])),
            (".spec.list[-1]", json!(["z"])),
            (".spec.list[0:2]", json!(["x", "y"])),
            (".spec.list[::2]", json!(["x", "z"])),
            (".spec.list[0,2]", json!(["x", "z"])),
            (".spec.objs[?(@.k==\"b\")].v", json!([2])),
            (".spec.objs[?(@.k=='b')].v", json!([2])),
            (".spec.objs[?(@.v>1)].k", json!(["b"])),
            (".spec.objs[?(@.v!=1)].k", json!(["b"])),
            (".spec.objs[?(@.w)].k", json!([])),
            (".spec.objs[*].v", json!([1, 2])),
            (".spec.o", json!([{"p": 1}])),
            (".spec.o.*", json!([1])),
            ("..k", json!(["a", "b"])),
            (r".metadata.labels.example\.com/x", json!(["lx"])),
            (".metadata.annotations['a.b/c']", json!([])),
            (".metadata['labels']", json!([{"example.com/x": "lx"}])),
            (".spec.none", json!([null])),
            (".spec.missing.deeper", json!([])),
            (".spec.none[*].x", json!([])),
        ] {
            assert_eq!(found(path), Ok(expected), "{path}");
        }
    }

    #[test]
    fn paths_that_do_not_fit_are_errors() {
        for path in [
            ".spec.list[9]",
            ".spec.s[0]",
            ".spec.objs[?(@.k==1)].v",
            ".spec.list[::0]",
        ] {
            assert!(found(path).is_err(), "{path}");
        }
        for path in [".a[", ".a[?(@.b]", ".a[x]", ".a[?(@.b=~1)]", "a b"] {
            assert!(JsonPath::parse(path).is_err(), "{path}");
        }
    }
}
