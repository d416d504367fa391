//! Rows for the checks on certificate requests: requester, subject, usages, alternative names, stages.

use super::*;
use api::v1alpha1::{HubPermission, KubeClientRegistration, RegistrationSpec};
use expect_test::{Expect, expect};
use store::{
    AgentIdentity, CertificateSubject, Meta, Permission, Registration, Settings, Template, TemplateSharing,
    agent_groups, agent_user, agent_user_prefix,
};

const CUSTOM: &str = "example.com/signer";
const HUB: &str = "kubernetes.io/kube-apiserver-client";
const GRPC: &str = "system:serviceaccount:open-cluster-management-hub:grpc-server-sa";
const OWN: &str = "system:open-cluster-management:c1:x7f2q";

fn meta() -> Meta {
    Meta {
        uid: "u".into(),
        version: "1".into(),
        generation: 1,
        deleting: false,
    }
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn agent() -> CertificateRequest {
    CertificateRequest {
        users: vec![agent_user("c1", "hello")],
        groups: agent_groups("c1", "hello").into(),
        units: BTreeSet::new(),
        others: Vec::new(),
        names: set(&["DNS:hello.addon.open-cluster-management.io"]),
        der: Vec::new(),
    }
}

fn request(signer: &str, asked: CertificateRequest) -> Request {
    Request {
        meta: meta(),
        name: "addon-c1-hello-abc".into(),
        cluster: "c1".into(),
        signer: signer.into(),
        requester: OWN.into(),
        on_behalf_of: None,
        usages: vec!["digital signature".into(), "client auth".into()],
        seconds: None,
        stage: Stage::Pending,
        asked: Some(Ok(Arc::new(asked))),
        conditions: Vec::new(),
    }
}

fn signer(signer: &str, identity: AgentIdentity, ca: &str) -> Registration {
    Registration::CustomSigner {
        signer: signer.into(),
        identity,
        ca_namespace: "".into(),
        ca_name: ca.into(),
    }
}

fn template(registrations: Vec<Registration>) -> Template {
    let written = registrations.iter().map(|one| match one {
        Registration::KubeClient(permissions) => RegistrationSpec {
            type_: "KubeClient".to_owned(),
            kube_client: Some(KubeClientRegistration {
                hub_permissions: vec![HubPermission::default(); permissions.len()],
            }),
            ..RegistrationSpec::default()
        },
        Registration::CustomSigner { .. } | Registration::Faulty(_) => RegistrationSpec {
            type_: "CustomSigner".to_owned(),
            ..RegistrationSpec::default()
        },
    });
    Template {
        addon: "hello".into(),
        registration: Some(written.collect()),
        registrations,
        ..Template::default()
    }
}

fn stated() -> AgentIdentity {
    AgentIdentity::Stated(Arc::new(CertificateSubject {
        user: "worker".into(),
        groups: vec!["workers".into()],
        units: vec!["unit".into()],
    }))
}

fn worker() -> CertificateRequest {
    CertificateRequest {
        users: vec!["worker".to_owned()],
        groups: set(&["workers"]),
        units: set(&["unit"]),
        others: Vec::new(),
        names: BTreeSet::new(),
        der: Vec::new(),
    }
}

fn judged(request: &Request, custom: AgentIdentity) -> String {
    let client = Registration::KubeClient(Vec::new());
    judged_by(request, &template(vec![client, signer(CUSTOM, custom, "ca")]))
}

fn judged_by(request: &Request, template: &Template) -> String {
    let (names, settings) = ((Name::from("hello"), Name::from("c1")), Settings::default());
    let entitled =
        Entitled::of(template, &names.0, &names.1, &settings).expect("the template is the add-on's");
    told(request, &entitled)
}

fn told(request: &Request, entitled: &Entitled<'_>) -> String {
    let now = Timestamp::from_second(0).unwrap();
    match answer(request, entitled, GRPC, now) {
        Ok(None) => "nothing to do".to_owned(),
        Ok(Some(Action::Certify {
            answer: CertificateDecision::Approve(_, signer),
            ..
        })) => {
            assert_eq!(
                signer.is_some(),
                *request.signer != *HUB,
                "only an own signer is asked whether it signs for the add-on"
            );
            "approve".to_owned()
        }
        Ok(Some(Action::Certify {
            answer: CertificateDecision::Sign(signing),
            ..
        })) => format!("sign with {}", signing.signer.name),
        Ok(Some(other)) => format!("{other:?}"),
        Err(Refusal { reason, why }) => format!("{reason}: {why}"),
    }
}

#[track_caller]
fn row(request: &Request, expected: &Expect) {
    expected.assert_eq(&judged(request, stated()));
}

#[test]
fn a_client_of_the_hub_has_no_name_but_the_add_ons() {
    for (names, allowed) in [
        (&[][..], true),
        (&["DNS:hello.addon.open-cluster-management.io"][..], true),
        (&["DNS:kube-apiserver"][..], false),
        (&["URI:spiffe://hub/admin"][..], false),
        (
            &["DNS:hello.addon.open-cluster-management.io", "IP:127.0.0.1"][..],
            false,
        ),
    ] {
        let asked = CertificateRequest {
            names: set(names),
            ..agent()
        };
        let judged = judged(&request(HUB, asked), stated());
        assert_eq!(judged == "approve", allowed, "{names:?}: {judged}");
        assert!(allowed || judged.starts_with("NamesNotAllowed: "), "{judged}");
    }
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
    let own = check_requester("system:open-cluster-management:cluster:x", "cluster");
    assert_eq!(own, Ok("x"));
}

#[test]
fn the_subject_for_the_hub_is_the_agents_and_nothing_else() {
    let with = |change: fn(&mut CertificateRequest)| {
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
    let mut authenticated = worker();
    authenticated.groups.insert(AUTHENTICATED.to_owned());
    row(
        &request(CUSTOM, authenticated),
        &expect![[
            r#"SubjectNotAllowed: the organizations are ["system:authenticated", "workers"] and not {"workers"}"#
        ]],
    );
    let open = |user: &str| {
        let asked = CertificateRequest {
            users: vec![user.to_owned()],
            groups: BTreeSet::new(),
            units: BTreeSet::new(),
            ..agent()
        };
        judged(&request(CUSTOM, asked), AgentIdentity::Open)
    };
    let prefix = agent_user_prefix("c1", "hello");
    expect!["approve"].assert_eq(&open(&format!("{prefix}x7f2q")));
    for other in [
        &*prefix,
        "another-user",
        &format!("{prefix}other"),
        "system:admin",
    ] {
        assert!(open(other).starts_with("SubjectNotAllowed"), "{other}");
    }
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
        &expect![[r#"UsagesNotAllowed: usage "server auth" is not allowed for an agent"#]],
    );
    row(
        &used(CUSTOM, &["cert sign", "client auth"]),
        &expect![[r#"UsagesNotAllowed: usage "cert sign" is not allowed for an agent"#]],
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
    // A user approved by hand what must not be signed.
    assert!(judged(&approved(CUSTOM, agent()), stated()).starts_with("SubjectNotAllowed"));
    row(
        &request("example.com/other", worker()),
        &expect![
            "SignerNotRegistered: no certificate is issued by the signer example.com/other: no registration in the add-on's template has this signer"
        ],
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

#[test]
fn the_secret_that_signs_is_that_of_the_subject_that_was_compared() {
    let other = AgentIdentity::Stated(Arc::new(CertificateSubject {
        user: "guest".into(),
        ..CertificateSubject::default()
    }));
    let two = template(vec![
        signer(CUSTOM, other, "ca-of-guests"),
        signer(CUSTOM, stated(), "ca-of-workers"),
    ]);
    let approved = |asked| Request {
        stage: Stage::Approved,
        ..request(CUSTOM, asked)
    };
    let guest = CertificateRequest {
        users: vec!["guest".to_owned()],
        groups: BTreeSet::new(),
        units: BTreeSet::new(),
        ..worker()
    };
    assert_eq!(judged_by(&approved(worker()), &two), "sign with ca-of-workers");
    assert_eq!(judged_by(&approved(guest), &two), "sign with ca-of-guests");
}

#[test]
fn the_signer_of_the_hub_is_reserved_whatever_a_template_states() {
    let stolen = template(vec![signer(HUB, stated(), "ca")]);
    assert!(judged_by(&request(HUB, worker()), &stolen).starts_with("SignerNotRegistered"));
    assert!(judged_by(&request(HUB, agent()), &stolen).starts_with("SignerNotRegistered"));
    let beside = template(vec![
        signer(HUB, stated(), "ca"),
        Registration::KubeClient(Vec::new()),
    ]);
    assert!(judged_by(&request(HUB, worker()), &beside).starts_with("SubjectNotAllowed"));
    assert_eq!(judged_by(&request(HUB, agent()), &beside), "approve");
}

#[test]
fn a_template_of_another_add_on_gives_only_the_agents_own_name() {
    let names = (Name::from("other"), Name::from("c1"));
    let mut settings = Settings::default();
    let client = || Registration::KubeClient(Vec::new());
    let plain = template(vec![client()]);
    let permitted = template(vec![Registration::KubeClient(vec![Permission::CurrentCluster(
        "reader".into(),
    )])]);
    let signed = template(vec![client(), signer(CUSTOM, stated(), "ca")]);
    let faulty = template(vec![client(), Registration::Faulty("why".into())]);
    let own = Entitled::of(&plain, &names.0, &names.1, &settings).expect("it requests nothing on the hub");
    let user = own.bearer(Certificate::OfTheHub, "").user;
    assert_eq!(user, agent_user("c1", "other"));
    for template in [&permitted, &signed, &faulty] {
        assert!(
            Entitled::of(template, &names.0, &names.1, &settings).is_none(),
            "{template:?}"
        );
    }
    // As in OCM; reserved signers and names stay with their add-on.
    settings.template_sharing = TemplateSharing::WithAccess;
    let all = Entitled::of(&signed, &names.0, &names.1, &settings).expect("all templates are shared");
    assert_eq!(all.certificates(CUSTOM).count(), 1);
    let proxy = "open-cluster-management.io/proxy-agent-signer";
    let reserved = template(vec![signer(proxy, stated(), "ca")]);
    let all = Entitled::of(&reserved, &names.0, &names.1, &settings).expect("all templates are shared");
    assert_eq!(all.certificates(proxy).count(), 0);
    let theirs = AgentIdentity::Stated(Arc::new(CertificateSubject {
        user: "open-cluster-management:hello".into(),
        ..CertificateSubject::default()
    }));
    let named = template(vec![signer(CUSTOM, theirs, "ca")]);
    let all = Entitled::of(&named, &names.0, &names.1, &settings).expect("all templates are shared");
    assert_eq!(all.certificates(CUSTOM).count(), 0);
}

#[test]
fn what_is_taken_away_is_not_answered() {
    let names = (Name::from("hello"), Name::from("c1"));
    let client = || Registration::KubeClient(Vec::new());
    let (both, less) = (
        template(vec![client(), signer(CUSTOM, stated(), "ca")]),
        template(vec![client()]),
    );
    let other_secret = template(vec![signer(CUSTOM, stated(), "another")]);
    let settings = Settings::default();
    let all = Entitled::of(&both, &names.0, &names.1, &settings).unwrap();
    let (hub, own) = (request(HUB, agent()), request(CUSTOM, worker()));
    let rows = [
        (all, "approve", "approve"),
        (all.and(&less), "approve", "SignerNotRegistered"),
        (
            all.and(&other_secret),
            "SignerNotRegistered",
            "SignerNotRegistered",
        ),
        (all.of_the_hub(), "approve", "SignerNotRegistered"),
        (all.of_own_signers(), "SignerNotRegistered", "approve"),
    ];
    for (entitled, for_hub, for_own) in rows {
        assert!(told(&hub, &entitled).starts_with(for_hub), "{entitled:?}");
        assert!(told(&own, &entitled).starts_with(for_own), "{entitled:?}");
    }
}

/// The types that answers are made from are the content's; the ones that carry a status cannot even be named there.
#[test]
fn what_approves_cannot_name_a_status() {
    for (file, text) in [
        ("entitled.rs", include_str!("entitled.rs")),
        ("certificates.rs", include_str!("certificates.rs")),
    ] {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let words: BTreeSet<&str> = code
            .flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric()))
            .collect();
        assert!(words.contains("Entitled"), "{file}");
        for carrier in [
            "Instance",
            "Registered",
            "Reference",
            "View",
            "Work",
            "Member",
            "Cluster",
        ] {
            assert!(!words.contains(carrier), "{file} knows {carrier}");
        }
    }
}

#[test]
fn only_the_grpc_server_requests_for_the_agent_that_it_names() {
    let rows = [
        (GRPC, Some(OWN), true),
        (GRPC, Some("system:open-cluster-management:c2:x"), false),
        (GRPC, None, false),
        ("system:serviceaccount:somewhere:grpc-server-sa", Some(OWN), false),
        ("system:open-cluster-management:c2:x", Some(OWN), false),
        // The agent's own request is its own, whatever it writes beside it.
        (OWN, Some("system:open-cluster-management:c2:x"), true),
    ];
    for (requester, behalf, allowed) in rows {
        let request = Request {
            requester: requester.into(),
            on_behalf_of: behalf.map(Name::from),
            ..request(HUB, agent())
        };
        let judged = judged(&request, stated());
        assert_eq!(
            judged == "approve",
            allowed,
            "{requester} for {behalf:?}: {judged}"
        );
    }
}
