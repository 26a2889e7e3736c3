/* An exploration: a map of its cells, the tree of ways, and what a way shows. Everything but frames
   comes in one JSON, which is fetched again when the archive was saved. */
import { number, unpack } from "studio/episode.js";
import { GRADIENT, drawMap, drawTree, nearestNode, placeAt, scale, sheetOf } from "studio/explored_draw.js";

const LIVE_MS = 5000;
const AGAIN_MS = 1500; // where others wait for frames, too
const MOST_ROOMS_SHOWN = 24; // with a frame: each is a way to play
const ID = 16; // letters of a node's name
const SHADES = [
  { key: "visits", title: "visits", isCount: true, join: (a, b) => a + b },
  { key: "score", title: "score", isCount: false, join: (a, b) => Math.max(a, b) },
  { key: "order", title: "order of discovery", isCount: false, join: (a, b) => Math.min(a, b) },
  { key: "chosen", title: "starts from there", isCount: true, join: (a, b) => a + b },
];
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export default {
  template: `
<div class="viewer map">
  <div v-if="problem" class="studio-problem" role="alert">{{ problem }}</div>
  <div v-if="!e && !problem" class="viewer-wait">Opening the archive…</div>
  <template v-if="e">
    <div class="studio-row quiet map-about">{{ e.about.game }} · cells by <span class="mono">{{ e.about.cells }}</span> ·
      seed {{ e.about.seed }} · {{ e.about.steps }} actions from each start</div>
    <div class="studio-facts studio-card map-facts">
      <div v-for="f in facts"><div class="studio-fact-name">{{ f[0] }}</div>
        <div class="studio-fact-value" :data-fact="f[0]">{{ f[1] }} <small v-if="f[2]">{{ f[2] }}</small></div></div>
    </div>
    <div class="viewer-bar" role="group" aria-label="Map">
      <label>colour <select v-model="shade" aria-label="Colour by">
        <option v-for="s in shades" :value="s.key">{{ s.title }}</option></select></label>
      <span class="map-legend"><b>{{ count(scales.low) }}</b><i :style="{ background: gradient }"></i><b>{{ count(scales.high) }}</b></span>
      <label><input type="checkbox" v-model="lines"> ways</label>
      <label v-if="!e.map.is_grid"><input type="checkbox" v-model="up"> y upwards</label>
      <span class="map-fill"></span>
      <button @click="pickNode(e.best)" class="map-best">Best way</button>
      <span class="map-steps"><button @click="step(-1)" aria-label="Cell found before" title="found before">◀</button>
        <output class="map-which">{{ cell < 0 ? "no cell" : "cell " + (cell + 1) + " of " + cells }}</output>
        <button @click="step(1)" aria-label="Cell found next" title="found next">▶</button></span>
    </div>
    <div class="map-panes">
      <div class="map-rooms" :class="{ single: e.map.rooms.length === 1, grid: e.map.is_grid }">
        <section v-for="(room, r) in rooms" :key="room.name" class="studio-card map-room">
          <h3><span v-if="room.name && r < framed" class="map-thumb"><img v-if="room.frame" :src="room.frame" alt=""></span>
            <span><b v-if="room.name">{{ room.name }}</b> {{ room.text }}</span></h3>
          <canvas ref="maps" class="map-canvas" tabindex="0" role="application" :aria-label="room.label" :data-room="r"
                  @click="hit(r, $event)" @keydown="walk(r, $event)" @mousemove="point(r, $event)" @mouseleave="tip = null"></canvas>
        </section>
      </div>
      <section v-if="node !== null" class="studio-card map-cell">
        <h3 aria-live="polite">{{ title }}</h3>
        <div class="map-shown">
          <div class="map-frame" :class="{ waiting }">
            <img v-if="frame" :src="frame" :alt="'what is seen there: ' + title">
            <p v-else class="viewer-quiet" role="status">{{ waiting ? "Playing the way…" : "" }}</p>
          </div>
          <dl><template v-for="f in about"><dt :title="f[2]">{{ f[0] }}</dt><dd :data-field="f[0]">{{ f[1] }}</dd></template></dl>
        </div>
        <p v-if="note" class="viewer-note map-note" role="alert">{{ note }}</p>
        <div v-if="others.length > 1" class="map-others" role="group" aria-label="Cells at this place">
          <span class="viewer-quiet">at this place:</span>
          <button v-for="c in others" @click="pick(c)" :aria-pressed="c === cell">{{ distinct(c) }}</button></div>
        <button class="viewer-look map-make" @click="film">Film of the way</button>
      </section>
    </div>
    <section v-if="node !== null" class="studio-card map-way">
      <h3>The way there: {{ count(chain.length) }} {{ chain.length === 1 ? "place" : "places" }}, from the start of the game</h3>
      <ol ref="way" tabindex="0" aria-label="The way">
        <li v-for="(n, i) in chain" :key="ids[n]">
          <button @click="pickNode(n)" :aria-current="n === node ? 'true' : null" :title="placeOf(n)">
            <img v-if="frame" :src="address(n)" loading="lazy" alt="" @error="$event.target.hidden = true">
            <span>{{ count(tree.length.at(n)) }}</span><b v-if="i === 0 || tree.score.at(n) !== tree.score.at(chain[i - 1])">{{ num(tree.score.at(n)) }}</b>
          </button></li>
      </ol>
      <p class="viewer-quiet">Below each place: actions from the start, and the score where it changes.</p>
    </section>
    <section class="studio-card map-tree">
      <h3>All ways: where they branch</h3>
      <canvas ref="tree" tabindex="0" role="application" @click="hitTree" @keydown="climb"
              :aria-label="'Tree of ' + tree.count + ' places; left arrow: back along the way, right arrow: on, up and down: other branches'"></canvas>
      <p class="viewer-quiet">To the right: actions from the start of the game. A dot for each place, small and grey where a
        better way to its cell was found later. A row for each way that leads no further.</p>
    </section>
    <div v-if="tip" class="map-tip" :style="{ left: tip.x + 'px', top: tip.y + 'px' }">{{ tip.text }}</div>
  </template>
</div>`,
  props: { base: String, start: Number },
  emits: ["film"],
  data() {
    return {
      problem: "", e: null, first: null, node: null, shade: "visits", shades: SHADES, gradient: GRADIENT, lines: true,
      framed: MOST_ROOMS_SHOWN,
      up: false, frame: "", note: "", waiting: false, thumbs: {}, tip: null, now: Date.now(),
    };
  },
  computed: {
    tree() { return this.e.tree; },
    ids() { return this.e.ids; },
    cells() { return this.e.cells.node.values.length; },
    cell() { return this.node === null ? -1 : this.tree.cell.at(this.node); },
    facts() {
      const { about } = this.e, before = this.first, ago = Math.max(0, this.now / 1000 - this.e.saved);
      const more = (now, then) => (now > then ? "+" + this.count(now - then) : "");
      const best = this.tree.score.at(this.e.best);
      return [
        ["cells", this.count(this.cells), more(this.cells, before.cells)],
        ["best score", number(best), more(best, before.best)],
        ["frames", this.count(about.frames), more(about.frames, before.frames)],
        ["starts", this.count(about.starts), more(about.starts, before.starts)],
        ["computing time", this.span(about.seconds)], ["saved", this.span(ago) + " ago"],
      ];
    },
    which() { return SHADES.find((s) => s.key === this.shade); },
    values() {
      const { node, visits, chosen } = this.e.cells;
      const of = { visits: (c) => visits.at(c), score: (c) => this.tree.score.at(node.at(c)), order: (c) => c + 1, chosen: (c) => chosen.at(c) };
      return Array.from({ length: this.cells }, (_, c) => of[this.shade](c));
    },
    tiles() { // by room, in order of discovery
      const { room, x, y, rooms } = this.e.map, found = rooms.map(() => new Map());
      for (let c = 0; c < this.cells; c++) {
        const key = x.at(c) + " " + y.at(c), there = found[room.at(c)];
        if (there.has(key)) there.get(key).cells.push(c);
        else there.set(key, { x: x.at(c), y: y.at(c), cells: [c] });
      }
      return found;
    },
    shaded() {
      return this.tiles.map((there) => [...there.values()].map((tile) => ({ tile, value: tile.cells.map((c) => this.values[c]).reduce(this.which.join) })));
    },
    scales() { return scale(this.shaded.flat().map(({ value }) => value), this.which.isCount); },
    view() {
      const { x, y, small } = this.e.map;
      const edges = (values) => values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);
      const [x0, x1] = edges(x.values), [y0, y1] = edges(y.values), up = this.up;
      return { x0, x1: Math.max(x1, x0 + 7), y0, y1: Math.max(y1, y0 + (small ? 0 : 3)), up, tall: small ? (1.14 * small.height) / small.width : 1 };
    },
    rooms() {
      return this.e.map.rooms.map((name, r) => {
        const list = this.tiles[r].size ? [...this.tiles[r].values()].flatMap((tile) => tile.cells) : [];
        const best = list.reduce((most, c) => Math.max(most, this.tree.score.at(this.e.cells.node.at(c))), -Infinity);
        const text = `${this.count(list.length)} ${list.length === 1 ? "cell" : "cells"}, best score ${number(best)}`;
        const label = `Map ${name ? "of " + name : "of all cells"}: ${text}; arrow keys move from cell to cell`;
        return { name, text, label, first: Math.min(...list), frame: name ? this.thumbs[r] : "" };
      });
    },
    near() { // of each node the last cell on its way, itself left out
      const found = new Int32Array(this.tree.count).fill(-1);
      for (let n = 1; n < found.length; n++) {
        const parent = this.tree.parent.at(n), own = this.tree.cell.at(parent);
        found[n] = own >= 0 ? own : found[parent];
      }
      return found;
    },
    chain() {
      const found = [];
      for (let n = this.node; n !== null && n >= 0; n = this.tree.parent.at(n)) found.unshift(n);
      return found;
    },
    title() { return this.placeOf(this.node); },
    about() {
      const { map, cells } = this.e, c = this.cell;
      const rows = c < 0 ? [] : map.fields.map((name, i) => [name, map.values.at(c, i)]);
      rows.push(["score", number(this.tree.score.at(this.node))], ["actions", this.count(this.tree.length.at(this.node)), "from the start of the game"]);
      if (c >= 0) rows.push(["visits", this.count(cells.visits.at(c)), "how often it was passed through"], ["starts", this.count(cells.chosen.at(c)), "how often exploring started from there since its way was found"]);
      return rows;
    },
    others() {
      if (this.cell < 0 || this.e.map.is_grid) return [];
      return this.tileOf(this.cell).cells;
    },
  },
  watch: {
    base() { this.e = null; this.open(); },
    shade() { this.redraw(); }, lines() { this.redraw(); }, up() { this.redraw(); },
  },
  mounted() {
    this.resized = new ResizeObserver(() => this.redraw());
    this.resized.observe(this.$el);
    this.dark = new MutationObserver(() => this.redraw());
    this.dark.observe(document.body, { attributeFilter: ["class"] });
    this.timer = setInterval(() => { if (!document.hidden) this.open(); }, LIVE_MS);
    this.open();
  },
  unmounted() {
    this.resized.disconnect();
    this.dark.disconnect();
    clearInterval(this.timer);
    this.isGone = true;
  },
  methods: {
    num: number,
    count: (x) => (Number.isInteger(x) ? x.toLocaleString("en") : number(x)),
    span(s) {
      if (s < 100) return s < 10 ? s.toFixed(1) + " s" : Math.round(s) + " s";
      const min = Math.floor(s / 60);
      return min < 100 ? `${min} min ${String(Math.floor(s % 60)).padStart(2, "0")} s` : `${Math.floor(min / 60)} h ${String(min % 60).padStart(2, "0")} min`;
    },
    async open() { // again every few seconds; nothing comes where nothing was saved
      this.now = Date.now();
      const base = this.base;
      try {
        const response = await fetch(`${base}.json?since=${this.e?.stamp ?? ""}`);
        if (response.status === 204) return;
        if (!response.ok) throw new Error(await response.text());
        const found = await response.json();
        if (base === this.base && !this.isGone) await this.take(found);
        this.problem = "";
      } catch (error) { // what was seen last stays
        this.problem = error.message || "the archive could not be opened";
      }
    },
    async take(found) {
      for (const part of [found.map, found.cells, found.tree]) {
        for (const [name, value] of Object.entries(part)) if (value?.kind && value.data) part[name] = unpack(value);
      }
      const { tree, map } = found;
      if (map.small) {
        map.small.pixels = unpack(map.small.pixels);
        map.small.sheet = sheetOf(map.small, map.x.values, map.y.values);
      }
      tree.count = tree.parent.values.length;
      tree.longest = tree.length.values.reduce((a, b) => Math.max(a, b), 0);
      tree.ends = 1 + Math.round(tree.row.values.reduce((a, b) => Math.max(a, b), 0));
      found.ids = found.ids.match(new RegExp(`.{${ID}}`, "g"));
      const isFirst = !this.e, name = isFirst ? "" : this.ids[this.node], cell = this.cell;
      this.e = Vue.markRaw(found);
      if (isFirst) {
        this.up = map.is_upwards;
        this.lines = !map.is_grid;
        this.first = { ...found.about, cells: this.cells, best: tree.score.at(found.best) };
        const wanted = this.start >= 0 && this.start < this.cells;
        this.pickNode(wanted ? found.cells.node.at(this.start) : found.best);
        this.showRooms();
        return;
      }
      const same = found.ids.indexOf(name); // nodes are numbered again; a cell may have a better way
      const node = same >= 0 ? same : cell >= 0 ? found.cells.node.at(cell) : found.best;
      if (same >= 0) { this.node = node; await this.$nextTick(); this.redraw(); }
      else this.pickNode(node);
      this.showRooms();
    },
    tileOf(c) {
      const { room, x, y } = this.e.map;
      return this.tiles[room.at(c)].get(x.at(c) + " " + y.at(c));
    },
    placeOf(n) {
      const c = this.tree.cell.at(n), { map } = this.e;
      if (c < 0) return n === 0 ? "The start of the game" : "A place on the way; a better one to its cell was found later";
      const name = map.is_grid ? "" : map.rooms[map.room.at(c)];
      return `Cell ${this.count(c + 1)} of ${this.count(this.cells)}${name ? ", " + name : ""}`;
    },
    distinct(c) { // what tells it from others at the same place
      const { map } = this.e;
      const words = map.fields.map((name, i) => [name, map.values.at(c, i), i]).filter(([, value, i]) => this.others.some((o) => map.values.at(o, i) !== value));
      return words.map(([name, value]) => `${name} ${value}`).join(", ") || `cell ${c + 1}`;
    },
    pick(c) { this.pickNode(this.e.cells.node.at(c)); },
    step(by) {
      const to = this.cell < 0 ? 0 : this.cell + by;
      this.pick((to + this.cells) % this.cells);
    },
    async pickNode(n) {
      this.node = n;
      this.tip = null;
      this.load(n);
      const address = new URL(location.href);
      if (this.cell >= 0) address.searchParams.set("cell", this.cell);
      else address.searchParams.delete("cell");
      history.replaceState(history.state, "", address);
      await this.$nextTick();
      this.redraw();
      const way = this.$refs.way;
      const now = way?.querySelector("[aria-current]")?.parentElement;
      if (now) way.scrollLeft = now.offsetLeft + now.offsetWidth - way.clientWidth;
    },
    address(n) { return `${this.base}/${this.ids[n]}.jpg`; },
    async load(n) { // the whole way is played at once, so what lies on it needs no other one
      const address = this.address(n);
      const isStill = () => !this.isGone && this.node !== null && this.address(this.node) === address;
      [this.waiting, this.note] = [true, ""];
      const found = await this.fetched(address, isStill);
      if (!isStill()) return;
      this.waiting = false;
      this.frame = found.ok ? address : "";
      this.note = found.note;
    },
    async fetched(address, isWanted) {
      try {
        for (;;) {
          const response = await fetch(address);
          if (response.status !== 503) {
            const said = response.headers.get("x-spotter-problem") ?? "";
            return { ok: response.ok, note: response.ok ? decodeURIComponent(said) : await response.text() };
          }
          await new Promise((done) => setTimeout(done, AGAIN_MS));
          if (!isWanted()) return { ok: false, note: "" };
        }
      } catch {
        return { ok: false, note: "Studio does not answer" };
      }
    },
    async showRooms() { // one after the other, each by the cell that was found there first
      if (this.isShowing || this.e.map.is_grid) return;
      this.isShowing = true;
      for (const [r, room] of this.rooms.entries()) {
        if (r >= MOST_ROOMS_SHOWN || this.thumbs[r] || !room.name) continue;
        const address = this.address(this.e.cells.node.at(room.first));
        const found = await this.fetched(address, () => !this.isGone);
        if (!found.ok) this.framed = 0; // nor would the others be
        if (!found.ok || this.isGone) break;
        this.thumbs = { ...this.thumbs, [r]: address };
        await this.$nextTick();
        this.redraw();
      }
      this.isShowing = false;
    },
    film() { this.$emit("film", { id: this.ids[this.node], title: `The way to ${this.title.charAt(0).toLowerCase()}${this.title.slice(1)}` }); },
    redraw() {
      if (!this.e || !this.$refs.maps) return;
      const { map, cells } = this.e, pairs = map.rooms.map(() => []);
      const inRoom = (c, r) => (c >= 0 && map.room.at(c) === r ? this.tileOf(c) : null);
      if (this.lines) {
        for (let c = 0; c < this.cells; c++) {
          const before = this.near[cells.node.at(c)], r = map.room.at(c);
          if (before >= 0 && map.room.at(before) === r) pairs[r].push([this.tileOf(before), this.tileOf(c)]);
        }
      }
      const passed = this.chain.map((n) => this.tree.cell.at(n)).filter((c) => c >= 0);
      for (const canvas of this.$refs.maps) {
        const r = Number(canvas.dataset.room);
        const tiles = this.shaded[r].map(({ tile, value }) => ({ ...tile, shade: this.scales.share(value) }));
        drawMap(canvas, this.view, tiles, pairs[r], passed.map((c) => inRoom(c, r)), inRoom(this.cell, r), map.small);
      }
      const shadeOf = (n) => {
        const c = this.tree.cell.at(n);
        return c < 0 ? null : this.scales.share(this.values[c]);
      };
      if (this.$refs.tree) drawTree(this.$refs.tree, this.tree, shadeOf, this.chain, this.node);
    },
    under(r, event) {
      const [x, y] = placeAt(this.view, event.target.clientWidth, event.offsetX, event.offsetY);
      return this.tiles[r].get(x + " " + y);
    },
    hit(r, event) { // again at the same place: the next cell there
      const tile = this.under(r, event);
      if (tile) this.pick(tile.cells[(tile.cells.indexOf(this.cell) + 1) % tile.cells.length]);
    },
    point(r, event) {
      const tile = this.under(r, event), { is_grid: isGrid } = this.e.map;
      event.target.style.cursor = tile ? "pointer" : "";
      if (!tile) { this.tip = null; return; }
      const value = tile.cells.map((c) => this.values[c]).reduce(this.which.join);
      const where = isGrid ? `cell ${tile.cells[0] + 1}` : `x ${tile.x}, y ${tile.y}`;
      const several = tile.cells.length > 1 ? `, ${tile.cells.length} cells` : "";
      this.tip = { x: event.clientX + 14, y: event.clientY + 14, text: `${where}${several}, ${this.which.title} ${this.count(value)}` };
    },
    walk(r, event) { // to the nearest cell that way: sideways counts twice
      const there = [...this.tiles[r].values()], move = WAYS[event.key];
      const here = this.cell >= 0 && this.e.map.room.at(this.cell) === r ? this.tileOf(this.cell) : null;
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      let next = { Home: there[0], End: there[there.length - 1] }[event.key];
      if (move) {
        const [right, down] = move, turn = this.view.up ? -1 : 1;
        const ahead = (t) => right * (t.x - here.x) + down * turn * (t.y - here.y);
        const aside = (t) => Math.abs(right ? t.y - here.y : t.x - here.x);
        const far = (t) => ahead(t) + 2 * aside(t);
        next = here ? there.filter((t) => ahead(t) > 0).sort((a, b) => far(a) - far(b))[0] ?? here : there[0];
      }
      if (!next) return;
      event.preventDefault();
      if (next !== here) this.pick(next.cells[0]);
    },
    hitTree(event) {
      const n = nearestNode(event.target, this.tree, event.offsetX, event.offsetY);
      if (n !== null) this.pickNode(n);
    },
    climb(event) {
      if (this.node === null || event.ctrlKey || event.altKey || event.metaKey) return;
      const { parent, row, count } = this.tree;
      const from = (n) => Array.from({ length: count }, (_, k) => k).filter((k) => k && parent.at(k) === n).sort((a, b) => row.at(a) - row.at(b));
      const beside = from(parent.at(this.node)), at = beside.indexOf(this.node);
      const next = { ArrowLeft: parent.at(this.node), ArrowRight: from(this.node)[0], ArrowUp: beside[at - 1], ArrowDown: beside[at + 1] };
      if (!(event.key in next)) return;
      event.preventDefault();
      if (next[event.key] >= 0) this.pickNode(next[event.key]);
    },
  },
};
