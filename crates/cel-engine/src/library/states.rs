//! How large a pattern is once its repetitions are written out.
//!
//! Decides an upper estimate of the states of its automaton, by the text alone: searching takes at most that many steps
//! per byte. `(a{10}){10}` has about a hundred, whatever its length.

use std::iter::Peekable;
use std::str::Chars;

/// States of a character class that names a Unicode category.
const CATEGORY: u64 = 200;
/// States of any other class.
const CLASS: u64 = 4;
/// Deepest nesting that is followed; what is deeper counts as very large.
const DEEPEST: usize = 250;

/// Returns the estimate, one at least.
pub(super) fn of(pattern: &str) -> u64 {
    let mut letters = pattern.chars().peekable();
    let mut total = 1_u64;
    // An unmatched `)` ends a branch early: the rest counts, too.
    while letters.peek().is_some() {
        total = total.saturating_add(branch(&mut letters, 0));
        letters.next();
    }
    total
}

/// Reads up to the end of a group.
fn branch(letters: &mut Peekable<Chars<'_>>, depth: usize) -> u64 {
    let mut total = 0_u64;
    while let Some(letter) = letters.next_if(|letter| *letter != ')') {
        let atom = match letter {
            '\\' => escape(letters),
            '[' => class(letters),
            '(' if depth >= DEEPEST => return u64::MAX,
            '(' => {
                let inner = branch(letters, depth + 1);
                letters.next();
                inner.saturating_add(2)
            }
            '.' => CLASS,
            '|' | '^' | '$' => 1,
            // A letter that does not depend on case may have several forms of several bytes.
            other if other.is_ascii() => 1,
            _ => CLASS,
        };
        total = total.saturating_add(repeated(letters, atom));
    }
    total
}

fn escape(letters: &mut Peekable<Chars<'_>>) -> u64 {
    match letters.next() {
        Some('p' | 'P') => CATEGORY,
        Some('Q') => {
            // `\Q…\E` is literal; counting its letters one by one is close enough.
            1
        }
        Some(_) | None => 2,
    }
}

fn class(letters: &mut Peekable<Chars<'_>>) -> u64 {
    let mut total = CLASS;
    let mut first = true;
    while let Some(letter) = letters.next() {
        match letter {
            '^' if first => continue,
            ']' if !first => return total,
            '\\' => total = total.saturating_add(escape(letters)),
            '[' if letters.peek() == Some(&':') => {
                while letters.next().is_some_and(|letter| letter != ']') {}
                total = total.saturating_add(1);
            }
            _ => total = total.saturating_add(1),
        }
        first = false;
    }
    total
}

/// Multiplies by the repetitions that follow.
fn repeated(letters: &mut Peekable<Chars<'_>>, atom: u64) -> u64 {
    let mut total = atom;
    loop {
        match letters.peek() {
            Some('*' | '+' | '?') => {
                letters.next();
                total = total.saturating_add(1);
            }
            Some('{') => match count(letters) {
                Some(times) => total = total.saturating_mul(times.max(1)).saturating_add(1),
                None => return total,
            },
            Some(_) | None => return total,
        }
    }
}

/// Reads `{3}`, `{3,}` or `{3,5}`; anything else is literal and stays.
fn count(letters: &mut Peekable<Chars<'_>>) -> Option<u64> {
    let mut ahead = letters.clone();
    ahead.next();
    let mut numbers = [String::new(), String::new()];
    let mut at = 0;
    loop {
        match ahead.next()? {
            '}' => break,
            ',' if at == 0 => at = 1,
            digit if digit.is_ascii_digit() => numbers.get_mut(at)?.push(digit),
            _ => return None,
        }
    }
    let [least, most] = &numbers;
    let least = least.parse::<u64>().ok()?;
    let most = most.parse::<u64>().unwrap_or(least);
    *letters = ahead;
    Some(least.max(most))
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn repetitions_are_written_out() {
        let rows = [
            ("abc", 4),
            ("a{3}", 5),
            ("(a{10}){10}", 132),
            ("a{2,5}", 7),
            ("a{b}", 5),
            ("[a-c]x", 9),
            ("", 1),
            ("a)b", 3),
        ];
        for (pattern, wanted) in rows {
            assert_eq!(of(pattern), wanted, "{pattern}");
        }
        assert!(of("((a{1000}){1000}){1000}") > 900_000_000);
        assert!(of(&"(".repeat(9000)) > 1_000_000);
    }
}
