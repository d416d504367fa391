//! The files of the page, as they lie in `page/`.
//!
//! Decides nothing: what a browser runs is what is in the repository, without a build.

/// One file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asset {
    pub(super) kind: &'static str,
    pub(super) text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

/// Every file, by its name.
const ALL: [(&str, Asset); 11] = [
    ("index.html", asset(HTML, include_str!("page/index.html"))),
    ("style.css", asset(CSS, include_str!("page/style.css"))),
    ("app.js", asset(SCRIPT, include_str!("page/app.js"))),
    ("grid.js", asset(SCRIPT, include_str!("page/grid.js"))),
    ("live.js", asset(SCRIPT, include_str!("page/live.js"))),
    ("actions.js", asset(SCRIPT, include_str!("page/actions.js"))),
    ("freezes.js", asset(SCRIPT, include_str!("page/freezes.js"))),
    ("fleet.js", asset(SCRIPT, include_str!("page/fleet.js"))),
    ("report.js", asset(SCRIPT, include_str!("page/report.js"))),
    ("words.js", asset(SCRIPT, include_str!("page/words.js"))),
    ("icon.svg", asset(IMAGE, include_str!("page/icon.svg"))),
];

const fn asset(kind: &'static str, text: &'static str) -> Asset {
    Asset { kind, text }
}

/// Returns a file.
pub(super) fn find(name: &str) -> Option<Asset> {
    let found = ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, asset)| *asset)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All files together may not be larger, in bytes.
    const LARGEST: usize = 150_000;

    #[test]
    fn the_page_is_small_and_loads_nothing_from_elsewhere() {
        let size: usize = ALL.iter().map(|(_, asset)| asset.text.len()).sum();
        assert!(size < LARGEST, "{size} bytes");
        for (name, asset) in ALL {
            let text = asset.text.replace("http://www.w3.org/2000/svg", "");
            for trace in [
                "http://",
                "https://",
                "//cdn",
                "@import",
                "eval(",
                "innerHTML",
                "document.cookie",
                "localStorage",
            ] {
                assert!(!text.contains(trace), "{name} has {trace}");
            }
        }
    }

    #[test]
    fn nothing_stands_inline() {
        let html = find("index.html").expect("the page").text;
        let scripts = html.matches("<script").count();
        assert_eq!(scripts, html.matches("<script type=\"module\" src=").count());
        for trace in ["<style", " style=", " onclick", " onload", "javascript:"] {
            assert!(!html.contains(trace), "{trace}");
        }
    }
}
