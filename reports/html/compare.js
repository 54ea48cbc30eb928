// Two sets side by side (two devices, two drivers, two commits): what changed first.

const comparedFigures = ["ratio", "relative", "ulp", "aggregate"];

/** The last record of each case and path of a set. */
function casesOfSet(set) {
  const found = new Map();
  for (let row = 0; row < rowCount; ++row)
    if (rows.set[row] === set) found.set(`${rows.case[row]} ${rows.path[row]}`, row);
  return found;
}

/** By how many octaves a figure moved; what is not finite on one side only moved by all there is. */
function octaves(a, b) {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return 0;
  if (!Number.isFinite(a) || !Number.isFinite(b)) return Infinity;
  // A figure that was zero counts from a small one on, so that noise at zero does not lead.
  return Math.log2((Math.abs(b) + 1e-12) / (Math.abs(a) + 1e-12));
}

/** Pairs that differ: verdicts first (the gravest new one first), then replay, then the figures that moved most. */
function changesBetween(a, b) {
  const key = `${a} ${b}`;
  if (!knownChanges.has(key)) knownChanges.set(key, findChanges(a, b));
  return knownChanges.get(key);
}

const knownChanges = new Map();

function findChanges(a, b) {
  const [left, right] = [casesOfSet(a), casesOfSet(b)];
  const changes = [], lost = [], gained = [];
  let same = 0;
  for (const [key, row] of left) {
    const other = right.get(key);
    if (other === undefined) {
      lost.push(row);
      continue;
    }
    // What was not measured on one side has not moved.
    const measured = rows.elements[row] > 0 && rows.elements[other] > 0;
    const moves = comparedFigures.map((name) => [name, measured ? octaves(rows[name][row], rows[name][other]) : 0]);
    moves.sort((x, y) => Math.abs(y[1]) - Math.abs(x[1]));
    const verdict = rows.verdict[row] !== rows.verdict[other];
    const replay = measured && replayShare(row) !== replayShare(other);
    const bits = rows.bits[row] !== 0 && rows.bits[other] !== 0 && rows.bits[row] !== rows.bits[other];
    if (!verdict && !replay && !bits && moves[0][1] === 0) {
      ++same;
      continue;
    }
    changes.push({row, other, verdict, replay, bits, moves});
  }
  for (const [key, row] of right)
    if (!left.has(key)) gained.push(row);
  const gravest = ({row, other}) => Math.min(rows.verdict[row], rows.verdict[other]);
  changes.sort((x, y) => y.verdict - x.verdict ||
    (x.verdict ? gravest(x) - gravest(y) || rows.verdict[x.other] - rows.verdict[y.other] : 0) ||
    y.replay - x.replay || Math.abs(y.moves[0][1]) - Math.abs(x.moves[0][1]) || x.row - y.row);
  return {changes, lost, gained, same};
}

function moveText(octave) {
  if (octave === 0) return "=";
  if (!Number.isFinite(octave)) return "∞";
  const factor = 2 ** Math.abs(octave);
  return `${octave > 0 ? "×" : "÷"}${short(factor, factor < 10 ? 3 : 2)}`;
}

function changeRow({row, other, verdict, replay, bits, moves}, state) {
  const link = (which, text) => make("a", {href: linkTo({...state, view: "case", case: which, filter: ""})}, text);
  const byName = Object.fromEntries(moves);
  const value = (name, show, which) => (rows.elements[which] > 0 ? show(rows[name][which]) : "–");
  const figure = (name, show) => make("span", {class: "c-figure", role: "cell"},
    make("span", {class: moves[0][0] === name && byName[name] !== 0 ? "moved" : ""}, `${value(name, show, row)} → ${value(name, show, other)}`), byName[name] !== 0 ? make("small", {}, moveText(byName[name])) : null);
  const direction = verdict ? (rows.verdict[other] < rows.verdict[row] ? "worse" : "better") : "";
  return make("div", {class: `row ${direction}`, role: "row", "data-row": row, "data-other": other},
    make("span", {class: "c-change", role: "cell"}, verdict ? [link(row, badge(verdictOf(row))), " → "] : null, link(other, badge(verdictOf(other)))),
    make("span", {class: "c-case", role: "cell", title: `${textOf("case", row)} ${textOf("path", row)}`}, link(other, textOf("case", row))),
    make("span", {class: "c-path", role: "cell"}, textOf("path", row)),
    figure("ratio", ratioText), figure("relative", (x) => short(x, 2)),
    make("span", {class: `c-equal ${replay ? "moved" : ""}`, role: "cell"}, replay ? `${replayText(row)} → ${replayText(other)}` : replayText(row), bits ? make("small", {}, " other bits") : null));
}

function changesList(changes, state) {
  const head = make("div", {class: "row head", role: "row"}, [["c-change", "verdict"], ["c-case", "case"], ["c-path", "path"], ["c-figure", "err/bound"], ["c-figure", "rel. L2"], ["c-equal", "replay"]]
    .map(([kind, name]) => make("span", {class: kind, role: "columnheader"}, name)));
  const list = virtualList(changes.length, (i) => changeRow(changes[i], state));
  onShow(() => list.update());
  onScroll((all) => list.update(all));
  return make("div", {class: "cases changes", role: "table", "aria-label": "What changed"}, head, list);
}

/** Cases that one side lacks, a line a rung and path. */
function onlyOn(some, name, set) {
  if (some.length === 0) return null;
  const groups = new Map();
  for (const row of some) {
    const key = `${textOf("stage", row)} ${textOf("path", row)}`;
    groups.set(key, [...(groups.get(key) || []), row]);
  }
  return make("details", {class: "where"}, make("summary", {}, `Only on ${name}: ${several(some.length, "case")}`),
    make("ul", {}, [...groups].map(([key, group]) => make("li", {}, make("a", {
      href: linkTo({view: "cases", filter: `set=${set} rung:=${quoted(textOf("stage", group[0]))} path:=${quoted(textOf("path", group[0]))}`}),
    }, `${key}: ${count(group.length)}`)))));
}

function changesSummary(a, b) {
  const {changes, lost, gained, same} = changesBetween(a, b);
  const verdictChanges = changes.filter(({verdict}) => verdict).length;
  const onOne = lost.length + gained.length;
  return `${several(verdictChanges, "verdict")} changed, ${several(changes.length - verdictChanges, "case")} moved, ` +
    `${several(same, "case")} as before${onOne > 0 ? `, ${several(onOne, "case")} on one side only` : ""}.`;
}

function compareView(state) {
  if (index.sets.length < 2) return [make("p", {}, "There is one set of records here: nothing to compare it with.")];
  const known = (text, usual) => (index.sets[Number(text)] && text !== "" ? Number(text) : usual);
  const [a, b] = [known(state.a, 0), known(state.b, 1)];
  const choice = (name, chosen) => make("select", {id: `side-${name}`, "aria-label": `Side ${name}`, onchange: (event) => go({...state, [name]: event.target.value})},
    setNames.map((text, i) => make("option", {value: i, selected: i === chosen}, text)));
  const {changes, lost, gained} = changesBetween(a, b);
  const differing = ["driver", "api", "commit", "version", "compiler", "flags", "started"].filter((key) => index.sets[a][key] !== index.sets[b][key]);
  return [
    make("div", {class: "tools sides"}, choice("a", a), make("a", {class: "button", href: linkTo({...state, a: b, b: a}), title: "Change sides"}, "⇄"), choice("b", b)),
    make("p", {class: "found", role: "status"}, changesSummary(a, b)),
    differing.length > 0 ? plainTable("What else differs", ["", setNames[a], setNames[b]], differing.map((key) => [key, index.sets[a][key], index.sets[b][key]]), "texts") : null,
    onlyOn(lost, setNames[a], a), onlyOn(gained, setNames[b], b),
    changes.length > 0 ? changesList(changes, state) : make("p", {}, "Nothing changed."),
  ];
}
