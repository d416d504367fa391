// Draws the data of the server: rollouts, one of them as waves and cells, events, reasons and findings. Decides only wording and layout; the
// planner decided what is done, soaking or failed. Every text is inserted as text, never as markup.

import { actions, approvals, button, placements, start as startActions } from "./actions.js";
import { cluster as drawCluster, command as whyCommand, first, fleet as drawFleet, forget, more } from "./fleet.js";
import { freeze, forget as forgetFreezes, freezes, note as noteFreezes, start as startFreezes } from "./freezes.js";
import { Grid, STATES, WORDS, paint, shownAs, words } from "./grid.js";
import { ask, follow, keep, token, Unknown } from "./live.js";
import { report, save } from "./report.js";
import { ago, ATTENTION, bar, byAttention, byName, countdown, due, el, fieldList, healthOf, length, make, put, rest, tick, told, tone, unwell } from "./words.js";

const grid = new Grid(el("grid"), el("cells"), el("cell"), el("tip"), (one) => open(one, true));
const seen = { list: null, picture: null, cluster: null, hidden: 0, events: 0, said: 0, saying: 0, words: "", about: {}, changed: "", revisions: "", fields: [], history: [], read: 0 };
let stop = () => {};

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

/** Shows what was done for some seconds. */
function done(text) {
  el("done").textContent = text;
  el("done").hidden = false;
  clearTimeout(done.timer);
  done.timer = setTimeout(() => { el("done").hidden = true; }, 12000);
}

// The list.

function drawList(list) {
  seen.list = list;
  const here = where().rollout;
  const text = el("find").value.trim().toLowerCase();
  const sorted = el("sort").value === "name" ? (one, other) => byName(told(one.target), told(other.target)) : byAttention;
  const found = list.items.filter(({ target, phase }) => `${told(target)} ${phase}`.toLowerCase().includes(text)).sort(sorted);
  const items = [];
  let last = "";
  for (const picture of found) {
    const now = picture.attention.group;
    if (el("sort").value !== "name" && now !== last) items.push(make("li", ATTENTION[now], { class: "heading" }));
    last = now;
    items.push(listed(picture, here));
  }
  put(el("list"), items);
  const notes = [];
  if (!list.items.length) notes.push("No rollouts, or none that you may see.");
  else if (!found.length) notes.push("No rollout matches the search.");
  if (list.leftOut?.rollouts) notes.push(`${list.leftOut.rollouts} hidden.`);
  if (list.leftOut?.rights.length) notes.push(`Some data is hidden, because you do not have these permissions: ${list.leftOut.rights.join("; ")}.`);
  el("list-note").textContent = notes.join(" ");
  if (!location.hash.replace(/^#\/?/, "") && list.items.length) location.replace(`#/${told([...list.items].sort(byAttention)[0].target)}`);
}

function listed(picture, here) {
  const name = told(picture.target);
  const link = make("a", "", { href: `#/${name}`, "data-rollout": name });
  if (name === here) link.setAttribute("aria-current", "page");
  const { counts } = picture;
  link.append(make("strong", name), " ", make("span", picture.phase, { class: "phase", "data-tone": tone(picture) }), " ", healthOf(picture));
  link.append(bar(counts), make("span", [`${counts.done} of ${counts.total} done`, rest(counts), unwell(picture)].filter(Boolean).join(", "), { class: "faint" }));
  const item = make("li");
  item.append(link);
  return item;
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
  put(el("actions"), [...actions(picture), make("button", "Export as HTML", { type: "button", id: "export", title: "One file without scripts, for a change ticket" })]);
  put(el("placements"), placements(picture));
  put(el("approvals"), approvals(picture));
  put(el("facts"), facts(picture));
  put(el("notices"), picture.notices.map((notice) => make("li", notice)));
  put(el("waves"), picture.waves.map(wave));
  put(el("waves-end"), ending(picture));
  drawChanges(picture);
  drawGrid(picture);
  const { counts } = picture;
  say(`${told(picture.target)}: ${picture.phase}, ${picture.health.state}, ${counts.done} of ${counts.total} done, ${counts.failed + counts.timedOut} failed`);
}

function facts(picture) {
  const { counts } = picture;
  const { health } = picture;
  const rows = [["Done", [`${counts.done} of ${counts.total}`]]];
  const cause = health.state === "Degraded" && health.message ? `${health.reason}: ${health.message}` : "";
  rows.push(["Health", [[health.state, unwell(picture), cause].filter(Boolean).join("; ")]]);
  const others = [["updating", counts.moving], ["finishing", counts.finishing], ["soaking", counts.soaking], ["waiting", counts.waiting], ["blocked", counts.held], ["failed", counts.failed], ["timed out", counts.timedOut], ["leaving", counts.leaving]];
  const words = others.filter(([, count]) => count).map(([word, count]) => `${count} ${word}`);
  if (words.length) rows.push(["Remaining", [words.join(", ")]]);
  if (picture.paused) rows.push(["Paused", [picture.paused]]);
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

const STATE = { Open: "in progress", Unapproved: "waiting for approval" };

/** The expected end, as the last entry of the timeline. */
function ending({ eta, etaUnknown }) {
  if (etaUnknown) return [make("span", `Expected end unknown: ${etaUnknown}`)];
  if (!eta) return [];
  return [make("span", eta.atLeast ? "Expected end: not before " : "Expected end: in about "), countdown(eta.at), make("span", ` (${eta.basis})`)];
}

function wave(one, index) {
  const item = make("li", "", { "data-wave": index, "data-state": one.state });
  item.append(make("strong", one.name || "all clusters"), ` ${one.placement} `, make("span", STATE[one.state] || one.state, { class: "phase", "data-tone": one.state === "Done" && !(one.counts.failed + one.counts.timedOut) ? "good" : one.state === "Stopped" ? "bad" : "wait" }));
  item.append(bar(one.counts));
  const words = [`${one.counts.done} of ${one.counts.total} done`];
  const others = rest(one.counts);
  if (others) words.push(others);
  if (one.batches) words.push(`batch ${one.batches.current} of ${one.batches.total}`);
  if (one.limit !== undefined) words.push(`at most ${one.limit} at once`);
  if (one.tolerated !== undefined) words.push(`${one.failures} failed (maxFailures ${one.tolerated})`);
  if (one.soakSeconds) words.push(`soak time ${length(one.soakSeconds)}`);
  if (one.deadlineSeconds) words.push(`deadline ${length(one.deadlineSeconds)}`);
  if (one.approval) words.push({ Later: "requires approval", Asked: "waiting for approval", Rejected: "rejected", Given: "approved" }[one.approval]);
  if (one.waitsFor) words.push(`waits for ${one.waitsFor}`);
  const line = make("p", words.join(" \u00b7 "), { class: "faint" });
  if (one.nextAt) line.append(" \u00b7 next in ", countdown(one.nextAt));
  if (one.eta) line.append(` \u00b7 ETA ${one.eta.atLeast ? "at least" : "about"} `, countdown(one.eta.at));
  item.append(line);
  return item;
}

function content(one) {
  const hash = one.hash ? ` (${one.hash.slice(0, 10)})` : "";
  return one.version ? `${one.object ? `${one.object} ` : ""}${one.version}` : `${one.object}${hash}`;
}

/** The fields are read when the contents are others than before: this reads the hub. */
function drawChanges(picture) {
  const key = told(picture.target) + JSON.stringify(picture.changes);
  if (key !== seen.changed) {
    Object.assign(seen, { changed: key, fields: [] });
    if (picture.target.kind === "ClusterManagementAddOn") fields(picture, key);
    else {
      seen.revisions = "";
      put(el("revisions"), [make("li", "Cluster upgrades have no revisions.", { class: "faint" })]);
    }
  }
  put(el("changes"), picture.changes.length ? picture.changes.map(change) : [make("li", "No changes: every cluster runs its assigned configuration.", { class: "faint" })]);
}

async function fields(picture, key) {
  try {
    const { items, revisions } = await ask(`/api/changes/${told(picture.target)}`);
    if (seen.changed !== key) return;
    seen.fields = items;
    // A list that is the same stays: the keyboard may be on one of its buttons.
    const read = told(picture.target) + JSON.stringify(revisions);
    if (read !== seen.revisions) put(el("revisions"), revisions.length ? revisions.map((one) => revision(picture, one)) : [make("li", "No content is kept yet.", { class: "faint" })]);
    seen.revisions = read;
    drawChanges(seen.picture);
  } catch (error) {
    if (seen.changed === key) seen.fields = [{ unknown: `Cannot read the changed fields: ${error.message}`, fields: [] }];
  }
}

function revision(picture, one) {
  const item = make("li", "", { "data-revision": one.revision ?? "" });
  item.append(make("strong", one.revision ? `Revision ${one.revision}` : "Not kept yet"), " ", one.object);
  const state = [one.desired && "current", one.knownGood && "last known good"].filter(Boolean).join(", ");
  if (state) item.append(` (${state})`);
  if (one.at) item.append(" \u00b7 ", ago(one.at));
  if (one.author) item.append(` by ${one.author}`);
  if (one.cause) item.append(`: ${one.cause}`);
  if (one.notKept) item.append(` \u00b7 ${one.notKept}`);
  if (one.changes.length) item.append(fieldList({ fields: one.changes }));
  if (one.revision && !one.desired && !one.notKept) item.append(" ", button({ verb: "undo", name: told(picture.target), revision: one.revision }));
  return item;
}

function change(one) {
  const item = make("li");
  item.append(make("strong", one.what), one.placement ? ` on ${one.placement}: ` : ": ");
  if (one.from) item.append(make("del", content(one.from), { class: "old" }), " \u2192 ");
  item.append(make("ins", content(one.to), { class: "new" }));
  const of = seen.fields.find(({ what, placement, object }) => what === one.what && placement === one.placement && object === one.to.object);
  if (of) item.append(fieldList(of));
  return item;
}

// The clusters.

function drawGrid(picture) {
  const counts = new Map();
  for (const one of picture.clusters) {
    const state = shownAs(one, picture.waves);
    counts.set(state, (counts.get(state) || 0) + 1);
  }
  const present = STATES.filter((state) => counts.has(state));
  put(el("legend"), present.map((state) => {
    const item = make("li");
    item.append(make("i", "", { "data-paint": paint(state), "aria-hidden": "true" }), `${counts.get(state)} ${WORDS[state]}`);
    return item;
  }));
  put(el("reasons"), reasons(picture));
  const filter = el("filter");
  const chosen = counts.has(filter.value) ? filter.value : "";
  put(filter, [make("option", "all states", { value: "" }), ...present.map((state) => make("option", WORDS[state], { value: state }))]);
  filter.value = chosen;
  filterGrid();
  const wanted = where().cluster;
  if (wanted && seen.cluster !== wanted) {
    const one = grid.seek(wanted);
    if (one) open(one, false);
  } else if (seen.cluster) {
    const one = picture.clusters.find(({ name }) => name === seen.cluster);
    if (one) drawOne(one);
    else close();
  }
}

/** Why clusters are not done: the first of each state and message, those that need attention first. */
function reasons(picture) {
  const groups = new Map();
  for (const one of picture.clusters) {
    const state = shownAs(one, picture.waves);
    if (state === "Done" || state === "Kept") continue;
    const text = one.message || one.reason;
    const key = `${STATES.indexOf(state)} ${text.replaceAll(one.name, "")}`;
    const group = groups.get(key) || { state, text, names: [] };
    group.names.push(one.name);
    groups.set(key, group);
  }
  const sorted = [...groups.values()].sort((one, other) => STATES.indexOf(one.state) - STATES.indexOf(other.state) || other.names.length - one.names.length);
  const items = sorted.slice(0, 20).map(({ state, text, names }) => {
    const item = make("li");
    item.append(make("i", "", { "data-paint": paint(state), "aria-hidden": "true", class: "swatch" }), make("strong", `${names.length} ${WORDS[state]}: `), text && `${text}. `);
    names.slice(0, 8).forEach((name, at) => item.append(at ? ", " : "", make("a", name, { href: `#/${told(picture.target)}@${name}` })));
    if (names.length > 8) item.append(` and ${names.length - 8} more`);
    return item;
  });
  if (sorted.length > 20) items.push(make("li", `${sorted.length - 20} more reasons`, { class: "faint" }));
  return items;
}

function filterGrid() {
  if (seen.picture) grid.show(seen.picture.clusters, seen.picture.waves, el("filter").value, el("cluster").value.trim().toLowerCase());
}

function drawOne(one) {
  el("one").hidden = false;
  el("one").dataset.cluster = one.name;
  el("one-name").textContent = one.name;
  const state = [make("strong", words(one, seen.picture.waves))];
  if (one.message || one.reason) state.push(make("span", `: ${one.message || one.reason}`));
  if (one.percent !== undefined) state.push(make("span", ` ${one.percent} %`));
  if (one.version) state.push(make("span", `, ${one.version}`));
  if (one.since) state.push(make("span", ", "), ago(one.since));
  if (one.until) {
    const until = make("span");
    until.append(...due(one));
    state.push(until);
  }
  put(el("one-state"), state);
  el("one-link").href = `#cluster/${one.name}`;
  const command = whyCommand(seen.picture.target, one.name);
  el("one-copy").dataset.command = command;
  el("one-copy").title = command;
  el("one-copy").setAttribute("aria-label", `Copy command: ${command}`);
}

function open(one, focus) {
  if (seen.cluster !== one.name) el("why").hidden = true;
  seen.cluster = one.name;
  const here = `#/${told(seen.picture.target)}@${one.name}`;
  if (location.hash !== here) history.replaceState(null, "", here);
  drawOne(one);
  if (focus) el("one-name").focus();
  why();
}

function close() {
  seen.cluster = null;
  el("one").hidden = true;
  if (seen.picture && where().cluster) history.replaceState(null, "", `#/${told(seen.picture.target)}`);
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
    if (where().rollout !== name) return;
    const names = new Set(seen.picture?.clusters.map((one) => one.name));
    const read = (event) => ({
      at: event.lastTimestamp || event.eventTime || event.firstTimestamp || event.metadata.creationTimestamp || "", type: event.type, reason: event.reason,
      note: event.note || event.message || "", namespace: event.metadata.namespace,
    });
    for (const [id, events] of [["events", told.events], ["cluster-events", told.clusterEvents]]) {
      const sorted = events.map(read).sort((one, other) => other.at.localeCompare(one.at));
      if (id === "events") seen.history = sorted;
      const groups = grouped(sorted, names);
      put(el(id), groups.length ? groups.map(eventGroup) : [make("li", "No events that you may see.", { class: "faint" })]);
    }
  } catch (error) {
    put(el("events"), [make("li", `Cannot read the events: ${error.message}`, { class: "faint" })]);
  }
}

/** Events that differ only in the names of clusters are one group; the latest groups come first. */
function grouped(events, names) {
  const groups = new Map();
  for (const event of events) {
    const found = new Set(names.has(event.namespace) ? [event.namespace] : []);
    const text = event.note.replace(/[a-z0-9][a-z0-9.-]*[a-z0-9]|[a-z0-9]/g, (word) => {
      if (!names.has(word)) return word;
      found.add(word);
      return "\u2026";
    }).replace(/\d+/g, "#");
    const key = `${event.type} ${event.reason} ${text}`;
    const group = groups.get(key) || { latest: event, events: [], clusters: new Set() };
    group.events.push(event);
    for (const name of found) group.clusters.add(name);
    groups.set(key, group);
  }
  return [...groups.values()].slice(0, 50);
}

function eventLine(event, isCluster) {
  const line = make("span");
  const on = isCluster ? ` ${event.namespace}` : "";
  line.append(ago(event.at), ` ${event.type === "Warning" ? "Warning: " : ""}`, make("strong", event.reason), `${on}: ${event.note}`);
  return line;
}

function eventGroup({ latest, events, clusters }) {
  const item = make("li");
  const isCluster = clusters.has(latest.namespace);
  if (events.length === 1) {
    item.append(eventLine(latest, isCluster));
    return item;
  }
  const names = [...clusters].sort(byName);
  const on = names.length > 1 ? ` on ${names.length} clusters (${names.slice(0, 4).join(", ")}${names.length > 4 ? ", \u2026" : ""})` : "";
  const group = make("details");
  const head = make("summary");
  head.append(`${events.length} times${on}, latest: `, eventLine(latest, isCluster));
  const all = make("ol");
  for (const event of events.slice(0, 50)) {
    const line = make("li");
    line.append(eventLine(event, isCluster));
    all.append(line);
  }
  group.append(head, all);
  item.append(group);
  return item;
}

// Settings and decisions.

async function settings(name) {
  try {
    const found = await ask(`/api/settings/${name}`);
    if (where().rollout !== name) return;
    if (!found.missing.includes("rolloutfreezes")) noteFreezes(found.freezes);
    const items = [...found.approvals.map(decision), ...found.freezes.map(freeze), ...found.checks.map(check)];
    if (found.profile) items.push(object(`RolloutProfile ${found.profile.metadata.name}`, found.profile.spec));
    if (found.settings) items.push(object(`AddOnRollout ${found.settings.metadata.name}`, found.settings.spec));
    if (found.missing.length) items.push(make("li", `Hidden, because you may not list them: ${found.missing.join(", ")}.`, { class: "faint" }));
    put(el("settings"), items.length ? items : [make("li", "None.", { class: "faint" })]);
  } catch (error) {
    put(el("settings"), [make("li", `Cannot read the settings: ${error.message}`, { class: "faint" })]);
  }
}

function entry(title, ...words) {
  const item = make("li");
  item.append(make("strong", title), ...words);
  return item;
}

function object(title, spec) {
  const item = make("li");
  const more = make("details");
  more.append(make("summary", title), make("pre", JSON.stringify(spec, null, 2)));
  item.append(more);
  return item;
}

function decision({ spec, status }) {
  const now = spec.decision;
  const words = [`: ${status?.state || "Idle"}`];
  if (status?.clusters) words.push(`, ${status.clusters} waiting`);
  if (now?.by) words.push(`. ${now.result} by ${now.by}`);
  if (now?.at) words.push(" ", ago(now.at));
  if (now?.reason) words.push(` (${now.reason})`);
  const changes = status?.changes?.length ? [make("p", status.changes.join("; "), { class: "faint" })] : [];
  return entry(`Approval of ${spec.placement ? `decision group ${spec.group} of ${spec.placement}` : `stage ${spec.group}`}`, ...words, ...changes);
}

function check({ metadata, status }) {
  const words = [`: ${status?.result || "no result"}`];
  if (status?.reportedAt) words.push(", reported ", ago(status.reportedAt));
  if (status?.message) words.push(`: ${status.message}`);
  return entry(`RolloutCheck ${metadata.name}`, ...words);
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

/** What the address of the page names: a rollout and perhaps one of its clusters, the fleet, or a cluster. */
function where() {
  const hash = decodeURIComponent(location.hash);
  if (hash === "#fleet" || hash === "#freezes") return { view: hash.slice(1) };
  if (hash.startsWith("#cluster/")) return { view: "cluster", cluster: hash.slice(9) };
  const [rollout, cluster] = hash.startsWith("#/") ? hash.slice(2).split("@") : [""];
  return { view: "rollout", rollout, cluster };
}

/** Reads the fleet or the cluster that is shown again, at most every few seconds. */
function readView() {
  if (readView.timer) return;
  readView.timer = setTimeout(async () => {
    readView.timer = 0;
    const { view, cluster } = where();
    if (view === "rollout") return;
    seen.read = Date.now();
    try {
      if (view === "fleet") await drawFleet();
      else if (view === "freezes") await freezes();
      else await drawCluster(cluster);
    } catch (error) {
      if (!(error instanceof Unknown)) el("fleet-note").textContent = `Cannot read the fleet: ${error.message}`;
    }
  }, Math.max(0, seen.read + 3000 - Date.now()));
}

/** Reads events and settings of the rollout after it has changed, at most every ten seconds. */
function readDetails() {
  if (readDetails.timer) return;
  readDetails.timer = setTimeout(async () => {
    readDetails.timer = 0;
    const name = seen.picture && told(seen.picture.target);
    if (!name) return;
    await events(name);
    await settings(name);
    // A change that begins and ends between two pictures leaves no trace in them.
    if (seen.picture?.target.kind === "ClusterManagementAddOn") await fields(seen.picture, seen.changed);
  }, Math.max(0, seen.events + 10000 - Date.now()));
}

async function about() {
  try {
    seen.about = await ask("/api/about");
  } catch {
    return;
  }
  const { hub, version, user } = seen.about;
  el("about").textContent = [`hub ${hub}`, `version ${version}`, user && `signed in as ${user}`].filter(Boolean).join(" \u00b7 ");
}

function hear(name, data) {
  if (name === "list") {
    drawList(data);
    readView();
  }
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
    readDetails();
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
    if (!seen.list) el("list-note").textContent = "Reading the hub ...";
    about();
    freezes();
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
  if (el("act").open) el("act").close();
  forget();
  forgetFreezes();
  for (const id of ["list", "waves", "waves-end", "changes", "revisions", "events", "cluster-events", "findings", "facts", "notices", "legend", "name", "one-state", "actions", "placements", "approvals", "act-command", "settings", "reasons"]) el(id).replaceChildren();
  for (const id of ["list-note", "findings-note", "message", "why", "said", "one-name", "done", "about", "tip", "act-title", "act-plan"]) el(id).textContent = "";
  Object.assign(seen, { list: null, picture: null, cluster: null, hidden: 0, words: "", about: {}, changed: "", revisions: "", fields: [], history: [] });
  for (const id of ["find", "cluster", "fleet-find"]) el(id).value = "";
  for (const id of ["one-copy", "act-copy"]) for (const name of ["title", "aria-label", "data-command"]) el(id).removeAttribute(name);
  el("one-link").removeAttribute("href");
  document.title = "Tidegate: rollouts";
  for (const [id, name] of [["rollout", "rollout"], ["one", "cluster"], ["why", "cluster"]]) delete el(id).dataset[name];
  grid.show([], [], "", "");
  el("rollout").hidden = true;
  el("token").focus();
}

function begin() {
  stop();
  const { view, rollout } = where();
  if (seen.picture && told(seen.picture.target) !== rollout) el("cluster").value = "";
  seen.picture = null;
  close();
  seen.events = 0;
  seen.read = 0;
  clearTimeout(readDetails.timer);
  readDetails.timer = 0;
  el("tip").hidden = true;
  for (const [id, name] of [["rollout", "none"], ["fleet", "fleet"], ["freezes", "freezes"], ["of-cluster", "cluster"]]) el(id).hidden = view !== name;
  for (const [id, name] of [["to-fleet", "fleet"], ["to-freezes", "freezes"], ["to-rollouts", "rollout"]]) {
    if (view === name) el(id).setAttribute("aria-current", "page");
    else el(id).removeAttribute("aria-current");
  }
  if (view === "cluster") el("cluster-name").textContent = where().cluster;
  if (view !== "rollout") document.title = `${{ fleet: "Fleet", freezes: "Freezes" }[view] || where().cluster} - Tidegate`;
  if (seen.list) {
    drawList(seen.list);
    readView();
    // On a small screen the list is above the content.
    if (innerWidth < 760) el("main").scrollIntoView();
  }
  stop = follow(rollout ? `/api/stream/${rollout}` : "/api/stream", hear, state);
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
startFreezes();
startActions((text) => {
  done(text);
  freezes();
  clearTimeout(readDetails.timer);
  Object.assign(readDetails, { timer: 0 });
  seen.events = Date.now() - 8000;
  readDetails();
});
el("filter").addEventListener("change", filterGrid);
el("cluster").addEventListener("input", filterGrid);
for (const [id, type] of [["find", "input"], ["sort", "change"]]) el(id).addEventListener(type, () => seen.list && drawList(seen.list));
el("list-form").addEventListener("submit", (event) => {
  event.preventDefault();
  el("list").querySelector("a")?.click();
});
el("fleet-form").addEventListener("submit", (event) => event.preventDefault());
el("fleet-find").addEventListener("input", first);
el("fleet-urgent").addEventListener("change", first);
el("fleet-more").addEventListener("click", more);
document.addEventListener("click", ({ target }) => {
  if (target.id !== "export" || !seen.picture) return;
  const name = told(seen.picture.target).replaceAll("/", "-");
  save(`rollout-${name}-${new Date().toISOString().slice(0, 16).replaceAll(":", "")}.html`, report(seen.picture, seen.about, seen.fields, seen.history));
});
el("seek").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = el("cluster").value.trim();
  const found = grid.seek(text) || (text && grid.current());
  if (found) open(found, true);
  else say("no cluster with this name");
});
el("ask-why").addEventListener("click", why);
el("close-one").addEventListener("click", () => {
  close();
  el("grid").focus();
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, select, textarea") || el("act").open;
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    el({ rollout: "find", fleet: "fleet-find" }[where().view] || "find").focus();
  }
  if (event.key === "Escape" && seen.cluster && !el("act").open) {
    close();
    el("grid").focus();
  }
});
window.addEventListener("hashchange", begin);
setInterval(tick, 1000);
begin();
