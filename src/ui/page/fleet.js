// The fleet: all rollouts by all clusters, and one cluster with all its rollouts. Decides which rows are shown; the server decides their order.

import { ask } from "./live.js";
import { paint, shownAs, words } from "./grid.js";
import { ago, copier, counted, due, el, healthOf, make, put, told, tone } from "./words.js";

/** So many clusters are added at once: a browser is slow with tables of thousands of rows. */
const STEP = 200;
const seen = { fleet: null, rows: STEP, words: "" };

/** What a cell says: `Done offline` is a cluster that is up to date and not available. */
function read(cell) {
  const [state, unwell] = cell.split(" ");
  return { state, healthy: !unwell, offline: unwell === "offline" };
}

/** Reads the fleet again, and draws it. */
export async function fleet() {
  seen.fleet = await ask("/api/fleet");
  draw();
}

export function forget() {
  seen.fleet = null;
  for (const id of ["fleet-head", "fleet-rows", "cluster-rollouts"]) el(id).replaceChildren();
  for (const id of ["fleet-note", "cluster-name", "cluster-note"]) el(id).textContent = "";
}

/** Shows the rows again from the first one on, after another filter. */
export function first() {
  seen.rows = STEP;
  draw();
}

export function more() {
  seen.rows += STEP;
  draw();
}

function draw() {
  if (!seen.fleet) return;
  const { rollouts, clusters } = seen.fleet;
  const text = el("fleet-find").value.trim().toLowerCase();
  const urgent = el("fleet-urgent").checked;
  const found = clusters.filter((row) => row.name.includes(text) && (!urgent || row.attention));
  const head = [make("th", "Cluster", { scope: "col" })];
  for (const rollout of rollouts) {
    const cell = make("th", "", { scope: "col" });
    cell.append(make("a", told(rollout.target), { href: `#/${told(rollout.target)}` }), " ", make("span", rollout.phase, { class: "phase", "data-tone": tone(rollout) }), " ", healthOf(rollout));
    head.push(cell);
  }
  put(el("fleet-head"), head);
  put(el("fleet-rows"), found.slice(0, seen.rows).map((row) => {
    const line = make("tr", "", { "data-cluster": row.name });
    const name = make("th", "", { scope: "row" });
    name.append(make("a", row.name, { href: `#cluster/${row.name}` }));
    line.append(name, ...row.cells.map((cell, at) => one(cell, row.name, rollouts[at])));
    return line;
  }));
  el("fleet-more").hidden = found.length <= seen.rows;
  const shown = Math.min(found.length, seen.rows);
  const bad = clusters.filter((row) => row.attention).length;
  el("fleet-note").textContent = `${shown} of ${counted(clusters.length, "cluster")} shown, ${bad} need attention. ${counted(rollouts.length, "rollout")}.`;
}

function one(cell, cluster, rollout) {
  if (!cell) return make("td", "-", { class: "faint" });
  const state = read(cell);
  const made = make("td");
  const link = make("a", "", { href: `#/${told(rollout.target)}@${cluster}`, title: `${told(rollout.target)} on ${cluster}: ${words(state)}` });
  link.append(make("i", "", { "data-paint": paint(shownAs(state)), "aria-hidden": "true" }), words(state));
  made.append(link);
  return made;
}

/** Reads one cluster, and draws it. */
export async function cluster(name) {
  el("cluster-name").textContent = name;
  try {
    const found = await ask(`/api/clusters/${name}`);
    put(el("cluster-rollouts"), found.rollouts.map(item));
    el("cluster-note").textContent = `${counted(found.rollouts.length, "rollout")} on this cluster that you may see.`;
  } catch (error) {
    put(el("cluster-rollouts"), []);
    el("cluster-note").textContent = error.message;
  }
}

function item({ target, phase, health, paused, cluster, waveName }) {
  const name = told(target);
  const made = make("li", "", { "data-rollout": name, "data-state": cluster.state });
  const title = make("strong");
  title.append(make("a", name, { href: `#/${name}@${cluster.name}` }));
  made.append(make("i", "", { "data-paint": paint(shownAs(cluster)), "aria-hidden": "true", class: "swatch" }), title, ` ${words(cluster)}`);
  if (cluster.since) made.append(", ", ago(cluster.since));
  made.append(...due(cluster));
  const facts = [cluster.message || cluster.reason, cluster.version && `version ${cluster.version}`, waveName && `wave ${waveName}`, paused].filter(Boolean);
  if (facts.length) made.append(make("p", facts.join(" \u00b7 ")));
  const of = make("p", "Rollout: ", { class: "faint" });
  of.append(make("span", phase, { class: "phase", "data-tone": tone({ phase, health }) }), " ", healthOf({ health }), " ", copier(command(target, cluster.name)));
  made.append(of);
  return made;
}

/** The command that explains the state of a cluster. */
export function command(target, cluster) {
  return `tidegate why ${told(target)} --cluster ${cluster}`;
}

