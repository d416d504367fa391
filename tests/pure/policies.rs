//! The library of policies in `policies/`: every policy has cases, they pass, and they contain an accepted and a denied example for
//! every validation. `tidegate policy test` runs them.

use std::fs;
use std::path::PathBuf;

use tidegate::cli::policy::run_tests;

use crate::kit::manifests::repository;

fn library() -> PathBuf {
    repository("policies")
}

fn policies() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(library())
        .expect("the library is there")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".yaml").map(ToOwned::to_owned))
        .filter(|name| !name.contains(".test"))
        .collect();
    names.sort();
    names
}

#[test]
fn every_policy_of_the_library_does_what_its_cases_say_and_they_notice_every_mistake() {
    let report = run_tests(&[library()], true).expect("the library can be read");
    assert!(report.passed(), "{}", report.text());
    let tried = report.mutation.as_ref().map_or(0, |mutation| mutation.tried);
    assert!(tried > 50, "only {tried} mistakes were tried");
}

#[test]
fn a_mutation_that_no_case_detects_is_reported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let policy = "apiVersion: tidegate.io/v1alpha1\nkind: AddOnPolicy\nmetadata: {name: p}\nspec:\n  \
        matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}]}\n  \
        validations: [{id: v, expression: 'object.size < 3', message: too many}]\n";
    let suite = |most: u8| {
        let case = |size: u8, expect: &str| {
            format!(
                "  - {{name: c{size}, object: {{apiVersion: v1, kind: Thing, metadata: {{name: n}}, size: {size}}}, expect: {expect}}}\n"
            )
        };
        let cases = case(most, "{allow: true}") + &case(3, "{deny: [{id: v}]}");
        format!("kind: PolicyTest\npolicies: [p.yaml]\ncases:\n{cases}")
    };
    let survivors = |most: u8| {
        fs::write(folder.path().join("p.yaml"), policy).expect("writable");
        fs::write(folder.path().join("t.yaml"), suite(most)).expect("writable");
        let report = run_tests(&[folder.path().join("t.yaml")], true).expect("it can be read");
        let mutation = report.mutation.clone().expect("it was asked");
        assert_eq!(mutation.tried, 2, "the comparison, and its bound");
        assert_eq!(report.passed(), mutation.survivors.is_empty());
        mutation.survivors
    };
    assert_eq!(survivors(2), Vec::<String>::new());
    let wordy = policy.replace("size < 3", "size < 3 && object.size < 9");
    fs::write(folder.path().join("p.yaml"), wordy).expect("writable");
    let report = run_tests(&[folder.path().join("t.yaml")], true).expect("it can be read");
    let told = report.text();
    assert!(told.contains("3 of 5 mistakes detected"), "{told}");
    assert!(
        told.contains(r#""<=" instead of "<" at 1:32 of spec.validations[0].expression in "p""#),
        "{told}"
    );
}

#[test]
fn a_policy_without_operators_is_tested_with_other_keys_and_patterns() {
    let report = |policy: &str| {
        run_tests(&[library().join(format!("{policy}.test.yaml"))], true).expect("it can be read")
    };
    let told = report("owner-label-required").text();
    assert!(told.contains("2 of 2 mistakes detected"), "{told}");
    let told = report("config-variables-known").text();
    assert!(told.contains("no mistake was tried"), "{told}");
}

#[test]
fn every_policy_has_cases_and_is_in_the_index() {
    let names = policies();
    assert!(names.len() >= 12, "{names:?}");
    let index = fs::read_to_string(library().join("README.md")).expect("the index is there");
    for name in names {
        assert!(
            library().join(format!("{name}.test.yaml")).is_file(),
            "{name} has no cases"
        );
        assert!(
            index.contains(&format!("[{name}]({name}.yaml)")),
            "{name} is not in the index"
        );
    }
}

#[test]
fn a_case_that_is_not_as_expected_fails() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let policy = "apiVersion: tidegate.io/v1alpha1\nkind: AddOnPolicy\nmetadata: {name: p}\nspec:\n  \
        matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}]}\n  \
        validations: [{id: v, expression: 'object.metadata.name != \"bad\"', message: refused}]\n";
    let case = |name: &str, expect: &str| {
        format!(
            "  - {{name: c, object: {{apiVersion: v1, kind: Thing, metadata: {{name: {name}}}}}, expect: {expect}}}\n"
        )
    };
    let run = |cases: &str| {
        fs::write(folder.path().join("p.yaml"), policy).expect("writable");
        let suite = format!("kind: PolicyTest\npolicies: [p.yaml]\ncases:\n{cases}");
        fs::write(folder.path().join("t.yaml"), suite).expect("writable");
        run_tests(&[folder.path().join("t.yaml")], false).expect("it can be read")
    };
    let good = run(&(case("good", "{allow: true}") + &case("bad", "{deny: [{id: v, message: refused}]}")));
    assert!(good.passed(), "{}", good.text());
    let unexpected = run(&(case("bad", "{allow: true}") + &case("good", "{deny: [{id: v}]}")));
    let faults: Vec<&str> = unexpected
        .cases
        .iter()
        .flat_map(|case| &case.faults)
        .map(String::as_str)
        .collect();
    assert_eq!(
        faults,
        [
            "should not have been denied: refused [policy/p/v]",
            "should have been denied: v",
        ]
    );
    let uncovered = run(&case("good", "{allow: true}"));
    assert_eq!(uncovered.uncovered, [("policy/p/v".to_owned(), "to break")]);
    assert!(!uncovered.passed());
}

/// What a policy may declare is decided by the crate of policies; the definition has the words a second time, below it.
#[test]
fn the_definition_takes_every_fact_and_no_other() {
    let crds = api::crds().into_iter();
    let mut crds = crds.map(|crd| serde_json::to_value(crd).expect("plain data"));
    let policies = crds.find(|crd| crd["spec"]["names"]["kind"] == "AddOnPolicy");
    let policies = policies.expect("the definition of policies");
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let words = policies.pointer(&format!("{spec}/facts/items/enum"));
    let names: Vec<&str> = admission::policy::Fact::ALL
        .into_iter()
        .map(admission::policy::Fact::name)
        .collect();
    assert_eq!(words, Some(&serde_json::json!(names)));
}
