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

// Details stand in blocks of records in the page's last part, which is read after the scripts have run.
const wholePage = new Promise((done) => document.addEventListener("DOMContentLoaded", done));
let blocks = null;
let lastBlock = {number: -1, lines: null};

/** The lines of a block: base64 of what zlib deflated (reports/page_blocks.cpp). */
async function unpackBlock(number) {
  await wholePage;
  if (typeof DecompressionStream === "undefined")
    throw new Error("this browser is too old to unpack them; Chromium 80, Firefox 113 and Safari 16.4 can");
  blocks ??= document.getElementById("blocks").textContent.trim().split("\n");
  if (!blocks[number]) throw new Error("the page ends before them, so its file is not whole");
  try {
    const packed = Uint8Array.from(atob(blocks[number]), (character) => character.charCodeAt(0));
    const lines = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return (await new Response(lines).text()).split("\n");
  } catch {
    throw new Error("they do not unpack, so the page's file is damaged or cut off");
  }
}

/** Everything about one record, when it is read and unpacked. The last block is kept, as one steps from case to case. */
async function detailOf(row) {
  const number = Math.floor(row / index.block);
  if (lastBlock.number !== number) lastBlock = {number, lines: unpackBlock(number)};
  return JSON.parse((await lastBlock.lines)[row % index.block]);
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
