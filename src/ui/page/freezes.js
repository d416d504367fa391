// The freezes of the hub, and the form for a new one. Decides only wording: the server decides which freeze is in force.

import { begin, button } from "./actions.js";
import { ask } from "./live.js";
import { ago, counted, countdown, el, make, put } from "./words.js";

const STATE = { Active: ["in force", "wait"], Planned: ["planned", "wait"], Ended: ["ended", "good"], Invalid: ["invalid: it stops all changes", "bad"] };

/** What a freeze applies to, why, and until when. */
export function freeze({ name, state, spec, setBy }) {
  const item = make("li", "", { "data-freeze": name, "data-state": state });
  const [word, tone] = STATE[state];
  item.append(make("strong", `RolloutFreeze ${name}`), " ", make("span", word, { class: "phase", "data-tone": tone }), `: ${spec.reason || "no reason"}`);
  if (spec.from && state === "Planned") item.append(", begins in ", countdown(spec.from));
  if (spec.until) item.append(...(state === "Ended" ? [", ended ", ago(spec.until)] : state === "Invalid" ? [`, until ${spec.until}`] : [", ends in ", countdown(spec.until)]));
  else item.append(", until it is deleted");
  const labels = Object.entries(spec.clusterSelector?.matchLabels || {}).map(([key, label]) => `${key}=${label}`);
  if (spec.clusterSelector) item.append(`. Clusters: ${labels.join(", ") || "by expressions"}`);
  if (spec.addOns) item.append(`. Add-ons: ${spec.addOns.join(", ")}`);
  if (spec.upgrades === false) item.append(". Cluster upgrades continue");
  item.append(setBy ? `. Set by ${setBy}. ` : ". ");
  return item;
}

/** Shows in the header how many freezes are in force. */
export function note(freezes) {
  const count = freezes.filter(({ state }) => state === "Active" || state === "Invalid").length;
  el("to-freezes").textContent = count ? `Freezes (${count} in force)` : "Freezes";
}

/** Reads the freezes, and draws them. */
export async function freezes() {
  try {
    const { items, hidden } = await ask("/api/freezes");
    note(items);
    put(el("freeze-list"), items.map((one) => {
      const item = freeze(one);
      item.append(button({ verb: "unfreeze", name: one.name }));
      return item;
    }));
    el("freeze-note").textContent = hidden ? "Freezes are hidden, because you may not list rolloutfreezes.tidegate.io." : items.length ? counted(items.length, "freeze") : "No freezes.";
  } catch (error) {
    el("freeze-note").textContent = `Cannot read the freezes: ${error.message}`;
  }
}

export function forget() {
  el("freeze-list").replaceChildren();
  el("freeze-note").textContent = "";
  el("to-freezes").textContent = "Freezes";
  el("freeze-form").reset();
}

export function start() {
  const text = (id) => el(id).value.trim();
  const list = (id) => text(id).split(/[\s,]+/).filter(Boolean);
  el("freeze-form").addEventListener("submit", (event) => {
    event.preventDefault();
    begin({
      verb: "freeze", name: text("freeze-name"),
      freeze: {
        reason: text("freeze-reason"), from: text("freeze-from") || undefined, until: text("freeze-until") || undefined, for: text("freeze-for") || undefined,
        clusterLabels: list("freeze-labels"), addOns: list("freeze-addons"), withoutUpgrades: el("freeze-upgrades").checked,
      },
    });
  });
}
