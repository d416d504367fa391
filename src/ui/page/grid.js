// Ten thousand clusters as cells of one canvas. Decides where a cell is and which one is current; for a screen reader the grid is a list
// box with one option, the current cluster, with its position.

export const STATES = ["Failed", "TimedOut", "Stalled", "Moving", "Soaking", "Held", "Waiting", "Leaving", "Kept", "Done"];
export const WORDS = {
  Failed: "failed", TimedOut: "timed out", Stalled: "stalled", Moving: "updating", Soaking: "soaking", Held: "blocked",
  Waiting: "waiting", Leaving: "leaving", Kept: "kept", Done: "done",
};
/** Marks for users who cannot distinguish the colours, if cells are large enough. */
const MARKS = { Failed: "\u00d7", TimedOut: "!", Stalled: "?", Moving: "\u2192", Soaking: "~", Held: "=", Leaving: "-" };

export function paint(state) {
  return state.toLowerCase();
}

/** Whether a cluster is up to date and not healthy. */
function isUnwell(one) {
  return !one.healthy && (one.state === "Done" || one.state === "Kept" || one.state === "Soaking");
}

/** The state of a cluster in words. */
export function words(one) {
  const unwell = one.offline ? "offline" : "not healthy";
  return isUnwell(one) ? `${WORDS[one.state]}, ${unwell}` : WORDS[one.state];
}

/** The state whose colour and mark a cell has: an unhealthy cluster is never green. */
function shownAs(one) {
  return isUnwell(one) ? "Stalled" : one.state;
}

export class Grid {
  constructor(box, canvas, option, pick) {
    Object.assign(this, { box, canvas, option, pick, all: [], shown: [], at: 0, only: "", asked: false });
    this.colours();
    new ResizeObserver(() => this.draw()).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.colours();
      this.draw();
    });
    box.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("click", (event) => this.click(event));
  }

  colours() {
    const style = getComputedStyle(document.documentElement);
    this.fill = Object.fromEntries(STATES.map((state) => [state, style.getPropertyValue(`--${paint(state)}`).trim()]));
    this.ink = style.getPropertyValue("--ink").trim();
    this.paper = style.getPropertyValue("--paper").trim();
  }

  /** Shows other clusters, or the same ones in other states. */
  show(clusters, only) {
    const current = this.current()?.name;
    this.all = clusters;
    this.only = only;
    this.shown = only ? clusters.filter((one) => one.state === only) : clusters;
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

  size() {
    const count = this.shown.length;
    return count <= 300 ? 22 : count <= 2000 ? 13 : 8;
  }

  paintAll() {
    const width = Math.max(this.box.clientWidth - 8, 40);
    this.step = this.size() + 1;
    this.columns = Math.max(Math.floor(width / this.step), 1);
    const rows = Math.max(Math.ceil(this.shown.length / this.columns), 1);
    const scale = window.devicePixelRatio || 1;
    const [wide, high] = [this.columns * this.step, rows * this.step];
    if (this.canvas.width !== Math.round(wide * scale) || this.canvas.height !== Math.round(high * scale)) {
      this.canvas.width = Math.round(wide * scale);
      this.canvas.height = Math.round(high * scale);
      this.canvas.style.width = `${wide}px`;
      this.canvas.style.height = `${high}px`;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, wide, high);
    // State by state: a pen that changes its colour ten thousand times is slow.
    for (const state of STATES) {
      pen.fillStyle = this.fill[state];
      this.shown.forEach((one, index) => {
        if (shownAs(one) === state) pen.fillRect(this.x(index), this.y(index), this.step - 1, this.step - 1);
      });
    }
    if (this.step > 12) this.marks(pen);
    this.frame(pen);
  }

  marks(pen) {
    pen.fillStyle = this.paper;
    pen.font = `bold ${this.step - 7}px monospace`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const half = (this.step - 1) / 2;
    this.shown.forEach((one, index) => {
      const mark = MARKS[shownAs(one)];
      if (mark) pen.fillText(mark, this.x(index) + half, this.y(index) + half);
    });
  }

  frame(pen) {
    if (!this.shown.length) return;
    pen.strokeStyle = this.ink;
    pen.lineWidth = 2;
    pen.strokeRect(this.x(this.at) + 1, this.y(this.at) + 1, this.step - 3, this.step - 3);
  }

  x(index) {
    return (index % this.columns) * this.step;
  }

  y(index) {
    return Math.floor(index / this.columns) * this.step;
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
    this.option.textContent = `${one.name}: ${words(one)}`;
  }

  key(event) {
    const page = this.columns * 10;
    const moves = {
      ArrowLeft: this.at - 1, ArrowRight: this.at + 1, ArrowUp: this.at - this.columns, ArrowDown: this.at + this.columns,
      Home: 0, End: this.shown.length - 1, PageUp: this.at - page, PageDown: this.at + page,
    };
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (this.current()) this.pick(this.current());
    } else if (event.key in moves) {
      event.preventDefault();
      this.go(moves[event.key]);
    }
  }

  click(event) {
    const column = Math.floor(event.offsetX / this.step);
    const index = Math.floor(event.offsetY / this.step) * this.columns + column;
    if (column >= this.columns || index >= this.shown.length) return;
    this.go(index);
    this.pick(this.current());
  }

  go(index) {
    this.at = Math.max(0, Math.min(index, this.shown.length - 1));
    const top = this.y(this.at);
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    const bottom = top + this.step + 8 - this.box.clientHeight;
    if (bottom > this.box.scrollTop) this.box.scrollTop = bottom;
    this.draw();
  }

  /** Selects a cluster by its name, or the first one with this prefix. */
  seek(name) {
    const exact = this.shown.findIndex((one) => one.name === name);
    const found = exact >= 0 ? exact : this.shown.findIndex((one) => one.name.startsWith(name));
    if (found < 0) return null;
    this.go(found);
    return this.current();
  }
}
