// The ladder as a picture: rungs by devices, coloured by the gravest verdict.

/** Rows grouped by rung, then path: [{rung, stage, cells: [[rows of set 0], ...], paths: Map}]. */
function ladderGroups() {
  const groups = new Map();
  for (let row = 0; row < rowCount; ++row) {
    const key = `${rows.rung[row]} ${rows.stage[row]}`;
    if (!groups.has(key))
      groups.set(key, {rung: rows.rung[row], stage: textOf("stage", row), cells: index.sets.map(() => []), paths: new Map()});
    const group = groups.get(key);
    group.cells[rows.set[row]].push(row);
    const path = textOf("path", row);
    if (!group.paths.has(path)) group.paths.set(path, index.sets.map(() => []));
    group.paths.get(path)[rows.set[row]].push(row);
  }
  return [...groups.values()].sort((a, b) => a.rung - b.rung || (a.stage < b.stage ? -1 : 1));
}

/** One cell: a glyph, words, and a bar of the shares. It leads to its cases. */
function ladderCell(some, filter) {
  if (some.length === 0) return make("td", {class: "none"}, make("span", {title: "nothing was run"}, "·"));
  const counts = countVerdicts(some);
  const {verdict, n, ran, unsupported} = outcome(counts);
  const words = n === ran ? `${count(n)} ${verdict}` : `${count(n)} of ${count(ran)} ${verdict}`;
  const title = counts.map(([name, n2]) => `${count(n2)} ${name}`).join(", ");
  const bar = make("span", {class: "bar", "aria-hidden": "true"},
    counts.map(([name, n2]) => make("i", {class: `f-${name}`, style: `flex-grow:${n2}`})));
  return make("td", {class: `cell v-${verdict}`},
    make("a", {href: linkTo({view: "cases", filter}), title}, make("span", {class: "glyph", "aria-hidden": "true"}, glyphs[verdict]),
      make("span", {class: "words"}, words),
      unsupported > 0 && verdict !== "unsupported" ? make("small", {}, make("span", {class: "comma"}, ", "), `${count(unsupported)} unsupported`) : null, bar));
}

const quoted = (text) => (/\s/.test(text) ? `"${text}"` : text);

function setHead(set, number) {
  return make("th", {scope: "col"}, make("a", {href: linkTo({view: "cases", filter: `set=${number}`})}, set.name),
    make("small", {}, set.id, make("br"), set.driver));
}

function ladderView(state) {
  const byPath = state.paths === "1";
  const body = make("tbody");
  for (const group of ladderGroups()) {
    const filter = (set, path) => `set=${set} rung:=${quoted(group.stage)}` + (path ? ` path:=${quoted(path)}` : "");
    body.append(make("tr", {},
      make("th", {scope: "row"}, make("a", {href: linkTo({view: "cases", filter: `rung:=${quoted(group.stage)}`})},
        make("span", {class: "rung"}, String(group.rung)), make("span", {class: "stage"}, breakable(group.stage)))),
      group.cells.map((some, set) => ladderCell(some, filter(set)))));
    if (!byPath) continue;
    for (const [path, cells] of group.paths)
      body.append(make("tr", {class: "path"}, make("th", {scope: "row"}, breakable(path)),
        cells.map((some, set) => ladderCell(some, filter(set, path)))));
  }
  const counts = countVerdicts(Array.from({length: rowCount}, (_, row) => row));
  const toggle = make("label", {class: "toggle"},
    make("input", {type: "checkbox", checked: byPath, onchange: () => go({...state, paths: byPath ? "" : "1"})}), " a row for each path");
  return [
    make("section", {class: "totals"}, counts.map(([verdict, n]) =>
      make("a", {class: `total v-${verdict}`, href: linkTo({view: "cases", filter: `verdict:${verdict}`})},
        make("b", {}, `${glyphs[verdict]} ${count(n)}`), verdict))),
    index.sources.flatMap((source) => source.missing).map((what) => make("p", {class: "warning"}, `Incomplete: ${what}`)),
    rowCount === 0 ? make("p", {class: "warning"}, "There are no records.") : null,
    index.sets.length === 2 ? make("p", {class: "note"}, make("a", {href: linkTo({view: "compare"})}, "What changed"), `: ${changesSummary(0, 1)}`) : null,
    toggle,
    make("div", {class: "scroll"}, make("table", {class: "ladder"},
      make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "rung"), index.sets.map(setHead))), body)),
    make("details", {class: "where"}, make("summary", {}, "Devices, drivers and builds"), index.sets.map(setFacts)),
  ];
}

function setFacts(set, number) {
  const line = (name, value) => (value ? [make("dt", {}, name), make("dd", {}, value)] : []);
  return make("section", {}, make("h3", {}, setNames[number]),
    make("dl", {class: "facts"}, line("driver", set.driver), line("interface", set.api), line("commit", set.commit), line("version", set.version),
      line("compiler", set.compiler), line("flags", set.flags), line("started", set.started), line("file", index.sources[set.source].name)),
    set.facts.length > 0 ? make("details", {}, make("summary", {}, several(set.facts.length, "fact") + " of the device"),
      make("dl", {class: "facts"}, set.facts.map(([group, name, value]) => line(`${group}: ${name}`, value)))) : null);
}
