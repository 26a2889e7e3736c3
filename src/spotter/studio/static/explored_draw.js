/* How a map of cells and a tree of ways are drawn: colours, places, pixels. No state. */
// as viridis, each lighter than the one before, but seen on a dark ground as well
const STOPS = [[98, 84, 178], [62, 120, 185], [33, 155, 145], [105, 200, 95], [250, 225, 50]];
const UNKNOWN = "#8a9199"; // older ways, which no cell has now
const GAP = 1;
const FAR = 4; // places
export const TREE = { left: 10, right: 16, top: 10, bottom: 22 };

export function colour(share) {
  const at = Math.max(0, Math.min(1, share)) * (STOPS.length - 1), i = Math.min(STOPS.length - 2, Math.floor(at));
  return `rgb(${STOPS[i].map((low, k) => Math.round(low + (STOPS[i + 1][k] - low) * (at - i)))})`;
}

export const GRADIENT = `linear-gradient(90deg, ${STOPS.map((stop) => `rgb(${stop})`)})`;

/* Where a value lies between the least and the greatest, 0 … 1; counts by their logarithm. */
export function scale(values, isCount) {
  let low = Infinity, high = -Infinity;
  for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
  const bend = isCount ? (x) => Math.log(1 + x) : (x) => x;
  const range = bend(high) - bend(low) || 1;
  return { low, high, share: (x) => (bend(x) - bend(low)) / range };
}

/* A canvas as large as its place on the page, in real pixels; how wide and high it is in CSS pixels. */
function cleared(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = height + "px";
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return pen;
}

function ink(canvas, name) {
  return getComputedStyle(canvas).getPropertyValue(name).trim();
}

/* Which part of the canvas is the place x, y: its left, its top, and the size of a place. */
export function place(view, width, x, y) {
  const size = width / (view.x1 - view.x0 + 1), high = size * view.tall;
  const row = view.up ? view.y1 - y : y - view.y0;
  return [(x - view.x0) * size, row * high, size, high];
}

export function placeAt(view, width, left, top) {
  const size = width / (view.x1 - view.x0 + 1);
  const x = view.x0 + Math.floor(left / size), row = Math.floor(top / (size * view.tall));
  return [x, view.up ? view.y1 - row : view.y0 + row];
}

/* `tiles`: { x, y, shade, cells }; `lines`: pairs of tiles; `way`: tiles from the start to the picked one. */
export function drawMap(canvas, view, tiles, lines, way, picked, small) {
  const width = canvas.clientWidth;
  if (!width) return;
  const [, bottom, , high] = place({ ...view, up: false }, width, 0, view.y1);
  const pen = cleared(canvas, width, Math.ceil(bottom + high));
  const middle = (tile) => {
    const [left, top, size, tall] = place(view, width, tile.x, tile.y);
    return [left + size / 2, top + tall / 2];
  };
  for (const tile of tiles) {
    const [left, top, size, tall] = place(view, width, tile.x, tile.y);
    pen.fillStyle = colour(tile.shade);
    pen.fillRect(left, top, Math.max(1, size - GAP), Math.max(1, tall - GAP));
    if (small) drawSmall(pen, small, tile, left, top, size - GAP, tall - GAP);
  }
  const stroke = (pairs, style, thick) => {
    pen.beginPath();
    for (const [from, to] of pairs) { pen.moveTo(...middle(from)); pen.lineTo(...middle(to)); }
    [pen.strokeStyle, pen.lineWidth] = [style, thick];
    pen.stroke();
  };
  const far = (pairs) => pairs.filter(isFar), close = (pairs) => pairs.filter((pair) => !isFar(pair));
  const isFar = ([from, to]) => Math.max(Math.abs(from.x - to.x), Math.abs(from.y - to.y)) > FAR;
  const dashed = (pairs, ...how) => { // over places whose own way is another one now
    pen.setLineDash([2, 4]);
    stroke(far(pairs), ...how);
    pen.setLineDash([]);
  };
  stroke(close(lines), ink(canvas, "--map-line"), 1);
  dashed(lines, ink(canvas, "--map-line"), 1);
  const frame = (tile, style, thick) => {
    const [left, top, size, tall] = place(view, width, tile.x, tile.y);
    [pen.strokeStyle, pen.lineWidth] = [style, thick];
    pen.strokeRect(left - 0.5, top - 0.5, size, tall);
  };
  const [around, bright] = [ink(canvas, "--paper"), ink(canvas, "--map-way")];
  if (small) { // in a grid, neighbours mean nothing
    for (const tile of way) if (tile) frame(tile, bright, 1);
  } else {
    const steps = way.slice(1).map((tile, i) => [way[i], tile]).filter(([a, b]) => a && b);
    stroke(close(steps), around, 5);
    stroke(close(steps), bright, 2.5);
    dashed(steps, bright, 2.5);
  }
  if (!picked) return;
  frame(picked, around, 5);
  frame(picked, bright, 2.5);
}

/* A cell that is a small frame, above a bar of its colour. All are painted once, on one sheet. */
function drawSmall(pen, small, tile, left, top, wide, tall) {
  const { width, height } = small;
  pen.imageSmoothingEnabled = false;
  const from = [tile.x * width, tile.y * height, width, height];
  pen.drawImage(small.sheet, ...from, left, top, wide, tall - Math.max(3, tall / 8));
}

/* `x` and `y` of each cell in the grid. */
export function sheetOf(small, x, y) {
  const { width, height, pixels } = small;
  const [across, down] = [x, y].map((values) => 1 + values.reduce((a, b) => Math.max(a, b), 0));
  const sheet = new OffscreenCanvas(across * width, down * height), image = new ImageData(across * width, down * height);
  for (let cell = 0; cell < x.length; cell++) {
    for (let i = 0; i < width * height; i++) {
      const row = y[cell] * height + Math.floor(i / width), column = x[cell] * width + (i % width);
      const grey = pixels.at(cell, i);
      image.data.set([grey, grey, grey, 255], 4 * (row * across * width + column));
    }
  }
  sheet.getContext("2d").putImageData(image, 0, 0);
  return sheet;
}

/* Where a node of the tree is drawn. */
export function nodeAt(tree, box, n) {
  const across = box.width - TREE.left - TREE.right, down = box.height - TREE.top - TREE.bottom;
  return [
    TREE.left + (across * tree.length.at(n)) / Math.max(1, tree.longest),
    TREE.top + (down * tree.row.at(n)) / Math.max(1, tree.ends - 1),
  ];
}

/* To the right: actions from the start; a row for each way that leads no further. */
export function drawTree(canvas, tree, shadeOf, way, picked) {
  const box = { width: canvas.clientWidth, height: Math.max(120, Math.min(420, 4 * tree.ends + 40)) };
  if (!box.width) return;
  const pen = cleared(canvas, box.width, box.height);
  const branch = (n) => {
    const [x, y] = nodeAt(tree, box, n), [before, from] = nodeAt(tree, box, tree.parent.at(n));
    pen.moveTo(before, from);
    pen.lineTo(before, y);
    pen.lineTo(x, y);
  };
  const stroke = (nodes, style, thick) => {
    pen.beginPath();
    for (const n of nodes) if (n) branch(n);
    [pen.strokeStyle, pen.lineWidth] = [style, thick];
    pen.stroke();
  };
  stroke(Array.from({ length: tree.count }, (_, n) => n), ink(canvas, "--quiet") + "66", 1);
  const dot = (n, size, style) => {
    const [x, y] = nodeAt(tree, box, n);
    pen.fillStyle = style;
    pen.beginPath();
    pen.arc(x, y, size, 0, 7);
    pen.fill();
  };
  for (let n = 0; n < tree.count; n++) {
    const shade = shadeOf(n);
    dot(n, shade === null ? 1.2 : 2.2, shade === null ? UNKNOWN : colour(shade));
  }
  stroke(way, ink(canvas, "--map-way"), 2);
  for (const n of way) dot(n, 2.5, ink(canvas, "--map-way"));
  if (picked !== null) dot(picked, 5, ink(canvas, "--map-way"));
  pen.fillStyle = ink(canvas, "--quiet");
  pen.font = "11px system-ui, sans-serif";
  const marks = [0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * tree.longest));
  for (const mark of new Set(marks)) {
    const x = TREE.left + ((box.width - TREE.left - TREE.right) * mark) / Math.max(1, tree.longest);
    pen.textAlign = mark === 0 ? "left" : mark === tree.longest ? "right" : "center";
    pen.fillText(mark.toLocaleString("en") + (mark === tree.longest ? " actions" : ""), mark ? x : 2, box.height - 6);
  }
}

export function nearestNode(canvas, tree, left, top) {
  const box = { width: canvas.clientWidth, height: canvas.clientHeight };
  let found = null, least = 24 ** 2;
  for (let n = 0; n < tree.count; n++) {
    const [x, y] = nodeAt(tree, box, n), far = (x - left) ** 2 + (y - top) ** 2;
    if (far < least) [found, least] = [n, far];
  }
  return found;
}
