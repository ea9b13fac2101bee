"use strict";
// The page: what is asked of the picture, and what is told of it.

const WORDS = JSON.parse(document.getElementById("words").textContent);
const runs = [...document.querySelectorAll("script.run")].map((_, number) => new Run(number));
const number = d3.format(","), percent = d3.format(".1%");
const byId = id => document.getElementById(id);
const timeline = new Timeline(byId("timeline"), runs, WORDS);
const difference = JSON.parse(byId("difference").textContent);
const hint = byId("hint"), details = byId("details"), spot = byId("spot");

/** `of-WORD` in tables and legends: the colour of a word, with its texture. */
function dress() {
  const paint = new Paint(WORDS);
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 8;
  const rules = Object.keys(WORDS).map(word => {
    canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(paint.tiles[word].buffer.slice(0)), 8, 8), 0, 0);
    return `.uses .of-${word}, .legend .of-${word} { background: url(${canvas.toDataURL()}); } svg .of-${word} rect { fill: var(--${WORDS[word].colour}); }`;
  });
  byId("dress").textContent = rules.join("\n");
}

/** A source line: where it is, and its text. */
function sourceOf(place) {
  return [["source", place.line], ...place.text ? [["source text", place.text]] : []];
}

/** What is in a cycle, in words: pairs of name and value. */
async function told(run, row, cycle) {
  const at = await run.at(cycle);
  const pairs = [...run.sm === undefined ? [] : [["SM", run.sm]], ["cycle", number(cycle)]];
  const word = track => at.states[track] ? WORDS[run.states[track].words[at.states[track] - 1]].label : "";
  const instruction = ({ code, lanes: mask }, name = "instruction") => {
    const [pc, text, bits, number] = run.codes[code], place = run.places[number];
    pairs.push([name, text], ["pc", hex(pc)], ["word", hex(bits)], ...sourceOf(place));
    if (place.frames.length) pairs.push(["function", place.frames.map(([its]) => its).join(" > ")]);
    const lanes = mask.toString(2).padStart(run.threads, "0");
    pairs.push(["lanes", `${[...lanes].filter(bit => bit === "1").length} of ${run.threads}: ${lanes} (lane 0 is the last)`]);
  };
  /** What a partition issues in a cycle. */
  const issued = (its, partition) => ({ code: its.codes[partition], lanes: its.lanes[partition] });
  if (row.warp !== undefined) {
    const partition = run.partitionOf(row.warp);
    pairs.push(["warp", row.warp], ["does", word(row.track) || "not active"]);
    if (run.chainAt(cycle) === row.warp) pairs.push(["critical path", "is here"]);
    if (at.states[row.track] === 1) { if (at.codes[partition]) instruction(issued(at, partition)); }
    else if (at.states[row.track]) {
      const issues = (block, place) => block.states[row.track * block.count + place] === 1;
      const next = await run.find(issues, cycle, Math.min(run.cycles, cycle + BLOCK));
      const later = next < 0 ? null : await run.at(next);
      if (later?.codes[partition]) instruction(issued(later, partition), "next instruction");
    }
  } else if (row.kind === "number") {
    pairs.push([run.numbers[row.track].name, number(at.numbers[row.track])]);
  } else {
    pairs.push([run.nameOf(row.track), word(row.track) || "nothing"]);
    const { group, partition = 0 } = run.states[row.track];
    const tell = its => {
      const warp = run.issuerOf(its.states, partition);
      if (warp >= 0) { pairs.push(["warp", warp]); if (its.codes[partition]) instruction(issued(its, partition)); }
    };
    if (group === "sm") tell(at);
    if (group === "units" && at.states[row.track] && cycle >= run.to_unit) tell(await run.at(cycle - run.to_unit));
  }
  return pairs;
}

/** The line of which a warp, or any of a partition, issues most between two cycles; null if these are many, or without an issue. */
async function hottest(run, warp, partition, from, to) {
  if (to - from > BLOCK) return null;
  const counts = new Map();
  await run.find((block, place) => {
    const code = block.codes[partition * block.count + place];
    if (code && (warp === undefined || block.states[warp * block.count + place] === 1)) {
      const line = run.codes[code][3];
      counts.set(line, (counts.get(line) || 0) + 1);
    }
    return false;
  }, from, Math.min(to, run.cycles));
  const [most] = [...counts].sort(([, one], [, other]) => other - one);
  return most ? run.places[most[0]] : null;
}

/** The same of the cycles under one pixel. */
async function summed(run, row, from, to) {
  const columns = new Columns(run, from + run.offset, to + run.offset, 1);
  if (!columns.visible) return null;
  const begin = columns.first[0] * run.bin(columns.level), end = begin + columns.cycles[0];
  const pairs = [["cycles", `${number(begin)} to ${number(end - 1)}`]];
  if (row.kind === "number") {
    const [mean, greatest] = columns.number(row.track, 0);
    return [...pairs, [`${run.numbers[row.track].name}, mean`, d3.format(".2f")(mean)], ["at most", number(greatest)]];
  }
  const counts = new Int32Array(64), { words, group, partition = run.partitionOf(row.warp ?? 0) } = run.states[row.track];
  columns.count(row.track, 0, counts);
  pairs.unshift([run.nameOf(row.track), ""]);
  const found = words.map((word, place) => [WORDS[word].label, counts[place + 1]]).filter(([, count]) => count);
  found.sort(([, one], [, other]) => other - one);
  const place = row.warp !== undefined || group === "sm" ? await hottest(run, row.warp, partition, begin, end) : null;
  return [...pairs, ...found.map(([label, count]) => [label, `${number(count)} cycles`]), ...place ? [["issues most", ""], ...sourceOf(place)] : []];
}

const hex = value => `0x${value.toString(16).padStart(8, "0")}`;

function list(element, pairs) {
  element.replaceChildren(...pairs.flatMap(([name, value]) => {
    const [term, text] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = name;
    text.textContent = value;
    return [term, text];
  }));
}

/**
 * The description of the cell under the pointer is below the picture, where it covers no cell. If it is not on the screen
 * there, it floats above the first row, else beside the row of the cell, at the other side of the screen.
 */
function place(row, x) {
  hint.classList.remove("floating");
  if (hint.getBoundingClientRect().bottom <= innerHeight) return;
  hint.classList.add("floating");
  const top = timeline.canvas.getBoundingClientRect().top, height = hint.offsetHeight, around = row.height + 6;
  const above = top - height - 2, below = top + row.top + row.height + around, over = top + row.top - around - height;
  const y = above >= 0 ? above : below + height <= innerHeight ? below : over;
  hint.style.top = `${y}px`;
  hint.style.left = `${x < innerWidth / 2 ? Math.max(4, innerWidth - hint.offsetWidth - 8) : 4}px`;
}

function outline({ run, row, cycle }) {
  const [left, right] = [cycle, cycle + 1].map(each => timeline.x(each + runs[run].offset));
  Object.assign(spot.style, {
    left: `${left - 2}px`, top: `${row.top - 2}px`, width: `${Math.max(2, right - left) + 4}px`, height: `${row.height + 4}px`,
  });
  spot.hidden = false;
}

let hovers = 0;
timeline.onHover = async (cell, event) => {
  const mine = hovers += 1;
  if (!cell) {
    spot.hidden = true;
    hint.classList.remove("floating");
    return list(hint, [["nothing yet", "point at a cell of the picture"]]);
  }
  outline(cell);
  const run = runs[cell.run], per = timeline.perPixel;
  const pairs = await (per <= 1 ? told(run, cell.row, cell.cycle) : summed(run, cell.row, cell.cycle, cell.cycle + per));
  if (mine !== hovers || !pairs) return;
  list(hint, pairs);
  place(cell.row, event.clientX);
};

timeline.onCursor = async ({ run, row, cycle }) => {
  const pairs = await told(runs[run], row, cycle);
  list(details, difference ? [["run", `${"AB"[run]}: ${runs[run].name}`], ...pairs] : pairs);
  if (byId("align")?.value === "instruction") await alignAt(timeline.cursor);
};

timeline.onView = () => {
  const [from, to] = timeline.domain;
  timeline.pointAgain();
  byId("view").textContent = `cycles ${number(Math.floor(from))} to ${number(Math.ceil(to))}`;
};

function say(text) { byId("said").textContent = text; }

/** Mark the instructions of a run that `fits` accepts, wherever they are issued. Returns whether there are any. */
async function highlight(fits) {
  const all = runs.map(run => new Set(run.codes.map((_, code) => code).filter(code => code && fits(run, code))));
  timeline.highlighted = all;
  timeline.marks = runs.map(run => new Uint8Array(Math.ceil(run.cycles / FIRST)));
  for (const [place, run] of runs.entries()) {
    const wanted = all[place], marks = timeline.marks[place];
    if (wanted.size) {
      const mark = (block, at, cycle) => { if (hasAny(run, wanted, block, at)) marks[Math.floor(cycle / FIRST)] = 1; return false; };
      run.find(mark, 0).then(() => timeline.redraw());
    }
  }
  return all.some(set => set.size);
}

/** Whether one of the wanted instructions is issued at a place of a block. */
function hasAny(run, wanted, block, place) {
  for (let partition = 0; partition < run.schedulers; partition += 1) if (wanted.has(block.codes[partition * block.count + place])) return true;
  return false;
}

/** Go to the next highlighted issue after the cursor, and from the end to the beginning. */
async function next(backwards = false) {
  const place = timeline.cursor?.run ?? timeline.highlighted.findIndex(set => set.size), run = runs[Math.max(0, place)];
  const wanted = timeline.highlighted[Math.max(0, place)];
  const fits = (block, at) => hasAny(run, wanted, block, at);
  const since = timeline.cursor ? timeline.cursor.cycle : backwards ? run.cycles : -1;
  let cycle = backwards ? await run.findBack(fits, since) : await run.find(fits, since + 1);
  if (cycle < 0) cycle = backwards ? await run.findBack(fits, run.cycles) : await run.find(fits, 0);
  if (cycle < 0) return false;
  const at = await run.at(cycle), warp = run.issuerOf(at.states, at.codes.findIndex(code => wanted.has(code)));
  timeline.goTo(cycle + run.offset);
  timeline.look({ run: runs.indexOf(run), cycle, row: timeline.rows.find(row => row.run === runs.indexOf(run) && row.warp === warp) });
  return true;
}

/** A cycle, a pc or a source line. */
async function jump(text) {
  const asked = text.trim();
  if (/^\d[\d,_]*$/.test(asked)) {
    const cycle = +asked.replace(/[,_]/g, "");
    if (cycle >= timeline.length) return say(`the run has ${number(timeline.length)} cycles`);
    timeline.goTo(cycle);
    const row = timeline.cursor?.row ?? timeline.rows.find(each => each.warp === 0);
    timeline.look({ run: row.run, row, cycle: Math.max(0, Math.min(runs[row.run].cycles - 1, cycle - runs[row.run].offset)) });
    return say(`cycle ${number(cycle)}`);
  }
  const pc = /^0x[0-9a-f]+$/i.test(asked) ? parseInt(asked, 16) : null;
  const fits = pc !== null
    ? (run, code) => run.codes[code][0] === pc
    : (run, code) => { const { line } = run.places[run.codes[code][3]]; return line === asked || line.endsWith(`/${asked}`); };
  if (!asked || !await highlight(fits)) {
    return say(pc !== null ? `nothing is issued at ${hex(pc)}` : `no cycle, pc (0x...) or source line (file:line) with instructions: ${asked}`);
  }
  await next();
  return say(`${asked}: marked above the rows; n and p go to the next and the previous issue`);
}

/** Shift the second run so that the same warp-instruction of both stands below each other. */
async function alignAt(cursor) {
  if (!cursor || cursor.row.warp === undefined) return say("click an instruction of a warp: both runs are aligned there");
  const run = runs[cursor.run], other = runs[1 - cursor.run], { warp } = cursor.row;
  const issued = await run.issuesBefore(warp, cursor.cycle);
  const cycle = await other.issueOf(warp, issued);
  if (cycle < 0) return say(`the other run has no instruction ${number(issued)} of warp ${warp}`);
  const shift = cursor.cycle + run.offset - cycle - other.offset;
  if (cursor.run === 0) runs[1].offset += shift; else runs[1].offset -= shift;
  timeline.fit();
  return say(`aligned at instruction ${number(issued)} of warp ${warp}: cycle ${number(cursor.cycle)} of ${"AB"[cursor.run]}, ${number(cycle)} of ${"AB"[1 - cursor.run]}`);
}

function align(how) {
  const first = difference[how === "instruction" ? "order" : how], cycles = first?.cycles ?? [null, null];
  runs[1].offset = how === "region" ? (runs[0].regions[0]?.[0] ?? 0) - (runs[1].regions[0]?.[0] ?? 0)
    : how === "order" && !cycles.includes(null) ? cycles[0] - cycles[1] : 0;
  timeline.difference = first && first.cycles;
  byId("first").textContent = first ? first.text : "none";
  byId("first").disabled = !first;
  if (how === "instruction" && timeline.cursor) alignAt(timeline.cursor);
  timeline.fit();
}

/** Show the first difference, near enough to tell single cycles. */
function toDifference() {
  const [one, other] = timeline.difference || [null, null];
  if (one !== null || other !== null) timeline.goTo(one ?? other + runs[1].offset);
}

/** The figures of a run, for its headline. */
function figures(run) {
  const uses = {};
  for (const [, , use, cycles] of run.profile.cells) uses[run.profile.uses[use]] = (uses[run.profile.uses[use]] || 0) + cycles;
  const sum = fits => Object.entries(uses).filter(([word]) => fits(word)).reduce((total, [, cycles]) => total + cycles, 0);
  const region = sum(() => true), issued = sum(word => word === "issued"), nops = sum(word => word.startsWith("nop_"));
  const all = `${number(run.cycles)} cycles`, slots = run.schedulers;
  const of = slots > 1 ? ` with ${slots} issue slots each; of the slots,` : ":";
  return !region ? all : `${all}, ${number(region / slots)} in the measured region${of} ${percent(issued / region)} issue an instruction, `
    + `${percent(nops / region)} a NOP, ${percent((region - issued - nops) / region)} nothing`;
}

const KEYS = {
  ArrowLeft: event => event.shiftKey ? step(-1) : by(-1 / 8), ArrowRight: event => event.shiftKey ? step(1) : by(1 / 8),
  ArrowUp: () => warp(-1), ArrowDown: () => warp(1), "+": () => scale(2), "=": () => scale(2), "-": () => scale(1 / 2),
  Home: () => timeline.goTo(0, false), End: () => timeline.goTo(timeline.length, false), 0: whole,
  n: () => next(), p: () => next(true), g: () => byId("jump").focus(),
};

function scale(factor) {
  const [from, to] = timeline.domain, cursor = timeline.cursor;
  const centre = cursor && cursor.cycle >= from && cursor.cycle <= to ? cursor.cycle : (from + to) / 2;
  timeline.show(centre - (centre - from) / factor, centre + (to - centre) / factor);
}
function by(share) { const [from, to] = timeline.domain; timeline.show(from + share * (to - from), to + share * (to - from)); }
function whole() { timeline.show(0, timeline.length); }
function step(cycles) {
  const cursor = timeline.cursor ?? { run: 0, row: timeline.rows.find(row => row.warp === 0), cycle: Math.max(0, Math.floor(timeline.domain[0])) };
  const cycle = Math.max(0, Math.min(runs[cursor.run].cycles - 1, cursor.cycle + cycles));
  const [from, to] = timeline.domain, shown = cycle + runs[cursor.run].offset;
  timeline.look({ ...cursor, cycle });
  if (shown < from || shown >= to - 1) timeline.goTo(shown, false);
}
function warp(by) {
  const rows = timeline.rows.filter(row => row.kind !== "title");
  const cursor = timeline.cursor ?? { run: 0, row: rows[0], cycle: Math.max(0, Math.floor(timeline.domain[0])) };
  const row = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(cursor.row) + by))];
  timeline.look({ run: row.run, row, cycle: Math.min(cursor.cycle, runs[row.run].cycles - 1) });
}

byId("timeline").addEventListener("keydown", event => {
  const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : KEYS[event.key];
  if (act) { event.preventDefault(); act(event); }
});
byId("go").addEventListener("submit", event => { event.preventDefault(); jump(byId("jump").value); });
byId("in").addEventListener("click", () => scale(2));
byId("out").addEventListener("click", () => scale(1 / 2));
byId("whole").addEventListener("click", whole);
byId("chain").addEventListener("change", event => { timeline.chained = event.target.checked; timeline.redraw(); });
const profiles = [...document.querySelectorAll("section.profile")].map((section, place) =>
  new Profile(runs[place], WORDS, section, line => { byId("jump").value = line; byId("timeline").scrollIntoView({ block: "start" }); jump(line); }));
for (const query of ["(prefers-color-scheme: dark)", "print"]) {
  matchMedia(query).addEventListener("change", () => { dress(); timeline.resize(); timeline.draw(); });
}
addEventListener("beforeprint", () => { dress(); timeline.paint = new Paint(WORDS); timeline.draw(); });
byId("align")?.addEventListener("change", event => align(event.target.value));
for (const [number, element] of document.querySelectorAll(".figures").entries()) element.textContent = figures(runs[number]);
dress();
timeline.onHover(null);
if (difference) {
  byId("first").addEventListener("click", toDifference);
  byId("align").value = difference.start;
  align(difference.start);
  toDifference();
}
timeline.onView();
