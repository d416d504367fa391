// The actions of the signed-in user. Decides which buttons a rollout has; what an action writes, and whether it is possible, is the text that
// the hub returns for a dry run.

import { act } from "./live.js";
import { copier, el, make, put, quoted, told } from "./words.js";

const WORD = {
  pause: ["Pause", "No further cluster starts. Clusters that are being updated finish."],
  resume: ["Resume", "Waiting clusters can start again."],
  promote: ["Promote", "Ends soak times: clusters that succeeded count as completed."],
  retry: ["Retry", "Tries failed clusters, or a configuration that was rolled back, again."],
  undo: ["Undo", "Rolls back to the last known good configuration."],
  approve: ["Approve", "The waiting clusters can start with this content."],
  reject: ["Reject", "The waiting clusters do not start with this content."],
  freeze: ["Freeze", "No change starts while the freeze is in force. Clusters that are being updated finish."],
  unfreeze: ["Unfreeze", "Deletes the RolloutFreeze. Waiting clusters can start again."],
};

let open = null;
let asked = 0;
/** Called with a text after each action. */
let after = () => {};

/** The command that does the same. */
function command({ verb, name, placement, group, content, revision, freeze = {} }, reason, force) {
  const words = ["tidegate", "rollout", verb, name];
  const flags = [["--placement", placement], ["--group", group], ["--content", content], ["--to-revision", revision], ["--reason", reason || freeze.reason],
    ["--from", freeze.from], ["--until", freeze.until], ["--for", freeze.for]];
  for (const label of freeze.clusterLabels || []) flags.push(["--cluster-label", label]);
  for (const addOn of freeze.addOns || []) flags.push(["--addon", addOn]);
  for (const [flag, word] of flags) if (word) words.push(flag, quoted(word));
  if (freeze.withoutUpgrades) words.push("--without-upgrades");
  if (force) words.push("--force");
  return words.join(" ");
}

/** The button of an action, with one that copies its command. */
export function button(one, kind = "") {
  const made = make("button", WORD[one.verb][0], { type: "button", class: kind, "data-verb": one.verb, title: WORD[one.verb][1] });
  for (const key of ["name", "placement", "group", "content", "revision"]) if (one[key]) made.dataset[key] = one[key];
  const pair = make("span", "", { class: "act" });
  pair.append(made, copier(command(one)));
  return pair;
}

/** The actions that can make sense now. The dry run decides whether one is possible. */
export function actions(picture) {
  const name = told(picture.target);
  const isAddon = picture.target.kind === "ClusterManagementAddOn";
  const { counts } = picture;
  const isPaused = isAddon ? picture.pauses.some(({ placement }) => !placement) : picture.paused;
  const verbs = isPaused ? [] : ["pause"];
  if (picture.paused) verbs.push("resume");
  if (isAddon && counts.soaking) verbs.push("promote");
  if (picture.undone.length || (!isAddon && counts.failed + counts.timedOut)) verbs.push("retry");
  if (isAddon && picture.changes.some(({ from }) => from)) verbs.push("undo");
  return verbs.map((verb) => button({ verb, name }));
}

/** The placements of an add-on, each with its actions; nothing where it has one placement, or all of them are paused. */
export function placements(picture) {
  const name = told(picture.target);
  const soaking = new Map();
  for (const { placement, counts } of picture.waves) if (placement) soaking.set(placement, (soaking.get(placement) || 0) + counts.soaking);
  const pauses = new Map(picture.pauses.map((pause) => [pause.placement, pause]));
  if (pauses.has("") || (soaking.size < 2 && !pauses.size)) return [];
  for (const placement of pauses.keys()) if (!soaking.has(placement)) soaking.set(placement, 0);
  return [...soaking].map(([placement, count]) => {
    const pause = pauses.get(placement);
    const item = make("li", "", { "data-placement": placement });
    item.append(make("span", `Placement ${placement}${pause ? `: paused${pause.reason ? ` (${pause.reason})` : ""}` : ""}`));
    for (const verb of [pause ? "resume" : "pause", ...(count ? ["promote"] : [])]) item.append(button({ verb, name, placement }));
    return item;
  });
}

/** What waits for approval, each with its buttons. */
export function approvals(picture) {
  const name = told(picture.target);
  return picture.approvals.map(({ placement, group, hash, waiting, rejected }) => {
    const item = make("li", "", { "data-group": group });
    const what = placement ? `decision group ${group} of placement ${placement}` : `stage ${group}`;
    const clusters = waiting === 1 ? "1 cluster waits" : `${waiting} clusters wait`;
    item.append(make("strong", rejected ? "Rejected" : "Waiting for approval"), `: ${what}. ${clusters} with the content ${hash.slice(0, 10)}. `);
    for (const verb of rejected ? ["approve"] : ["approve", "reject"]) item.append(button({ verb, name, placement, group, content: hash }), " ");
    return item;
  });
}

function reason() {
  return el("act-reason").value.trim();
}

function refresh() {
  put(el("act-command"), [make("code", command(open, reason(), el("act-force").checked))]);
  el("act-copy").dataset.command = el("act-command").textContent;
}

function state(now, text) {
  el("act").dataset.state = now;
  el("act-plan").textContent = text;
  el("act-do").disabled = now !== "ready";
}

async function send(dryRun) {
  const { verb, name, placement, group, content, revision, freeze } = open;
  if (verb === "freeze" || verb === "unfreeze") return act(`/api/${verb}/${name}`, { dryRun, freeze });
  const force = el("act-force").checked;
  return act(`/api/act/${verb}/${name}`, { dryRun, force, reason: reason() || undefined, placement, group, content, revision: revision && Number(revision) });
}

/** Shows what the action would write. */
async function dryRun() {
  const mine = ++asked;
  refresh();
  state("asking", "Asking the hub what this would write ...");
  try {
    const told = await send(true);
    if (mine === asked) state("ready", told.text);
  } catch (error) {
    if (mine !== asked) return;
    el("act-force-row").hidden = !error.message.includes("--force");
    state("refused", error.message);
  }
}

async function confirm() {
  const mine = ++asked;
  state("asking", "Writing ...");
  try {
    const told = await send(false);
    if (mine !== asked) return;
    close();
    after(told.text);
  } catch (error) {
    if (mine === asked) state("refused", error.message);
  }
}

function close() {
  asked += 1;
  open = null;
  el("act").close();
}

/** Opens the dialog of an action. */
export function begin(data) {
  const { verb, name, placement, group, content, revision, freeze } = data;
  open = { verb, name, placement, group, content, revision, freeze };
  const part = group || placement;
  el("act-reason-row").hidden = verb === "freeze" || verb === "unfreeze";
  el("act-title").textContent = `${WORD[verb][0]} ${name}${part ? `: ${part}` : ""}${revision ? ` to revision ${revision}` : ""}`;
  el("act-what").textContent = WORD[verb][1];
  el("act-do").textContent = WORD[verb][0];
  el("act-reason").value = "";
  el("act-force").checked = false;
  el("act-force-row").hidden = true;
  el("act").showModal();
  dryRun();
}

/** Copies a command; without a clipboard the command is selected. */
async function copy(from) {
  try {
    await navigator.clipboard.writeText(from.dataset.command);
    after("Copied.");
  } catch {
    after(from.dataset.command);
  }
}

export function start(done) {
  after = done;
  document.addEventListener("click", ({ target }) => {
    if (target.dataset?.command) copy(target);
    else if (target.dataset?.verb) begin(target.dataset);
  });
  el("act-reason").addEventListener("change", dryRun);
  el("act-reason").addEventListener("input", refresh);
  el("act-force").addEventListener("change", dryRun);
  el("act-cancel").addEventListener("click", close);
  el("act").addEventListener("cancel", () => { asked += 1; });
  el("act-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!el("act-do").disabled) confirm();
  });
}
