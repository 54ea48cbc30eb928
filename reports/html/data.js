// The records: columns that are all there, details that are unpacked when a case is opened.

const index = JSON.parse(document.getElementById("index").textContent);
const rows = index.rows;
const rowCount = rows.case.length;
const verdicts = index.verdicts;  // gravest first
const failing = new Set(["crash", "timeout", "fail", "suspect", "drift"]);

for (const name of ["ratio", "ulp", "relative", "aggregate"])
  rows[name] = Float64Array.from(rows[name], number);

const textOf = (name, row) => index.text[rows[name][row]];
const verdictOf = (row) => verdicts[rows.verdict[row]];
const setOf = (row) => index.sets[rows.set[row]];

/** Names for the sets, as short as they may be: what tells them apart. */
const setNames = index.sets.map((set) => {
  const others = index.sets.filter((other) => other !== set);
  let name = `${set.id} ${set.name}`;
  const twins = others.filter((other) => other.id === set.id && other.name === set.name);
  if (twins.length === 0) return name;
  if (twins.some((other) => other.driver !== set.driver)) name += `, ${set.driver}`;
  if (twins.some((other) => other.commit !== set.commit)) name += `, ${set.commit}`;
  if (twins.some((other) => other.driver === set.driver && other.commit === set.commit))
    name += `, ${index.sources[set.source].name}`;
  return name;
});

let blocks = null;
let openBlock = {first: 0, lines: []};
const damaged = new Error("this page's file is damaged or cut off");

/** Everything about one record; nothing while the page, whose last part this is, is still being read. */
function detailOf(row) {
  if (document.readyState === "loading") return null;
  blocks ??= (document.getElementById("blocks")?.textContent ?? "").trim().split("\n").map((line) => line.split(" ")).filter((parts) => parts.length === 3);
  if (!(row >= openBlock.first && row < openBlock.first + openBlock.lines.length)) {
    const [first, size, packed] = blocks.findLast(([number]) => Number(number) <= row) ?? ["0", "0", ""];
    openBlock = {first: Number(first), lines: unpackLines(packed, Number(size))};
  }
  const line = openBlock.lines[row - openBlock.first];
  if (line === undefined) throw damaged;
  return JSON.parse(line);
}

/** Lines of details, which reports/page_blocks.cpp deflated. */
function unpackLines(base64, size) {
  try {
    return new TextDecoder().decode(inflate(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)), size)).split("\n");
  } catch {
    throw damaged;
  }
}

/** Whether no element was compared though the verdict is a pass. */
const isEmptyPass = (row) => verdictOf(row) === "pass" && rows.elements[row] === 0;

/** Counts by verdict over some rows, gravest first: [["fail", 2], ["pass", 10]]. */
function countVerdicts(some) {
  const counts = new Array(verdicts.length).fill(0);
  for (const row of some) ++counts[rows.verdict[row]];
  return verdicts.map((verdict, i) => [verdict, counts[i]]).filter(([, n]) => n > 0);
}

/** What a group of rows came to: its gravest verdict, how many share it, and of how many that ran. */
function outcome(counts) {
  const total = counts.reduce((sum, [, n]) => sum + n, 0);
  const unsupported = (counts.find(([verdict]) => verdict === "unsupported") || ["", 0])[1];
  const [verdict, n] = counts.find(([name]) => name !== "unsupported") || counts[0];
  return {verdict, n, unsupported, ran: verdict === "unsupported" ? total : total - unsupported};
}
