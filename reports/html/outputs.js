// One output of one call: its statistics, pictures and worst elements.

// The order is that of write_statistics() in reports/page_detail.cpp.
const statisticNames = [
  "elements", "NaN", "Inf", "non-finite where a finite number belongs", "NaN missing", "never written", "reference zeros",
  "outside the expected spread", "beyond the hard bound", "err/bound", "err/hard bound", "max error", "mean error", "mean signed error",
  "rms error", "max relative error", "relative L2", "NMSE", "norm ratio", "cosine", "cosine of the worst row",
];

/** Counts that are usually zero are told only when they are not. */
function statisticsList(output) {
  const lines = statisticNames.map((name, i) => {
    const value = output.st[i];
    if (i === 0) return [name, count(value)];
    if (i < 9) return value === 0 ? null : [name, count(value)];
    if (name.startsWith("cosine")) return [name, nearOne(value)];
    if (name === "norm ratio") return [name, nearOne(1 - number(value))];
    return [name, name.startsWith("err/") ? ratioText(value) : short(value)];
  }).filter(Boolean);
  // Integers have no ULP; how many differ and by how much stands above.
  if (!output.dtype.startsWith("i")) lines.push(["ULP, 50/90/99/99.9 %", output.q.slice(0, 4).map((value) => short(value, 2)).join(" / ")], ["max ULP", short(output.q[4])]);
  lines.push(["worst aggregate", `${short(output.aggregate)} σ`]);
  return make("dl", {class: "statistics"}, lines.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

function worstTable(output) {
  if (!output.w) return null;
  const batched = output.shape.length > 2;
  return make("div", {class: "scroll"}, make("table", {class: "worst"},
    make("caption", {}, "Worst elements"),
    make("thead", {}, make("tr", {}, ["at", "expected", "got", "bits", "bound", "err/bound"].map((name) => make("th", {scope: "col"}, name)))),
    make("tbody", {}, output.w.map(([batch, row, column, got, want, bound, ratio, bits]) => make("tr", {class: number(ratio) > 1 ? "wrong" : ""},
      [batched ? `[${batch}, ${row}, ${column}]` : `[${row}, ${column}]`, String(want), String(got), bits, short(bound), ratioText(ratio)]
        .map((text) => make("td", {}, text)))))));
}

function outputWords(output) {
  const lines = [...(output.reasons || [])];
  if (output.where) lines.push(`${several(output.wrong, "element")} outside the contract; where: ${output.where}`);
  for (const finding of output.findings || []) lines.push(finding);
  if (output.sampled) lines.push(output.sampled);
  return lines.length > 0 ? make("ul", {class: "words"}, lines.map((line) => make("li", {}, line))) : null;
}

function replayWords(output) {
  const line = (name, text) => make("p", {class: "fact"}, make("b", {}, name), " ", text);
  const parts = [line("contract", output.contract)];
  if (output.replay) {
    const [model, equal, compared, elements] = output.replay;
    const sample = compared < elements ? `, a sample of ${count(elements)}` : "";
    parts.push(line("replay", `${count(equal)} of ${count(compared)} bits equal to ${model}${sample}${output.note ? ` (${output.note})` : ""}`));
  } else if (output.note) {
    parts.push(line("replay", output.note));
  }
  if (output.missed) parts.push(line("power", `would pass too: ${output.missed.join(", ")}`));
  if (output.seen) parts.push(line("power", `would be seen: ${output.seen.join(", ")}`));
  return parts;
}

function outputBody(output) {
  const pictures = [heatMap(output), histogramPlot(output)].filter(Boolean);
  return [outputWords(output), pictures.length > 0 ? make("div", {class: "pictures"}, pictures) : null, statisticsList(output),
    worstTable(output), replayWords(output)];
}

/** An output under its name; its body is made when it is opened. */
function outputSection(output, open) {
  const name = output.tensor === output.port || !output.port ? output.tensor : `${output.tensor} (${output.port})`;
  const box = make("details", {class: `output v-${output.verdict}`, open}, make("summary", {}, badge(output.verdict),
    make("b", {}, `${output.op} → ${name}`), make("span", {class: "muted"}, `${output.dtype} ${output.shape.join("×") || "scalar"}`,
      output.calls ? `, the worst of ${output.calls} calls` : ""), make("span", {class: "figure"}, `err/bound ${ratioText(output.st[9])}`)));
  const show = () => {
    if (box.open && box.children.length === 1) box.append(...outputBody(output).flat().filter(Boolean));
  };
  box.addEventListener("toggle", show);
  show();
  return box;
}
