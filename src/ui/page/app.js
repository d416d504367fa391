// Draws the data of the server: rollouts, one of them as waves and cells, events, reasons and findings. Decides only wording and layout; the
// planner decided what is done, soaking or failed. Every text is inserted as text, never as markup.

import { ask, follow, keep, token, Unknown } from "./live.js";
import { Grid, STATES, WORDS, paint, words } from "./grid.js";

const el = (id) => document.getElementById(id);
const grid = new Grid(el("grid"), el("cells"), el("cell"), (one) => open(one, true));
const seen = { list: null, picture: null, cluster: null, hidden: 0, events: 0, said: 0, saying: 0, words: "" };
let stop = () => {};

function make(tag, text, more = {}) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== "") made.textContent = text;
  for (const [name, value] of Object.entries(more)) {
    if (name === "class") made.className = value;
    else made.setAttribute(name, value);
  }
  return made;
}

/** Replaces the content of an element if it has changed: focus and scroll position stay otherwise. */
function put(place, made) {
  const fresh = make(place.tagName);
  fresh.append(...made);
  if (place.childElementCount === made.length && [...place.children].every((old, at) => old.isEqualNode(fresh.children[at]))) return;
  place.replaceChildren(...fresh.childNodes);
}

function told(target) {
  return target.kind === "ClusterManagementAddOn" ? target.name : `mcu/${target.namespace}/${target.name}`;
}

/** A completed rollout is good only if it is healthy. */
function tone({ phase, health }) {
  if (phase === "Done") return health.state === "Healthy" ? "good" : "wait";
  return phase === "Failed" || phase === "Stopped" ? "bad" : "wait";
}

const TONES = { Healthy: "good", Degraded: "bad" };

function healthOf({ health }) {
  return make("span", health.state, { class: "phase", "data-tone": TONES[health.state] || "wait", "data-health": health.state });
}

function length(seconds) {
  const left = Math.max(0, Math.round(seconds));
  const [hours, minutes] = [Math.floor(left / 3600), Math.floor((left % 3600) / 60)];
  if (hours) return `${hours}h ${minutes}m`;
  return minutes ? `${minutes}m ${left % 60}s` : `${left}s`;
}

/** A countdown that is updated every second. */
function countdown(at) {
  return make("time", length((Date.parse(at) - Date.now()) / 1000), { datetime: at, title: at, class: "down" });
}

function tick() {
  for (const time of document.querySelectorAll("time.down")) {
    const text = length((Date.parse(time.dateTime) - Date.now()) / 1000);
    if (time.textContent !== text) time.textContent = text;
  }
}

/** Announces a text to screen readers: the latest one, at most every few seconds. */
function say(text) {
  seen.words = text;
  if (seen.saying) return;
  seen.saying = setTimeout(() => {
    seen.saying = 0;
    if (seen.words && el("said").textContent !== seen.words) el("said").textContent = seen.words;
  }, Math.max(0, seen.said + 4000 - Date.now()));
  seen.said = Math.max(Date.now(), seen.said + 4000);
}

function bar(counts) {
  const parts = [
    ["done", counts.done], ["soaking", counts.soaking], ["moving", counts.moving], ["held", counts.held],
    ["failed", counts.failed], ["timedout", counts.timedOut], ["leaving", counts.leaving],
  ];
  const words = parts.filter(([, count]) => count).map(([name, count]) => `${count} ${{ timedout: "timed out", moving: "updating", held: "blocked" }[name] || name}`);
  const line = make("div", "", { class: "bar", role: "img", "aria-label": `${counts.total} clusters: ${words.join(", ") || "none started"}` });
  for (const [name, count] of parts) {
    if (!count || !counts.total) continue;
    const part = make("i", "", { "data-paint": name });
    part.style.width = `${(100 * count) / counts.total}%`;
    line.append(part);
  }
  return line;
}

// The list.

function drawList(list) {
  seen.list = list;
  const here = where();
  const items = list.items.map((picture) => {
    const name = told(picture.target);
    const link = make("a", "", { href: `#/${name}`, "data-rollout": name });
    if (name === here) link.setAttribute("aria-current", "page");
    const { counts } = picture;
    link.append(make("strong", name), " ", make("span", picture.phase, { class: "phase", "data-tone": tone(picture) }), " ", healthOf(picture));
    link.append(bar(counts), make("span", `${counts.done} of ${counts.total} done`, { class: "faint" }));
    const item = make("li");
    item.append(link);
    return item;
  });
  put(el("list"), items);
  const notes = [];
  if (!list.items.length) notes.push("No rollouts, or none that you may see.");
  if (list.leftOut?.rollouts) notes.push(`${list.leftOut.rollouts} hidden.`);
  if (list.leftOut?.rights.length) notes.push(`Some data is hidden, because you do not have these permissions: ${list.leftOut.rights.join("; ")}.`);
  el("list-note").textContent = notes.join(" ");
  if (!here && list.items.length) location.replace(`#/${told(list.items[0].target)}`);
}

// One rollout.

function drawRollout(picture) {
  el("rollout").hidden = false;
  el("rollout").dataset.rollout = told(picture.target);
  const title = [make("span", told(picture.target)), make("span", picture.phase, { class: "phase", "data-tone": tone(picture), id: "phase" }), healthOf(picture)];
  title[0].append(" ");
  title[2].prepend(" ");
  put(el("name"), title);
  el("message").textContent = picture.message;
  document.title = `${told(picture.target)}: ${picture.phase}, ${picture.health.state} - Tidegate`;
  put(el("facts"), facts(picture));
  put(el("notices"), picture.notices.map((notice) => make("li", notice)));
  put(el("waves"), picture.waves.map(wave));
  put(el("changes"), picture.changes.length ? picture.changes.map(change) : [make("li", "No changes: every cluster runs its assigned configuration.", { class: "faint" })]);
  drawGrid(picture);
  const { counts } = picture;
  say(`${told(picture.target)}: ${picture.phase}, ${picture.health.state}, ${counts.done} of ${counts.total} done, ${counts.failed + counts.timedOut} failed`);
}

function facts(picture) {
  const { counts } = picture;
  const { health } = picture;
  const rows = [["Done", [`${counts.done} of ${counts.total}`]]];
  const unwell = [[health.unhealthy, "unhealthy"], [health.offline, "offline"]].filter(([count]) => count).map(([count, word]) => `${count} ${word}`);
  const cause = health.state === "Degraded" && health.message ? `${health.reason}: ${health.message}` : "";
  rows.push(["Health", [[health.state, unwell.join(", "), cause].filter(Boolean).join("; ")]]);
  const others = [["updating", counts.moving], ["soaking", counts.soaking], ["waiting", counts.waiting], ["blocked", counts.held], ["failed", counts.failed], ["timed out", counts.timedOut], ["leaving", counts.leaving]];
  const words = others.filter(([, count]) => count).map(([word, count]) => `${count} ${word}`);
  if (words.length) rows.push(["Remaining", [words.join(", ")]]);
  if (picture.approvals.length) rows.push(["Waiting for approval", [picture.approvals.map(({ placement, group, hash, waiting }) => `${placement ? `${placement}/` : "stage "}${group}=${hash} (${waiting} waiting)`).join("; ")]]);
  if (picture.paused) rows.push(["Paused by", [picture.paused]]);
  if (picture.next) rows.push(["Next", [`${picture.next.what} in `, countdown(picture.next.at)]]);
  if (picture.eta) rows.push(["ETA", [picture.eta.atLeast ? "at least " : "about ", countdown(picture.eta.at), ` (${picture.eta.basis})`]]);
  if (picture.etaUnknown) rows.push(["ETA", [`unknown: ${picture.etaUnknown}`]]);
  if (seen.hidden) rows.push(["Hidden", [`${seen.hidden} clusters that you may not see`]]);
  return rows.map(([term, value]) => {
    const row = make("div");
    const said = make("dd");
    said.append(...value);
    row.append(make("dt", term), said);
    return row;
  });
}

function wave(one, index) {
  const item = make("li", "", { "data-wave": index, "data-state": one.state });
  item.append(make("strong", one.name || "all clusters"), ` ${one.placement} `, make("span", one.state, { class: "phase", "data-tone": one.state === "Done" ? "good" : one.state === "Stopped" ? "bad" : "wait" }));
  item.append(bar(one.counts));
  const words = [`${one.counts.done} of ${one.counts.total} done`];
  if (one.batches) words.push(`batch ${one.batches.current} of ${one.batches.total}`);
  if (one.limit !== undefined) words.push(`at most ${one.limit} at once`);
  words.push(one.tolerated === undefined ? `${one.failures} failed` : `${one.failures} failed, maxFailures ${one.tolerated}`);
  if (one.soakSeconds) words.push(`soak time ${length(one.soakSeconds)}`);
  if (one.deadlineSeconds) words.push(`deadline ${length(one.deadlineSeconds)}`);
  if (one.approval) words.push({ Later: "requires approval", Asked: "waiting for approval", Given: "approved" }[one.approval]);
  if (one.waitsFor) words.push(`waits for ${one.waitsFor}`);
  const line = make("p", words.join(" \u00b7 "), { class: "faint" });
  if (one.nextAt) line.append(" \u00b7 next in ", countdown(one.nextAt));
  item.append(line);
  return item;
}

function content(one) {
  const hash = one.hash ? ` (${one.hash.slice(0, 10)})` : "";
  return one.version ? `${one.object ? `${one.object} ` : ""}${one.version}` : `${one.object}${hash}`;
}

function change(one) {
  const item = make("li");
  item.append(make("strong", one.what), one.placement ? ` on ${one.placement}: ` : ": ");
  if (one.from) item.append(make("del", content(one.from), { class: "old" }), " \u2192 ");
  item.append(make("ins", content(one.to), { class: "new" }));
  return item;
}

// The clusters.

function drawGrid(picture) {
  const counts = new Map();
  for (const { state } of picture.clusters) counts.set(state, (counts.get(state) || 0) + 1);
  const present = STATES.filter((state) => counts.has(state));
  put(el("legend"), present.map((state) => {
    const item = make("li");
    item.append(make("i", "", { "data-paint": paint(state), "aria-hidden": "true" }), `${counts.get(state)} ${WORDS[state]}`);
    return item;
  }));
  const filter = el("filter");
  const chosen = counts.has(filter.value) ? filter.value : "";
  put(filter, [make("option", "all states", { value: "" }), ...present.map((state) => make("option", WORDS[state], { value: state }))]);
  filter.value = chosen;
  grid.show(picture.clusters, chosen);
  if (seen.cluster) {
    const one = picture.clusters.find(({ name }) => name === seen.cluster);
    if (one) drawOne(one);
    else close();
  }
}

function drawOne(one) {
  el("one").hidden = false;
  el("one").dataset.cluster = one.name;
  el("one-name").textContent = one.name;
  const state = [make("strong", words(one))];
  if (one.message || one.reason) state.push(make("span", `: ${one.message || one.reason}`));
  if (one.percent !== undefined) state.push(make("span", ` ${one.percent} %`));
  if (one.version) state.push(make("span", `, ${one.version}`));
  if (one.since) state.push(make("span", `, since ${one.since}`));
  if (one.until) {
    const until = make("span", ", ends in ");
    until.append(countdown(one.until));
    state.push(until);
  }
  put(el("one-state"), state);
}

function open(one, focus) {
  if (seen.cluster !== one.name) el("why").hidden = true;
  seen.cluster = one.name;
  drawOne(one);
  if (focus) el("one-name").focus();
  why();
}

function close() {
  seen.cluster = null;
  el("one").hidden = true;
}

async function why() {
  const cluster = seen.cluster;
  const name = told(seen.picture.target);
  el("why").hidden = false;
  el("why").textContent = "reading the hub ...";
  let text;
  try {
    text = (await ask(`/api/why/${cluster}/${name}`)).text;
  } catch (error) {
    text = `Cannot determine the cause: ${error.message}`;
  }
  if (seen.cluster === cluster) {
    el("why").textContent = text;
    el("why").dataset.cluster = cluster;
  }
}

// Events and findings.

async function events(name) {
  seen.events = Date.now();
  try {
    const told = await ask(`/api/history/${name}`);
    if (where() !== name) return;
    const at = (event) => event.lastTimestamp || event.eventTime || event.firstTimestamp || event.metadata.creationTimestamp || "";
    for (const [id, events] of [["events", told.events], ["cluster-events", told.clusterEvents]]) {
      const sorted = events.sort((one, other) => at(other).localeCompare(at(one))).slice(0, 50);
      const items = sorted.map((event) => {
        const item = make("li");
        const on = event.metadata.namespace && event.metadata.namespace !== "default" ? ` ${event.metadata.namespace}` : "";
        item.append(make("time", at(event).slice(0, 19).replace("T", " "), { datetime: at(event), class: "faint" }), ` ${event.type === "Warning" ? "Warning: " : ""}`, make("strong", event.reason), `${on}: ${event.note || event.message || ""}`);
        return item;
      });
      put(el(id), items.length ? items : [make("li", "No events that you may see.", { class: "faint" })]);
    }
  } catch (error) {
    put(el("events"), [make("li", `Cannot read the events: ${error.message}`, { class: "faint" })]);
  }
}

async function findings() {
  try {
    const told = await ask("/api/findings");
    put(el("findings"), told.items.map((one) => {
      const item = make("li");
      const name = one.namespace ? `${one.namespace}/${one.name}` : one.name;
      item.append(make("strong", `${one.action} ${one.kind} ${name}`), make("span", ` ${one.message}`));
      return item;
    }));
    const notes = [];
    if (!told.audited) notes.push("The audit is off.");
    else if (!told.items.length) notes.push("No findings about the objects that you may see.");
    if (told.more) notes.push(`${told.more} more.`);
    if (told.leftOut) notes.push(`${told.leftOut} findings about objects that you may not list are hidden.`);
    el("findings-note").textContent = notes.join(" ");
  } catch (error) {
    el("findings-note").textContent = `Cannot read the findings: ${error.message}`;
  }
}

// What is followed.

function where() {
  return decodeURIComponent(location.hash.replace(/^#\//, "").replace(/^#.*/, ""));
}

function hear(name, data) {
  if (name === "list") drawList(data);
  else if (name === "findings") findings();
  else if (name === "gone") {
    el("rollout").hidden = true;
    seen.picture = null;
  } else if (name === "rollout") {
    const changed = data.changed;
    if (changed && seen.picture) {
      const fresh = new Map(changed.map((one) => [one.name, one]));
      data.picture.clusters = seen.picture.clusters.map((one) => fresh.get(one.name) || one);
    }
    seen.hidden = data.hidden || 0;
    seen.picture = data.picture;
    drawRollout(data.picture);
    if (Date.now() - seen.events > 10000) events(told(data.picture.target));
  }
}

function state(now) {
  const words = { live: "live", lost: "connection lost; reconnecting", starting: "connecting" };
  if (now === "unknown") return signIn(token() ? "The hub does not accept this token." : "");
  el("link").dataset.state = now;
  el("link").textContent = words[now];
  if (now === "live") {
    el("sign-in").hidden = true;
    el("view").hidden = false;
    el("leave").hidden = !token();
  } else say(words[now]);
}

function signIn(why) {
  stop();
  keep("");
  el("view").hidden = true;
  el("leave").hidden = true;
  el("sign-in").hidden = false;
  el("sign-in-why").textContent = why;
  el("link").textContent = "signed out";
  for (const id of ["list", "waves", "changes", "events", "cluster-events", "findings", "facts", "notices", "legend", "name", "one-state"]) el(id).replaceChildren();
  for (const id of ["list-note", "findings-note", "message", "why", "said", "one-name"]) el(id).textContent = "";
  Object.assign(seen, { list: null, picture: null, cluster: null, hidden: 0, words: "" });
  document.title = "Tidegate: rollouts";
  for (const [id, name] of [["rollout", "rollout"], ["one", "cluster"], ["why", "cluster"]]) delete el(id).dataset[name];
  grid.show([], "");
  el("rollout").hidden = true;
  el("token").focus();
}

function begin() {
  stop();
  const name = where();
  close();
  seen.picture = null;
  seen.events = 0;
  el("rollout").hidden = true;
  if (seen.list) drawList(seen.list);
  stop = follow(name ? `/api/stream/${name}` : "/api/stream", hear, state);
}

el("sign-in-form").addEventListener("submit", (event) => {
  event.preventDefault();
  keep(el("token").value.trim());
  el("token").value = "";
  begin();
});
el("leave").addEventListener("click", () => signIn(""));
el("skip").addEventListener("click", (event) => {
  event.preventDefault();
  el("main").focus();
});
el("filter").addEventListener("change", () => seen.picture && grid.show(seen.picture.clusters, el("filter").value));
el("seek").addEventListener("submit", (event) => {
  event.preventDefault();
  const found = grid.seek(el("cluster").value.trim());
  if (found) open(found, true);
  else say("no cluster with this name");
});
el("ask-why").addEventListener("click", why);
el("close-one").addEventListener("click", () => {
  close();
  el("grid").focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && seen.cluster) {
    close();
    el("grid").focus();
  }
});
window.addEventListener("hashchange", begin);
setInterval(tick, 1000);
begin();
