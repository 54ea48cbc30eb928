// Pictures of one output: the histogram of its errors, the map of err/bound, losses over steps.

/** Axis labels of the histogram's bins: bin 0 holds 0, bin i [2^(i-17), 2^(i-16)). */
function binName(bin) {
  if (bin === 0) return "0";
  const low = bin - 17;
  return low >= 0 && low <= 9 ? String(2 ** low) : `2^${low}`;
}

/** Errors in ULP: bars for what was counted, a line for what was predicted. */
function histogramPlot(output) {
  if (!output.h) return null;
  const [first, ...counts] = output.h;
  const bins = new Array(49).fill(0);
  counts.forEach((n, i) => (bins[first + i] = n));
  const predicted = output.predicted ? new Array(49).fill(0) : null;
  if (predicted) output.predicted.slice(1).forEach((n, i) => (predicted[output.predicted[0] + i] = number(n)));
  const visible = (bin) => bins[bin] > 0 || (predicted && predicted[bin] >= 0.5);
  let [from, to] = [0, 48];
  while (from < 48 && !visible(from)) ++from;
  while (to > from && !visible(to)) --to;
  if (to - from < 7) [from, to] = [Math.max(0, from - 3), Math.min(48, to + 4)];
  const [width, height, left, bottom] = [420, 170, 16, 34];
  const step = (width - 2 * left) / (to - from + 1);
  const top = Math.max(...bins, ...(predicted || []));
  // The square root keeps a lone wrong element in sight.
  const y = (n) => (height - bottom) * (1 - 0.92 * Math.sqrt(n / top));
  const plot = draw("svg", {viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img",
    "aria-label": `Histogram of errors in ULP, ${count(bins.reduce((a, b) => a + b, 0))} elements`});
  for (let bin = from; bin <= to; ++bin) {
    const x = left + (bin - from) * step;
    if (bins[bin] > 0) {
      const bar = draw("rect", {x: x + 1, y: y(bins[bin]), width: Math.max(1, step - 2), height: height - bottom - y(bins[bin]), class: "count"});
      bar.append(draw("title", {}, `${binName(bin)} ULP and more: ${count(bins[bin])}` + (predicted ? `, predicted ${short(predicted[bin])}` : "")));
      plot.append(bar);
    }
    const every = Math.ceil(34 / step);
    if ((bin - from) % every === 0) plot.append(draw("text", {x: x + (bin === 0 ? step / 2 : 0), y: height - bottom + 14, class: "middle"}, binName(bin)));
  }
  plot.append(draw("line", {x1: left, x2: width - left, y1: height - bottom, y2: height - bottom, class: "axis"}),
    draw("text", {x: width / 2, y: height - 4, class: "middle"}, "error in ULP (a bin an octave); height: square root of the count"));
  if (predicted) {
    const points = [];
    for (let bin = from; bin <= to; ++bin) points.push(`${left + (bin - from + 0.5) * step},${y(predicted[bin])}`);
    plot.append(draw("polyline", {points: points.join(" "), class: "predicted"}));
  }
  return make("figure", {}, make("figcaption", {}, "Errors in ULP", predicted ? make("span", {class: "legend"}, make("i", {class: "line"}), "predicted from the contract's variance") : null), plot);
}

/** Colour of an err/bound: faint below 1, the colours of a failure above. */
function heatClass(ratio) {
  if (Number.isNaN(ratio)) return "h9";
  if (ratio > 1) return ratio <= 2 ? "h6" : ratio <= 10 ? "h7" : ratio < 1000 ? "h8" : "h9";
  return ratio <= 0 ? "h0" : `h${1 + Math.min(4, Math.floor(ratio * 5))}`;
}

/** The largest err/bound of each cell, over rows and columns of the output. */
function heatMap(output) {
  const map = output.map;
  if (!map) return null;
  const ratios = map.ratios.map(number);
  const size = Math.max(6, Math.min(18, Math.floor(400 / Math.max(map.columns, map.rows))));
  const plot = draw("svg", {viewBox: `0 0 ${map.columns * size} ${map.rows * size}`, class: "heat", role: "img",
    style: `max-width:${Math.max(map.columns * size, 120)}px`, "aria-label": `Map of err/bound, ${map.rows} by ${map.columns} cells`});
  ratios.forEach((ratio, i) => {
    const [row, column] = [Math.floor(i / map.columns), i % map.columns];
    const cell = draw("rect", {x: column * size, y: row * size, width: size, height: size, class: heatClass(ratio)});
    const range = (at, length) => (length === 1 ? String(at) : `${at * length}–${at * length + length - 1}`);
    cell.append(draw("title", {}, `rows ${range(row, map.cell_rows)}, columns ${range(column, map.cell_columns)}: ${ratioText(ratio)}`));
    plot.append(cell);
    if (ratio > 1 || Number.isNaN(ratio))  // not by colour alone
      plot.append(draw("path", {d: `M${column * size + 1} ${row * size + 1}l${size - 2} ${size - 2}`, class: "cross"}));
  });
  const legend = [["h1", "0"], ["h3", "0.5"], ["h5", "1"], ["h6", ">1"], ["h7", ">2"], ["h8", ">10"], ["h9", ">1000, ∞"]];
  const cells = map.cell_rows * map.cell_columns === 1 ? "each element" : `the worst of each ${map.cell_rows}×${map.cell_columns} elements`;
  return make("figure", {}, make("figcaption", {}, "err/bound over the output", make("span", {class: "legend"}, cells)), plot,
    make("p", {class: "legend"}, legend.map(([name, text]) => [make("i", {class: `swatch ${name}`}), text])));
}

/** A result step by step on the device and in the reference. */
function trajectoryPlot(trajectory) {
  const [width, height, edge] = [420, 150, 8];
  const all = [...(trajectory.device || []), ...(trajectory.reference || [])].map(number).filter(Number.isFinite);
  if (all.length === 0) return null;
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const line = (values, kind) => {
    const points = (values || []).map(number).map((value, i, {length}) =>
      Number.isFinite(value) ? `${edge + (i / Math.max(1, length - 1)) * (width - 2 * edge)},${edge + (1 - (value - low) / (high - low || 1)) * (height - 2 * edge)}` : null);
    return draw("polyline", {points: points.filter(Boolean).join(" "), class: kind});
  };
  return make("figure", {}, make("figcaption", {}, `${trajectory.tensor}: ${short(all[0], 4)} at first, ${short((trajectory.device || []).at(-1) ?? NaN, 4)} at the end`,
    make("span", {class: "legend"}, make("i", {class: "line device"}), "device ", make("i", {class: "line"}), "reference")),
    draw("svg", {viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img"}, line(trajectory.device, "device"), line(trajectory.reference, "predicted")));
}
