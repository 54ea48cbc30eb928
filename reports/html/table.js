// The table of cases: only the rows in sight are in the document, so that ten thousand cost nothing.

const columns = [
  {key: "verdict", name: "verdict", show: (row) => badge(verdictOf(row)), order: (row) => -rows.verdict[row]},
  {key: "case", name: "case", show: (row) => textOf("case", row), text: true},
  {key: "path", name: "path", show: (row) => textOf("path", row), text: true},
  {key: "set", name: "device", show: (row) => setNames[rows.set[row]], order: (row) => -rows.set[row]},
  {key: "ratio", name: "err/bound", show: (row) => ratioText(rows.ratio[row]), order: (row) => rows.ratio[row], measured: true},
  {key: "ulp", name: "max ULP", show: (row) => short(rows.ulp[row]), order: (row) => rows.ulp[row], measured: true},
  {key: "relative", name: "rel. L2", show: (row) => short(rows.relative[row], 2), order: (row) => rows.relative[row], measured: true},
  {key: "equal", name: "replay", show: replayText, order: (row) => replayShare(row), measured: true},
  {key: "order", name: "orders", show: (row) => (number(rows.order[row]) > 0 ? `${short(rows.order[row], 2)} σ` : "–"), order: (row) => number(rows.order[row])},
  {key: "seconds", name: "time", show: (row) => seconds(rows.seconds[row]), order: (row) => number(rows.seconds[row])},
];

function replayShare(row) {
  return rows.replayed[row] > 0 ? rows.equal[row] / rows.replayed[row] : -1;
}

/** Never rounded up to 100 %. */
function replayText(row) {
  const share = replayShare(row);
  return share < 0 ? "–" : share === 1 ? "equal" : `${(Math.floor(share * 1e4) / 100).toFixed(2)} %`;
}

/** Rows in the order of a column: "ratio" the smallest first, "-ratio" the largest. Equal ones stay in place. */
function sortRows(some, sort) {
  const column = columns.find(({key}) => key === sort.replace(/^-/, ""));
  if (!column) return some;
  const down = sort.startsWith("-");
  const sorted = some.slice();
  if (column.text) {
    const keys = sorted.map((row) => [textOf(column.key, row), row]);
    keys.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
    return keys.map(([, row]) => row);
  }
  // A NaN is the gravest of all.
  const keyed = (row) => (Number.isNaN(column.order(row)) ? Infinity : column.order(row));
  return sorted.sort((a, b) => {
    const [x, y] = [keyed(a), keyed(b)];
    return x === y ? a - b : (x < y ? -1 : 1) * (down ? -1 : 1);
  });
}

/** A list of `length` rows of one height; `rowAt(i)` makes one. */
function virtualList(length, rowAt) {
  const list = make("div", {class: "rows", role: "rowgroup"});
  const shown = new Map();
  let height = 0;
  const update = (all) => {
    if (!list.isConnected) return;
    const wanted = parseFloat(getComputedStyle(list).getPropertyValue("--row"));
    if (wanted !== height) {
      height = wanted;
      list.style.height = `${length * height}px`;
      for (const row of shown.values()) row.remove();
      shown.clear();
    }
    const top = -list.getBoundingClientRect().top;
    const [first, last] = all ? [0, Math.min(length, 2000)]
      : [Math.max(0, Math.floor(top / height) - 10), Math.min(length, Math.ceil((top + innerHeight) / height) + 10)];
    for (const [i, row] of shown)
      if (i < first || i >= last) {
        row.remove();
        shown.delete(i);
      }
    for (let i = first; i < last; ++i) {
      if (shown.has(i)) continue;
      const row = rowAt(i);
      row.style.top = `${i * height}px`;
      row.setAttribute("aria-rowindex", i + 2);
      shown.set(i, row);
      list.append(row);
    }
  };
  list.update = update;
  return list;
}

function caseRow(row, state) {
  return make("div", {class: "row", role: "row", "data-row": row}, columns.map(({key, show, measured}) =>
    make("span", {class: `c-${key}`, role: "cell", title: key === "case" || key === "path" ? textOf(key, row) : null},
      key === "case" ? make("a", {href: linkTo({...state, view: "case", case: row})}, show(row))
        : measured && rows.elements[row] === 0 ? "–" : show(row))));
}

function columnHead(column, state) {
  const [sorted, down] = [state.sort.replace(/^-/, "") === column.key, state.sort.startsWith("-")];
  // Figures are asked for the largest first, names from A.
  const next = sorted ? (down ? column.key : `-${column.key}`) : column.text ? column.key : `-${column.key}`;
  return make("span", {class: `c-${column.key}`, role: "columnheader", "aria-sort": sorted ? (down ? "descending" : "ascending") : "none"},
    make("a", {href: linkTo({...state, sort: next})}, column.name, sorted ? (down ? " ▾" : " ▴") : ""));
}

/** The rows that the table shows for a state, in its order. */
function tableRows(state) {
  return sortRows(filterRows(state.filter), state.sort);
}

function casesView(state) {
  const holder = make("div", {class: "cases", role: "table", "aria-label": "Cases"});
  const found = make("p", {class: "found", role: "status"});
  const box = make("input", {
    type: "search", id: "filter", value: state.filter, placeholder: "gemm verdict:fail f16 -subnormal ratio>0.5", "aria-label": "Filter",
    spellcheck: "false", autocomplete: "off",
  });
  const sorts = make("select", {id: "sort", "aria-label": "Sort by"},
    make("option", {value: ""}, "as recorded"),
    columns.map(({key, name, text}) => make("option", {value: text ? key : `-${key}`}, text ? name : `${name}, ${key === "verdict" ? "gravest" : key === "set" ? "first" : "largest"} first`)));
  let list = null;
  const refresh = () => {
    const some = tableRows(state);
    found.replaceChildren(`${several(some.length, "case")} of ${count(rowCount)}: `,
      countVerdicts(some).map(([verdict, n]) => `${count(n)} ${verdict}`).join(", ") || "none");
    list = virtualList(some.length, (i) => caseRow(some[i], state));
    holder.replaceChildren(make("div", {class: "row head", role: "row"}, columns.map((column) => columnHead(column, state))), list);
    holder.setAttribute("aria-rowcount", some.length + 1);
    sorts.value = state.sort;
    list.update();
  };
  box.addEventListener("input", () => {
    state = {...state, filter: box.value};
    history.replaceState(null, "", linkTo(state));
    refresh();
  });
  sorts.addEventListener("change", () => go({...state, sort: sorts.value}));
  onShow(refresh);
  onScroll((all) => list && list.update(all));
  return [
    make("div", {class: "tools"}, box, sorts),
    make("details", {class: "help"}, make("summary", {}, "what the box understands"),
      make("p", {}, "Words that must all occur: ", make("code", {}, "gemm f16"), ". In one field: ",
        Object.keys(filterFields).map((name, i) => [i > 0 ? ", " : "", make("code", {}, `${name}:`)]),
        "; with ", make("code", {}, "="), " the whole of it: ", make("code", {}, "rung:=gemm"), ". Figures: ",
        Object.keys(filterNumbers).map((name, i) => [i > 0 ? ", " : "", make("code", {}, `${name}>`)]),
        ". A minus in front: not so. In quotes: one word.")),
    found, holder,
  ];
}
