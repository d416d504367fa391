//! Near misses: which of the real names was probably meant.
//!
//! Decides similarity over candidates that really exist, and looks at a bounded number of them: what is long, and what stands
//! after the first few hundred, is not taken for a slip of the pen. Never invents a candidate.

/// The longest text that is compared, in bytes.
const LONGEST: usize = 100;
/// The most candidates that are compared letter by letter.
const MOST_COMPARED: usize = 500;

/// Returns the candidate that `text` is most likely a misspelling of.
///
/// Counts swapped letters as one slip, ignores case, and allows two slips (one in short names, where two would make
/// everything similar); a long common beginning (`helloworld` for `helloworld-addon`) counts as well.
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    let wanted = text.to_lowercase();
    candidates
        .into_iter()
        .filter(|candidate| *candidate != text && may_be_near(text, candidate))
        .take(MOST_COMPARED)
        .filter_map(|candidate| {
            let slips = slips(&wanted, &candidate.to_lowercase())?;
            Some((slips, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Tells whether it is worth to compare letters: two slips change a length by two, and lower case may change it a little.
fn may_be_near(text: &str, candidate: &str) -> bool {
    let (mine, its) = (text.len(), candidate.len());
    let common = mine.min(its).min(4);
    let begins_alike = || {
        let beginnings = (text.as_bytes().get(..common), candidate.as_bytes().get(..common));
        matches!(beginnings, (Some(one), Some(other)) if one.eq_ignore_ascii_case(other) || !one.is_ascii())
    };
    its <= LONGEST && (mine.abs_diff(its) <= 8 || begins_alike())
}

fn slips(wanted: &str, candidate: &str) -> Option<usize> {
    let allowed = if wanted.chars().count() <= 4 { 1 } else { 2 };
    let distance = strsim::damerau_levenshtein(wanted, candidate);
    if distance <= allowed {
        return Some(distance);
    }
    let (short, long) = if wanted.len() < candidate.len() {
        (wanted, candidate)
    } else {
        (candidate, wanted)
    };
    (short.chars().count() >= 5 && long.starts_with(short)).then_some(allowed + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_suggested_only_when_they_are_close() {
        let names = ["helloworld", "cluster-proxy", "all"];
        assert_eq!(nearest("helowrld", names), Some("helloworld"));
        assert_eq!(nearest("HelloWorld", names), Some("helloworld"));
        assert_eq!(nearest("cluster-proxy-addon", names), Some("cluster-proxy"));
        assert_eq!(nearest("al", names), Some("all"));
        assert_eq!(nearest("submariner", names), None);
        assert_eq!(nearest("", names), None);
    }

    #[test]
    fn what_is_long_or_far_down_the_list_is_not_looked_at() {
        let long = "x".repeat(LONGEST);
        let longer = format!("{long}y");
        assert_eq!(nearest(&longer, [long.as_str()]), None);
        assert_eq!(nearest(&long, [longer.as_str()]), None);
        let others: Vec<String> = (0..MOST_COMPARED)
            .map(|number| format!("other{number:04}"))
            .collect();
        let names = || others.iter().map(String::as_str).chain(["another00"]);
        assert_eq!(nearest("anotherOO", names()), None);
        assert_eq!(nearest("anotherOO", names().skip(1)), Some("another00"));
    }

    #[test]
    fn a_name_is_never_suggested_for_itself() {
        assert_eq!(nearest("all", ["all"]), None);
    }
}
