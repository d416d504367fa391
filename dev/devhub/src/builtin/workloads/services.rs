//! Services.
//!
//! Decides what is filled in, which addresses and ports a service needs and keeps, and what is refused; traffic goes nowhere.

use std::collections::BTreeSet;

use schema::FieldError;
use serde_json::{Map, Value, json};

use super::checks::choice;
use super::containers::{port_fault, port_name_faults};
use crate::builtin::faults::{duplicate, forbidden, invalid, invalid_value, list, required, text};
use crate::builtin::members::{at, fill, items};
use crate::builtin::metadata::validate_labels;
use crate::builtin::names::{NameRule, label_faults};

/// First two parts of every address.
const NETWORK: [u8; 2] = [10, 96];
/// Addresses that can be given away; the first ones are left to the cluster itself.
const HOSTS: std::ops::Range<u32> = 16..65_534;
/// Ports that nodes can open.
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;

/// What other services have.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    addresses: BTreeSet<String>,
    ports: BTreeSet<i64>,
}

impl Taken {
    /// Notes what a service has.
    pub fn note(&mut self, service: &Value) {
        self.addresses.insert(text(service, "/spec/clusterIP").to_owned());
        let ports = list(service, "/spec/ports").iter();
        self.ports
            .extend(ports.filter_map(|port| port["nodePort"].as_i64()));
    }
}

fn kind(spec: &Map<String, Value>) -> &str {
    spec.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn opens_nodes(spec: &Map<String, Value>) -> bool {
    matches!(kind(spec), "NodePort" | "LoadBalancer")
}

/// Fills in a service.
pub(super) fn fill_in(service: &mut Value) {
    let Some(spec) = at(service, "/spec") else { return };
    fill(spec, "sessionAffinity", json!("None"));
    fill(spec, "type", json!("ClusterIP"));
    if spec.get("sessionAffinity") == Some(&json!("ClientIP")) {
        fill(
            spec,
            "sessionAffinityConfig",
            json!({"clientIP": {"timeoutSeconds": 10_800}}),
        );
    }
    for port in items(spec, "ports") {
        fill(port, "protocol", json!("TCP"));
        let unsaid = port
            .get("targetPort")
            .is_none_or(|target| *target == json!(0) || *target == json!(""));
        if let Some(number) = port.get("port").filter(|_| unsaid).cloned() {
            port.insert("targetPort".to_owned(), number);
        }
    }
    if opens_nodes(spec) {
        fill(spec, "externalTrafficPolicy", json!("Cluster"));
    }
    if kind(spec) == "LoadBalancer" {
        fill(spec, "allocateLoadBalancerNodePorts", json!(true));
    }
    if kind(spec) != "ExternalName" {
        fill(spec, "internalTrafficPolicy", json!("Cluster"));
    }
}

/// Lets a changed service keep what it was given before, as far as it still needs it.
pub(super) fn keep(service: &mut Value, old: &Value) {
    let had: Vec<Value> = list(old, "/spec/ports").to_vec();
    let Some(spec) = at(service, "/spec") else { return };
    if kind(spec) == "ExternalName" {
        drop_addresses(spec);
        return;
    }
    if text(old, "/spec/type") != "ExternalName" {
        for member in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if let Some(value) = old.pointer(&format!("/spec/{member}")) {
                fill(spec, member, value.clone());
            }
        }
    }
    let open = opens_nodes(spec);
    for port in items(spec, "ports") {
        let same = |other: &&Value| {
            other.get("port") == port.get("port") && other.get("protocol") == port.get("protocol")
        };
        let number = had.iter().find(same).and_then(|other| other.get("nodePort"));
        match number {
            Some(number) if open => fill(port, "nodePort", number.clone()),
            Some(number) if port.get("nodePort") == Some(number) => {
                port.remove("nodePort");
            }
            _ => {}
        }
    }
    if !open {
        spec.remove("externalTrafficPolicy");
        spec.remove("allocateLoadBalancerNodePorts");
    }
}

fn drop_addresses(spec: &mut Map<String, Value>) {
    for member in [
        "clusterIP",
        "clusterIPs",
        "ipFamilies",
        "ipFamilyPolicy",
        "internalTrafficPolicy",
        "externalTrafficPolicy",
    ] {
        spec.remove(member);
    }
    for port in items(spec, "ports") {
        port.remove("nodePort");
    }
}

/// Gives a service the address and the ports that it lacks; `pick` chooses a number below its argument.
pub fn provide(service: &mut Value, taken: &mut Taken, pick: &mut dyn FnMut(u32) -> u32) {
    let selects = service
        .pointer("/spec/selector")
        .and_then(Value::as_object)
        .is_some_and(|selector| !selector.is_empty());
    let Some(spec) = at(service, "/spec") else { return };
    if kind(spec) == "ExternalName" {
        return;
    }
    if spec.get("clusterIP").is_none_or(|address| address == "") {
        let first = spec.get("clusterIPs").and_then(|all| all.get(0)).cloned();
        let address = first.unwrap_or_else(|| json!(free_address(taken, pick)));
        spec.insert("clusterIP".to_owned(), address);
    }
    let address = spec.get("clusterIP").cloned().unwrap_or_default();
    let everywhere = address == "None" && !selects;
    fill(spec, "clusterIPs", json!([address]));
    let families = if everywhere {
        json!(["IPv4", "IPv6"])
    } else {
        json!(["IPv4"])
    };
    let policy = if everywhere {
        "RequireDualStack"
    } else {
        "SingleStack"
    };
    fill(spec, "ipFamilyPolicy", json!(policy));
    fill(spec, "ipFamilies", families);
    let wanted = opens_nodes(spec) && spec.get("allocateLoadBalancerNodePorts") != Some(&json!(false));
    for port in items(spec, "ports").filter(|_| wanted) {
        if port.get("nodePort").is_none_or(|number| *number == json!(0)) {
            port.insert("nodePort".to_owned(), json!(free_port(taken, pick)));
        }
    }
}

fn free_address(taken: &mut Taken, pick: &mut dyn FnMut(u32) -> u32) -> String {
    let count = HOSTS.end - HOSTS.start;
    let first = pick(count);
    let address = |host: u32| {
        let [.., high, low] = host.to_be_bytes();
        format!("{}.{}.{high}.{low}", NETWORK[0], NETWORK[1])
    };
    let mut all = (0..count).map(|step| address(HOSTS.start + (first + step) % count));
    let found = all
        .find(|address| !taken.addresses.contains(address))
        .unwrap_or_default();
    taken.addresses.insert(found.clone());
    found
}

fn free_port(taken: &mut Taken, pick: &mut dyn FnMut(u32) -> u32) -> i64 {
    let (start, count) = (*NODE_PORTS.start(), 2768);
    let first = i64::from(pick(2768));
    let mut all = (0..count).map(|step| start + (first + step) % count);
    let found = all.find(|port| !taken.ports.contains(port)).unwrap_or(start);
    taken.ports.insert(found);
    found
}

/// Returns the faults of a service.
pub(super) fn validate(service: &Value) -> Vec<FieldError> {
    let spec = service.get("spec").unwrap_or(&Value::Null);
    let kind = text(spec, "/type");
    let ports = list(spec, "/ports");
    let mut errors = Vec::new();
    let headless = text(spec, "/clusterIP") == "None";
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.push(required("spec.ports", ""));
    }
    for (index, port) in ports.iter().enumerate() {
        errors.extend(validate_port(
            port,
            &format!("spec.ports[{index}]"),
            ports.len() > 1,
        ));
        errors.extend(repeated(ports, index));
    }
    errors.extend(validate_labels("spec.selector", spec.get("selector")));
    errors.extend(choice(spec, "spec", "sessionAffinity", &["ClientIP", "None"]));
    let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    errors.extend(choice(spec, "spec", "type", &kinds));
    if kind == "ExternalName" {
        match text(spec, "/externalName").trim_end_matches('.') {
            "" => errors.push(required("spec.externalName", "")),
            name => {
                let faults = NameRule::Subdomain.faults(name);
                errors.extend(
                    faults
                        .iter()
                        .map(|fault| invalid("spec.externalName", name, fault)),
                );
            }
        }
    }
    if headless && matches!(kind, "NodePort" | "LoadBalancer") {
        errors.push(invalid_value(
            "spec.clusterIPs[0]",
            &json!("None"),
            &format!("may not be set to 'None' for {kind} services"),
        ));
    }
    let address = text(spec, "/clusterIP");
    if !matches!(address, "" | "None") && address.parse::<std::net::IpAddr>().is_err() {
        errors.push(invalid(
            "spec.clusterIPs[0]",
            address,
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ));
    }
    errors
}

fn validate_port(port: &Value, at: &str, named: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match text(port, "/name") {
        "" if named => errors.push(required(&format!("{at}.name"), "")),
        "" => {}
        name => {
            let faults = label_faults(name);
            errors.extend(
                faults
                    .iter()
                    .map(|fault| invalid(&format!("{at}.name"), name, fault)),
            );
        }
    }
    let number = port.get("port").and_then(Value::as_i64).unwrap_or_default();
    errors.extend(port_fault(&format!("{at}.port"), number));
    errors.extend(choice(port, at, "protocol", &["SCTP", "TCP", "UDP"]));
    let field = format!("{at}.targetPort");
    match port.get("targetPort") {
        Some(Value::Number(number)) => errors.extend(port_fault(&field, number.as_i64().unwrap_or_default())),
        Some(Value::String(name)) => {
            let faults = port_name_faults(name);
            errors.extend(faults.iter().map(|fault| invalid(&field, name, fault)));
        }
        _ => {}
    }
    let opened = port
        .get("nodePort")
        .and_then(Value::as_i64)
        .filter(|number| *number != 0);
    if let Some(number) = opened.filter(|number| !NODE_PORTS.contains(number)) {
        errors.push(invalid_value(
            &format!("{at}.nodePort"),
            &json!(number),
            "provided port is not in the valid range. The range of valid ports is 30000-32767",
        ));
    }
    errors
}

fn repeated(ports: &[Value], index: usize) -> Vec<FieldError> {
    let at = format!("spec.ports[{index}]");
    let Some(port) = ports.get(index) else {
        return Vec::new();
    };
    let before = ports.iter().take(index);
    let mut errors = Vec::new();
    let (name, key) = (text(port, "/name"), (port.get("port"), port.get("protocol")));
    for other in before {
        if !name.is_empty() && text(other, "/name") == name {
            errors.push(duplicate(&format!("{at}.name"), name));
        }
        if (other.get("port"), other.get("protocol")) == key {
            let shown = json!({"port": port.get("port"), "protocol": port.get("protocol")});
            let mut fault = duplicate(&at, "");
            fault.message = format!("Duplicate value: {shown}");
            errors.push(fault);
        }
    }
    errors
}

/// Returns the faults of a change of a service.
pub(super) fn validate_change(new: &Value, old: &Value) -> Vec<FieldError> {
    let address = |service: &Value| text(service, "/spec/clusterIP").to_owned();
    let (before, after) = (address(old), address(new));
    let mut errors = Vec::new();
    let leaves = text(new, "/spec/type") == "ExternalName" || text(old, "/spec/type") == "ExternalName";
    if before != after && !before.is_empty() && !leaves {
        let all = new
            .pointer("/spec/clusterIPs")
            .cloned()
            .unwrap_or_else(|| json!([after]));
        errors.push(invalid_value(
            "spec.clusterIPs[0]",
            &all,
            "may not change once set",
        ));
    }
    if text(new, "/spec/type") == "ExternalName" && !after.is_empty() {
        errors.push(forbidden(
            "spec.clusterIPs",
            "may not be set for ExternalName services",
        ));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    fn service(spec: &Value) -> Value {
        let mut service = json!({ "spec": spec });
        fill_in(&mut service);
        provide(&mut service, &mut Taken::default(), &mut |_| 0);
        service
    }

    #[test]
    fn a_service_gets_an_address_and_a_target() {
        assert_eq!(
            service(&json!({"ports": [{"port": 80}], "selector": {"a": "b"}}))["spec"],
            json!({"clusterIP": "10.96.0.16", "clusterIPs": ["10.96.0.16"], "internalTrafficPolicy": "Cluster",
                "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "sessionAffinity": "None", "type": "ClusterIP",
                "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}], "selector": {"a": "b"}})
        );
        let open = service(&json!({"type": "NodePort", "ports": [{"port": 80}]}));
        assert_eq!(open["spec"]["ports"][0]["nodePort"], 30_000);
        assert!(
            service(&json!({"type": "ExternalName", "externalName": "e.x"}))["spec"]
                .get("clusterIP")
                .is_none()
        );
    }

    #[test]
    fn nothing_is_given_twice() {
        let mut taken = Taken::default();
        taken.note(&service(&json!({"type": "NodePort", "ports": [{"port": 80}]})));
        let mut second = json!({"spec": {"type": "NodePort", "ports": [{"port": 80}, {"port": 81}]}});
        provide(&mut second, &mut taken, &mut |_| 0);
        assert_eq!(second["spec"]["clusterIP"], "10.96.0.17");
        let ports: Vec<_> = list(&second, "/spec/ports")
            .iter()
            .map(|port| port["nodePort"].clone())
            .collect();
        assert_eq!(ports, [json!(30_001), json!(30_002)]);
    }

    #[test]
    fn a_changed_service_keeps_its_address_and_its_ports() {
        let old = service(&json!({"type": "NodePort", "ports": [{"port": 80}]}));
        let mut new = json!({"spec": {"type": "NodePort", "ports": [{"port": 80, "protocol": "TCP"}]}});
        keep(&mut new, &old);
        assert_eq!(new["spec"]["clusterIP"], old["spec"]["clusterIP"]);
        assert_eq!(new["spec"]["ports"][0]["nodePort"], 30_000);
        let mut inner = json!({"spec": {"type": "ClusterIP", "ports": old["spec"]["ports"]}});
        keep(&mut inner, &old);
        assert!(inner["spec"]["ports"][0].get("nodePort").is_none());
        let other = service(&json!({"clusterIP": "10.96.1.1", "ports": [{"port": 80}]}));
        assert_eq!(
            texts(&validate_change(&other, &old)),
            ["spec.clusterIPs[0]: Invalid value: [\"10.96.1.1\"]: may not change once set"]
        );
    }

    #[test]
    fn faults_read_as_the_server_writes_them() {
        for (spec, expected) in [
            (json!({}), vec!["spec.ports: Required value"]),
            (json!({"clusterIP": "None"}), vec![]),
            (
                json!({"ports": [{"port": 80, "name": "a"}, {"port": 80}]}),
                vec![
                    "spec.ports[1].name: Required value",
                    "spec.ports[1]: Duplicate value: {\"port\":80,\"protocol\":\"TCP\"}",
                ],
            ),
            (
                json!({"ports": [{"port": 80, "nodePort": 80}]}),
                vec![
                    "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767",
                ],
            ),
            (
                json!({"type": "Cluster", "ports": [{"port": 80}]}),
                vec![
                    "spec.type: Unsupported value: \"Cluster\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"",
                ],
            ),
            (
                json!({"type": "ExternalName"}),
                vec!["spec.externalName: Required value"],
            ),
        ] {
            assert_eq!(texts(&validate(&service(&spec))), expected, "{spec}");
        }
    }
}
