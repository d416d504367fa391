//! Names in expressions: which functions, namespaces and types this engine has.
//!
//! Decides by fixed tables; a test evaluates nothing here.

use super::library::is_format;
use ::cel::common::ast::operators;

/// What is known about a function name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Availability {
    /// This engine has it.
    Here,
    /// Only mutations have it.
    InMutations,
    /// Neither this engine nor a mutation has it.
    Nowhere,
}

/// First segments of qualified function names: `math.greatest`, `sets.contains`.
pub const NAMESPACES: [&str; 9] = [
    "optional",
    "math",
    "lists",
    "sets",
    "strings",
    "ip",
    "format",
    "base64",
    "jsonpatch",
];

/// Tells whether a function or operator always returns a boolean, in whichever form of an expression: before macros are replaced (where
/// there are `matches` and `hasValue` too) and after.
pub fn is_boolean(function: &str) -> bool {
    matches!(
        function,
        operators::LOGICAL_AND
            | operators::LOGICAL_OR
            | operators::LOGICAL_NOT
            | operators::EQUALS
            | operators::NOT_EQUALS
            | operators::LESS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS
            | operators::IN
            | "startsWith"
            | "endsWith"
            | "contains"
    )
}

const FUNCTIONS: &[&str] = &[
    // standard library
    "size",
    "type",
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "string",
    "timestamp",
    "uint",
    "contains",
    "endsWith",
    "startsWith",
    "matches",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "optional.of",
    "optional.none",
    "optional.ofNonZeroValue",
    "hasValue",
    "value",
    "or",
    "orValue",
    // strings, lists and math extensions
    "charAt",
    "indexOf",
    "lastIndexOf",
    "join",
    "lowerAscii",
    "upperAscii",
    "trim",
    "replace",
    "split",
    "substring",
    "format",
    "reverse",
    "strings.quote",
    "slice",
    "flatten",
    "distinct",
    "sort",
    "lists.range",
    "math.greatest",
    "math.least",
    "math.ceil",
    "math.floor",
    "math.round",
    "math.trunc",
    "math.abs",
    "math.sign",
    "math.isInf",
    "math.isNaN",
    "math.isFinite",
    "math.bitOr",
    "math.bitAnd",
    "math.bitXor",
    "math.bitNot",
    "math.bitShiftLeft",
    "math.bitShiftRight",
    "math.sqrt",
    // Kubernetes
    "isSorted",
    "sum",
    "first",
    "last",
    "min",
    "max",
    "find",
    "findAll",
    "sets.contains",
    "sets.equivalent",
    "sets.intersects",
    "url",
    "isURL",
    "getScheme",
    "getHost",
    "getHostname",
    "getPort",
    "getEscapedPath",
    "getQuery",
    "quantity",
    "isQuantity",
    "sign",
    "isInteger",
    "asInteger",
    "asApproximateFloat",
    "add",
    "sub",
    "isGreaterThan",
    "isLessThan",
    "compareTo",
    "ip",
    "isIP",
    "ip.isCanonical",
    "family",
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
    "cidr",
    "isCIDR",
    "containsIP",
    "containsCIDR",
    "masked",
    "prefixLength",
    "semver",
    "isSemver",
    "major",
    "minor",
    "patch",
    "validate",
    "format.named",
    "base64.encode",
    "base64.decode",
    "path",
    "group",
    "serviceAccount",
    "resource",
    "subresource",
    "namespace",
    "name",
    "fieldSelector",
    "labelSelector",
    "check",
    "allowed",
    "reason",
    "errored",
    "error",
];

/// Words of CEL that cannot be a name.
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// Returns whether a name is a reserved word of CEL: no variable has it, and a property with it is spelled in another way.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Functions that only mutations have.
const IN_MUTATIONS: &[&str] = &["jsonpatch.escapeKey"];

/// Looks a function up by the name under which it is called; names with `@` come from macros. `namespace` is the
/// receiver if it is a bare name.
pub(super) fn look_up(name: &str, namespace: Option<&str>) -> Availability {
    if name.contains('@') {
        return Availability::Here;
    }
    let qualified = namespace
        .filter(|space| NAMESPACES.contains(space))
        .map(|space| format!("{space}.{name}"));
    let constant = namespace == Some("format") && is_format(name);
    let name = qualified.as_deref().unwrap_or(name);
    let operator = !name.starts_with(|c: char| c.is_ascii_alphabetic());
    if operator || constant || FUNCTIONS.contains(&name) {
        Availability::Here
    } else if IN_MUTATIONS.contains(&name) {
        Availability::InMutations
    } else {
        Availability::Nowhere
    }
}

/// Names of types that expressions may use as values.
pub fn is_type_name(name: &str) -> bool {
    matches!(
        name,
        "bool"
            | "bytes"
            | "double"
            | "dyn"
            | "int"
            | "list"
            | "map"
            | "null_type"
            | "optional_type"
            | "string"
            | "type"
            | "uint"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_here_in_mutations_or_nowhere() {
        let rows = [
            ("size", None, Availability::Here),
            ("greatest", Some("math"), Availability::Here),
            ("_+_", None, Availability::Here),
            ("semver", None, Availability::Here),
            ("dns1123Label", Some("format"), Availability::Here),
            ("dns1124Label", Some("format"), Availability::Nowhere),
            ("escapeKey", Some("jsonpatch"), Availability::InMutations),
            ("frobnicate", None, Availability::Nowhere),
        ];
        for (name, namespace, wanted) in rows {
            assert_eq!(look_up(name, namespace), wanted, "{name}");
        }
    }
}
