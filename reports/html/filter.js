// The filter box: words that must occur, "field:value", "field>number", "-" before a word that must not.

const filterFields = {
  case: (row) => textOf("case", row),
  rung: (row) => `${rows.rung[row]} ${textOf("stage", row)}`,
  path: (row) => textOf("path", row),
  verdict: verdictOf,
  device: (row) => `${setOf(row).id} ${setOf(row).name} ${setOf(row).driver}`,
  backend: (row) => setOf(row).backend,
  commit: (row) => setOf(row).commit,
  file: (row) => index.sources[setOf(row).source].name,
  reason: (row) => textOf("reason", row),
};
const filterNumbers = {
  ratio: (row) => rows.ratio[row],
  ulp: (row) => rows.ulp[row],
  relative: (row) => rows.relative[row],
  aggregate: (row) => rows.aggregate[row],
  elements: (row) => rows.elements[row],
  seconds: (row) => number(rows.seconds[row]),
  order: (row) => number(rows.order[row]),
  set: (row) => rows.set[row],
  rung: (row) => rows.rung[row],
};

const rowTexts = new Array(rowCount);

function rowText(row) {
  if (rowTexts[row] === undefined)
    rowTexts[row] = ["case", "rung", "path", "verdict", "device", "reason"]
      .map((name) => filterFields[name](row)).join("\n").toLowerCase();
  return rowTexts[row];
}

/** The words of a filter; what stands in double quotes is one word. */
function filterWords(text) {
  return (text.match(/(?:[^\s"]|"[^"]*"?)+/g) || []).map((word) => word.replace(/"/g, "").toLowerCase()).filter((word) => word !== "");
}

/** A test of rows for one word. */
function wordTest(word) {
  if (word.startsWith("-") && word.length > 1) {
    const inner = wordTest(word.slice(1));
    return (row) => !inner(row);
  }
  const compare = word.match(/^([a-z]+)(<=|>=|<|>|=)(.+)$/);
  if (compare && filterNumbers[compare[1]] && !Number.isNaN(Number(compare[3]))) {
    const [of, limit] = [filterNumbers[compare[1]], Number(compare[3])];
    switch (compare[2]) {
      case "<": return (row) => of(row) < limit;
      case ">": return (row) => of(row) > limit || Number.isNaN(of(row));  // a NaN is never hidden
      case "<=": return (row) => of(row) <= limit;
      case ">=": return (row) => of(row) >= limit || Number.isNaN(of(row));
      default: return (row) => of(row) === limit;
    }
  }
  const colon = word.indexOf(":");
  const field = colon > 0 ? filterFields[word.slice(0, colon)] : undefined;
  if (field) {
    const value = word.slice(colon + 1);
    if (word.startsWith("rung:") && /^\d+$/.test(value)) return (row) => rows.rung[row] === Number(value);
    if (value.startsWith("=")) return (row) => exactly(field(row).toLowerCase(), word.slice(0, colon), value.slice(1));
    return (row) => field(row).toLowerCase().includes(value);
  }
  return (row) => rowText(row).includes(word);
}

/** "rung:=gemm" is that rung alone, "rung:gemm" every one whose name holds it. */
function exactly(text, field, value) {
  return text === value || (field === "rung" && text.slice(text.indexOf(" ") + 1) === value);
}

/** Numbers of the rows that pass a filter, in order. */
function filterRows(text) {
  const tests = filterWords(text).map(wordTest);
  const passed = [];
  for (let row = 0; row < rowCount; ++row)
    if (tests.every((test) => test(row))) passed.push(row);
  return passed;
}
