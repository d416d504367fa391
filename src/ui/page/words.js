// Words, times and elements that all parts of the page share. Every text is inserted as text, never as markup.

import { WORDS } from "./grid.js";

export const el = (id) => document.getElementById(id);

export function make(tag, text, more = {}) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== "") made.textContent = text;
  for (const [name, value] of Object.entries(more)) {
    if (name === "class") made.className = value;
    else made.setAttribute(name, value);
  }
  return made;
}

/** Replaces the content of an element if it has changed: focus and scroll position stay otherwise. */
export function put(place, made) {
  const fresh = make(place.tagName);
  fresh.append(...made);
  if (place.childElementCount === made.length && [...place.children].every((old, at) => old.isEqualNode(fresh.children[at]))) return;
  place.replaceChildren(...fresh.childNodes);
}

export function told(target) {
  return target.kind === "ClusterManagementAddOn" ? target.name : `mcu/${target.namespace}/${target.name}`;
}

/** A completed rollout is good only if it is healthy. */
export function tone({ phase, health }) {
  if (phase === "Done") return health.state === "Healthy" ? "good" : "wait";
  return phase === "Failed" || phase === "Stopped" ? "bad" : "wait";
}

const TONES = { Healthy: "good", Degraded: "bad" };

/** The health in a word; nothing where the phase is the same word. */
export function healthOf({ phase, health }) {
  if (phase === health.state) return make("span");
  return make("span", health.state, { class: "phase", "data-tone": TONES[health.state] || "wait", "data-health": health.state });
}

export const ATTENTION = { NeedsAttention: "Needs attention", InProgress: "In progress", Complete: "Complete" };

/** The order of attention, which the server decides. */
export function byAttention(one, other) {
  return one.attention.order - other.attention.order || byName(told(one.target), told(other.target));
}

const NATURAL = new Intl.Collator("en", { numeric: true });

export const byName = (one, other) => NATURAL.compare(one, other);

export function length(seconds) {
  const left = Math.max(0, Math.round(seconds));
  const [days, hours, minutes] = [Math.floor(left / 86400), Math.floor((left % 86400) / 3600), Math.floor((left % 3600) / 60)];
  const and = (first, second, unit) => first + (second ? `${String(second).padStart(2, "0")}${unit}` : "");
  if (days) return and(`${days}d`, hours, "h");
  if (hours) return and(`${hours}h`, minutes, "m");
  return minutes ? and(`${minutes}m`, left % 60, "s") : `${left}s`;
}

export function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A time of the user's clock with its zone. */
export function clock(at) {
  return new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" }) + ` (${at})`;
}

const until = (at) => length((Date.parse(at) - Date.now()) / 1000);
const since = (at) => `${length((Date.now() - Date.parse(at)) / 1000)} ago`;

/** A countdown that is updated every second. */
export function countdown(at) {
  return make("time", until(at), { datetime: at, title: clock(at), class: "down" });
}

/** The time since something happened, updated every second. */
export function ago(at) {
  return make("time", since(at), { datetime: at, title: clock(at), class: "ago" });
}

export function tick() {
  for (const time of document.querySelectorAll("time.down, time.ago")) {
    const text = time.className === "down" ? until(time.dateTime) : since(time.dateTime);
    if (time.textContent !== text) time.textContent = text;
  }
}

/** The clusters of a rollout by state, as pairs of a name for colours and a number. */
function parts(counts) {
  return [
    ["failed", counts.failed], ["timedout", counts.timedOut], ["done", counts.done], ["soaking", counts.soaking], ["moving", counts.moving], ["finishing", counts.finishing],
    ["held", counts.held], ["leaving", counts.leaving], ["waiting", counts.waiting],
  ].filter(([, count]) => count);
}

const COUNTED = { timedout: "timed out", moving: WORDS.Moving, held: WORDS.Held };

/** The numbers of clusters that are not done, in words. */
export function rest(counts) {
  return parts(counts).filter(([name]) => name !== "done").map(([name, count]) => `${count} ${COUNTED[name] || name}`).join(", ");
}

/** How many clusters are not well, beside those that failed: these are counted already. */
export function unwell({ counts, health }) {
  const rows = [[health.unhealthy - counts.failed - counts.timedOut, "unhealthy"], [health.offline, "offline"]];
  return rows.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`).join(", ");
}

export function bar(counts) {
  const all = [`${counts.done} done`, rest(counts)].filter(Boolean).join(", ");
  const line = make("div", "", { class: "bar", role: "img", "aria-label": `${counts.total} clusters: ${all}`, title: all });
  for (const [name, count] of parts(counts)) {
    if (name === "waiting" || !counts.total) continue;
    const part = make("i", "", { "data-paint": name });
    part.style.width = `${(100 * count) / counts.total}%`;
    line.append(part);
  }
  return line;
}

/** When a cluster continues, or the end of the time that it has. */
export function due({ state, until }) {
  return until ? [state === "Soaking" ? ", soak time ends in " : ", deadline in ", countdown(until)] : [];
}

/** A button that copies a command. */
export function copier(command) {
  const button = make("button", "Copy command", { type: "button", class: "copy", title: command, "aria-label": `Copy command: ${command}`, "data-command": command });
  return button;
}

/** A word for a shell, in quotes if it needs them. */
export function quoted(word) {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export function value(one) {
  return one === null || one === undefined ? "(absent)" : typeof one === "string" ? JSON.stringify(one) : JSON.stringify(one);
}

/** The changed fields of a configuration as a list. */
export function fieldList(change) {
  const list = make("ul", "", { class: "fields" });
  for (const field of change.fields) {
    const item = make("li");
    item.append(make("code", field.path), " ", make("del", value(field.old), { class: "old" }), " \u2192 ", make("ins", value(field.new), { class: "new" }));
    list.append(item);
  }
  if (change.more) list.append(make("li", `${change.more} more fields`, { class: "faint" }));
  if (change.unknown) list.append(make("li", change.unknown, { class: "faint" }));
  return list;
}
