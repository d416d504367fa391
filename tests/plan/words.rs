//! How the words of a line are read, for plan scripts.
//!
//! Never lets a line pass that nobody understands.

#[expect(
    clippy::panic,
    reason = "a line that nobody understands must not pass for one that was carried out"
)]
pub(crate) fn unknown(words: &[&str]) {
    panic!("no such line: {words:?}");
}

pub(crate) fn expand(names: &[&str]) -> Vec<String> {
    let range = |name: &str| {
        let (first, last) = name.split_once("..")?;
        let number = |text: &str| text.trim_start_matches('c').parse::<usize>().ok();
        Some(
            (number(first)?..=number(last)?)
                .map(|n| format!("c{n}"))
                .collect::<Vec<_>>(),
        )
    };
    let one = |name: &&str| range(name).unwrap_or_else(|| vec![(*name).to_owned()]);
    names
        .iter()
        .filter(|name| **name != "none")
        .flat_map(one)
        .collect()
}
