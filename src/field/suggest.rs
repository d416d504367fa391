//! Near misses: which of the real names somebody probably meant.
//!
//! Decides similarity over candidates that really exist. Never invents a candidate.

/// Returns the candidate that `text` is most likely a misspelling of.
///
/// Counts swapped letters as one slip, ignores case, and allows two slips (one in short names, where two would make
/// everything similar); a long common beginning (`helloworld` for `helloworld-addon`) counts as well.
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A hostile object must not make us compare megabytes.
    if text.is_empty() || text.len() > 256 {
        return None;
    }
    let wanted = text.to_lowercase();
    candidates
        .into_iter()
        .filter(|candidate| *candidate != text)
        .filter_map(|candidate| {
            let slips = slips(&wanted, &candidate.to_lowercase())?;
            Some((slips, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
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
    fn a_name_is_never_suggested_for_itself() {
        assert_eq!(nearest("all", ["all"]), None);
    }
}
