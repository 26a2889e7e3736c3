/* A game in the browser: frames from a websocket onto canvases, keys back. Nothing here asks the
   page's server-side half for anything while a game runs, so that sixty frames per second are easy. */

const DIRECT = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", " ", "Enter", "/", "'"];
const WHO = { human: "You", agent: "Agent", untrained: "Untrained policy" };
const RATE_WINDOW = 30; // frames the shown rate is taken over

function number(x) {
  if (x === undefined || x === null) return "–";
  const text = Number.isInteger(x) ? String(x) : x.toFixed(2);
  return text.replace("-", "−");
}

function cssName(text) {
  return { up: "↑", down: "↓", left: "←", right: "→" }[text] ?? text;
}

export default {
  template: `
<div class="play">
  <div v-if="problem" class="studio-problem" role="alert">{{ problem }}</div>
  <div v-if="state === 'idle' && !problem" class="studio-card studio-empty">
    <div class="studio-empty-text">Take the controls</div>
    <div class="studio-empty-hint">Choose a run or a recipe above and a player, and press Start.</div>
  </div>
  <div v-if="state === 'starting'" class="studio-card studio-empty" aria-live="polite">
    <div class="studio-empty-text">Setting up the game…</div>
    <div class="studio-empty-hint">The first start takes a few seconds.</div>
  </div>
  <div v-show="state === 'playing'" class="play-columns">
    <section class="studio-card play-stage">
      <div class="play-screens">
        <figure v-for="(player, i) in players" :key="i" class="play-screen">
          <figcaption class="play-who">
            <span>{{ who(player) }}</span>
            <span class="play-score"><span class="quiet">score</span> <b class="studio-number" :data-score="i">{{ show(now[i]?.score) }}</b></span>
          </figcaption>
          <canvas :ref="'canvas' + i" width="320" height="240" :tabindex="i === 0 ? 0 : -1" class="play-canvas"
            :aria-label="who(player) + ' playing ' + env + '; keys go to the game while this has the focus'"
            @keydown="keyDown" @keyup="keyUp" @blur="release" @mousedown="focus"></canvas>
          <div v-if="now[i]?.over" class="play-over">{{ now[i].over === 'terminated' ? 'Over' : 'Time is up' }}</div>
          <div v-else-if="standing && player.mode === 'human'" class="play-over">{{ standing }}</div>
          <div v-if="player.cannot_draw" class="quiet play-dark">{{ player.cannot_draw }}</div>
        </figure>
      </div>
      <div class="play-bar">
        <button class="play-button play-main" @click="pause(!paused)" :aria-pressed="paused">{{ paused ? 'Continue' : 'Pause' }}</button>
        <button class="play-button" @click="single" title="One step">Step</button>
        <label class="play-check"><input type="checkbox" v-model="byStep" @change="tell('by step', byStep); focus()"> step by step</label>
        <button class="play-button" @click="tell('again'); focus()">New episode</button>
        <button class="play-button" :class="{ 'play-recording': recording }" @click="record(!recording)" :aria-pressed="recording"
          :disabled="!canRecord" :title="canRecord ? 'Keep episodes with the run' : 'Play a run to keep episodes with it'">{{ recording ? '● Recording' : 'Record' }}</button>
        <span class="play-pace">
          <label :for="'pace' + uid">Speed</label>
          <input :id="'pace' + uid" type="range" min="1" max="60" step="1" v-model.number="fps" @input="tell('fps', fps)" @change="focus">
          <span class="studio-number play-fps">{{ fps }} steps/s</span>
        </span>
      </div>
      <div v-if="standing" class="play-hint play-hint-loud" role="status">{{ about }}</div>
      <div v-else-if="waits" class="quiet play-hint">This game waits for you: every key is a step.</div>
      <div v-else-if="isHuman" class="play-hint" :class="hasFocus ? 'quiet' : 'play-hint-loud'">{{ hasFocus ? 'Keys' : 'Click the frame: keys' }} go to the game while it has the focus.</div>
    </section>
    <aside class="play-side">
      <section class="studio-card">
        <div class="studio-facts play-facts">
          <div><div class="studio-fact-name">Episode</div><div class="studio-fact-value" data-fact="episode">{{ now[0]?.episode ?? '–' }}</div></div>
          <div><div class="studio-fact-name">Step</div><div class="studio-fact-value" data-fact="step">{{ now[0]?.step ?? '–' }}</div></div>
          <div><div class="studio-fact-name">Reward</div><div class="studio-fact-value">{{ show(now[0]?.reward) }}</div></div>
          <div><div class="studio-fact-name">Frames/s</div><div class="studio-fact-value" data-fact="rate">{{ rate }}</div></div>
        </div>
      </section>
      <section v-for="(player, i) in players" :key="'p' + i" v-show="now[i]?.probabilities?.length || i === 0" class="studio-card">
        <div class="studio-h2" role="heading" aria-level="2">{{ heading(player) }}</div>
        <div v-if="now[i]?.probabilities?.length" class="play-bars">
          <div v-for="(p, c) in now[i].probabilities" :key="c" class="play-choice" :class="{ 'play-chosen': now[i].chosen.includes(c), 'play-masked': masked(i, c) }">
            <span class="play-name" :title="player.choices[c]">{{ spaced(player.choices[c]) }}</span>
            <span class="play-track"><span class="play-fill" :style="{ width: (100 * p).toFixed(1) + '%' }"></span></span>
            <span class="studio-number play-percent">{{ masked(i, c) ? 'masked' : (100 * p).toFixed(0) + ' %' }}</span>
          </div>
          <div class="play-value quiet">value <span class="studio-number">{{ show(now[i].value) }}</span></div>
        </div>
        <div v-else class="quiet">{{ noBars(player, i) }}</div>
        <div v-if="now[i]?.action" class="play-action">{{ player.mode === 'human' ? 'you did' : 'it did' }} <b>{{ spaced(now[i].action) }}</b></div>
      </section>
      <section v-if="legend.length" class="studio-card">
        <div class="studio-h2" role="heading" aria-level="2">Keys</div>
        <div class="play-legend"><template v-for="[keys, what] in legend">
          <span><template v-for="(key, k) in keys.split(' or ')"><kbd>{{ cap(key) }}</kbd> </template></span><span>{{ what }}</span>
        </template></div>
      </section>
      <section v-if="past.length || kept.length" class="studio-card">
        <div class="studio-h2" role="heading" aria-level="2">Episodes</div>
        <div class="play-past"><template v-for="one in past">
          <span class="quiet">{{ one.episode }}</span><span class="studio-number">{{ one.scores.map(show).join(' : ') }}</span><span class="quiet">{{ one.steps[0] }} steps</span>
        </template></div>
        <div v-for="one in kept" class="play-kept">kept: <a :href="link(one.name)">{{ one.name }}</a></div>
      </section>
    </aside>
  </div>
</div>`,
  props: { run: String },
  data: () => ({
    state: "idle", problem: "", env: "", players: [], legend: [], now: [], past: [], kept: [],
    paused: false, byStep: false, recording: false, canRecord: false, waits: false, stands: false, hasFocus: false,
    fps: 30, rate: "–", uid: Math.random().toString(36).slice(2, 8), shownRun: "",
  }),
  computed: {
    isHuman() { return this.players.some((player) => player.mode === "human"); },
    /* What a game that stands still asks for. */
    standing() {
      if (!this.stands || this.paused) return "";
      const key = this.hasFocus ? "Press a key" : "Click here and press a key";
      return `${key} to ${this.now[0]?.step ? "continue" : "begin"}`;
    },
    about() {
      if (this.now[0]?.step) return `The game is at step ${this.now[0].step}: the first key you press continues from here.`;
      return "Every episode waits for your first key; then the game runs by itself.";
    },
  },
  created() {
    // not watched by Vue: these change with every frame
    this.socket = null;
    this.name = "";
    this.latest = null;
    this.game = this.drawn = 0;
    this.inputs = 0;
    this.times = [];
  },
  mounted() { this.$emit("here"); }, // a game may be waiting for a listener
  beforeUnmount() { this.leave(); },
  methods: {
    show: number,
    cap: cssName,
    spaced: (text) => (text ?? "").replaceAll("_", " "),
    who: (player) => WHO[player.mode] ?? player.mode,
    heading(player) { return player.mode === "human" ? "What the agent would do" : "What it thinks"; },
    masked(i, c) { const mask = this.now[i].mask; return mask.length > 0 && !mask[c]; },
    link(name) { return "/inspect?" + new URLSearchParams({ run: this.shownRun, episode: name }); },
    noBars(player, i) {
      if (player.choices.length === 0) return "Continuous actions have no bars.";
      if (this.now[i]?.step === 0 && player.mode !== "human") return "No decision yet.";
      return player.mode === "human" && !this.canRecord ? "A recipe has no policy to ask; play a run." : "No decision yet.";
    },
    connect(name, run, start) {
      this.shownRun = run ?? "";
      if (this.cleared === start) return; // the game was quicker to say that it is ready
      this.clear(start);
      if (this.socket && this.name === name) return; // the same process plays something else now
      this.leave();
      this.name = name;
      const scheme = location.protocol === "https:" ? "wss" : "ws";
      const socket = new WebSocket(`${scheme}://${location.host}/ws/play/${encodeURIComponent(name)}`);
      socket.binaryType = "arraybuffer";
      socket.onmessage = (event) => this.hear(event.data);
      socket.onclose = () => {
        if (this.socket !== socket) return;
        this.socket = null;
        this.fail(this.problem || "the connection to this game was lost; press Start to play again");
      };
      this.socket = socket;
    },
    clear(start) {
      this.cleared = start;
      this.times = [];
      Object.assign(this, { state: "starting", problem: "", past: [], kept: [], now: [], players: [], legend: [],
        paused: false, stands: false, byStep: false, recording: false, rate: "–" });
    },
    leave() {
      const socket = this.socket;
      this.socket = null;
      if (socket) socket.close();
    },
    fail(text) {
      this.problem = text;
      this.state = "idle";
    },
    hear(data) {
      const size = new DataView(data).getUint32(0, true);
      const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, size)));
      if (header.kind === "frame") {
        if (this.state === "playing") this.picture(header, data, 4 + size); // else of the game before
      } else if (header.kind === "ready") this.begin(header);
      else if (header.kind === "ended") this.past = [header, ...this.past].slice(0, 12);
      else if (header.kind === "kept") this.kept = [header, ...this.kept].slice(0, 6);
      else if (header.kind === "said") this.$emit("said", header.text);
      else if (header.kind === "failed") {
        if (header.start != null && this.cleared !== header.start) this.clear(header.start);
        this.fail(header.text);
      }
    },
    begin(header) {
      if (this.cleared !== header.start) this.clear(header.start); // `connect` takes another way, and may be late
      this.game += 1;
      this.drawn = 0;
      Object.assign(this, { state: "playing", env: header.env, players: header.players, legend: header.legend,
        canRecord: header.can_record, waits: header.waits, fps: Math.round(header.fps) });
      this.$nextTick(() => this.focus());
    },
    async picture(header, data, start) {
      const game = this.game;
      const bitmaps = [];
      let at = start;
      for (const player of header.players) {
        bitmaps.push(player.picture ? createImageBitmap(new Blob([new Uint8Array(data, at, player.picture)], { type: "image/jpeg" })) : null);
        at += player.picture;
      }
      const images = await Promise.all(bitmaps);
      if (game !== this.game || header.number <= this.drawn) return; // decoded late
      this.drawn = header.number;
      images.forEach((image, i) => this.draw(image, i));
      this.count();
      const waiting = this.latest !== null;
      this.latest = header;
      if (!waiting) requestAnimationFrame(() => this.write());
    },
    draw(image, i) {
      const canvas = [].concat(this.$refs["canvas" + i] ?? [])[0];
      if (!image || !canvas) return;
      if (canvas.width !== image.width || canvas.height !== image.height) {
        canvas.width = image.width;
        canvas.height = image.height;
        canvas.style.setProperty("--ratio", image.width / image.height);
        canvas.classList.toggle("play-pixels", image.width < 500);
      }
      canvas.getContext("2d").drawImage(image, 0, 0);
      image.close();
    },
    /* Numbers and bars at most once per frame of the screen. */
    write() {
      const header = this.latest;
      this.latest = null;
      if (!header) return;
      this.now = header.players;
      this.paused = header.paused;
      this.stands = header.stands;
    },
    count() {
      this.times.push(performance.now());
      if (this.times.length > RATE_WINDOW) this.times.shift();
      if (this.drawn % 10 === 0 && this.times.length > 2) {
        const span = this.times[this.times.length - 1] - this.times[0];
        this.rate = Math.round((1000 * (this.times.length - 1)) / span);
      }
    },
    tell(word, value) {
      if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ do: word, value }));
    },
    key(word, event) {
      this.inputs += 1;
      if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ do: word, value: event.key, number: this.inputs }));
    },
    keyDown(event) {
      if (event.key === "Escape") { event.target.blur(); return; }
      if (event.metaKey || event.altKey || (event.ctrlKey && event.key !== "Control") || event.key === "Tab") return;
      if (DIRECT.includes(event.key)) event.preventDefault(); // else the page would scroll
      if (event.repeat) return;
      if (this.byStep && !this.isHuman && [" ", "ArrowRight"].includes(event.key)) this.tell("step");
      else this.key("down", event);
    },
    keyUp(event) { this.key("up", event); },
    release() { this.hasFocus = false; this.tell("release"); },
    focus() {
      this.$nextTick(() => {
        const canvas = [].concat(this.$refs.canvas0 ?? [])[0];
        canvas?.focus({ preventScroll: true });
        this.hasFocus = document.activeElement === canvas;
      });
    },
    pause(wanted) { this.paused = wanted; this.tell("pause", wanted); if (!wanted) this.focus(); },
    single() { if (!this.paused && !this.byStep) this.pause(true); this.tell("step"); this.focus(); },
    record(wanted) { this.recording = wanted; this.tell("record", wanted); this.focus(); },
  },
};
