//! Commands about placements and rollouts: decisions, decision groups, conditions that other programs write, annotations.

use serde_json::Value;
use store::{Kind, ObjectKey};

use super::{Teller, expand, key, unknown};
use crate::kit::approvals::approval;
use crate::kit::world::Group;

impl Teller {
    /// `placement <name> …`
    pub(super) fn act_on_placement(&mut self, name: &str, words: &[&str]) {
        let decision = ObjectKey::new(Kind::Decision, "default", format!("{name}-decision-1"));
        match words {
            ["deleted"] => {
                self.world
                    .delete(&ObjectKey::new(Kind::Placement, "default", name));
                self.world.delete(&decision);
            }
            ["undecided"] => self.world.delete(&decision),
            ["emptied"] => self
                .world
                .put_status(&decision, &serde_json::json!({"decisions": []})),
            ["groups", groups @ ..] => self.decide_in_groups(name, groups),
            clusters => self.world.decide(name, &expand(clusters)),
        }
    }

    /// Groups are written `<name>@<index>=<clusters>`; `-=<clusters>` is a decision without labels.
    fn decide_in_groups(&mut self, placement: &str, groups: &[&str]) {
        let mut decided: Vec<Group<'_>> = Vec::new();
        for text in groups {
            let (label, clusters) = text.split_once('=').expect("a group and its clusters");
            let clusters: Vec<&str> = clusters.split(',').collect();
            let label = label.split_once('@');
            let label = label.map(|(name, index)| (name, index.parse().expect("an index")));
            decided.push((label, expand(&clusters)));
        }
        self.world.decide_in(placement, &decided);
    }

    /// `condition <cluster> <type> <status> …` and `annotate <kind> <place> <text>`.
    pub(super) fn act_as_others(&mut self, words: &[&str], line: &str) {
        match words {
            [kind, place, text] if line.starts_with("annotate") => self.annotate(kind, place, text),
            [cluster, kind, status, ..] => self.condition(cluster, kind, status, line),
            other => unknown(other),
        }
    }

    /// `settings <add-on> <YAML>`: the whole spec of its AddOnRollout.
    pub(super) fn set_rollout(&mut self, addon: &str, line: &str) {
        let (_, text) = line.split_once(addon).expect("the name is there");
        let mut spec: Value = serde_saphyr::from_str(text).expect("it is YAML");
        spec["addon"] = addon.into();
        let known = self
            .world
            .objects
            .get(&ObjectKey::new(Kind::Rollout, "", addon))
            .cloned();
        let mut object = known.unwrap_or_else(|| serde_json::json!({"metadata": {"name": addon}}));
        object["spec"] = spec;
        self.world.put(Kind::Rollout, object);
    }

    /// `approve <placement> <group> <content>…`: the contents that were approved, the last one at last.
    pub(super) fn approve(&mut self, placement: &str, group: &str, contents: &[&str]) {
        let now = self.world.now.to_string();
        let object = approval(&self.addon, placement, group, contents, &now);
        let status = object["status"].clone();
        let key = self.world.put(Kind::Approval, object);
        self.world.put_status(&key, &status);
    }

    /// `check <name> <result> <length> "<message>"`: an external check, and the result that is reported now.
    pub(super) fn check(&mut self, name: &str, result: &str, length: &str, line: &str) {
        let now = self.world.now;
        let length: jiff::SignedDuration = length.parse().expect("a length of time");
        let object = serde_json::json!({"metadata": {"name": name}, "spec": {"external": {}}});
        let key = self.world.put(Kind::Check, object);
        let message = line.split('"').nth(1).unwrap_or_default();
        let status = serde_json::json!({"result": result, "message": message, "reportedAt": now, "expiresAt": now + length});
        self.world.put_status(&key, &status);
    }

    /// Sets one condition of an instance, as another program would.
    fn condition(&mut self, cluster: &str, kind: &str, status: &str, line: &str) {
        let message = line.split('"').nth(1).unwrap_or_default();
        let condition = serde_json::json!({"type": kind, "status": status, "reason": "Reported", "message": message,
            "lastTransitionTime": self.world.now.to_string()});
        let key = ObjectKey::new(Kind::Instance, cluster, self.addon.as_str());
        let stored = self.world.objects[&key].pointer("/status/conditions");
        let stored = stored.and_then(Value::as_array);
        let mut conditions = stored.cloned().unwrap_or_default();
        conditions.retain(|known| known["type"] != condition["type"]);
        conditions.push(condition);
        self.world
            .put_status(&key, &serde_json::json!({"conditions": conditions}));
    }

    /// `key=value` sets an annotation, `key-` takes it away.
    fn annotate(&mut self, kind: &str, place: &str, text: &str) {
        let key = key(kind, place);
        let mut object = self.world.objects[&key].clone();
        match (text.split_once('='), text.strip_suffix('-')) {
            (Some((name, value)), _) => object["metadata"]["annotations"][name] = serde_json::json!(value),
            (None, Some(name)) => {
                if let Some(all) = object["metadata"]["annotations"].as_object_mut() {
                    all.remove(name);
                }
            }
            (None, None) => unknown(&[text]),
        }
        self.world.put(key.kind, object);
    }
}
