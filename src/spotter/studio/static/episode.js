/* The numbers of one episode in the browser: unpacked, judged, thinned and written out. */
const MOST = 1200; // points of a line
export const KINDS = { f4: Float32Array, f8: Float64Array, i4: Int32Array, u1: Uint8Array };

export function unpack(packed) {
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const values = new KINDS[packed.kind](bytes.buffer);
  const width = packed.shape.slice(1).reduce((a, b) => a * b, 1);
  return { values, width, at: (t, i = 0) => values[t * width + i] };
}

/* y[t] = x[t] + decay * y[t + 1], as in episodes/advantages.py */
function sumsToGo(x, decay, after) {
  const sums = new Float64Array(x.length);
  let running = after;
  for (let t = x.length - 1; t >= 0; t--) sums[t] = running = x[t] + decay * running;
  return sums;
}

export function judge(episode, gamma, lam) {
  const length = episode.meta.length;
  const reward = (episode.training_reward ?? episode.reward).values;
  let total = 0;
  const score = episode.reward.values.map((r) => (total += r));
  if (episode.meta.baseline !== "value") return { score, ...withoutCritic(episode.meta, reward, gamma) };
  const value = episode.value?.values ?? new Float64Array(length);
  const after = episode.meta.end === "terminated" ? 0 : episode.meta.final_value ?? 0;
  const delta = reward.map((r, t) => r + gamma * (t + 1 < length ? value[t + 1] : after) - value[t]);
  const returns = sumsToGo(reward, gamma, after);
  return {
    returns,
    advantage: sumsToGo(delta, gamma * lam, 0),
    returnMinusValue: returns.map((r, t) => r - value[t]),
    score,
  };
}

/* Returns minus the baseline that was used, as in episodes/advantages.py */
function withoutCritic(meta, reward, gamma) {
  const returns = sumsToGo(reward, gamma, 0);
  const credited = meta.credit === "episode" ? returns.map(() => returns[0]) : returns;
  const known = meta.baseline_mean !== null && gamma === meta.gamma;
  const mean = known ? meta.baseline_mean : credited.reduce((a, b) => a + b, 0) / credited.length;
  const baseline = meta.baseline === "mean" ? mean : 0;
  return { returns, baseline, advantage: credited.map((r) => r - baseline) };
}

/* [t, y] for a chart; of a long episode the least and the greatest value of every stretch. */
export function points(length, at) {
  const point = (t) => [t, Number.isFinite(at(t)) ? at(t) : null];
  if (length <= MOST) return Array.from({ length }, (_, t) => point(t));
  const kept = [point(0)], stretch = Math.ceil((2 * length) / MOST);
  for (let start = 0; start < length; start += stretch) {
    let low = start, high = start;
    for (let t = start; t < Math.min(length, start + stretch); t++) {
      if (at(t) < at(low)) low = t;
      if (at(t) > at(high)) high = t;
    }
    for (const t of low < high ? [low, high] : low > high ? [high, low] : [low]) kept.push(point(t));
  }
  return [...kept, point(length - 1)];
}

export function number(x) {
  if (x === undefined || x === null) return "–";
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "−inf";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e6 || size < 1e-4 ? x.toExponential(2) : size >= 1000 ? x.toFixed(1) : x.toPrecision(4);
  const short = text.includes("e") || !text.includes(".") ? text : text.replace(/\.?0+$/, "");
  return short.replace("-", "−");
}
