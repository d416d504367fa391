//! A first policy and its test: `tidegate policy new`.

use kubernetes::field::{nearest, quoted};
use kubernetes::names::{Unit, dns1123_subdomain_faults};

/// The texts of a policy and of its test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starter {
    /// An AddOnPolicy.
    pub policy: String,
    /// A PolicyTest of it.
    pub test: String,
}

/// Why there is no such policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StarterError {
    /// The webhook is not asked about objects of this kind.
    Kind(String),
    /// The name is none.
    Name(String),
}

/// Returns a policy of this name for objects of a kind, and its test.
pub fn starter(name: &str, kind: &str) -> Result<Starter, StarterError> {
    let subject = subject(kind)?;
    check_name(name)?;
    Ok(Starter {
        policy: policy_text(name, subject),
        test: test_text(name, subject),
    })
}

/// A kind of objects that the gate is asked about, and what an example of it needs.
struct Subject {
    kind: &'static str,
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    namespace: &'static str,
    spec: &'static str,
}

const ADDONS: &str = "addon.open-cluster-management.io";
const SUBJECTS: [Subject; 5] = [
    Subject {
        kind: "ManagedClusterAddOn",
        group: ADDONS,
        version: "v1alpha1",
        plural: "managedclusteraddons",
        namespace: "cluster1",
        spec: "{}",
    },
    Subject {
        kind: "ClusterManagementAddOn",
        group: ADDONS,
        version: "v1alpha1",
        plural: "clustermanagementaddons",
        namespace: "",
        spec: "{}",
    },
    Subject {
        kind: "AddOnTemplate",
        group: ADDONS,
        version: "v1alpha1",
        plural: "addontemplates",
        namespace: "",
        spec: "{addonName: example, agentSpec: {workload: {manifests: []}}, registration: []}",
    },
    Subject {
        kind: "AddOnDeploymentConfig",
        group: ADDONS,
        version: "v1alpha1",
        plural: "addondeploymentconfigs",
        namespace: "addons",
        spec: "{}",
    },
    Subject {
        kind: "ManagedClustersUpgrade",
        group: "cluster.open-cluster-management.io",
        version: "v1beta1",
        plural: "managedclustersupgrades",
        namespace: "default",
        spec: "{}",
    },
];

fn subject(kind: &str) -> Result<&'static Subject, StarterError> {
    let wanted = kind.to_ascii_lowercase();
    let is_it = |subject: &&Subject| subject.kind.to_ascii_lowercase() == wanted || subject.plural == wanted;
    SUBJECTS.iter().find(is_it).ok_or_else(|| {
        let kinds = SUBJECTS.iter().map(|subject| subject.kind);
        let near = nearest(kind, kinds.clone()).map(|near| format!("; did you mean {}?", quoted(near)));
        let known = kinds.collect::<Vec<_>>().join(", ");
        StarterError::Kind(format!(
            "{} must be one of {known}{}",
            quoted(kind),
            near.unwrap_or_default()
        ))
    })
}

fn check_name(name: &str) -> Result<(), StarterError> {
    let faults = dns1123_subdomain_faults(name, Unit::Bytes);
    if faults.is_empty() {
        return Ok(());
    }
    let words = format!(
        "{} cannot be the name of a policy: {}",
        quoted(name),
        faults.join("; ")
    );
    Err(StarterError::Name(words))
}

fn policy_text(name: &str, subject: &Subject) -> String {
    let Subject {
        kind, group, plural, ..
    } = subject;
    format!(
        "# Example: every {kind} must have a label with the team that owns it. Replace this rule with your own.
# For all fields of a policy and what its expressions can read, run: tidegate explain AddOnPolicy.spec
apiVersion: tidegate.io/v1alpha1
kind: AddOnPolicy
metadata:
  name: {name}
spec:
  # The requests that the policy checks.
  matchConstraints:
    resourceRules:
      - apiGroups: [{group}]
        apiVersions: [\"*\"]
        operations: [CREATE, UPDATE]
        resources: [{plural}]
  # The expressions below read these values as variables.NAME.
  variables:
    - name: team
      # Read only this label: then an update of another label of an existing object is not refused.
      expression: object.metadata.?labels.?team.orValue('')
  validations:
    - id: owned
      # The condition that must be true.
      expression: variables.team != ''
      # What users see if it is false.
      fieldPath: metadata.labels[team]
      message: must name the team that owns it
      suggestion: add the label team
  # Deny rejects the request. Warn admits it with a warning, which is a good start: then write warn in the test as well.
  validationActions: [Deny]
"
    )
}

fn test_text(name: &str, subject: &Subject) -> String {
    let Subject {
        kind,
        group,
        version,
        namespace,
        spec,
        ..
    } = subject;
    let place = if namespace.is_empty() {
        String::new()
    } else {
        format!(", namespace: {namespace}")
    };
    format!(
        "# Each validation needs a case that passes and a case that fails it. Run: tidegate policy test {name}.test.yaml
kind: PolicyTest
policies: [{name}.yaml]
cases:
  - name: one without a team is refused
    object:
      apiVersion: {group}/{version}
      kind: {kind}
      metadata: {{name: example{place}}}
      spec: {spec}
    expect: {{deny: [{{id: owned, field: \"metadata.labels[team]\"}}]}}
  - name: one with a team is accepted
    object:
      apiVersion: {group}/{version}
      kind: {kind}
      metadata: {{name: example{place}, labels: {{team: blue}}}}
      spec: {spec}
    expect: {{allow: true}}
"
    )
}
