/* The episode viewer: slider, frame, what the network saw, numbers, charts and table of one episode.
   Everything but images comes in one JSON; moving between steps needs no request. */
import { echarts } from "nicegui-echart";
import { KINDS, judge, number, points, unpack } from "studio/episode.js";

const ROW = 28; // pixels; the table draws only rows in sight
const AHEAD = 8; // images fetched before they are needed
const WIDEST = 2000; // steps of a core's state that are drawn
const [BELOW, ABOVE] = [[11, 110, 153], [213, 94, 0]];
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 8];
const COLOURS = ["#0b6e99", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#7f7f7f", "#8a5cd1"];
const BUSY = "input:not([type=range]), select, textarea, [contenteditable], [role=tablist], [role=listbox], [role=dialog], .q-menu, .q-field";

export default {
  template: `
<div class="viewer" tabindex="-1">
  <div v-if="problem" class="studio-problem" role="alert">{{ problem }}</div>
  <div v-else-if="!ready" class="viewer-wait">Opening the episode…</div>
  <template v-else>
    <div class="viewer-bar" role="group" aria-label="Playback">
      <button @click="go(0)" aria-label="First step" title="Home">|◀</button>
      <button @click="go(step - 1)" aria-label="Step back" title="Left arrow">◀</button>
      <button class="viewer-play" @click="toggle" :aria-label="playing ? 'Pause' : 'Play'" title="Space">
        {{ playing ? "Pause" : "Play" }}</button>
      <button @click="go(step + 1)" aria-label="Step forward" title="Right arrow">▶</button>
      <button @click="go(last)" aria-label="Last step" title="End">▶|</button>
      <input class="viewer-slider" type="range" min="0" :max="last" :value="step"
             @input="go(Number($event.target.value))" aria-label="Step">
      <output class="viewer-step">step {{ step }} of {{ last }}</output>
      <label>speed <select v-model.number="speed">
        <option v-for="s in speeds" :value="s">{{ s }}×</option></select></label>
      <label>gamma <input class="viewer-gamma" type="number" min="0" max="1" step="any" v-model="gamma"></label>
      <label v-if="e.meta.baseline === 'value'">lambda <input class="viewer-lambda" type="number" min="0" max="1" step="any" v-model="lam"></label>
      <a :href="base + '.csv?gamma=' + gamma + '&lam=' + lam" download>CSV</a>
      <a :href="base + '.zip'" download>Trace</a>
    </div>
    <div v-if="unfit" class="studio-problem" role="alert">{{ unfit }}</div>
    <div v-for="w in e.meta.warnings" class="viewer-note">{{ w }}</div>
    <div class="viewer-panes">
      <section class="studio-card viewer-frame">
        <h3>Frame</h3>
        <img v-if="e.frames" :src="picture(step)" :alt="'rendered frame of step ' + step">
        <p v-else class="viewer-quiet">This episode has no frames: its environment cannot be rendered.
          All numbers are here.</p>
        <a class="viewer-look viewer-take" :href="play + '&step=' + step">Take over from this frame</a>
      </section>
      <section class="studio-card viewer-seen">
        <h3>What the network sees</h3>
        <p v-if="!e.seen.length" class="viewer-quiet">No observations were stored.</p>
        <div v-for="(leaf, i) in e.seen" class="viewer-leaf">
          <div v-if="e.seen.length > 1" class="viewer-quiet">{{ leaf.path }}</div>
          <div v-if="leaf.kind === 'image'" class="viewer-tiles" role="img" :style="{ '--across': across(leaf) }"
               :aria-label="'observation ' + leaf.path + ' of step ' + step">
            <div v-for="(tile, k) in tiles(leaf)">
              <div class="viewer-tile" :style="{ aspectRatio: leaf.width + ' / ' + leaf.height }">
                <img :src="view(i, step)" alt="" :style="{ width: 100 * leaf.tiles + '%', left: -100 * k + '%' }"></div>
              <b>{{ tile.when }}</b><span>{{ tile.what }}</span></div>
          </div>
          <div v-else class="viewer-values" tabindex="0" role="group" :aria-label="'numbers of ' + leaf.path">
            <div v-for="(name, k) in leaf.names" class="viewer-value">
              <span :title="name">{{ name }}</span><i><u :style="swing(leaf, k)"></u></i>
              <b>{{ num(leaf.data.at(step, k)) }}</b></div>
            <p v-if="leaf.size > leaf.names.length" class="viewer-quiet">
              The first {{ leaf.names.length }} of {{ leaf.size }} numbers; the trace has all of them.</p>
          </div>
        </div>
        <button v-if="pictures" class="viewer-look" @click="$emit('look', { step })">
          Explain this step: filters, activations, saliency</button>
      </section>
      <section class="studio-card viewer-now">
        <h3>Decision</h3>
        <div class="viewer-action">{{ words(step) }}
          <em v-if="offbeat(step)" title="another action was more likely">not the most likely</em>
          <em v-if="e.told?.at(step)" class="viewer-end">given, not chosen</em>
          <em v-if="step === last" class="viewer-end">episode ended: {{ e.meta.end }}</em></div>
        <div v-if="e.probability" class="viewer-choices">
          <div v-for="row in choices" class="viewer-choice" :class="{ picked: row.picked, masked: row.masked }">
            <span :title="row.name">{{ row.name }}</span>
            <i><u :style="{ width: 100 * row.p + '%' }"></u></i>
            <b>{{ row.masked ? "masked" : (100 * row.p).toFixed(1) + " %" }}</b>
            <button v-if="!row.picked && !row.masked && branches" @click="$emit('branch', { step, pick: row.i })"
                    :aria-label="'Try ' + row.name + ' here'" title="What if it had done this?">try</button>
          </div>
        </div>
        <form v-if="e.axes" class="viewer-axes" @submit.prevent="tryNumbers">
          <div v-for="(name, i) in e.axes" class="viewer-axis">
            <span :title="name">{{ name }}</span>
            <b :title="'mean and spread of what the policy would do'">{{ belief(i) }}</b>
            <input v-if="branches" type="number" :min="e.bounds[0][i]" :max="e.bounds[1][i]" step="any" required
                   v-model="other[i]" :aria-label="'Another ' + name"></div>
          <button v-if="branches" title="What if it had done this? In the environment's own units.">
            try these numbers</button>
        </form>
        <dl><template v-for="f in facts"><dt :title="f[2]">{{ f[0] }}</dt>
          <dd :data-fact="f[0]">{{ num(f[1]) }}</dd></template></dl>
      </section>
    </div>
    <div class="viewer-charts">
      <div v-for="c in charts" class="studio-card viewer-chart"><h3>{{ c.title }}</h3>
        <div class="viewer-plot"><div :ref="c.key" class="viewer-canvas"></div>
          <span class="viewer-cursor" :style="{ left: cursor[c.key] + 'px' }"></span></div></div>
    </div>
    <section v-if="e.state" class="studio-card viewer-memory">
      <h3>What it remembers</h3>
      <div class="viewer-strip"><canvas ref="memory" role="img" @click="goTo($event)"
          :aria-label="'what the core holds: ' + e.state.width + ' numbers over ' + e.meta.length + ' steps'"></canvas>
        <span class="viewer-cursor" :style="{ left: (100 * (step + 0.5)) / e.meta.length + '%' }"></span></div>
      <p class="viewer-quiet">A row for each number of the core, a column for each step:
        <b class="viewer-below">−{{ num(e.remembers.reach) }}</b> to
        <b class="viewer-above">{{ num(e.remembers.reach) }}</b>, 0 in between.
        <template v-if="e.remembers.size > e.state.width">The first {{ e.state.width }} of {{ e.remembers.size }}.</template></p>
    </section>
    <section class="studio-card viewer-steps">
      <div class="viewer-row viewer-head" role="row"><span v-for="h in heads">{{ h }}</span></div>
      <div ref="table" class="viewer-table" @scroll="scroll = $event.target.scrollTop" role="table" tabindex="0"
           aria-label="All steps">
        <div :style="{ height: e.meta.length * rowHeight + 'px', position: 'relative' }">
          <div v-for="t in inSight" :key="t" role="row" :data-step="t" @click="go(t)"
               class="viewer-row" :class="{ now: t === step, off: offbeat(t) }"
               :style="{ top: t * rowHeight + 'px' }">
            <span>{{ t }}</span><span>{{ words(t) }}</span><span>{{ chance(t) }}</span>
            <span>{{ num(e.value?.at(t)) }}</span><span>{{ num(e.reward.at(t)) }}</span>
            <span>{{ num(j.score[t]) }}</span><span>{{ num(j.returns[t]) }}</span>
            <span>{{ num(j.advantage[t]) }}</span><span>{{ num(j.returnMinusValue?.[t]) }}</span>
          </div>
        </div>
      </div>
    </section>
  </template>
</div>`,
  props: { base: String, play: String, start: Number, branches: Boolean },
  emits: ["look", "branch"],
  data() {
    return {
      ready: false, problem: "", step: 0, playing: false, speed: 1, gamma: "", lam: "", scroll: 0,
      e: null, j: null, cursor: {}, other: [], speeds: SPEEDS, rowHeight: ROW,
      heads: ["step", "action", "probability", "value", "reward", "score", "return", "advantage", "return minus value"],
    };
  },
  computed: {
    last() { return this.e.meta.length - 1; },
    pictures() { return this.e.seen.some((leaf) => leaf.kind === "image"); },
    unfit() {
      const fits = (x) => x !== "" && Number(x) >= 0 && Number(x) <= 1;
      return fits(this.gamma) && fits(this.lam) ? "" : "gamma and lambda must be numbers from 0 to 1";
    },
    choices() {
      const { probability, mask, picked, choices } = this.e;
      return choices.map((name, i) => ({
        i, name, p: probability.at(this.step, i),
        masked: mask ? !mask.at(this.step, i) : false, picked: Boolean(picked?.at(this.step, i)),
      }));
    },
    facts() {
      const { e, j, step: t } = this;
      const rows = [
        ["value", e.value?.at(t), "what the critic expects from here"],
        ["reward", e.reward.at(t), "the game's own"],
        ["training reward", e.training_reward?.at(t), "what the algorithm would have been given"],
        ...e.meta.parts.map((name, i) => ["· " + name, e.part?.at(t, i), "part of the reward"]),
        ["score", j.score[t], "sum of the game's rewards so far"],
        ["return", j.returns[t], "Monte-Carlo: discounted training reward from here on"],
        ["baseline", j.baseline, "what the algorithm takes from every return: it has no critic"],
        ["advantage", j.advantage[t], j.returnMinusValue
          ? "generalised advantage estimate (GAE) under this gamma and lambda" : "return minus baseline"],
        ["return minus value", j.returnMinusValue?.[t], "how far the critic was off, by the Monte-Carlo return"],
        ...e.meta.info.map((name, i) => [name, e.info?.at(t, i), "reported by the environment"]),
      ];
      return rows.filter((row) => row[1] !== undefined);
    },
    charts() {
      const shown = [{ key: "worth", title: "Value and return" }];
      if (this.e.probability) shown.push({ key: "chances", title: "Probabilities" });
      shown.push({ key: "pay", title: "Reward parts" });
      return shown;
    },
    inSight() {
      const first = Math.max(0, Math.floor(this.scroll / ROW) - 5);
      const end = Math.min(this.e.meta.length, first + 24);
      return Array.from({ length: end - first }, (_, i) => first + i);
    },
  },
  watch: {
    base() { this.open(); },
    step() { this.moved(); },
    gamma() { this.rejudge(); },
    lam() { this.rejudge(); },
  },
  mounted() {
    this.drawn = {};
    this.onKey = (event) => this.key(event);
    window.addEventListener("keydown", this.onKey);
    this.resized = new ResizeObserver(() => { Object.values(this.drawn).forEach((c) => c.resize()); this.place(); });
    this.resized.observe(this.$el);
    this.open();
  },
  unmounted() {
    window.removeEventListener("keydown", this.onKey);
    this.resized.disconnect();
    this.clear();
    this.playing = false;
  },
  methods: {
    num: number,
    clear() {
      Object.values(this.drawn).forEach((chart) => chart.dispose());
      this.drawn = {};
    },
    async open() {
      this.clear();
      this.ready = this.playing = false;
      this.problem = "";
      this.fetched = new Set();
      const base = this.base;
      try {
        const response = await fetch(base + ".json");
        if (!response.ok) throw new Error(await response.text());
        const found = await response.json();
        if (base !== this.base) return; // another one was chosen meanwhile
        for (const [name, value] of Object.entries(found)) if (value?.kind in KINDS) found[name] = unpack(value);
        for (const leaf of found.seen) if (leaf.values) leaf.data = unpack(leaf.values);
        this.e = Vue.markRaw(found);
        [this.gamma, this.lam] = [found.meta.gamma, found.meta.lam].map(String);
        this.j = Vue.markRaw(judge(found, found.meta.gamma, found.meta.lam));
        this.step = Math.max(0, Math.min(this.start || 0, found.meta.length - 1));
        this.ready = true;
        await this.$nextTick();
        this.draw();
        this.shade();
        this.moved();
      } catch (error) {
        this.problem = error.message || "the episode could not be opened";
      }
    },
    rejudge() {
      if (!this.ready || this.unfit) return;
      this.j = Vue.markRaw(judge(this.e, Number(this.gamma), Number(this.lam)));
      this.draw(["worth"]);
    },
    go(step) {
      if (this.ready) this.step = Math.max(0, Math.min(this.last, step));
    },
    moved() {
      if (!this.ready) return;
      this.fetchAhead();
      this.place();
      if (this.e.axes) this.other = this.e.axes.map((_, i) => this.rounded(i));
      const table = this.$refs.table;
      const top = this.step * ROW;
      if (table && (top < table.scrollTop || top + ROW > table.scrollTop + table.clientHeight)) {
        table.scrollTop = top - table.clientHeight / 2 + ROW;
      }
      clearTimeout(this.settle);
      this.settle = setTimeout(() => {
        const address = new URL(location.href);
        address.searchParams.set("step", this.step);
        history.replaceState(history.state, "", address);
      }, 300);
    },
    fetchAhead() {
      for (let t = this.step + 1; t <= Math.min(this.last, this.step + AHEAD); t++) {
        if (this.fetched.has(t)) continue;
        this.fetched.add(t);
        if (this.e.frames) new Image().src = this.picture(t);
        this.e.seen.forEach((leaf, i) => { if (leaf.kind === "image") new Image().src = this.view(i, t); });
      }
    },
    toggle() {
      this.playing = !this.playing;
      if (!this.playing) return;
      if (this.step === this.last) this.step = 0;
      let shown = performance.now();
      const next = (now) => {
        if (!this.playing) return;
        const due = Math.floor(((now - shown) * this.speed * (this.e.meta.fps || 30)) / 1000);
        if (due > 0) { this.go(this.step + due); shown = now; }
        if (this.step === this.last) this.playing = false;
        else requestAnimationFrame(next);
      };
      requestAnimationFrame(next);
    },
    key(event) {
      const far = event.shiftKey ? 10 : 1;
      const moves = {
        ArrowLeft: () => this.go(this.step - far), ArrowRight: () => this.go(this.step + far),
        Home: () => this.go(0), End: () => this.go(this.last), " ": () => this.toggle(),
      };
      const move = moves[event.key];
      if (!move || !this.ready || event.ctrlKey || event.altKey || event.metaKey) return;
      if (this.$el.offsetParent === null || event.target.closest?.(BUSY)) return;
      if (event.key === " " && event.target.closest?.("button, a, [role=button], [role=tab]")) return;
      event.preventDefault();
      move();
    },
    picture(t) { return `${this.base.replace("/api/episode/", "/api/frame/")}/${t}.jpg`; },
    view(leaf, t) { return `${this.base.replace("/api/episode/", "/api/seen/")}/${leaf}/${t}.png`; },
    words(t) { return this.e.labels[this.e.label.at(t)]; },
    offbeat(t) { return this.e.greedy ? !this.e.greedy.at(t) : false; },
    chance(t) {
      if (!this.e.log_prob) return "–";
      const p = Math.exp(this.e.log_prob.at(t));
      return this.e.probability ? (100 * p).toFixed(1) + " %" : number(p);
    },
    belief(i) {
      const { mean, std } = this.e;
      return mean && std ? `${number(mean.at(this.step, i))} ± ${number(std.at(this.step, i))}` : "";
    },
    rounded(i) { // and still inside the bounds, which may be null: none
      const [low, high] = this.e.bounds.map((side) => side[i]);
      const x = Number(this.e.action.at(this.step, i).toFixed(3));
      return Math.max(low ?? -Infinity, Math.min(high ?? Infinity, x));
    },
    tryNumbers() { this.$emit("branch", { step: this.step, pick: this.other.map(Number) }); },
    tiles(leaf) {
      return Array.from({ length: leaf.tiles }, (_, i) => {
        if (leaf.tiles !== leaf.stack) return { when: leaf.tiles > 1 ? "channel " + i : "", what: "" };
        const back = leaf.stack - 1 - i, t = this.step - back;
        if (leaf.stack === 1) return { when: "", what: "" };
        return { when: back ? "t − " + back : "now", what: t < 0 ? "before the start" : this.words(t) };
      });
    },
    across(leaf) { return leaf.tiles <= 3 ? leaf.tiles : leaf.tiles <= 6 ? Math.ceil(leaf.tiles / 2) : 4; },
    swing(leaf, k) {
      const share = leaf.reach[k] ? leaf.data.at(this.step, k) / leaf.reach[k] : 0;
      const width = Math.min(50, 50 * Math.abs(share));
      return { width: width + "%", left: (share < 0 ? 50 - width : 50) + "%" };
    },
    draw(keys = ["worth", "chances", "pay"]) {
      const { e, j } = this;
      const line = (name, at) => [name, points(e.meta.length, at)];
      const column = (packed) => (name, i) => line(name, (t) => packed.at(t, i));
      const series = {
        worth: () => [
          line("return", (t) => j.returns[t]),
          ...(e.value ? [line("value", (t) => e.value.at(t))] : []),
          line("advantage", (t) => j.advantage[t]),
        ],
        chances: () => e.choices.map(column(e.probability)),
        pay: () => (e.part ? e.meta.parts.map(column(e.part)) : [line("reward", (t) => e.reward.at(t))]),
      };
      for (const { key } of this.charts) if (keys.includes(key)) this.plot(key, series[key]());
      this.place();
    },
    shade() { // a pixel for each number of each step; of a long episode every so many steps
      const { state, meta } = this.e, canvas = this.$refs.memory;
      if (!state) return;
      const every = Math.ceil(meta.length / WIDEST);
      [canvas.width, canvas.height] = [Math.ceil(meta.length / every), state.width];
      const image = new ImageData(canvas.width, canvas.height);
      for (let x = 0; x < canvas.width; x++) {
        for (let y = 0; y < canvas.height; y++) {
          const value = (state.at(x * every, y) - 127.5) / 127.5;
          const colour = value < 0 ? BELOW : ABOVE;
          image.data.set([...colour, Math.round(255 * Math.abs(value))], 4 * (y * canvas.width + x));
        }
      }
      canvas.getContext("2d").putImageData(image, 0, 0);
    },
    goTo(event) {
      const box = event.target.getBoundingClientRect();
      this.go(Math.floor((this.e.meta.length * (event.clientX - box.left)) / box.width));
    },
    plot(key, lines) {
      const box = this.$refs[key]?.[0] ?? this.$refs[key];
      if (!box) return;
      const quiet = { color: "#8a9199", fontSize: 11 };
      const line = { lineStyle: { color: "#8a919944" } };
      const axis = { axisLabel: quiet, axisLine: line, splitLine: line, axisTick: { show: false } };
      if (!this.drawn[key]) {
        const chart = (this.drawn[key] = Vue.markRaw(echarts.init(box)));
        chart.getZr().on("click", (event) => {
          const at = chart.convertFromPixel({ xAxisIndex: 0 }, event.offsetX);
          if (Number.isFinite(at)) this.go(Math.round(at));
        });
        chart.on("datazoom", () => this.place());
      }
      this.drawn[key].setOption({
        animation: false, color: COLOURS, dataZoom: [{ type: "inside", zoomOnMouseWheel: "ctrl" }],
        grid: { left: 8, right: 14, top: 28, bottom: 4, containLabel: true },
        legend: { type: "scroll", top: 0, left: 0, textStyle: quiet, itemWidth: 14, itemHeight: 8 },
        tooltip: { trigger: "axis", confine: true, transitionDuration: 0, valueFormatter: number },
        xAxis: { type: "value", min: 0, max: Math.max(1, this.last), minInterval: 1, ...axis },
        yAxis: { type: "value", scale: key !== "chances", ...(key === "chances" ? { min: 0, max: 1 } : {}), ...axis },
        series: lines.map(([name, data]) => ({
          name, data, type: "line", lineStyle: { width: 1.5 },
          showSymbol: data.length === 1, step: key === "pay" ? "end" : false,
        })),
      }, { notMerge: true });
    },
    place() {
      const cursor = {};
      for (const [key, chart] of Object.entries(this.drawn)) {
        cursor[key] = chart.convertToPixel({ xAxisIndex: 0 }, this.step);
      }
      this.cursor = cursor;
    },
  },
};
