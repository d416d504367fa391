//! Cells of the workload kinds that need more than one look at an object.
//!
//! Decides their texts, in the words of the API server; which kind shows which cell is decided in `workloads`.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::age::age;
use super::values::{list, number, text};

/// Returns the text, or `<none>`.
pub(super) fn or_none(text: &str) -> String {
    or(text, "<none>")
}

/// Returns the text, or `<unset>`.
pub(super) fn or_unset(text: &str) -> String {
    or(text, "<unset>")
}

/// Returns the text, or `<unknown>`.
pub(super) fn or_unknown(text: &str) -> String {
    or(text, "<unknown>")
}

pub(super) fn or(text: &str, other: &str) -> String {
    if text.is_empty() { other } else { text }.to_owned()
}

fn texts<'a>(items: &'a [Value], pointer: &str) -> Vec<&'a str> {
    items.iter().map(|item| text(item, pointer)).collect()
}

/// Returns a member of all containers of a template.
pub(super) fn containers(object: &Value, member: &str) -> String {
    texts(
        list(object, "/spec/template/spec/containers"),
        &format!("/{member}"),
    )
    .join(",")
}

/// Returns the status of a condition, or nothing.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    let conditions = list(object, "/status/conditions").iter();
    let mut found = conditions.filter(|condition| text(condition, "/type") == kind);
    found.next().map_or("", |condition| text(condition, "/status"))
}

/// Returns what became of a job.
pub(super) fn job_status(job: &Value) -> &'static str {
    let is = |kind: &str| condition(job, kind) == "True";
    if is("Complete") {
        "Complete"
    } else if is("Failed") {
        "Failed"
    } else if job.pointer("/metadata/deletionTimestamp").is_some() {
        "Terminating"
    } else if is("Suspended") {
        "Suspended"
    } else if is("FailureTarget") {
        "FailureTarget"
    } else if is("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    }
}

/// Returns how many pods of a job ended well.
pub(super) fn completions(job: &Value) -> String {
    let done = number(job, "/status/succeeded");
    match (job.pointer("/spec/completions"), number(job, "/spec/parallelism")) {
        (Some(wanted), _) => format!("{done}/{wanted}"),
        (None, side) if side > 1 => format!("{done}/1 of {side}"),
        (None, _) => format!("{done}/1"),
    }
}

/// Returns how long a job took, or takes until now.
pub(super) fn duration(job: &Value, now: Timestamp) -> String {
    let end = text(job, "/status/completionTime").parse().unwrap_or(now);
    age(text(job, "/status/startTime"), end).unwrap_or_default()
}

/// Returns the addresses of load balancers.
pub(super) fn balancers(object: &Value) -> String {
    let all = list(object, "/status/loadBalancer/ingress").iter();
    let names = all.map(|one| match text(one, "/ip") {
        "" => text(one, "/hostname"),
        address => address,
    });
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    names.join(",")
}

/// Returns where a service is reached from outside.
pub(super) fn external(service: &Value) -> String {
    let own = list(service, "/spec/externalIPs")
        .iter()
        .filter_map(Value::as_str);
    let kind = text(service, "/spec/type");
    let given = balancers(service);
    let given = (kind == "LoadBalancer" && !given.is_empty()).then_some(given.as_str());
    let all: Vec<&str> = given.into_iter().chain(own).collect();
    match kind {
        "ExternalName" => text(service, "/spec/externalName").to_owned(),
        "LoadBalancer" if all.is_empty() => "<pending>".to_owned(),
        _ => or_none(&all.join(",")),
    }
}

/// Returns the ports of a service.
pub(super) fn ports(service: &Value) -> String {
    let shown = list(service, "/spec/ports").iter().map(|port| {
        let opened = number(port, "/nodePort");
        let middle = if opened > 0 {
            format!(":{opened}")
        } else {
            String::new()
        };
        format!("{}{middle}/{}", number(port, "/port"), text(port, "/protocol"))
    });
    or_none(&shown.collect::<Vec<_>>().join(","))
}

/// Shows the first three of many.
fn few(all: &[String]) -> String {
    let shown: Vec<&str> = all.iter().take(3).map(String::as_str).collect();
    let shown = shown.join(",");
    match all.len().checked_sub(3) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} + {more} more..."),
    }
}

/// Returns addresses with ports.
pub(super) fn endpoints(object: &Value) -> String {
    let mut all = Vec::new();
    for subset in list(object, "/subsets") {
        let ports = list(subset, "/ports");
        for address in texts(list(subset, "/addresses"), "/ip") {
            if ports.is_empty() {
                all.push(address.to_owned());
            }
            all.extend(
                ports
                    .iter()
                    .map(|port| format!("{address}:{}", number(port, "/port"))),
            );
        }
    }
    or_none(&few(&all))
}

/// Returns the ports of a slice of endpoints.
pub(super) fn slice_ports(object: &Value) -> String {
    let ports = list(object, "/ports").iter();
    let all: Vec<String> = ports
        .map(|port| port.get("port").map_or_else(|| "*".to_owned(), Value::to_string))
        .collect();
    if all.is_empty() {
        "<unset>".to_owned()
    } else {
        few(&all)
    }
}

/// Returns the addresses of a slice of endpoints.
pub(super) fn addresses(object: &Value) -> String {
    let endpoints = list(object, "/endpoints")
        .iter()
        .flat_map(|endpoint| list(endpoint, "/addresses"));
    let all: Vec<String> = endpoints.filter_map(Value::as_str).map(str::to_owned).collect();
    if all.is_empty() {
        "<unset>".to_owned()
    } else {
        few(&all)
    }
}

/// Returns the hosts for which an ingress has rules.
pub(super) fn hosts(object: &Value) -> String {
    let all = texts(list(object, "/spec/rules"), "/host");
    let all: Vec<String> = all
        .into_iter()
        .filter(|host| !host.is_empty())
        .map(str::to_owned)
        .collect();
    if all.is_empty() { "*".to_owned() } else { few(&all) }
}

/// Returns where a class of ingresses is configured.
pub(super) fn parameters(object: &Value) -> String {
    let Some(found) = object
        .pointer("/spec/parameters")
        .filter(|found| found.is_object())
    else {
        return "<none>".to_owned();
    };
    let group = text(found, "/apiGroup");
    let dot = if group.is_empty() { "" } else { "." };
    format!("{}{dot}{group}/{}", text(found, "/kind"), text(found, "/name"))
}

/// Returns the phase of a volume or a claim.
pub(super) fn phase(object: &Value) -> String {
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        return "Terminating".to_owned();
    }
    text(object, "/status/phase").to_owned()
}

/// What a claim says of its volume counts once it has one.
pub(super) fn when_bound(claim: &Value, cell: &str) -> String {
    let bound = !text(claim, "/spec/volumeName").is_empty();
    if bound { cell.to_owned() } else { String::new() }
}

/// Returns access modes in short.
pub(super) fn modes(part: &Value) -> String {
    let given = list(part, "/accessModes");
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let known = short
        .iter()
        .filter(|(mode, _)| given.iter().any(|one| one == mode));
    known.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

/// Returns the claim that has a volume.
pub(super) fn claim(volume: &Value) -> String {
    let name = text(volume, "/spec/claimRef/name");
    if name.is_empty() {
        return String::new();
    }
    format!("{}/{name}", text(volume, "/spec/claimRef/namespace"))
}

/// Returns whether a node is ready, and whether it takes pods.
pub(super) fn node_status(node: &Value) -> String {
    let ready = match condition(node, "Ready") {
        "" => "Unknown",
        "True" => "Ready",
        _ => "NotReady",
    };
    let closed = node.pointer("/spec/unschedulable") == Some(&Value::Bool(true));
    let more = if closed { ",SchedulingDisabled" } else { "" };
    format!("{ready}{more}")
}

/// Returns the roles of a node.
pub(super) fn roles(node: &Value) -> String {
    let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
    let roles = labels.into_iter().flatten().filter_map(|(key, value)| {
        let role = key
            .strip_prefix("node-role.kubernetes.io/")
            .filter(|role| !role.is_empty());
        role.or_else(|| value.as_str().filter(|_| key == "kubernetes.io/role"))
    });
    or_none(&roles.collect::<Vec<_>>().join(","))
}

/// Returns an address of a node.
pub(super) fn node_address(node: &Value, kind: &str) -> String {
    let mut found = list(node, "/status/addresses")
        .iter()
        .filter(|address| text(address, "/type") == kind);
    or_none(found.next().map_or("", |address| text(address, "/address")))
}

/// Returns a count or a percentage.
pub(super) fn share(value: &Value) -> String {
    match value {
        Value::Null => "N/A".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns what an autoscaler scales.
pub(super) fn reference(object: &Value) -> String {
    let part = |member: &str| text(object, &format!("/spec/scaleTargetRef/{member}")).to_owned();
    format!("{}/{}", part("kind"), part("name"))
}

/// Returns what an autoscaler goes by.
pub(super) fn metrics(object: &Value) -> String {
    let current = list(object, "/status/currentMetrics");
    let mut all: Vec<String> = Vec::new();
    for (index, metric) in list(object, "/spec/metrics").iter().enumerate() {
        let kind = text(metric, "/type");
        let mut letters = kind.chars();
        let first = letters.next().map(|letter| letter.to_ascii_lowercase());
        let member: String = first.into_iter().chain(letters).collect();
        let seen = current
            .get(index)
            .and_then(|seen| seen.pointer(&format!("/{member}/current")));
        let target = metric
            .pointer(&format!("/{member}/target"))
            .unwrap_or(&Value::Null);
        let name = text(metric, &format!("/{member}/name"));
        let name = if name.is_empty() {
            String::new()
        } else {
            format!("{name}: ")
        };
        all.push(format!("{name}{}", measured(seen, target)));
    }
    let more = all.len().saturating_sub(2);
    all.truncate(2);
    match (all.is_empty(), more) {
        (true, _) => "<none>".to_owned(),
        (false, 0) => all.join(", "),
        (false, more) => format!("{} + {more} more...", all.join(", ")),
    }
}

fn measured(seen: Option<&Value>, target: &Value) -> String {
    for (member, sign, behind) in [
        ("averageValue", "", " (avg)"),
        ("averageUtilization", "%", ""),
        ("value", "", ""),
    ] {
        let Some(wanted) = target.get(member) else {
            continue;
        };
        let now = seen.and_then(|seen| seen.get(member));
        let now = now.map_or_else(|| "<unknown>".to_owned(), |now| format!("{}{sign}", share(now)));
        let behind = if member == "averageValue" && sign.is_empty() {
            behind
        } else {
            ""
        };
        return format!("{now}/{}{sign}{behind}", share(wanted));
    }
    "<unknown>/<auto>".to_owned()
}

/// Returns what a quota allows, limits or the rest, and what is used of it.
pub(super) fn quota(object: &Value, limits: bool) -> String {
    let empty = Map::new();
    let hard = object
        .pointer("/status/hard")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let used = |name: &String| {
        let used = object.pointer("/status/used").and_then(|used| used.get(name));
        used.map_or_else(|| "0".to_owned(), share)
    };
    let shown = hard
        .iter()
        .filter(|(name, _)| name.starts_with("limits.") == limits)
        .map(|(name, amount)| format!("{name}: {}/{}", used(name), share(amount)));
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns the controller that owns an object.
pub(super) fn owner(object: &Value) -> String {
    let mut owners = list(object, "/metadata/ownerReferences").iter();
    let owner = owners.find(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    owner.map_or_else(
        || "<none>".to_owned(),
        |owner| {
            let version = text(owner, "/apiVersion");
            let group = version
                .split_once('/')
                .map_or(String::new(), |(group, _)| format!(".{group}"));
            format!(
                "{}{group}/{}",
                text(owner, "/kind").to_lowercase(),
                text(owner, "/name")
            )
        },
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn many_endpoints_are_cut_short() {
        let address = |last: u8| json!({"ip": format!("10.0.0.{last}")});
        let object = json!({"subsets": [{"addresses": [address(1), address(2)], "ports": [{"port": 80}, {"port": 81}]}]});
        assert_eq!(
            endpoints(&object),
            "10.0.0.1:80,10.0.0.1:81,10.0.0.2:80 + 1 more..."
        );
    }
}
