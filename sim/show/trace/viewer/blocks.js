"use strict";
// A run as the page has it: blocks of cycles (level 0) or of bins (coarser levels), inflated when they are looked at.
// sim/show/trace/levels.py says what is in a block.

const BLOCK = 65536, FIRST = 64, STEP = 8, BINS = 1024;
/** Blocks that are kept inflated. */
const KEPT = 48;

class Run {
  constructor(number) {
    this.number = number;
    Object.assign(this, JSON.parse(document.getElementById(`run-${number}`).textContent));
    this.texts = new Map();
    for (const element of document.querySelectorAll(`script[data-run="${number}"]`)) {
      this.texts.set(`${element.dataset.level}/${element.dataset.block}`, element);
    }
    this.levels = 1 + Math.max(...[...this.texts.keys()].map(key => +key.split("/")[0]));
    /** First row of each track with words among the numbers of a bin. */
    this.firstRow = [];
    let rows = 0;
    for (const track of this.states) { this.firstRow.push(rows); rows += track.words.length; }
    this.sumRow = rows;
    this.maximumRow = rows + this.numbers.length;
    // A page of an older version has no critical path.
    this.chain ??= [];
    // A machine with one scheduler does not say so.
    this.schedulers ??= 1;
    this.blocks = new Map();
    this.coming = new Map();
    /** Called when a block has come. */
    this.onBlock = () => {};
    /** Cycles by which this run is shown later than it was. */
    this.offset = 0;
  }

  /** The number of the link of the critical path in a cycle, or -1. */
  linkAt(cycle) { return d3.bisector(([begin]) => begin).right(this.chain, cycle) - 1; }

  /** The warp that the critical path is on in a cycle. */
  chainAt(cycle) { return this.chain[this.linkAt(cycle)]?.[1]; }

  /** Cycles of a bin of a level. */
  bin(level) { return level === 0 ? 1 : FIRST * STEP ** (level - 1); }

  /** Bins (or cycles) of a block of a level. */
  perBlock(level) { return level === 0 ? BLOCK : BINS; }

  /** How many bins a level has. */
  bins(level) { return Math.ceil(this.cycles / this.bin(level)); }

  /** The coarsest level of which a pixel has at least one bin. */
  levelFor(cyclesPerPixel) {
    let level = 0;
    while (level + 1 < this.levels && this.bin(level + 1) <= cyclesPerPixel) level += 1;
    return level;
  }

  /** The block, or null: it is not there yet, and comes. */
  block(level, number) {
    const key = `${level}/${number}`;
    const found = this.blocks.get(key);
    if (found) {
      this.blocks.delete(key);
      this.blocks.set(key, found);  // now the youngest
      return found;
    }
    this.load(level, number).then(() => this.onBlock());
    return null;
  }

  /** A promise of the block. */
  load(level, number) {
    const key = `${level}/${number}`;
    if (this.blocks.has(key)) return Promise.resolve(this.blocks.get(key));
    if (!this.coming.has(key)) {
      this.coming.set(key, this.inflate(this.texts.get(key)).then(buffer => {
        const block = level === 0 ? this.cyclesOf(buffer) : { count: buffer.byteLength / 4 / this.rows, rows: new Uint32Array(buffer) };
        this.coming.delete(key);
        this.blocks.set(key, block);
        for (const old of this.blocks.keys()) {
          if (this.blocks.size <= KEPT) break;
          if (+old.split("/")[0] < this.levels - 1) this.blocks.delete(old);
        }
        return block;
      }));
    }
    return this.coming.get(key);
  }

  async inflate(element) {
    const text = atob(element.textContent);
    const bytes = new Uint8Array(text.length);
    for (let place = 0; place < text.length; place += 1) bytes[place] = text.charCodeAt(place);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer();
  }

  cyclesOf(buffer) {
    const states = this.states.length, numbers = this.numbers.length, before = states + 2 * numbers;
    const count = buffer.byteLength / (before + 8 * this.schedulers);
    const [n, c, l] = [states * count, before * count, (before + 4 * this.schedulers) * count];
    return {
      count, states: new Uint8Array(buffer, 0, n), numbers: new Uint16Array(buffer.slice(n, c)),
      codes: new Uint32Array(buffer.slice(c, l)), lanes: new Uint32Array(buffer.slice(l)),
    };
  }

  /** The blocks of the bins [first, last] of a level, by number; null if one is not there yet. */
  stretch(level, first, last) {
    const per = this.perBlock(level), blocks = [];
    let whole = true;
    for (let number = Math.floor(first / per); number <= Math.floor(last / per); number += 1) {
      blocks[number] = this.block(level, number);
      whole &&= blocks[number] !== null;
    }
    return whole ? blocks : null;
  }

  /** The partition of a warp: that whose scheduler selects it. */
  partitionOf(warp) { return warp % this.schedulers; }

  /** The number of the instruction that a warp issues at a place of a block; 0: it is unknown, or of another warp. */
  codeOf(block, place, warp) { return block.codes[this.partitionOf(warp) * block.count + place]; }

  /** The numbers of all instructions at a place of a block, by partition. */
  codesOf(block, place) { return d3.range(this.schedulers).map(partition => block.codes[partition * block.count + place]); }

  /** The name of a track that no other has. */
  nameOf(track) {
    const { name, partition } = this.states[track];
    return partition === undefined ? name : `${name} of partition ${partition}`;
  }

  /** The title of the rows of a partition, or of those that all partitions share. */
  titleOf(partition) {
    if (partition === undefined) return "all partitions";
    const warps = d3.range(partition, this.warps, this.schedulers), few = warps.length <= 4;
    return `partition ${partition}: warp${warps.length > 1 ? "s" : ""} ${(few ? warps : [...warps.slice(0, 2), "...", warps.at(-1)]).join(", ")}`;
  }

  /** The warp of a partition that issues an instruction, by the states of all tracks, or -1. */
  issuerOf(states, partition = 0) {
    return states.findIndex((state, warp) => warp < this.warps && this.partitionOf(warp) === partition && state === 1);
  }

  /** What is in one cycle: a promise. */
  async at(cycle) {
    const block = await this.load(0, Math.floor(cycle / BLOCK)), place = cycle % BLOCK;
    return {
      cycle, codes: this.codesOf(block, place),
      lanes: d3.range(this.schedulers).map(partition => block.lanes[partition * block.count + place]),
      states: this.states.map((_, track) => block.states[track * block.count + place]),
      numbers: this.numbers.map((_, track) => block.numbers[track * block.count + place]),
    };
  }

  /** The first cycle from `since` on (before `until`) for which `fits(block, place, cycle)` is true, or -1. A promise. */
  async find(fits, since, until = this.cycles) {
    for (let number = Math.floor(since / BLOCK); number * BLOCK < until; number += 1) {
      const block = await this.load(0, number);
      const last = Math.min(block.count, until - number * BLOCK);
      for (let place = Math.max(0, since - number * BLOCK); place < last; place += 1) {
        if (fits(block, place, number * BLOCK + place)) return number * BLOCK + place;
      }
    }
    return -1;
  }

  /** The last such cycle before `until`, or -1. */
  async findBack(fits, until) {
    for (let number = Math.floor((until - 1) / BLOCK); number >= 0; number -= 1) {
      const block = await this.load(0, number);
      for (let place = Math.min(block.count, until - number * BLOCK) - 1; place >= 0; place -= 1) {
        if (fits(block, place, number * BLOCK + place)) return number * BLOCK + place;
      }
    }
    return -1;
  }

  /** How many instructions a warp has issued before a cycle. */
  async issuesBefore(warp, cycle) {
    const number = Math.floor(cycle / BLOCK), block = await this.load(0, number);
    let count = this.before[number][warp];
    for (let place = 0; place < cycle % BLOCK; place += 1) count += block.states[warp * block.count + place] === 1;
    return count;
  }

  /** The cycle in which a warp issues the instruction of a number, or -1. */
  async issueOf(warp, wanted) {
    let number = 0;
    while (number + 1 < this.before.length && this.before[number + 1][warp] <= wanted) number += 1;
    const block = await this.load(0, number);
    let count = this.before[number][warp];
    for (let place = 0; place < block.count; place += 1) {
      if (block.states[warp * block.count + place] === 1) {
        if (count === wanted) return number * BLOCK + place;
        count += 1;
      }
    }
    return -1;
  }
}
