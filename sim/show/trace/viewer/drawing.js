"use strict";
// Rows of a run as pixels: every column of a row is filled in the proportion of what its cycles were used for.

/** Textures, 8 by 8, beside the colours: they tell words apart in print and without colours. */
const TEXTURES = {
  plain: () => false,
  rising: (x, y) => (x + y) % 4 === 0,
  falling: (x, y) => (x - y + 8) % 4 === 0,
  level: (x, y) => y % 4 === 0,
  upright: (x, y) => x % 4 === 0,
  dots: (x, y) => x % 4 === 0 && y % 4 === 0,
  checks: (x, y) => (x >> 1) % 2 === (y >> 1) % 2,
  grid: (x, y) => x % 4 === 0 || y % 4 === 0,
};

/** Colours of the page as it is now, light or dark. */
class Paint {
  constructor(words) {
    const style = getComputedStyle(document.documentElement);
    this.colour = name => style.getPropertyValue(`--${name}`).trim();
    this.page = this.number(this.colour("page"));
    this.wash = this.number(this.colour("wash"));
    this.tiles = {};
    for (const [word, { colour, texture }] of Object.entries(words)) {
      const full = this.number(this.colour(colour)), mixed = this.mix(full, this.page, 0.55);
      this.tiles[word] = Uint32Array.from({ length: 64 }, (_, place) =>
        TEXTURES[texture](place & 7, place >> 3) ? mixed : full);
    }
    this.area = this.number(this.colour("blue-2"));
    this.peak = this.mix(this.area, this.page, 0.6);
  }

  /** A colour as a pixel: the bytes are red, green, blue, opacity. */
  number(text) {
    const { r, g, b } = d3.rgb(text);
    return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  }

  mix(one, other, share) {
    const part = shift => Math.round((one >> shift & 255) * (1 - share) + (other >> shift & 255) * share) << shift;
    return (255 << 24 | part(16) | part(8) | part(0)) >>> 0;
  }
}

/** The columns of a picture: which bins of a level each of them shows. */
class Columns {
  constructor(run, from, to, width) {
    const perPixel = (to - from) / width;
    this.run = run;
    this.width = width;
    const edge = column => from - run.offset + column * perPixel;
    this.visible = edge(width) > 0 && edge(0) < run.cycles;
    if (!this.visible) return;
    const first = cycle => Math.max(0, Math.min(run.cycles - 1, Math.floor(cycle)));
    for (this.level = run.levelFor(perPixel); ; this.level += 1) {
      const bin = run.bin(this.level);
      this.blocks = run.stretch(this.level, Math.floor(first(edge(0)) / bin), Math.floor(first(edge(width)) / bin));
      if (this.blocks || this.level + 1 >= run.levels) break;
    }
    if (!this.blocks) { this.visible = false; this.awaited = true; return; }
    const bin = run.bin(this.level), bins = run.bins(this.level);
    this.first = new Int32Array(width);
    this.last = new Int32Array(width);  // behind the last bin; no more than the first: nothing is there
    this.cycles = new Int32Array(width);
    for (let column = 0; column < width; column += 1) {
      const start = Math.floor(edge(column) / bin), end = Math.max(start + 1, Math.floor(edge(column + 1) / bin));
      this.first[column] = Math.max(0, start);
      this.last[column] = Math.min(bins, end);
      this.cycles[column] = Math.min(this.last[column] * bin, run.cycles) - this.first[column] * bin;
    }
    this.per = run.perBlock(this.level);
  }

  /** Into `counts`: how many cycles of a column have each word of a track; counts[0] is left out in coarser levels. */
  count(track, column, counts) {
    counts.fill(0);
    const first = this.first[column], last = this.last[column];
    const words = this.run.states[track].words.length, row = this.run.firstRow[track];
    for (let place = first; place < last; place += 1) {
      const block = this.blocks[Math.floor(place / this.per)], local = place % this.per;
      if (this.level === 0) {
        counts[block.states[track * block.count + local]] += 1;
      } else {
        for (let word = 0; word < words; word += 1) counts[word + 1] += block.rows[(row + word) * block.count + local];
      }
    }
  }

  /** Mean and greatest of a number in a column. */
  number(track, column) {
    let sum = 0, greatest = 0;
    for (let place = this.first[column]; place < this.last[column]; place += 1) {
      const block = this.blocks[Math.floor(place / this.per)], local = place % this.per;
      if (this.level === 0) {
        const value = block.numbers[track * block.count + local];
        sum += value;
        greatest = Math.max(greatest, value);
      } else {
        sum += block.rows[(this.run.sumRow + track) * block.count + local];
        greatest = Math.max(greatest, block.rows[(this.run.maximumRow + track) * block.count + local]);
      }
    }
    return [sum / Math.max(1, this.cycles[column]), greatest];
  }
}

/** Draws rows into the pixels of a picture that is `width` wide. */
class Rows {
  constructor(pixels, width, paint, scale) {
    Object.assign(this, { pixels, width, paint, scale });
    this.counts = new Int32Array(64);
  }

  clear(top, height) {
    this.pixels.fill(this.paint.wash, top * this.width, (top + height) * this.width);
  }

  fill(column, top, bottom, tile) {
    const x = column >> this.scale & 7;
    for (let y = top; y < bottom; y += 1) this.pixels[y * this.width + column] = tile[(y >> this.scale & 7) << 3 | x];
  }

  /** Words, one above the other from the bottom; `only`: that word alone, as its share. */
  words(columns, track, top, height, only) {
    this.clear(top, height);
    const words = columns.run.states[track].words;
    const tiles = words.map(word => this.paint.tiles[word]);
    for (let column = 0; column < this.width; column += 1) {
      const cycles = columns.cycles[column];
      if (columns.last[column] <= columns.first[column]) continue;
      columns.count(track, column, this.counts);
      let sum = 0, bottom = top + height;
      for (let word = 1; word <= words.length; word += 1) {
        if (!this.counts[word] || only !== undefined && word !== only) continue;
        sum += this.counts[word];
        // What is there at all is seen.
        const upper = Math.min(bottom - 1, top + height - Math.round(height * sum / cycles));
        this.fill(column, Math.max(top, upper), bottom, tiles[word - 1]);
        bottom = Math.max(top, upper);
        if (bottom === top) break;
      }
    }
  }

  /** A number as an area: its mean, and paler its maximum. `value`: (column) => [mean, greatest]. */
  area(columns, value, most, top, height) {
    this.clear(top, height);
    for (let column = 0; column < this.width; column += 1) {
      if (columns.last[column] <= columns.first[column]) continue;
      const [mean, greatest] = value(column).map(each => Math.round(height * Math.min(1, each / most)));
      for (let y = 0; y < greatest; y += 1) {
        this.pixels[(top + height - 1 - y) * this.width + column] = y < mean ? this.paint.area : this.paint.peak;
      }
    }
  }
}
