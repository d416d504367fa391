// A rollout as one HTML file without scripts, for a change ticket. Decides its layout; the facts are those of the page.

import { words } from "./grid.js";
import { byName, fieldList, length, make, rest, told } from "./words.js";

const STYLE = "body{font:14px/1.45 system-ui,sans-serif;margin:2rem;color:#1a1f24;max-width:70rem}table{border-collapse:collapse;width:100%}"
  + "th,td{border:1px solid #d0d7de;padding:.25rem .5rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}th{background:#f6f8fa}"
  + "del{color:#a40e26;text-decoration:none}ins{color:#116329;text-decoration:none}code{font:12px ui-monospace,monospace}";

function table(head, rows) {
  const made = make("table");
  const line = (cells, tag) => {
    const row = make("tr");
    row.append(...cells.map((cell) => make(tag, String(cell ?? ""))));
    return row;
  };
  made.append(line(head, "th"), ...rows.map((row) => line(row, "td")));
  return made;
}

function wave(one) {
  const { counts } = one;
  const rules = [one.limit !== undefined && `at most ${one.limit} at once`, one.soakSeconds && `soak time ${length(one.soakSeconds)}`, one.approval && `approval: ${one.approval}`,
    one.deadlineSeconds && `deadline ${length(one.deadlineSeconds)}`, one.eta && `ETA ${one.eta.atLeast ? "at least " : ""}${one.eta.at}`];
  return [one.name || "all clusters", one.placement, one.state, `${counts.done} of ${counts.total}`, rest(counts), rules.filter(Boolean).join(", ")];
}

/** Returns the file as text. */
export function report(picture, { hub, version, user }, changes, events) {
  const page = make("body");
  const name = told(picture.target);
  const { counts, health } = picture;
  page.append(make("h1", `Rollout ${name}: ${picture.phase}, ${health.state}`), make("p", picture.message));
  page.append(table(["Fact", "Value"], [
    ["Time of this report", new Date().toISOString()], ["State of the hub as of", picture.at], ["Hub", hub], ["Tidegate", version], ["Exported by", user || "not signed in"],
    ["Done", `${counts.done} of ${counts.total}`], ["Remaining", rest(counts)], ["Health", [health.state, health.message].filter(Boolean).join(": ")],
    ["Paused", picture.paused || "no"], ["ETA", picture.eta ? `${picture.eta.atLeast ? "at least " : ""}${picture.eta.at} (${picture.eta.basis})` : picture.etaUnknown || "none"],
    ["Waiting for approval", picture.approvals.map(({ placement, group, hash, waiting }) => `${placement} ${group}: ${waiting} clusters, content ${hash}`).join("; ") || "no"],
    ["Notices", picture.notices.join("; ")],
  ]));
  page.append(make("h2", "Waves"), table(["Wave", "Placement", "State", "Done", "Remaining", "Rules"], picture.waves.map(wave)));
  page.append(make("h2", "Changes"), table(["Configuration", "Placement", "From", "To"], picture.changes.map((one) => {
    const content = (side) => (side ? [side.object, side.version, side.hash].filter(Boolean).join(" ") : "");
    return [one.what, one.placement, content(one.from), content(one.to)];
  })));
  for (const change of changes) page.append(make("h3", `${change.what} ${change.object}`), fieldList(change));
  page.append(make("h2", "Clusters"), table(["Cluster", "Wave", "State", "Since", "Version", "Message"], [...picture.clusters].sort((one, other) => one.wave - other.wave || byName(one.name, other.name))
    .map((one) => [one.name, picture.waves[one.wave]?.name, words(one, picture.waves), one.since, one.version, one.message || one.reason])));
  page.append(make("h2", "Recent events"), table(["Time", "Type", "Reason", "Message"], events.map((event) => [event.at, event.type, event.reason, event.note])));
  const title = make("title", `Rollout ${name}`);
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8">${title.outerHTML}<style>${STYLE}</style></head>${page.outerHTML}</html>\n`;
}

/** Offers a text as a file. */
export function save(name, text) {
  const link = make("a", "", { href: URL.createObjectURL(new Blob([text], { type: "text/html" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
