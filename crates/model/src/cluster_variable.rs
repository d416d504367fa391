//! Variables of a template that stand for what a cluster says about itself: `{{CLUSTER_LABEL:region}}`.
//!
//! Decides how one is written and which key it means. Never knows the value, nor which clusters have it.

use super::names::Name;
use super::selector::is_label_key;

/// The longest name of a claim, a DNS subdomain.
const LONGEST_CLAIM: usize = 253;

/// Where a cluster says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClusterSource {
    /// A label of its `ManagedCluster`.
    Label,
    /// One of its claims, which its own agent reports.
    Claim,
    /// An annotation of its `ManagedCluster`.
    Annotation,
}

impl ClusterSource {
    /// Every source.
    pub const EVERY: [Self; 3] = [Self::Label, Self::Claim, Self::Annotation];

    /// Returns what a variable of this source begins with.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Label => "CLUSTER_LABEL:",
            Self::Claim => "CLUSTER_CLAIM:",
            Self::Annotation => "CLUSTER_ANNOTATION:",
        }
    }

    /// Returns what a user calls it.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::Claim => "claim",
            Self::Annotation => "annotation",
        }
    }

    fn takes(self, key: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
        let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
        let is_claim = self == Self::Claim
            && key.len() <= LONGEST_CLAIM
            && key.bytes().all(is_plain)
            && is_end(key.bytes().next())
            && is_end(key.bytes().last());
        is_claim || is_label_key(key)
    }
}

/// What a cluster says, by its key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterKey {
    /// Where it says so.
    pub source: ClusterSource,
    /// Under which key.
    pub key: Name,
}

/// A variable of a cluster, as it is in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterVariable<'t> {
    source: ClusterSource,
    name: &'t str,
    key: &'t str,
    default: Option<&'t str>,
}

impl<'t> ClusterVariable<'t> {
    /// Reads what stands between double braces; absent where that is no variable of a cluster.
    ///
    /// # Errors
    ///
    /// Returns why it cannot be filled in. Reads no further than the next brace: many openings may share one closing.
    pub fn parse(inside: &'t str) -> Option<Result<Self, BadClusterVariable>> {
        let bare = inside.trim_start();
        let source = ClusterSource::EVERY
            .into_iter()
            .find(|source| bare.starts_with(source.prefix()))?;
        Some(Self::read(source, bare, bare.len() != inside.len()))
    }

    fn read(source: ClusterSource, bare: &'t str, is_indented: bool) -> Result<Self, BadClusterVariable> {
        if bare.contains(['{', '}']) {
            return Err(BadClusterVariable::Braces);
        }
        let rest = bare.get(source.prefix().len()..).unwrap_or_default();
        let (key, default) = match rest.split_once(':') {
            None => (rest, None),
            Some((key, after)) => {
                let default = after.strip_prefix('-').ok_or(BadClusterVariable::Key(source))?;
                (key, Some(default))
            }
        };
        if is_indented || key.trim() != key {
            return Err(BadClusterVariable::Blanks);
        }
        if !source.takes(key) {
            return Err(BadClusterVariable::Key(source));
        }
        let length = source.prefix().len().saturating_add(key.len());
        Ok(Self {
            source,
            name: bare.get(..length).unwrap_or_default(),
            key,
            default,
        })
    }

    /// Returns source and key, as one text.
    pub fn name(self) -> &'t str {
        self.name
    }

    /// Returns what it asks for.
    pub fn key(self) -> ClusterKey {
        ClusterKey {
            source: self.source,
            key: Name::from(self.key),
        }
    }

    /// Returns the text that counts where the cluster says nothing, if its author has given one.
    pub fn default(self) -> Option<&'t str> {
        self.default
    }

    /// Returns what of a cluster it asks for, for a user.
    pub fn shown(self) -> String {
        format!("{} {:?}", self.source.noun(), self.key)
    }
}

impl ClusterKey {
    /// Returns how a variable names it.
    pub fn name(&self) -> String {
        format!("{}{}", self.source.prefix(), self.key)
    }
}

/// Why a variable of a cluster cannot be filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadClusterVariable {
    /// There are blanks around the name.
    Blanks,
    /// A brace stands within.
    Braces,
    /// What follows the colon is no key of this source.
    Key(ClusterSource),
}

impl std::fmt::Display for BadClusterVariable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Blanks => write!(f, "must have no spaces around the name"),
            Self::Braces => write!(f, "must not contain braces"),
            Self::Key(source) => write!(
                f,
                "must be {{{{{}KEY}}}} or {{{{{}KEY:-DEFAULT}}}}, where KEY is the key of {} {}",
                source.prefix(),
                source.prefix(),
                if *source == ClusterSource::Annotation {
                    "an"
                } else {
                    "a"
                },
                source.noun(),
            ),
        }
    }
}

/// Returns the variables of clusters in a text that can be filled in.
pub fn cluster_variables(text: &str) -> impl Iterator<Item = ClusterVariable<'_>> {
    text.match_indices("{{CLUSTER_").filter_map(|(at, _)| {
        let inside = text.get(at.saturating_add(2)..)?;
        let end = inside.find(['{', '}'])?;
        let is_closed = inside.get(end..)?.starts_with("}}");
        ClusterVariable::parse(inside.get(..end).filter(|_| is_closed)?)?.ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(inside: &str) -> String {
        match ClusterVariable::parse(inside) {
            None => "not ours".to_owned(),
            Some(Ok(variable)) => format!("{} or {:?}", variable.shown(), variable.default()),
            Some(Err(bad)) => bad.to_string(),
        }
    }

    #[test]
    fn a_variable_names_a_source_a_key_and_perhaps_a_default() {
        let rows = [
            ("CLUSTER_LABEL:region", r#"label "region" or None"#),
            (
                "CLUSTER_LABEL:topology.kubernetes.io/zone:-none",
                r#"label "topology.kubernetes.io/zone" or Some("none")"#,
            ),
            ("CLUSTER_CLAIM:id.k8s.io:-", r#"claim "id.k8s.io" or Some("")"#),
            (
                "CLUSTER_ANNOTATION:example.com/owner:-a:-b c",
                r#"annotation "example.com/owner" or Some("a:-b c")"#,
            ),
            ("CLUSTER_NAME", "not ours"),
            ("CLUSTER_LABEL", "not ours"),
            ("cluster_label:x", "not ours"),
            (" CLUSTER_LABEL:x", "must have no spaces around the name"),
            ("CLUSTER_LABEL: x", "must have no spaces around the name"),
            ("CLUSTER_LABEL:x ", "must have no spaces around the name"),
            ("CLUSTER_LABEL:x{", "must not contain braces"),
            ("CLUSTER_LABEL:x:-a}b", "must not contain braces"),
        ];
        for (inside, expected) in rows {
            assert_eq!(read(inside), expected, "{inside}");
        }
    }

    #[test]
    fn an_invalid_key_is_reported_with_both_forms() {
        for inside in [
            "CLUSTER_LABEL:",
            "CLUSTER_LABEL:a/b/c",
            "CLUSTER_LABEL:x:y",
            "CLUSTER_LABEL:-x",
        ] {
            assert_eq!(
                read(inside),
                "must be {{CLUSTER_LABEL:KEY}} or {{CLUSTER_LABEL:KEY:-DEFAULT}}, where KEY is the key of a label",
                "{inside}"
            );
        }
        let long = format!("CLUSTER_CLAIM:{}", "a.b".repeat(40));
        assert!(
            read(&long).starts_with("claim "),
            "a claim may be longer than a label"
        );
    }

    #[test]
    fn those_of_a_text_are_found_wherever_they_stand() {
        let text = "a {{CLUSTER_LABEL:x}}{{{CLUSTER_CLAIM:y:-d}}} {{ CLUSTER_LABEL:no }} {{CLUSTER_LABEL:{{CLUSTER_LABEL:z}} {{CLUSTER_LABEL:open";
        let found: Vec<String> = cluster_variables(text).map(|one| one.key().name()).collect();
        assert_eq!(found, ["CLUSTER_LABEL:x", "CLUSTER_CLAIM:y", "CLUSTER_LABEL:z"]);
    }
}
