// Everything about one case, made when it is opened.

function plainTable(caption, heads, body, kind = "") {
  return make("div", {class: "scroll"}, make("table", {class: `plain ${kind}`}, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, heads.map((head) => make("th", {scope: "col"}, head)))),
    make("tbody", {}, body.map((cells) => make("tr", {}, cells.map((cell) => make("td", {}, cell)))))));
}

/** Order experiments as text and a bar of their range in ULP (an octave a step). */
function orderTable(detail) {
  if (detail.order.length === 0 && !detail.order_notes) return null;
  const widest = Math.max(1, ...detail.order.map((spread) => Math.log2(1 + number(spread[4]))));
  const body = detail.order.map(([what, results, elements, differing, most, rms, sigma]) => [
    what, String(results), differing === 0 ? "same bits" : `${count(differing)} of ${count(elements)}`,
    differing === 0 ? "" : make("span", {class: "spread"}, make("i", {style: `width:${(100 * Math.log2(1 + number(most))) / widest}%`}), short(most)),
    differing === 0 ? "" : short(rms), number(sigma) > 0 ? `${short(sigma)} σ` : ""]);
  return [body.length > 0 ? plainTable("Orders of summation", ["experiment", "results", "elements that differ", "range, max ULP", "rms ULP", "of predicted"], body) : null,
    (detail.order_notes || []).map((note) => make("p", {class: "muted"}, note))];
}

function driftTable(detail) {
  if (!detail.drift) return null;
  return plainTable("End to end, against the exact program", ["result", "step", "max error", "relative L2", "cosine", "err/bound"],
    detail.drift.map(([tensor, step, , nonfinite, most, relative, gap, ratio]) =>
      [tensor, String(step), nonfinite > 0 ? `${count(nonfinite)} not finite` : short(most), short(relative), nearOne(gap), ratio === null ? "–" : ratioText(ratio)]));
}

function timesTable(detail) {
  if (!detail.times) return null;
  return plainTable("Time of the calls", ["op", "path", "calls", "device", "fp64 reference"],
    detail.times.map(([op, path, calls, device, reference]) => [op, path, String(calls), seconds(device), seconds(reference)]));
}

function caseFacts(row, detail) {
  const line = (name, value) => (value ? [make("dt", {}, name), make("dd", {}, value)] : []);
  const list = (values) => (values || []).map(seconds).join(", ");
  const set = setOf(row);
  return make("details", {class: "where"}, make("summary", {}, "Where it comes from"), make("dl", {class: "facts"},
    line("device", `${set.id} ${set.name}`), line("driver", set.driver), line("commit", set.commit), line("started", set.started), line("profile", detail.profile),
    line("device time", list(detail.device_seconds)), line("host time", list(detail.host_seconds)), line("judged in", seconds(detail.judge_seconds)),
    line("work", detail.flops > 0 ? `${short(detail.flops)} flop, ${short(detail.bytes)} bytes` : ""),
    (detail.inputs || []).map(([port, from]) => line(`input ${port}`, from)),
    (detail.hashes || []).map(([tensor, hash]) => line(`hash of ${tensor}`, hash)), line("file", index.sources[set.source].name)));
}

/** The same case on other devices, paths and sets. */
function otherRuns(row, state) {
  const others = [];
  for (let other = 0; other < rowCount; ++other)
    if (other !== row && rows.case[other] === rows.case[row]) others.push(other);
  if (others.length === 0) return null;
  return make("details", {class: "where"}, make("summary", {}, `The same case elsewhere (${others.length})`),
    plainTable("", ["verdict", "path", "device", "err/bound"], others.slice(0, 100).map((other) => [badge(verdictOf(other)),
      make("a", {href: linkTo({...state, case: other})}, textOf("path", other)), setNames[rows.set[other]], ratioText(rows.ratio[other])]), "texts"));
}

/** What is behind a case's first lines: everything that its details hold. */
function caseBody(row, detail, state) {
  const bad = detail.outputs.findIndex((output) => output.verdict !== "pass");
  return [
    detail.reruns ? plainTable("Run again", ["verdict", "reason", "err/bound", "took"],
      detail.reruns.map(([verdict, reason, ratio, took]) => [badge(verdict), reason || "–", ratioText(ratio), seconds(took)]), "texts") : null,
    detail.repro ? make("div", {class: "repro"}, make("code", {}, detail.repro), copyButton(detail.repro)) : null,
    (detail.guards || []).map(([tensor, offset, bytes]) =>
      make("p", {class: "reason v-fail"}, `Written outside ${tensor}: ${bytes} bytes, the first at byte ${offset} of the tensor.`)),
    detail.outputs.map((output, i) => outputSection(output, i === Math.max(0, bad) || detail.outputs.length <= 2)),
    driftTable(detail),
    (detail.trajectories || []).map(trajectoryPlot),
    orderTable(detail),
    treesSection(row, detail),
    timesTable(detail),
    otherRuns(row, state),
    caseFacts(row, detail),
  ];
}

/** That, or why it is not there. */
function caseBodyOrReason(row, state) {
  let detail = null;
  try {
    detail = detailOf(row);
  } catch (error) {
    return make("p", {class: "warning"}, `The details of this case cannot be shown: ${error.message}.`);
  }
  return detail ? caseBody(row, detail, state) : make("p", {class: "muted"}, "The details are still being read …");
}

function caseView(state) {
  const row = /^\d+$/.test(state.case) ? Number(state.case) : rowCount;
  if (row >= rowCount) return [make("p", {class: "warning"}, `There is no case ${state.case} in this page.`)];
  const order = tableRows(state);
  const at = order.indexOf(row);
  const step = (to, text) => (at >= 0 && order[to] !== undefined
    ? make("a", {class: "button", href: linkTo({...state, case: order[to]})}, text) : make("span", {class: "button off"}, text));
  return [
    make("nav", {class: "steps"}, make("a", {class: "button", href: linkTo({...state, view: "cases", case: ""})}, "← cases"), step(at - 1, "previous"), step(at + 1, "next")),
    make("h2", {class: "case"}, badge(verdictOf(row)), make("span", {}, textOf("case", row))),
    make("p", {class: "muted"}, `${textOf("path", row)} on ${setNames[rows.set[row]]}`),
    textOf("reason", row) ? make("p", {class: `reason v-${verdictOf(row)}`}, textOf("reason", row)) : null,
    isEmptyPass(row) ? make("p", {class: "muted"}, "No element was compared: the result has none.") : null,
    caseBodyOrReason(row, state),
  ];
}
