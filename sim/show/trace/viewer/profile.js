"use strict";
// Where the cycles of the measured region went: by source line and as an icicle of the functions.

/** Lines that the table has before it is unfolded. */
const HOTTEST = 25;

class Profile {
  /** `onLine` is called with the numbers of a line's instructions when somebody asks for it. */
  constructor(run, words, place, onLine) {
    Object.assign(this, { run, words, onLine });
    this.section = place;
    /** What is counted: with several schedulers, what each can issue in a cycle. */
    this.unit = run.schedulers > 1 ? "issue slots" : "cycles";
    for (const element of place.querySelectorAll(".unit")) element.textContent = this.unit;
    place.querySelector(".measured").hidden = !run.profile.cells.length;
    place.querySelector(".unmeasured").hidden = run.profile.cells.length > 0;
    this.warp = null;
    this.unfolded = false;
    const select = place.querySelector("select");
    select.append(new Option("all warps", ""));
    for (let warp = 0; warp < run.warps; warp += 1) select.append(new Option(`warp ${warp}`, warp));
    if (run.profile.cells.some(([warp]) => warp < 0)) select.append(new Option("no warp", -1));
    select.addEventListener("change", () => { this.warp = select.value === "" ? null : +select.value; this.show(); });
    place.querySelector(".more").addEventListener("click", () => { this.unfolded = true; this.show(); });
    new ResizeObserver(() => this.icicle()).observe(place.querySelector(".icicle"));
    this.show();
  }

  show() {
    const { run } = this, lines = new Map();
    this.total = 0;
    for (const [warp, place, use, cycles] of run.profile.cells) {
      if (this.warp !== null && warp !== this.warp) continue;
      const { line, own } = run.profile.places[place];
      if (!lines.has(line)) lines.set(line, { line, own, cycles: 0, uses: new Map(), places: new Set() });
      const entry = lines.get(line);
      entry.cycles += cycles;
      entry.uses.set(use, (entry.uses.get(use) || 0) + cycles);
      entry.places.add(place);
      this.total += cycles;
    }
    this.lines = [...lines.values()].sort((one, other) => other.cycles - one.cycles);
    this.table();
    this.icicle();
  }

  table() {
    const { run } = this, body = d3.select(this.section).select("tbody");
    const shown = this.unfolded ? this.lines : this.lines.slice(0, HOTTEST);
    const rows = body.selectAll("tr").data(shown, entry => entry.line).join("tr").order();
    rows.html("");
    const button = rows.append("td").attr("class", "text").append("button").attr("type", "button").attr("class", "line")
      .text(entry => entry.line).on("click", (_, entry) => this.onLine(entry.line));
    button.attr("title", entry => `Show where ${entry.line} is issued`);
    rows.append("td").attr("class", "text").text(entry => entry.own);
    rows.append("td").text(entry => d3.format(",")(entry.cycles));
    rows.append("td").text(entry => d3.format(".1%")(entry.cycles / Math.max(1, this.total)));
    const bars = rows.append("td").attr("class", "bar").append("div").attr("class", "uses").attr("role", "img")
      .style("width", entry => `${100 * entry.cycles / this.lines[0].cycles}%`)
      .attr("aria-label", entry => this.told(entry)).attr("title", entry => this.told(entry));
    bars.selectAll("span").data(entry => [...entry.uses].sort(([one], [other]) => one - other).map(([use, cycles]) => ({ use, share: cycles / entry.cycles })))
      .join("span").attr("class", ({ use }) => `of-${run.profile.uses[use]}`).style("width", ({ share }) => `${100 * share}%`);
    const more = this.section.querySelector(".more");
    more.hidden = shown.length === this.lines.length;
    more.textContent = `all ${this.lines.length} lines`;
    this.section.querySelector(".total").textContent = `${d3.format(",")(this.total)} ${this.unit}`;
  }

  told(entry) {
    const uses = [...entry.uses].sort(([, one], [, other]) => other - one);
    return uses.map(([use, cycles]) => `${this.words[this.run.profile.uses[use]].label}: ${d3.format(",")(cycles)}`).join(", ");
  }

  tree() {
    const { run } = this, root = { name: "region", children: new Map(), cycles: 0 };
    for (const [warp, place, use, cycles] of run.profile.cells) {
      if (this.warp !== null && warp !== this.warp) continue;
      const { frames, line } = run.profile.places[place], word = run.profile.uses[use];
      let node = root;
      const path = [...frames.map(([name]) => ({ name, kind: "function" })), { name: line, kind: "line" }, { name: this.words[word].label, kind: "use", word }];
      for (const step of path) {
        const key = `${step.kind} ${step.name}`;
        if (!node.children.has(key)) node.children.set(key, { ...step, children: new Map(), cycles: 0 });
        node = node.children.get(key);
      }
      node.cycles += cycles;
    }
    return root;
  }

  icicle() {
    const svg = d3.select(this.section).select(".icicle svg"), width = this.section.querySelector(".icicle").clientWidth;
    if (!width) return;
    const root = d3.hierarchy(this.tree(), node => [...node.children.values()]).sum(node => node.cycles)
      .sort((one, other) => other.value - one.value);
    const row = 21, height = row * (root.height + 1);
    d3.partition().size([width, height])(root);
    svg.attr("viewBox", `0 0 ${width} ${height}`).attr("height", height).attr("width", width).html("");
    let focus = root;
    const nodes = svg.selectAll("g").data(root.descendants().filter(node => node.value)).join("g")
      .attr("class", node => node.data.kind === "use" ? `of-${node.data.word}` : node.data.kind || "whole");
    nodes.append("title").text(node => `${node.ancestors().reverse().map(each => each.data.name).join(" > ")}\n${d3.format(",")(node.value)} ${this.unit}, ${d3.format(".1%")(node.value / Math.max(1, root.value))}`);
    nodes.append("rect");
    const texts = nodes.append("text").attr("dy", 14).attr("dx", 4);
    const place = () => {
      const stretch = x => (x - focus.x0) / (focus.x1 - focus.x0) * width;
      nodes.attr("transform", node => `translate(${Math.max(0, Math.min(width, stretch(node.x0)))},${node.depth * row})`);
      const wide = node => Math.max(0, Math.min(width, stretch(node.x1)) - Math.max(0, Math.min(width, stretch(node.x0))));
      nodes.select("rect").attr("width", node => Math.max(0, wide(node) - 0.6)).attr("height", row - 1);
      // A name is whole, or without its folders, or left out.
      texts.text(node => [node.data.name, node.data.name.split("/").pop()].find(name => 7 * name.length + 6 <= wide(node)) ?? "");
    };
    nodes.on("click", (_, node) => {
      focus = node === focus ? root : node;
      place();
      if (node.data.kind === "line") this.onLine(node.data.name);
    });
    place();
  }
}
