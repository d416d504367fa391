//! Decision groups: first by label, in the order written, then the rest; each cut to the length asked for.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Cluster, pick::Choice};
use crate::wire::GroupStrategy;

/// Clusters that are decided together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Its name, empty for the groups of the rest.
    pub name: String,
    /// Its clusters, by name.
    pub clusters: Vec<String>,
}

/// Returns the groups of these clusters (at least one, if need be empty), or why they cannot be grouped.
pub(super) fn divide(strategy: &GroupStrategy, clusters: &[&Cluster]) -> Result<Vec<Group>, String> {
    let length = length(strategy.clusters_per_decision_group.as_ref(), clusters.len())?;
    let mut rest: Vec<&Cluster> = clusters.to_vec();
    let mut groups = Vec::new();
    for group in &strategy.decision_groups {
        let choice = Choice::parse(&group.group_cluster_selector)?;
        let (matched, others) = rest.into_iter().partition(|cluster| choice.holds(cluster));
        rest = others;
        cut(&group.group_name, matched, length, &mut groups);
    }
    cut("", rest, length, &mut groups);
    if groups.is_empty() {
        // An empty decision says "nothing selected"; no decision would say "not decided yet".
        groups.push(Group::default());
    }
    Ok(groups)
}

fn cut(name: &str, clusters: Vec<&Cluster>, length: usize, groups: &mut Vec<Group>) {
    let mut names: Vec<_> = clusters.into_iter().map(|cluster| cluster.name.clone()).collect();
    names.sort();
    groups.extend(names.chunks(length.max(1)).map(|part| Group {
        name: name.to_owned(),
        clusters: part.to_vec(),
    }));
}

fn length(written: Option<&IntOrString>, total: usize) -> Result<usize, String> {
    let length = match written {
        None => total,
        Some(IntOrString::Int(number)) => usize::try_from(*number).unwrap_or_default(),
        Some(IntOrString::String(text)) => {
            let percent = text
                .strip_suffix('%')
                .and_then(|number| number.parse::<usize>().ok());
            let percent =
                percent.ok_or_else(|| format!("{text} invalid type: string is not a percentage"))?;
            percent.saturating_mul(total).div_ceil(100)
        }
    };
    Ok(if length == 0 || length > total {
        total
    } else {
        length
    })
}
