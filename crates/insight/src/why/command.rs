//! The command that a person can type next, with the real names filled in.
//!
//! Decides one command for every cause. Names that others have written are quoted for a shell, so that nothing but the name is typed.

use super::answer::Cause;
use super::causes;

/// Returns a word as a shell takes it for one word.
pub(super) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._/:@%+=,".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns a word of JSON within a text that is in single quotes.
pub(super) fn json_word(word: &str) -> String {
    serde_json::Value::from(word).to_string().replace('\'', r"'\''")
}

/// Returns the command that opens an object.
pub(super) fn get(resource: &str, namespace: &str, name: &str) -> String {
    format!(
        "kubectl get {} {}{} -o yaml",
        quoted(resource),
        quoted(name),
        inside(namespace)
    )
}

/// Returns the command that describes an object, its events included.
pub(super) fn describe(resource: &str, namespace: &str, name: &str) -> String {
    format!(
        "kubectl describe {} {}{}",
        quoted(resource),
        quoted(name),
        inside(namespace)
    )
}

fn inside(namespace: &str) -> String {
    if namespace.is_empty() {
        return String::new();
    }
    format!(" -n {}", quoted(namespace))
}

/// Returns the command that shows which placements there are.
pub(super) fn list_placements(namespace: &str) -> String {
    format!("kubectl get placements -n {}", quoted(namespace))
}

/// Returns the command that opens an add-on in an editor.
pub(super) fn edit(addon: &str) -> String {
    format!("kubectl edit clustermanagementaddon {}", quoted(addon))
}

/// Returns the command that lets the hub manage an add-on.
/// Returns the command after which Tidegate manages an add-on, if another manager manages the others.
pub(super) fn mark(addon: &str) -> String {
    format!(
        "kubectl annotate --field-manager=ops clustermanagementaddon {} addon.open-cluster-management.io/lifecycle=tidegate --overwrite",
        quoted(addon)
    )
}

pub(super) fn manage(addon: &str) -> String {
    format!(
        "kubectl annotate --field-manager=ops clustermanagementaddon {} addon.open-cluster-management.io/lifecycle=addon-manager --overwrite",
        quoted(addon)
    )
}

/// Returns the command that creates an instance.
pub(super) fn create_instance(addon: &str, cluster: &str) -> String {
    let (addon, cluster) = (json_word(addon), json_word(cluster));
    format!(
        "echo '{{\"apiVersion\":\"addon.open-cluster-management.io/v1alpha1\",\"kind\":\"ManagedClusterAddOn\",\"metadata\":\
         {{\"name\":{addon},\"namespace\":{cluster}}},\"spec\":{{}}}}' | kubectl apply -f -"
    )
}

/// Returns the command that binds a cluster set to a namespace.
pub(super) fn bind(set: &str, namespace: &str) -> String {
    let (set, namespace) = (json_word(set), json_word(namespace));
    format!(
        "echo '{{\"apiVersion\":\"cluster.open-cluster-management.io/v1beta2\",\"kind\":\"ManagedClusterSetBinding\",\"metadata\":\
         {{\"name\":{set},\"namespace\":{namespace}}},\"spec\":{{\"clusterSet\":{set}}}}}' | kubectl apply -f -"
    )
}

/// Returns the command for a cause, for an add-on and, if applicable, a cluster.
pub(super) fn of(cause: &Cause, addon: &str, cluster: Option<&str>) -> String {
    if let Some(command) = &cause.command {
        return command.clone();
    }
    let Some(cluster) = cluster else {
        return if cause.doc == causes::VERSION {
            versions()
        } else {
            describe("clustermanagementaddon", "", addon)
        };
    };
    match cause.doc.id {
        "why/install-strategy" | "why/rollout-strategy" | "why/rollout-approval-invalid" => edit(addon),
        "why/cluster-missing" => "kubectl get managedclusters".to_owned(),
        "why/cluster-leaving" | "why/cluster-unreachable" | "why/name-too-long" => {
            describe("managedcluster", "", cluster)
        }
        "why/cluster-namespace-missing" => format!("kubectl get namespace {}", quoted(cluster)),
        "why/cluster-not-accepted" => format!(
            "kubectl patch managedcluster {} --type merge -p '{{\"spec\":{{\"hubAcceptsClient\":true}}}}'",
            quoted(cluster)
        ),
        "why/not-selected" | "why/deselected" => {
            format!("kubectl get managedcluster {} --show-labels", quoted(cluster))
        }
        "why/work-missing" | "why/addon-deleting" | "why/removal-unconfirmed" => {
            describe("clustermanagementaddon", "", addon)
        }
        "why/unsupported-config" => format!(
            "kubectl edit managedclusteraddon {} -n {}",
            quoted(addon),
            quoted(cluster)
        ),
        "why/adopted" => format!(
            "kubectl get managedclusteraddon {} -n {} -o yaml --show-managed-fields",
            quoted(addon),
            quoted(cluster)
        ),
        "why/version-unknown" => versions(),
        "why/pre-delete-hook" => format!(
            "kubectl annotate --field-manager=ops managedclusteraddon {} -n {} tidegate.io/skip-hooks=true",
            quoted(addon),
            quoted(cluster)
        ),
        _ => describe("managedclusteraddon", cluster, addon),
    }
}

fn versions() -> String {
    "kubectl get addontemplates -L addon.open-cluster-management.io/version".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_for_a_shell() {
        for (word, typed) in [
            ("cluster1", "cluster1"),
            ("a/b.c-d", "a/b.c-d"),
            ("", "''"),
            ("$(reboot)", "'$(reboot)'"),
            ("it's; x", r"'it'\''s; x'"),
        ] {
            assert_eq!(quoted(word), typed);
        }
        assert_eq!(json_word("a'\"b"), r#""a'\''\"b""#);
    }

    #[test]
    fn every_cause_has_a_command() {
        for doc in causes::CAUSES {
            let cause = Cause::new(doc, "");
            for cluster in [None, Some("c1")] {
                let command = of(&cause, "hello", cluster);
                let first = command.split(' ').next().unwrap_or_default();
                assert!(["kubectl", "tidegate"].contains(&first), "{}: {command}", doc.id);
            }
        }
    }
}
