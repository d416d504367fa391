//! Match conditions, of policies and of webhooks.
//!
//! Decides what all of them together say: a false one beats any error, an error beats a true one. What an error then means is said by
//! the failure policy, which is another's to read.

/// Tells whether all conditions hold, or all errors if none of them is false. What follows a false one is not asked.
pub fn all_hold<E>(conditions: impl IntoIterator<Item = Result<bool, E>>) -> Result<bool, Vec<E>> {
    let mut errors = Vec::new();
    for condition in conditions {
        match condition {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(true) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use super::all_hold;

    #[test]
    fn a_false_condition_beats_any_error_and_an_error_a_true_one() {
        type Row = (&'static [Result<bool, u8>], Result<bool, Vec<u8>>);
        let rows: [Row; 4] = [
            (&[], Ok(true)),
            (&[Ok(true), Ok(true)], Ok(true)),
            (&[Err(1), Ok(false), Err(2)], Ok(false)),
            (&[Err(1), Ok(true), Err(2)], Err(vec![1, 2])),
        ];
        for (conditions, expected) in rows {
            assert_eq!(all_hold(conditions.iter().copied()), expected, "{conditions:?}");
        }
    }

    #[test]
    fn nothing_behind_a_false_condition_is_evaluated() {
        let asked = [Ok(false), Err("asked")];
        let mut count = 0;
        let _held = all_hold(asked.into_iter().inspect(|_| count += 1));
        assert_eq!(count, 1);
    }
}
