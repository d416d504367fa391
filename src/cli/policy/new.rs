//! `tidegate policy new`: a policy that compiles, and a test beside it that passes, to begin with.
//!
//! Decides what stands in the two files, and that nothing is overwritten. What a policy may say is decided elsewhere: both files go
//! through the tools like any other.

use std::path::{Path, PathBuf};

use super::CommandOutput;
use super::NewArgs;
use crate::cli::CliError;
use crate::files::create;
use kubernetes::field::{Shown, nearest, quoted};
use kubernetes::names::{Unit, dns1123_subdomain_faults};

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

pub(super) fn run(args: &NewArgs) -> Result<CommandOutput, CliError> {
    let subject = subject(&args.kind)?;
    check_name(&args.name)?;
    let policy = args.dir.join(format!("{}.yaml", args.name));
    let test = args.dir.join(format!("{}.test.yaml", args.name));
    for path in [&policy, &test] {
        if std::fs::symlink_metadata(path).is_ok() {
            let words = format!(
                "{} is there already and stays as it is: choose another name, or another --dir",
                quoted(&path.display().to_string())
            );
            return Err(CliError::Refused(words.into()));
        }
    }
    std::fs::create_dir_all(&args.dir).map_err(|source| unwritable(&args.dir, source))?;
    put(&policy, &policy_text(&args.name, subject))?;
    put(&test, &test_text(&args.name, subject))?;
    let (policy, test) = (policy.display(), test.display());
    let page = format!(
        "wrote {policy}\nwrote {test}\n\nSay what you want in the expression, and in the cases what it refuses and what it lets pass. Then:\n  \
         tidegate policy lint {policy}\n  tidegate policy test {test} --watch\n  tidegate policy test {test} --mutate\n  kubectl apply -f {policy}\n"
    );
    Ok(CommandOutput {
        page: Shown::page(&page),
        status: 0,
    })
}

fn subject(kind: &str) -> Result<&'static Subject, CliError> {
    let wanted = kind.to_ascii_lowercase();
    let is_it = |subject: &&Subject| subject.kind.to_ascii_lowercase() == wanted || subject.plural == wanted;
    SUBJECTS.iter().find(is_it).ok_or_else(|| {
        let kinds = SUBJECTS.iter().map(|subject| subject.kind);
        let near = nearest(kind, kinds.clone()).map(|near| format!("; did you mean {}?", quoted(near)));
        let known = kinds.collect::<Vec<_>>().join(", ");
        CliError::ReadFlag {
            flag: "kind",
            reason: format!(
                "{} must be one of {known}{}",
                quoted(kind),
                near.unwrap_or_default()
            ),
        }
    })
}

fn check_name(name: &str) -> Result<(), CliError> {
    let faults = dns1123_subdomain_faults(name, Unit::Bytes);
    if faults.is_empty() {
        return Ok(());
    }
    let words = format!(
        "{} cannot be the name of a policy: {}",
        quoted(name),
        faults.join("; ")
    );
    Err(CliError::Refused(words.into()))
}

fn put(path: &Path, text: &str) -> Result<(), CliError> {
    create(path, text).map_err(|source| unwritable(path, source))
}

fn unwritable(path: &Path, source: std::io::Error) -> CliError {
    CliError::WriteFile {
        path: PathBuf::from(path),
        source,
    }
}

fn policy_text(name: &str, subject: &Subject) -> String {
    let Subject {
        kind, group, plural, ..
    } = subject;
    format!(
        "# Every {kind} names the team that owns it: an example to write your own rule over.
# What expressions read, and everything that a policy may have: tidegate explain AddOnPolicy.spec
apiVersion: tidegate.io/v1alpha1
kind: AddOnPolicy
metadata:
  name: {name}
spec:
  # Which questions it is asked about.
  matchConstraints:
    resourceRules:
      - apiGroups: [{group}]
        apiVersions: [\"*\"]
        operations: [CREATE, UPDATE]
        resources: [{plural}]
  # What may be read as variables.NAME below.
  variables:
    - name: team
      # One label is read, not all: an update of another label of an old object is not refused.
      expression: object.metadata.?labels.?team.orValue('')
  validations:
    - id: owned
      # What must be true.
      expression: variables.team != ''
      # What is shown where it is not.
      fieldPath: metadata.labels[team]
      message: must name the team that owns it
      suggestion: add the label team
  # Deny refuses. Warn lets pass and warns: a good way to begin; in the test, deny is then warn.
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
        "# Every validation must be seen to hold and to break: tidegate policy test {name}.test.yaml
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
