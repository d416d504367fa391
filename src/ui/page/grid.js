// Ten thousand clusters as cells of one canvas, grouped by wave. Decides where a cell is and which one is current; for a screen reader the
// grid is a list box with one option, the current cluster, with its position.

export const STATES = ["Failed", "TimedOut", "Stalled", "Unwell", "Asked", "Moving", "Finishing", "Soaking", "Held", "Waiting", "Leaving", "Kept", "Done"];
export const WORDS = {
  Failed: "failed", TimedOut: "timed out", Stalled: "stalled", Unwell: "not healthy", Asked: "waiting for approval", Moving: "updating", Finishing: "finishing", Soaking: "soaking",
  Held: "blocked", Waiting: "waiting", Leaving: "leaving", Kept: "kept", Done: "done",
};
/** Marks for users who cannot distinguish the colours, if cells are large enough. */
const MARKS = { Failed: "\u00d7", TimedOut: "!", Stalled: "?", Unwell: "?", Asked: "A", Moving: "\u2192", Finishing: "\u2192", Soaking: "~", Held: "=", Leaving: "-" };
/** With at most so many clusters, cells have names. */
const NAMED = 60;
const LABEL = 20;

/** The states of clusters that come first in their wave. */
const URGENT = STATES.slice(0, STATES.indexOf("Asked"));

export function paint(state) {
  return state.toLowerCase();
}

/** Whether a cluster is not healthy, and its state does not show it. */
function isUnwell(one) {
  return !one.healthy && ["Done", "Kept", "Soaking", "Waiting"].includes(one.state);
}

/** The state of a cluster in words. */
export function words(one, waves = []) {
  const word = WORDS[isAsked(one, waves) ? "Asked" : one.state];
  if (one.offline) return `${word}, offline`;
  return isUnwell(one) ? `${word}, not healthy` : word;
}

/** Whether a cluster waits for an approval, and not only for its turn. */
function isAsked(one, waves) {
  return one.state === "Waiting" && waves[one.wave]?.approval === "Asked";
}

/** The state whose colour and mark a cell has: an unhealthy cluster is never green. */
export function shownAs(one, waves = []) {
  if (isUnwell(one)) return "Unwell";
  return isAsked(one, waves) ? "Asked" : one.state;
}

export class Grid {
  constructor(box, canvas, option, tip, pick) {
    Object.assign(this, { box, canvas, option, tip, pick, all: [], shown: [], waves: [], rows: [], groups: [], row: [], at: 0, only: "", text: "", asked: false });
    this.colours();
    new ResizeObserver(() => this.draw()).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.colours();
      this.draw();
    });
    box.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("click", (event) => this.click(event));
    canvas.addEventListener("mousemove", (event) => this.hover(event));
    canvas.addEventListener("mouseleave", () => { this.tip.hidden = true; });
  }

  colours() {
    const style = getComputedStyle(document.documentElement);
    this.fill = Object.fromEntries(STATES.map((state) => [state, style.getPropertyValue(`--${paint(state)}`).trim()]));
    this.ink = style.getPropertyValue("--ink").trim();
    this.faint = style.getPropertyValue("--faint").trim();
    this.paper = style.getPropertyValue("--paper").trim();
  }

  /** Shows other clusters, or the same ones in other states. */
  show(clusters, waves, only, text) {
    const current = this.current()?.name;
    Object.assign(this, { all: clusters, waves, only, text });
    const isShown = (one) => (!only || shownAs(one, waves) === only) && (!text || one.name.includes(text));
    const rank = (one) => Math.min(URGENT.indexOf(shownAs(one, waves)) >>> 0, URGENT.length);
    this.shown = clusters.filter(isShown).sort((one, other) => one.wave - other.wave || rank(one) - rank(other));
    const same = current ? this.shown.findIndex((one) => one.name === current) : -1;
    this.at = same >= 0 ? same : Math.min(this.at, Math.max(this.shown.length - 1, 0));
    this.draw();
  }

  current() {
    return this.shown[this.at];
  }

  draw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      performance.mark("grid-begin");
      this.paintAll();
      performance.measure("grid-draw", "grid-begin");
      this.tell();
    });
  }

  /** Each group starts in a row of its own, below its name. */
  layout(width) {
    const count = this.shown.length;
    this.isNamed = count <= NAMED;
    const size = count <= 300 ? 22 : count <= 2000 ? 13 : 8;
    const longest = this.isNamed ? this.shown.reduce((most, { name }) => Math.max(most, name.length), 0) : 0;
    this.high = (this.isNamed ? 24 : size) + 1;
    this.wide = this.isNamed ? Math.min(Math.max(longest * 7 + 26, 60), 190, width) : size + 1;
    this.columns = Math.max(Math.floor(width / this.wide), 1);
    Object.assign(this, { rows: [], groups: [], row: [] });
    let y = 0;
    for (let first = 0; first < count; ) {
      const { wave } = this.shown[first];
      let end = first;
      while (end < count && this.shown[end].wave === wave) end += 1;
      if (this.waves.length > 1 && this.waves[wave]) {
        this.groups.push({ y, text: [this.waves[wave].name || "all clusters", this.waves[wave].placement, `(${end - first})`].filter(Boolean).join(" ") });
        y += LABEL;
      }
      for (; first < end; first += this.columns) {
        const length = Math.min(this.columns, end - first);
        for (let index = first; index < first + length; index += 1) this.row[index] = this.rows.length;
        this.rows.push({ first, length, y });
        y += this.high;
      }
      first = end;
      y += 4;
    }
    return Math.max(y, this.high);
  }

  paintAll() {
    const width = Math.max(this.box.clientWidth - 8, 40);
    const high = this.layout(width);
    const wide = this.columns * this.wide;
    const scale = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(high * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(high * scale);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${high}px`;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, Math.max(wide, width), high);
    // State by state: a pen that changes its colour ten thousand times is slow.
    const square = this.isNamed ? 18 : this.wide - 1;
    for (const state of STATES) {
      pen.fillStyle = this.fill[state];
      this.shown.forEach((one, index) => {
        if (shownAs(one, this.waves) === state) pen.fillRect(this.x(index), this.y(index), square, this.high - 1);
      });
    }
    if (this.high > 12) this.marks(pen, square);
    this.labels(pen, width);
    this.frame(pen);
  }

  marks(pen, square) {
    pen.fillStyle = this.paper;
    pen.font = `bold ${Math.min(this.high, 23) - 7}px monospace`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    this.shown.forEach((one, index) => {
      const mark = MARKS[shownAs(one, this.waves)];
      if (mark) pen.fillText(mark, this.x(index) + square / 2, this.y(index) + (this.high - 1) / 2);
    });
  }

  labels(pen, width) {
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    pen.font = "12px system-ui, sans-serif";
    pen.fillStyle = this.faint;
    for (const { y, text } of this.groups) pen.fillText(text, 0, y + LABEL / 2, width);
    if (!this.isNamed) return;
    pen.fillStyle = this.ink;
    this.shown.forEach((one, index) => pen.fillText(one.name, this.x(index) + 22, this.y(index) + (this.high - 1) / 2, this.wide - 26));
  }

  frame(pen) {
    if (!this.shown.length) return;
    pen.strokeStyle = this.ink;
    pen.lineWidth = 2;
    pen.strokeRect(this.x(this.at) + 1, this.y(this.at) + 1, this.wide - 3, this.high - 3);
  }

  x(index) {
    return (index - this.rows[this.row[index]].first) * this.wide;
  }

  y(index) {
    return this.rows[this.row[index]].y;
  }

  /** The cluster at a place of the canvas, or -1. */
  under(event) {
    const row = this.rows.find(({ y }) => event.offsetY >= y && event.offsetY < y + this.high);
    const column = Math.floor(event.offsetX / this.wide);
    return row && column < row.length ? row.first + column : -1;
  }

  /** Sets the current cluster for screen readers, and the counts for tests. */
  tell() {
    const one = this.current();
    const counts = new Map();
    for (const { state } of this.all) counts.set(state, (counts.get(state) || 0) + 1);
    this.box.dataset.cells = this.shown.length;
    this.box.dataset.states = [...counts].sort().map(([state, count]) => `${state}:${count}`).join(" ");
    if (!one) {
      this.box.removeAttribute("aria-activedescendant");
      this.option.textContent = "no cluster";
      return;
    }
    this.box.setAttribute("aria-activedescendant", this.option.id);
    this.option.setAttribute("aria-setsize", this.shown.length);
    this.option.setAttribute("aria-posinset", this.at + 1);
    this.option.textContent = `${one.name}: ${words(one, this.waves)}${this.where(one)}`;
  }

  where(one) {
    const wave = this.waves.length > 1 ? this.waves[one.wave]?.name : "";
    return wave ? `, ${wave}` : "";
  }

  key(event) {
    const up = (by) => {
      const from = this.rows[this.row[this.at]];
      const to = this.rows[Math.max(0, Math.min(this.row[this.at] + by, this.rows.length - 1))];
      return to.first + Math.min(this.at - from.first, to.length - 1);
    };
    const moves = {
      ArrowLeft: () => this.at - 1, ArrowRight: () => this.at + 1, ArrowUp: () => up(-1), ArrowDown: () => up(1),
      Home: () => 0, End: () => this.shown.length - 1, PageUp: () => up(-10), PageDown: () => up(10),
    };
    if (!this.shown.length) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.pick(this.current());
    } else if (event.key in moves) {
      event.preventDefault();
      this.go(moves[event.key]());
    }
  }

  click(event) {
    const index = this.under(event);
    if (index < 0) return;
    this.go(index);
    this.pick(this.current());
  }

  /** Shows the name and the state of the cluster under the pointer. */
  hover(event) {
    const one = this.shown[this.under(event)];
    this.tip.hidden = !one;
    if (!one) return;
    const why = one.message || one.reason;
    this.tip.textContent = `${one.name}: ${words(one, this.waves)}${this.where(one)}${why ? `. ${why}` : ""}`;
    const left = Math.min(event.clientX + 12, Math.max(innerWidth - this.tip.offsetWidth - 8, 0));
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${event.clientY + 16}px`;
  }

  go(index) {
    this.at = Math.max(0, Math.min(index, this.shown.length - 1));
    const top = this.y(this.at);
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    const bottom = top + this.high + 8 - this.box.clientHeight;
    if (bottom > this.box.scrollTop) this.box.scrollTop = bottom;
    this.draw();
  }

  /** Selects a cluster by its name. */
  seek(name) {
    const found = this.shown.findIndex((one) => one.name === name);
    if (found < 0) return null;
    this.go(found);
    return this.current();
  }
}
