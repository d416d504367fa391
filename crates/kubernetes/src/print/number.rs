//! Numbers.
//!
//! Decides how many digits are shown and when an exponent is.

use serde_json::Number;

/// Returns a floating point number as Go's `%v` prints it: shortest form, with an exponent from 1e21 and below 1e-4.
pub fn float(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-4..1e21).contains(&size) {
        return number.to_string();
    }
    // Rust writes 1e21 and 1e-7, Go writes 1e+21 and 1e-07.
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, power) = exponent
        .strip_prefix('-')
        .map_or(('+', exponent), |power| ('-', power));
    format!("{digits}e{sign}{power:0>2}")
}

/// Returns a JSON number as Go prints the `int64` or `float64` that Kubernetes decodes it to.
pub fn number(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(real)) => float(real),
        (None, None) => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_look_as_in_go() {
        let rows = [
            (json!(1.1), "1.1"),
            (json!(5.0), "5"),
            (json!(-3), "-3"),
            (json!(0.0), "0"),
            (json!(1e21), "1e+21"),
            (json!(1e20), "100000000000000000000"),
            (json!(1.5e-7), "1.5e-07"),
            (json!(u64::MAX), "18446744073709552000"),
        ];
        for (value, text) in rows {
            assert_eq!(value.as_number().map(number).as_deref(), Some(text));
        }
    }
}
