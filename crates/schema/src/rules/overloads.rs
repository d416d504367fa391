//! Which operands operators and functions of rules have, as far as types are known.
//!
//! Decides only calls that upstream refuses for certain; what it does not know passes and is checked at evaluation.

use ::cel::common::ast::operators;

/// Namespaces that this engine has for others, and rules of schemas have not.
pub(super) const FOREIGN: [&str; 2] = ["math", "base64"];

/// Says that a function has no overload for its operands; `types` holds their names, `None` where unknown.
pub(super) fn misfit(name: &str, types: &[Option<&str>]) -> Option<String> {
    match (name, types) {
        ("sign", [Some(only)]) if *only != "kubernetes.Quantity" => Some(unknown(name, &format!("({only})"))),
        (name, [Some(left), Some(right)]) if !fit(name, left, right)? => {
            Some(unknown(name, &format!("({left}, {right})")))
        }
        _ => None,
    }
}

/// Says that a type has no such member function without operands.
pub(super) fn member_misfit(name: &str, target: &str) -> Option<String> {
    let is_missing = matches!(
        (name, target),
        ("sign", "kubernetes.Quantity") | ("reverse", "string")
    );
    is_missing.then(|| unknown(name, &format!("{target}.()")))
}

fn unknown(name: &str, operands: &str) -> String {
    format!("found no matching overload for '{name}' applied to '{operands}'")
}

/// Tells whether an operator takes two plain types; `None` if this is not known.
fn fit(operator: &str, left: &str, right: &str) -> Option<bool> {
    const NUMBERS: [&str; 3] = ["int", "uint", "double"];
    const PLAIN: [&str; 6] = ["int", "uint", "double", "bool", "string", "bytes"];
    if operator == operators::IN {
        let item = right.strip_prefix("list(")?.strip_suffix(')')?;
        return (PLAIN.contains(&left) && PLAIN.contains(&item)).then_some(left == item);
    }
    if !PLAIN.contains(&left) || !PLAIN.contains(&right) {
        return None;
    }
    let numeric = NUMBERS.contains(&left) && NUMBERS.contains(&right);
    match operator {
        operators::EQUALS | operators::NOT_EQUALS => Some(left == right),
        operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS => {
            Some(numeric || left == right)
        }
        operators::ADD => Some(left == right && left != "bool"),
        operators::SUBSTRACT | operators::MULTIPLY | operators::DIVIDE => Some(numeric && left == right),
        operators::MODULO => Some(numeric && left == right && left != "double"),
        _ => None,
    }
}

/// Returns the type of an operator's result, if its operands fit and tell.
pub(super) fn result(operator: &str, left: &str) -> Option<&'static str> {
    let arithmetic = matches!(
        operator,
        operators::ADD | operators::SUBSTRACT | operators::MULTIPLY | operators::DIVIDE | operators::MODULO
    );
    let known = ["int", "uint", "double", "string", "bytes"];
    known.into_iter().find(|known| arithmetic && *known == left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_that_are_known_to_be_wrong_are_refused() {
        let rows = [
            ("_*_", vec![Some("double"), Some("int")], true),
            ("_*_", vec![Some("int"), Some("int")], false),
            ("_*_", vec![Some("double"), None], false),
            ("_<_", vec![Some("double"), Some("int")], false),
            ("_<_", vec![Some("string"), Some("int")], true),
            ("_==_", vec![Some("double"), Some("int")], true),
            ("_%_", vec![Some("double"), Some("double")], true),
            ("_+_", vec![Some("string"), Some("string")], false),
            ("@in", vec![Some("double"), Some("list(int)")], true),
            ("@in", vec![Some("int"), Some("list(int)")], false),
            ("sign", vec![Some("int")], true),
            ("sign", vec![Some("kubernetes.Quantity")], false),
        ];
        for (name, types, wanted) in rows {
            assert_eq!(misfit(name, &types).is_some(), wanted, "{name} {types:?}");
        }
        assert!(member_misfit("sign", "kubernetes.Quantity").is_some());
        assert!(member_misfit("reverse", "list(int)").is_none());
    }
}
