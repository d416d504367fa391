//! Rows for the checks on certificate requests: requester, subject, usages, alternative names, stages.

use super::*;
use crate::snapshot::{Meta, Subject};
use expect_test::{Expect, expect};

const CUSTOM: &str = "example.com/signer";
const HUB: &str = "kubernetes.io/kube-apiserver-client";
const OWN: &str = "system:open-cluster-management:c1:x7f2q";

fn meta() -> Meta {
    Meta {
        uid: "u".into(),
        version: "1".into(),
        generation: 1,
        deleting: false,
    }
}

fn instance() -> Instance {
    Instance {
        meta: meta(),
        addon: "hello".into(),
        cluster: "c1".into(),
        farewell: crate::snapshot::Farewell::default(),
        owners: [].into(),
        installed_by: "".into(),
        deselected_at: None,
        annotations: crate::snapshot::Pairs::default(),
        copied: "".into(),
        health_mode: "".into(),
        desired_version: "".into(),
        given_version: "".into(),
        current_version: "".into(),
        last_version: "".into(),
        hosting_cluster: "".into(),
        install_namespace: "ns".into(),
        configs: Vec::new(),
        supported: [].into(),
        references: [].into(),
        conditions: Vec::new(),
        registrations: Vec::new(),
        driver: "".into(),
        namespace: "".into(),
    }
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn agent() -> Asked {
    Asked {
        users: vec![agent_user("c1", "hello")],
        groups: agent_groups("c1", "hello").into(),
        units: BTreeSet::new(),
        others: Vec::new(),
        names: set(&["DNS:hello.addon.open-cluster-management.io"]),
        der: Vec::new(),
    }
}

fn request(signer: &str, asked: Asked) -> Request {
    Request {
        meta: meta(),
        name: "addon-c1-hello-abc".into(),
        cluster: "c1".into(),
        signer: signer.into(),
        requester: OWN.into(),
        usages: vec!["digital signature".into(), "client auth".into()],
        seconds: None,
        stage: Stage::Pending,
        asked: Some(Ok(Arc::new(asked))),
        conditions: Vec::new(),
    }
}

fn registrations(custom: AgentIdentity) -> [Registered; 2] {
    let one = |signer: &str, identity| Registered {
        signer: signer.into(),
        identity,
    };
    [one(HUB, AgentIdentity::Agent), one(CUSTOM, custom)]
}

fn stated() -> AgentIdentity {
    AgentIdentity::Stated(Arc::new(Subject {
        user: "worker".into(),
        groups: vec!["workers".into()],
        units: vec!["unit".into()],
    }))
}

fn worker() -> Asked {
    Asked {
        users: vec!["worker".to_owned()],
        groups: set(&["workers"]),
        units: set(&["unit"]),
        others: Vec::new(),
        names: BTreeSet::new(),
        der: Vec::new(),
    }
}

fn judged(request: &Request, custom: AgentIdentity) -> String {
    let asked = [Registration::CustomSigner {
        signer: CUSTOM.into(),
        identity: custom.clone(),
        ca_namespace: "".into(),
        ca_name: "ca".into(),
    }];
    let now = Timestamp::from_second(0).unwrap();
    match answer(request, &instance(), &registrations(custom), &asked, now) {
        Ok(None) => "nothing to do".to_owned(),
        Ok(Some(Action::Certify {
            answer: Answer::Approve(_),
            ..
        })) => "approve".to_owned(),
        Ok(Some(Action::Certify {
            answer: Answer::Sign(signing),
            ..
        })) => format!("sign with {}", signing.ca_name),
        Ok(Some(other)) => format!("{other:?}"),
        Err(Refusal { reason, why }) => format!("{reason}: {why}"),
    }
}

#[track_caller]
fn row(request: &Request, expected: &Expect) {
    expected.assert_eq(&judged(request, stated()));
}

#[test]
fn only_the_clusters_own_agent_may_ask() {
    let rows = [
        ("system:open-cluster-management:c1", true),
        (OWN, true),
        ("system:open-cluster-management:c", false),
        ("system:open-cluster-management:c10", false),
        ("system:open-cluster-management:c10:x", false),
        ("system:open-cluster-management:c1:", false),
        ("system:open-cluster-management:c1-x", false),
        ("system:open-cluster-management:c1:addon:hello", false),
        (
            "system:open-cluster-management:cluster:c1:addon:hello:agent:hello-agent",
            false,
        ),
        ("xsystem:open-cluster-management:c1", false),
        ("admin", false),
        ("", false),
    ];
    for (requester, allowed) in rows {
        for signer in [HUB, CUSTOM] {
            let asked = if signer == HUB { agent() } else { worker() };
            let request = Request {
                requester: requester.into(),
                ..request(signer, asked)
            };
            let judged = judged(&request, stated());
            assert_eq!(judged == "approve", allowed, "{requester} {signer}: {judged}");
            assert!(allowed || judged.starts_with("RequesterNotAllowed: "), "{judged}");
        }
    }
}

#[test]
fn a_cluster_called_cluster_is_no_key_to_the_others() {
    let requester = "system:open-cluster-management:cluster:c1:addon:hello:agent:hello-agent";
    assert!(check_requester(requester, "cluster").is_err());
    assert!(check_requester("system:open-cluster-management:cluster:x", "cluster").is_ok());
}

#[test]
fn the_subject_for_the_hub_is_the_agents_and_nothing_else() {
    let with = |change: fn(&mut Asked)| {
        let mut asked = agent();
        change(&mut asked);
        request(HUB, asked)
    };
    row(&with(|_| {}), &expect!["approve"]);
    row(
        &with(|asked| asked.groups.extend(["system:authenticated".to_owned()])),
        &expect!["approve"],
    );
    row(
        &with(|asked| asked.groups.extend(["system:masters".to_owned()])),
        &expect![[
            r#"SubjectNotAllowed: the organizations are ["system:masters", "system:open-cluster-management:addon:hello", "system:open-cluster-management:cluster:c1:addon:hello"] and not {"system:open-cluster-management:addon:hello", "system:open-cluster-management:cluster:c1:addon:hello"}"#
        ]],
    );
    row(
        &with(|asked| drop(asked.groups.pop_first())),
        &expect![[
            r#"SubjectNotAllowed: the organizations are ["system:open-cluster-management:cluster:c1:addon:hello"] and not {"system:open-cluster-management:addon:hello", "system:open-cluster-management:cluster:c1:addon:hello"}"#
        ]],
    );
    row(
        &with(|asked| asked.users = vec![agent_user("c2", "hello")]),
        &expect![[
            r#"SubjectNotAllowed: the common name is "system:open-cluster-management:cluster:c2:addon:hello:agent:hello-agent" and not "system:open-cluster-management:cluster:c1:addon:hello:agent:hello-agent""#
        ]],
    );
    row(
        &with(|asked| asked.users.push("system:admin".to_owned())),
        &expect!["SubjectNotAllowed: the subject has 2 common names"],
    );
    row(
        &with(|asked| asked.units.extend(["x".to_owned()])),
        &expect![[r#"SubjectNotAllowed: the organizational units are ["x"] and not {}"#]],
    );
    row(
        &with(|asked| asked.others.push("2.5.4.5".to_owned())),
        &expect!["SubjectNotAllowed: the subject has an attribute 2.5.4.5"],
    );
}

#[test]
fn the_subject_for_a_custom_signer_is_the_registered_one() {
    row(&request(CUSTOM, worker()), &expect!["approve"]);
    row(
        &request(CUSTOM, agent()),
        &expect![[
            r#"SubjectNotAllowed: the common name is "system:open-cluster-management:cluster:c1:addon:hello:agent:hello-agent" and not "worker""#
        ]],
    );
    let mut everybody = worker();
    everybody.groups.insert(EVERYBODY.to_owned());
    row(
        &request(CUSTOM, everybody),
        &expect![[
            r#"SubjectNotAllowed: the organizations are ["system:authenticated", "workers"] and not {"workers"}"#
        ]],
    );
    let open = |user: &str| {
        let asked = Asked {
            users: vec![user.to_owned()],
            groups: BTreeSet::new(),
            units: BTreeSet::new(),
            ..agent()
        };
        judged(&request(CUSTOM, asked), AgentIdentity::Open)
    };
    let prefix = agent_user_prefix("c1", "hello");
    expect!["approve"].assert_eq(&open(&format!("{prefix}x7f2q")));
    assert!(open(&prefix).starts_with("SubjectNotAllowed"));
    assert!(open("somebody").starts_with("SubjectNotAllowed"));
}

#[test]
fn usages_and_names_stay_those_of_an_agent() {
    let used = |signer: &str, usages: &[&str]| {
        let asked = if signer == HUB { agent() } else { worker() };
        let usages = usages.iter().map(|usage| Name::from(*usage)).collect();
        Request {
            usages,
            ..request(signer, asked)
        }
    };
    row(
        &used(CUSTOM, &["server auth", "client auth"]),
        &expect!["approve"],
    );
    row(
        &used(HUB, &["server auth", "client auth"]),
        &expect![[r#"UsagesNotAllowed: usage "server auth" is not one of an agent's"#]],
    );
    row(
        &used(CUSTOM, &["cert sign", "client auth"]),
        &expect![[r#"UsagesNotAllowed: usage "cert sign" is not one of an agent's"#]],
    );
    row(
        &used(HUB, &["digital signature"]),
        &expect![[r#"UsagesNotAllowed: the usage "client auth" is absent"#]],
    );
    let mut named = worker();
    named.names = set(&["DNS:kubernetes.default.svc"]);
    row(
        &request(CUSTOM, named),
        &expect![[
            r#"NamesNotAllowed: the alternative name "DNS:kubernetes.default.svc" is not "DNS:hello.addon.open-cluster-management.io""#
        ]],
    );
}

#[test]
fn what_is_approved_is_signed_only_if_it_passes_and_only_by_a_custom_signer() {
    let approved = |signer: &str, asked| Request {
        stage: Stage::Approved,
        ..request(signer, asked)
    };
    row(&approved(CUSTOM, worker()), &expect!["sign with ca"]);
    row(&approved(HUB, agent()), &expect!["nothing to do"]);
    // Somebody approved by hand what must not be signed.
    assert!(judged(&approved(CUSTOM, agent()), stated()).starts_with("SubjectNotAllowed"));
    row(
        &request("example.com/other", worker()),
        &expect!["SignerNotRegistered: no registration of the add-on names the signer example.com/other"],
    );
    let malformed = Request {
        asked: Some(Err("the request is not PEM".into())),
        ..request(CUSTOM, worker())
    };
    row(&malformed, &expect!["RequestMalformed: the request is not PEM"]);
}

#[test]
fn an_approval_keeps_the_other_conditions() {
    let other = json!({"type": "Example", "status": "True"});
    let request = Request {
        conditions: vec![other.clone()],
        ..request(HUB, agent())
    };
    let patch = approval(&request, Timestamp::from_second(0).unwrap());
    let conditions = &patch["status"]["conditions"];
    assert_eq!(conditions[0], other);
    assert_eq!(conditions[1]["type"], "Approved");
    assert_eq!(conditions[1]["reason"], "AutoApprovedByHubCSRApprovingController");
}
