//! No byte of a status, or of another object that a cluster can write, influences an approval or a role binding.
//!
//! Random specs are generated, and then everything that a cluster's agent can write is written at random: statuses of add-ons and clusters,
//! works, labels, requests of all kinds. The maximum of what may be granted is derived here from the specs alone, independently of the
//! planner, and every plan is compared with it. At the end the forged data is removed, and honest agents must get their permissions.

mod drawn;

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drawn::{
    CLUSTERS, Drawn, GROUP, HUB, SIGNERS, Step, Subject, TEMPLATES, drawn, pem, step, subjects, wire,
};
use jiff::SignedDuration;
use plan::{Action, CertificateDecision};
use proptest::prelude::*;
use serde_json::{Value, json};
use store::{AgentGroups, ConfigRef, ConfigType, Kind, ObjectKey, Settings};

use crate::kit::search::amount;
use crate::kit::world::World;

/// The hub, and what is known of its specs.
struct Stage {
    world: World,
    templates: Vec<Drawn>,
    default: usize,
    own: [Option<usize>; CLUSTERS],
    requests: usize,
    settings: Settings,
    /// How much was granted.
    grants: usize,
}

/// What may be granted at most on a cluster.
#[derive(Default)]
struct Ceiling {
    /// Signer, subject, and the secret that signs.
    certificates: Vec<(&'static str, Subject, String)>,
    roles: BTreeSet<String>,
    holders: BTreeSet<(String, String)>,
}

fn cluster(n: usize) -> String {
    format!("c{n}")
}

fn number(cluster: &str) -> usize {
    let digits = cluster.strip_prefix('c').expect("a cluster");
    digits.parse().expect("a number")
}

fn instance(n: usize) -> ObjectKey {
    ObjectKey::new(Kind::Instance, cluster(n), "hello")
}

impl Stage {
    fn new(templates: &[Drawn], settings: Settings) -> Self {
        let mut stage = Self {
            world: World::new(settings.clone()),
            templates: templates.to_vec(),
            default: 0,
            own: [None; CLUSTERS],
            requests: 0,
            settings,
            grants: 0,
        };
        for n in 0..CLUSTERS {
            stage.world.add_cluster(&cluster(n));
        }
        let clusters: Vec<String> = (0..CLUSTERS).map(cluster).collect();
        stage.world.decide("all", &clusters);
        for role in templates.iter().flat_map(|drawn| &drawn.roles) {
            let metadata =
                json!({"name": format!("role-{role}"), "labels": {"tidegate.io/hub-permissions": "allowed"}});
            stage
                .world
                .put(Kind::HubClusterRole, json!({"metadata": metadata}));
        }
        for n in 0..TEMPLATES {
            stage.put_template(n);
        }
        stage.put_addon("Progressive");
        stage
    }

    fn put_template(&mut self, n: usize) {
        let Drawn {
            is_own,
            is_client,
            roles,
            signers,
            renders,
        } = &self.templates[n];
        let permissions: Vec<Value> = roles
            .iter()
            .map(|role| json!({"type": "CurrentCluster", "currentCluster": {"clusterRoleName": format!("role-{role}")}}))
            .collect();
        let client = json!({"type": "KubeClient", "kubeClient": {"hubPermissions": permissions}});
        let custom = signers.iter().enumerate().map(|(at, (signer, subject))| {
            json!({"type": "CustomSigner", "customSigner": {"signerName": SIGNERS[*signer],
                "subject": wire(&subjects("c0")[*subject]), "signingCA": {"name": format!("ca-{n}-{at}")}}})
        });
        let registration: Vec<Value> = is_client.then_some(client).into_iter().chain(custom).collect();
        let text = if *renders {
            format!("v{n}")
        } else {
            "{{UNDEFINED}}".to_owned()
        };
        let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "y"}, "data": {"a": text}});
        let spec = json!({"addonName": if *is_own { "hello" } else { "other" }, "registration": registration,
            "agentSpec": {"workload": {"manifests": [manifest]}}});
        let metadata = json!({"name": format!("t{n}")});
        self.world
            .put(Kind::Template, json!({"metadata": metadata, "spec": spec}));
    }

    fn put_addon(&mut self, rollout: &str) {
        let strategy = match rollout {
            "Progressive" => json!({"type": rollout, "progressive": {"maxConcurrency": 1}}),
            other => json!({"type": other}),
        };
        let spec = json!({
            "supportedConfigs": [{"group": GROUP, "resource": "addontemplates", "defaultConfig": {"name": format!("t{}", self.default)}}],
            "installStrategy": {"type": "Placements",
                "placements": [{"name": "all", "namespace": "default", "rolloutStrategy": strategy}]}});
        self.world
            .put(Kind::AddOn, json!({"metadata": {"name": "hello"}, "spec": spec}));
    }

    /// What the specs give a cluster: its own template or the default one, if it is the add-on's or shared.
    fn ceiling(&self, n: usize) -> Ceiling {
        let which = self.own[n].unwrap_or(self.default);
        let drawn = &self.templates[which];
        let mut ceiling = Ceiling::default();
        // The template of another add-on is shared if it requests nothing but the agent's own name on the hub.
        let is_shared = drawn.roles.is_empty() && drawn.signers.is_empty();
        if !drawn.is_own && !is_shared {
            return ceiling;
        }
        let name = cluster(n);
        let agent = subjects(&name).swap_remove(0);
        if drawn.is_client {
            ceiling.certificates.push((HUB, agent.clone(), String::new()));
            ceiling
                .roles
                .extend(drawn.roles.iter().map(|role| format!("role-{role}")));
            let groups = agent.1.iter().filter(|group| {
                self.settings.agent_groups == AgentGroups::Stock || group.contains(":cluster:")
            });
            ceiling
                .holders
                .extend(groups.map(|group| ("Group".to_owned(), group.clone())));
            ceiling.holders.insert(("User".to_owned(), agent.0.clone()));
            let account = format!("system:serviceaccount:{name}:hello-agent");
            ceiling.holders.insert(("User".to_owned(), account));
        }
        for (at, (signer, subject)) in drawn.signers.iter().enumerate() {
            // Only the signers of example.com are an add-on's own, and only a subject that the hub gives no rights may be named.
            let stated = subjects("c0").swap_remove(*subject);
            let is_fine = SIGNERS[*signer].starts_with("example.com/") && stated.0 == "worker";
            if is_fine {
                ceiling
                    .certificates
                    .push((SIGNERS[*signer], stated, format!("ca-{which}-{at}")));
            }
        }
        ceiling
    }

    /// Plans, and holds every grant against what the specs give.
    fn judge(&mut self) {
        let plan = self.world.plan("hello");
        for action in &plan.actions {
            match action {
                Action::Certify { object, answer, .. } => self.judge_answer(object, answer),
                Action::Create { object, body, .. } if object.kind == Kind::RoleBinding => {
                    self.judge_binding(object, &body.value(), true);
                }
                Action::Replace { object, patch, .. } if object.kind == Kind::RoleBinding => {
                    self.judge_binding(object, &patch.value(), false);
                }
                Action::Create { object, .. } | Action::Replace { object, .. }
                    if matches!(object.kind, Kind::Role | Kind::ServiceAccount) =>
                {
                    assert!(
                        ["hello-agent", "hello-token-role"].contains(&&*object.name),
                        "{object}"
                    );
                }
                Action::Create { .. }
                | Action::Replace { .. }
                | Action::Status { .. }
                | Action::Delete { .. } => {}
            }
        }
        self.world.apply(&plan);
    }

    fn judge_answer(&mut self, object: &ObjectKey, answer: &CertificateDecision) {
        let view = self.world.store.view("hello").expect("the add-on");
        let request = view
            .requests()
            .find(|one| one.name == object.name)
            .expect("a request");
        let n = number(&request.cluster);
        let own = format!("system:open-cluster-management:{}:x7f2q", request.cluster);
        assert_eq!(*request.requester, own, "a request of another agent was answered");
        let asked = request.asked.as_ref().and_then(|asked| asked.as_ref().ok());
        let asked = asked.expect("only what can be read gets an answer");
        let subject = (asked.users.join(","), asked.groups.clone(), asked.units.clone());
        let ceiling = self.ceiling(n);
        let mut given = ceiling.certificates.iter();
        let found = match answer {
            CertificateDecision::Approve(..) => {
                given.any(|(signer, given, _)| *signer == &*request.signer && *given == subject)
            }
            CertificateDecision::Sign(signing) => given.any(|(signer, given, secret)| {
                *signer == &*request.signer && *given == subject && **secret == *signing.signer.name
            }),
        };
        assert!(
            found,
            "{object} got {answer:?} for {subject:?} of {}",
            request.signer
        );
        self.grants += 1;
    }

    fn judge_binding(&mut self, object: &ObjectKey, written: &Value, is_new: bool) {
        let subjects = written["subjects"].as_array().cloned().unwrap_or_default();
        let held = subjects.iter().map(|one| {
            let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
            (text("kind"), text("name"))
        });
        let held: BTreeSet<_> = held.collect();
        let place = &*object.namespace;
        if *object.name == *"hello-token-role" {
            let of_cluster = ["system:open-cluster-management:", "open-cluster-management:"];
            let of_cluster = of_cluster.map(|prefix| ("Group".to_owned(), format!("{prefix}{place}")));
            assert_eq!(held, BTreeSet::from(of_cluster), "{object}");
            return;
        }
        let n = number(place);
        let mut ceiling = self.ceiling(n);
        if is_new {
            let role = written["roleRef"]["name"].as_str().unwrap_or_default();
            assert!(ceiling.roles.contains(role), "{object} binds {role}");
            self.grants += 1;
        } else if ceiling.holders.is_empty() {
            // What was given by another template stays, but no subject is added to it.
            let user = format!("system:open-cluster-management:cluster:{place}:addon:hello");
            ceiling.holders.insert(("Group".to_owned(), user.clone()));
            ceiling
                .holders
                .insert(("User".to_owned(), format!("{user}:agent:hello-agent")));
        }
        assert!(held.is_subset(&ceiling.holders), "{object} is for {held:?}");
    }

    fn hash(&self, template: usize) -> String {
        let config = ConfigRef {
            of: ConfigType {
                group: GROUP.into(),
                resource: "addontemplates".into(),
            },
            namespace: "".into(),
            name: format!("t{template}").into(),
        };
        let view = self.world.store.view("hello").expect("the add-on");
        view.config(&config)
            .map(|found| found.hash.to_string())
            .unwrap_or_default()
    }

    fn act(&mut self, step: &Step) {
        self.world.tick(SignedDuration::from_secs(1));
        match step {
            Step::Status(n, template, subject, more) => self.lie(*n, *template, *subject, *more),
            Step::Work(n, more) => self.touch_works(*n, *more),
            Step::Cluster(n, more) => self.touch_cluster(*n, *more),
            Step::Request(n, by, signer, subject, approved) => {
                let subject = subjects(&cluster(*n)).swap_remove(*subject);
                self.request(*n, *by, SIGNERS[*signer], (&subject, *approved));
            }
            Step::Default(template) => {
                self.default = *template;
                self.put_addon("Progressive");
            }
            Step::Own(n, own) => self.own_template(*n, *own),
            Step::Edit(n, drawn) => {
                self.templates[*n] = drawn.clone();
                self.put_template(*n);
            }
            Step::Leave(n, alone) => {
                let key = if *alone {
                    instance(*n)
                } else {
                    ObjectKey::new(Kind::Cluster, "", cluster(*n))
                };
                if self.world.objects.contains_key(&key) {
                    self.world.mark_deleting(&key);
                }
            }
            Step::Apply => {}
        }
        self.judge();
    }

    fn lie(&mut self, n: usize, template: usize, subject: usize, more: u8) {
        if !self.world.objects.contains_key(&instance(n)) {
            return;
        }
        let hash = if more & 1 == 0 {
            self.hash(template)
        } else {
            "made-up".to_owned()
        };
        let name = format!("t{template}");
        let desired = json!({"name": name, "specHash": hash});
        let reference = json!({"group": GROUP, "resource": "addontemplates", "name": name, "desiredConfig": desired,
            "lastAppliedConfig": desired, "lastObservedGeneration": 1});
        let subject = &subjects(&cluster(n))[subject];
        let registrations: Vec<Value> = SIGNERS
            .iter()
            .map(|signer| json!({"signerName": signer, "subject": wire(subject)}))
            .collect();
        let mut status = json!({"registrations": registrations});
        if more & 2 == 0 {
            status["configReferences"] = json!([reference]);
        }
        if more & 4 == 0 {
            status["kubeClientDriver"] = if more & 8 == 0 {
                json!("token")
            } else {
                json!("csr")
            };
        }
        if more & 16 == 0 {
            status["conditions"] = json!([]);
        }
        if more & 32 == 0 {
            status["currentVersion"] = json!("v1");
        }
        self.world.put_status(&instance(n), &status);
    }

    fn touch_works(&mut self, n: usize, more: u8) {
        for key in self.world.works(&cluster(n)) {
            let mut work = self.world.objects[&key].clone();
            work["metadata"]["annotations"] = json!({"tidegate.io/config-spec-hash": format!("{more}")});
            if more & 1 == 0 {
                work["spec"] = json!({"workload": {"manifests": [{"registration": more}]}});
            }
            self.world.put(Kind::Work, work);
            self.world
                .report_on(&key, (more & 2 == 0).then_some("no"), more & 4 == 0);
        }
    }

    fn touch_cluster(&mut self, n: usize, more: u8) {
        let key = ObjectKey::new(Kind::Cluster, "", cluster(n));
        let mut object = self.world.objects[&key].clone();
        object["metadata"]["labels"] =
            json!({"env": more.to_string(), "feature.open-cluster-management.io/addon-hello": "available"});
        object["metadata"]["annotations"] =
            json!({"addon.open-cluster-management.io/image-registries": format!("{more}")});
        self.world.put(Kind::Cluster, object);
    }

    fn request(
        &mut self,
        n: usize,
        by: usize,
        signer: &str,
        (subject, approved): (&Subject, bool),
    ) -> ObjectKey {
        let name = cluster(n);
        let own = format!("system:open-cluster-management:{name}:x7f2q");
        let requesters = [
            own.as_str(),
            "system:open-cluster-management:c9:x7f2q",
            "admin",
            own.as_str(),
        ];
        self.requests += 1;
        let object = json!({"metadata": {"name": format!("addon-{name}-{}", self.requests), "labels": {
                "open-cluster-management.io/addon-name": "hello", "open-cluster-management.io/cluster-name": name}},
            "spec": {"request": STANDARD.encode(pem(subject)), "signerName": signer, "username": requesters[by],
                "usages": ["digital signature", "key encipherment", "client auth"]}});
        let key = self.world.put(Kind::SigningRequest, object);
        if approved {
            let approved = json!({"conditions": [{"type": "Approved", "status": "True"}]});
            self.world.put_status(&key, &approved);
        }
        key
    }

    fn own_template(&mut self, n: usize, own: Option<usize>) {
        if !self.world.objects.contains_key(&instance(n)) {
            return;
        }
        self.own[n] = own;
        let mut object = self.world.objects[&instance(n)].clone();
        let configs =
            own.map(|own| json!({"group": GROUP, "resource": "addontemplates", "name": format!("t{own}")}));
        object["spec"]["configs"] = json!(configs.into_iter().collect::<Vec<_>>());
        self.world.put(Kind::Instance, object);
    }

    /// Takes the lies back, and asks for what the specs give: who is honest gets it.
    fn honest(&mut self) {
        self.put_addon("All");
        for n in 0..CLUSTERS {
            if self.world.objects.contains_key(&instance(n)) {
                let lies = json!({"registrations": null, "configReferences": null, "kubeClientDriver": null,
                    "conditions": null, "currentVersion": null});
                self.world.put_status(&instance(n), &lies);
            }
        }
        (0..5).for_each(|_| self.judge());
        for n in 0..CLUSTERS {
            let which = &self.templates[self.own[n].unwrap_or(self.default)];
            let key = ObjectKey::new(Kind::Cluster, "", cluster(n));
            let is_leaving = |key: &ObjectKey| {
                let object = self.world.objects.get(key);
                object.is_none_or(|object| object["metadata"]["deletionTimestamp"].is_string())
            };
            if !which.renders || is_leaving(&key) || is_leaving(&instance(n)) {
                continue;
            }
            for (signer, subject, _) in self.ceiling(n).certificates {
                let key = self.request(n, 0, signer, (&subject, false));
                self.judge();
                let conditions = &self.world.objects[&key]["status"]["conditions"];
                let told = self
                    .world
                    .objects
                    .get(&instance(n))
                    .map(|one| &one["status"]["conditions"]);
                assert_eq!(
                    conditions[0]["type"], "Approved",
                    "{key} is left alone: {subject:?} of {signer}: {told:?}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: amount(100, 300), ..ProptestConfig::default() })]
    #[test]
    fn no_status_and_nothing_that_a_cluster_writes_reaches_a_grant(
        templates in prop::collection::vec(drawn(), TEMPLATES),
        steps in prop::collection::vec(step(), 1..40),
        stock in prop::bool::weighted(0.2),
    ) {
        let agent_groups = if stock { AgentGroups::Stock } else { AgentGroups::Cluster };
        let mut stage = Stage::new(&templates, Settings { agent_groups, ..Settings::default() });
        stage.judge();
        for step in &steps {
            stage.act(step);
        }
        stage.honest();
    }
}

/// The property would hold of a program that grants nothing: this one does not.
#[test]
fn an_honest_fleet_is_granted_what_the_specs_give() {
    let template = Drawn {
        is_own: true,
        is_client: true,
        roles: vec![0, 1],
        signers: vec![(1, 2)],
        renders: true,
    };
    let mut stage = Stage::new(&vec![template; TEMPLATES], Settings::default());
    stage.honest();
    stage.judge();
    // Two bindings, two approvals and one signature for each cluster.
    assert_eq!(stage.grants, CLUSTERS * (2 + 2 + 1));
}
