"use strict";
// Warps and units over the cycles, drawn on one canvas.

const GUTTER = 118, AXIS = 34, STRIP = 10, GAP = 7;
/** From so many pixels a cycle on, instructions are written into their cells. */
const TEXT_WIDTH = 56;
/** No cycle is wider. */
const WIDEST = 90;

class Timeline {
  constructor(canvas, runs, words) {
    Object.assign(this, { canvas, runs, words });
    this.context = canvas.getContext("2d");
    this.length = Math.max(...runs.map(run => run.cycles));
    this.highlighted = runs.map(() => new Set());
    this.marks = runs.map(() => null);
    /** {run, track, cycle} of what is looked at. */
    this.cursor = null;
    this.difference = null;
    /** Whether the critical path is drawn. */
    this.chained = true;
    this.onHover = () => {};
    this.onCursor = () => {};
    this.onView = () => {};
    for (const run of runs) run.onBlock = () => this.redraw();
    this.lay();
    this.zoom = d3.zoom().filter(event => !event.ctrlKey || event.type === "wheel")
      .wheelDelta(event => -event.deltaY * (event.deltaMode === 1 ? 0.05 : event.deltaMode ? 1 : 0.002) * (event.ctrlKey ? 5 : 1))
      .on("zoom", event => { this.transform = event.transform; this.redraw(); this.onView(); });
    this.transform = d3.zoomIdentity;
    this.selection = d3.select(canvas).call(this.zoom).on("dblclick.zoom", null);
    canvas.addEventListener("wheel", event => this.pan(event), { capture: true, passive: false });
    /** Where the pointer is, or null if it is not over the picture. */
    this.pointer = null;
    canvas.addEventListener("pointermove", ({ clientX, clientY }) => { this.pointer = { clientX, clientY }; this.pointAgain(); });
    canvas.addEventListener("pointerleave", () => { this.pointer = null; this.onHover(null); });
    addEventListener("scroll", () => this.pointAgain(), { passive: true });
    this.selection.on("click", event => { const cell = this.cellAt(event); if (cell) this.look(cell); });
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    this.resize();
  }

  /** The rows, from the top. */
  lay() {
    this.rows = [];
    let top = AXIS;
    const row = (run, height, label, more) => { this.rows.push({ run, top, height, label, ...more }); top += height + 1; };
    const warpHeight = Math.max(7, Math.min(20, Math.floor(420 / (this.runs.length * this.runs[0].warps))));
    for (const [number, run] of this.runs.entries()) {
      if (this.runs.length > 1) row(number, 18, run.sm === undefined ? `${"AB"[number]}: ${run.name}` : `SM ${run.sm}`, { kind: "title" });
      let group = "warps";
      const begin = next => { if (next !== group) top += GAP; group = next; };
      for (const [track, { name, group: its, words, partition }] of run.states.entries()) {
        begin(its);
        const ends = run.states.findLastIndex(each => each.group === its) === track;
        if (partition !== run.states[track - 1]?.partition) row(number, 16, run.titleOf(partition), { kind: "title" });
        if (its === "warps") row(number, warpHeight, name, { kind: "words", track, warp: track });
        else if (its === "units") {
          for (const [place, word] of words.entries()) {
            if (run.used[track].includes(word)) row(number, 11, this.words[word].label, { kind: "words", track, only: place + 1 });
          }
        } else row(number, its === "sm" ? 18 : 11, name, { kind: "words", track });
        if (its === "sm") row(number, run.schedulers > 1 ? 28 : 36, "warp IPC", { kind: "share", track, unit: "warp-instructions per cycle" });
        for (const [place, other] of run.numbers.entries()) {
          if (other.group === its && ends) row(number, 28, other.name, { kind: "number", track: place, unit: "entries" });
        }
      }
      top += 2 * GAP;
    }
    this.height = top;
  }

  get width() { return this.canvas.clientWidth - GUTTER; }
  get perPixel() { const [from, to] = this.domain; return (to - from) / this.width; }
  /** Cycles that are seen, from and to. */
  get domain() { return this.domainOf(this.width); }

  /** Take the canvas as wide as it is now, and show the cycles `kept`: if there are none, those that were shown. */
  resize(kept = this.shown ? this.domainOf(this.shown) : [0, this.length]) {
    if (this.canvas.clientWidth <= GUTTER) return;
    this.shown = this.width;
    this.ratio = Math.min(2, Math.max(1, Math.round(window.devicePixelRatio || 1)));
    this.canvas.style.height = `${this.height}px`;
    this.canvas.width = Math.round(this.canvas.clientWidth * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    const picture = [[GUTTER, 0], [GUTTER + this.width, this.height]];
    this.zoom.extent(picture).translateExtent(picture)
      .scaleExtent([1, Math.max(1, this.length * WIDEST / this.width)]);
    this.paint = new Paint(this.words);
    this.show(...kept);
  }

  domainOf(width) {
    const scale = this.length / width;
    return [0, width].map(x => (this.transform.invertX(GUTTER + x) - GUTTER) * scale);
  }

  /** Show the cycles between two. */
  show(from, to) {
    const span = Math.max(Math.min(to - from, this.length), this.width / WIDEST, 1e-9);
    const k = this.length / span, start = Math.max(0, Math.min(this.length - span, from));
    const x = GUTTER - k * (GUTTER + start * this.width / this.length);
    this.selection.call(this.zoom.transform, d3.zoomIdentity.translate(x, 0).scale(k));
    this.redraw();
  }

  /** Show a cycle in the middle, near enough to tell single ones if `near`. */
  goTo(cycle, near = true) {
    const [from, to] = this.domain;
    const span = near ? Math.min(to - from, this.width / 14) : to - from;
    this.show(cycle - span / 2, cycle + span / 2);
  }

  /** The wheel pans when it is turned sideways or with shift. */
  pan(event) {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : event.shiftKey ? event.deltaY : 0;
    if (!sideways) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.selection.call(this.zoom.translateBy, -sideways / this.transform.k, 0);
  }

  /** What is at a place: its row, and its cycle as the run counts it. */
  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left - GUTTER, y = event.clientY - box.top;
    const row = this.rows.find(each => y >= each.top && y <= each.top + each.height && each.kind !== "title");
    if (!row || x < 0) return null;
    const [from] = this.domain, run = this.runs[row.run];
    const cycle = Math.floor(from + x * this.perPixel - run.offset);
    return cycle >= 0 && cycle < run.cycles ? { row, run: row.run, cycle } : null;
  }

  look(cell) {
    this.cursor = { run: cell.run, row: cell.row, cycle: cell.cycle };
    this.redraw();
    this.onCursor(this.cursor);
  }

  /** Tell what is under the pointer, which stays where it is while the picture moves. */
  pointAgain() { if (this.pointer) this.onHover(this.cellAt(this.pointer), this.pointer); }

  /** Take the length anew after a run was shifted. */
  fit() {
    const kept = this.domain;
    this.length = Math.max(...this.runs.map(run => run.cycles + run.offset));
    this.resize(kept);
  }

  redraw() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => { this.asked = null; this.draw(); });
  }

  draw() {
    const { context, ratio } = this;
    const width = Math.round(this.width * ratio), [from, to] = this.domain;
    if (!this.image || this.image.width !== width || this.image.height !== this.canvas.height) {
      this.image = context.createImageData(width, this.canvas.height);
    }
    const pixels = new Uint32Array(this.image.data.buffer);
    const columns = this.runs.map(run => new Columns(run, from, to, width));
    if (columns.some(each => each.awaited)) return;  // drawn when the block has come
    pixels.fill(this.paint.page);
    const rows = new Rows(pixels, width, this.paint, ratio - 1);
    for (const row of this.rows) {
      const its = columns[row.run], top = row.top * ratio, height = row.height * ratio;
      if (row.kind === "title") continue;
      if (!its.visible) rows.clear(top, height);
      else if (row.kind === "words") rows.words(its, row.track, top, height, row.only);
      else if (row.kind === "share") rows.area(its, column => this.ipc(its, row.track, column, rows.counts), 1, top, height);
      else rows.area(its, column => its.number(row.track, column), this.mostOf(row), top, height);
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.paint.colour("page");
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    context.putImageData(this.image, Math.round(GUTTER * ratio), 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawLabels();
    this.drawAxis(from, to);
    context.save();
    context.beginPath();
    context.rect(GUTTER, 0, this.width, this.height);
    context.clip();
    for (const [number, run] of this.runs.entries()) {
      if (1 / this.perPixel >= 5 && columns[number].level === 0) this.drawCells(number, run, columns[number], from, to);
    }
    this.drawMarks(from, to);
    context.restore();
    /** For those who wait until all is drawn. */
    this.drawn = (this.drawn || 0) + 1;
    this.level = columns[0].level;
  }

  ipc(columns, track, column, counts) {
    columns.count(track, column, counts);
    const share = counts[1] / Math.max(1, columns.cycles[column]);
    return [share, share];
  }

  mostOf(row) {
    const run = this.runs[row.run];
    return Math.max(1, run.numbers[row.track].most || run.greatest[row.track]);
  }

  /** The label of a row, in lines. */
  labelOf(row) {
    if (row.kind === "share") return [row.label, "0 to 1"];
    if (row.kind !== "number") return [row.label];
    return [row.label, `${this.runs[row.run].numbers[row.track].most ? "of" : "up to"} ${this.mostOf(row)}`];
  }

  x(cycle) { const [from] = this.domain; return GUTTER + (cycle - from) / this.perPixel; }

  drawLabels() {
    const { context } = this;
    context.textBaseline = "middle";
    for (const row of this.rows) {
      const title = row.kind === "title";
      context.font = title ? "bold 13px system-ui, sans-serif" : `${Math.min(12, Math.max(8, row.height))}px system-ui, sans-serif`;
      context.fillStyle = this.paint.colour(title ? "ink" : "soft");
      context.textAlign = title ? "left" : "right";
      const lines = this.labelOf(row);
      for (const [place, line] of lines.entries()) {
        const y = row.top + row.height / 2 + 13 * (place - (lines.length - 1) / 2);
        context.fillText(line, title ? 4 : GUTTER - 8, y, title ? this.canvas.clientWidth - 8 : GUTTER - 12);
      }
    }
  }

  drawAxis(from, to) {
    const { context } = this;
    const scale = d3.scaleLinear([from, to], [GUTTER, GUTTER + this.width]);
    context.strokeStyle = context.fillStyle = this.paint.colour("soft");
    context.font = "11px system-ui, sans-serif";
    for (const tick of scale.ticks(Math.max(2, this.width / 110)).filter(Number.isInteger)) {
      const x = scale(tick);
      context.beginPath();
      context.moveTo(x, AXIS - STRIP - 4);
      context.lineTo(x, AXIS - STRIP);
      context.stroke();
      const text = d3.format(",")(tick), half = context.measureText(text).width / 2, right = GUTTER + this.width;
      context.textAlign = x + half > right ? "right" : "center";
      if (x > GUTTER + 24) context.fillText(text, x + half > right ? right : x, 10);
    }
    context.textAlign = "right";
    context.fillText("cycle", GUTTER - 8, 10);
    // The measured region, below the axis.
    context.fillStyle = this.paint.colour("green-2");
    for (const run of this.runs.slice(0, 1)) {
      for (const [begin, end] of run.regions) {
        const [left, right] = [begin, end].map(cycle => Math.max(GUTTER, Math.min(GUTTER + this.width, scale(cycle + run.offset))));
        if (right > left) context.fillRect(left, AXIS - 3, Math.max(1, right - left), 2);
      }
    }
  }

  /** Single cycles: lines between them, and in the warps' rows the instructions. */
  drawCells(number, run, columns, from, to) {
    const { context } = this, pixels = 1 / this.perPixel;
    const first = Math.max(0, Math.floor(from - run.offset)), last = Math.min(run.cycles - 1, Math.ceil(to - run.offset));
    context.strokeStyle = this.paint.colour("page");
    context.lineWidth = pixels > 12 ? 1 : 0.5;
    const rows = this.rows.filter(row => row.run === number && row.kind === "words");
    for (const row of rows) {
      context.beginPath();
      for (let cycle = first; cycle <= last; cycle += 1) {
        const x = this.x(cycle + run.offset);
        context.moveTo(x, row.top);
        context.lineTo(x, row.top + row.height);
      }
      context.stroke();
    }
    context.textAlign = "left";
    for (const row of rows.filter(each => each.warp !== undefined)) {
      for (let cycle = first; cycle <= last; cycle += 1) {
        const block = columns.blocks[Math.floor(cycle / BLOCK)], place = cycle % BLOCK;
        if (block.states[row.track * block.count + place] !== 1) continue;
        const x = this.x(cycle + run.offset), code = run.codeOf(block, place, row.warp);
        if (this.highlighted[number].has(code)) {
          context.strokeStyle = this.paint.colour("ink");
          context.lineWidth = 2;
          context.strokeRect(x + 1, row.top + 1, pixels - 2, row.height - 2);
        }
        if (pixels < TEXT_WIDTH || row.height < 9) continue;
        context.font = `${Math.min(11, row.height)}px ui-monospace, monospace`;
        context.fillStyle = this.paint.colour("page");
        context.fillText(run.codes[code][1].split(" ")[0], x + 3, row.top + row.height / 2 + 0.5, pixels - 5);
      }
    }
  }

  /** The critical path: a line below each stretch of it, and upright ones to the warp that goes on. */
  drawChain(number, run, from, to) {
    const { context } = this, links = run.chain, until = run.cycles;
    const bottom = warp => { const row = this.rows.find(each => each.run === number && each.warp === warp); return row.top + row.height; };
    // In the page's colour around it, so that it is seen on any other.
    for (const [colour, width] of [["page", 4], ["ink", 2]]) {
      context.strokeStyle = this.paint.colour(colour);
      context.lineWidth = width;
      context.beginPath();
      for (let place = Math.max(0, run.linkAt(Math.max(0, Math.floor(from - run.offset)))); place < links.length; place += 1) {
        const [begin, warp] = links[place], end = place + 1 < links.length ? links[place + 1][0] : until;
        if (begin + run.offset > to) break;
        const y = bottom(warp) - 0.5, left = this.x(begin + run.offset), right = this.x(end + run.offset);
        context.moveTo(left, place ? bottom(links[place - 1][1]) - 0.5 : y);
        context.lineTo(left, y);
        context.lineTo(right, y);
      }
      context.stroke();
    }
  }

  /** Where the critical path is, the highlighted instructions, the cursor, the first difference. */
  drawMarks(from, to) {
    const { context } = this;
    if (this.chained) for (const [number, run] of this.runs.entries()) this.drawChain(number, run, from, to);
    for (const [number, run] of this.runs.entries()) {
      const marks = this.marks[number];
      if (!marks) continue;
      context.fillStyle = this.paint.colour(number ? "orange-2" : "ink");
      const perPixel = this.perPixel;
      for (let x = 0; x < this.width; x += 1) {
        const [begin, end] = [from + x * perPixel, from + (x + 1) * perPixel].map(cycle => Math.floor((cycle - run.offset) / FIRST));
        for (let place = Math.max(0, begin); place <= Math.min(end, marks.length - 1); place += 1) {
          if (marks[place]) { context.fillRect(GUTTER + x, AXIS - STRIP, 1, STRIP - 4); break; }
        }
      }
    }
    const line = (cycle, colour, dash, run) => {
      const x = this.x(cycle + 0.5 + this.runs[run].offset);
      context.strokeStyle = this.paint.colour(colour);
      context.lineWidth = 1.5;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(x, AXIS - STRIP);
      context.lineTo(x, this.height);
      context.stroke();
      context.setLineDash([]);
    };
    for (const [run, cycle] of (this.difference || []).entries()) if (cycle !== null) line(cycle, "up", [5, 3], run);
    if (this.cursor) {
      const { run, row, cycle } = this.cursor, width = Math.max(3, 1 / this.perPixel);
      line(cycle, "ink", [2, 2], run);
      context.lineWidth = 2;
      context.strokeRect(this.x(cycle + this.runs[run].offset), row.top - 0.5, width, row.height + 1);
    }
  }
}
