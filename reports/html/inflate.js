// Unpacks what zlib deflated (RFC 1950, RFC 1951), and at once: a browser's own streams answer only later, when a page that
// is printed from a command line or scrolled back to where it was has gone on without the answer.

/** The first value and the number of extra bits of each code; every `step` codes there is one bit more. */
function codeRanges(first, codes, step) {
  return Array.from({length: codes}, (_, code) => {
    const range = [first, Math.max(0, Math.floor(code / step) - 1)];
    first += 1 << range[1];
    return range;
  });
}
const lengthRanges = [...codeRanges(3, 28, 4), [258, 0]];
const distanceRanges = codeRanges(1, 30, 2);
// In which order the lengths of the code for code lengths stand.
const lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** The code of these lengths, by the next 15 bits: the symbol times 16, plus its length; 0 where there is none. */
function codeTable(lengths) {
  const table = new Uint16Array(1 << 15);
  let code = 0;
  for (let length = 1; length <= 15; ++length, code <<= 1)
    for (let symbol = 0; symbol < lengths.length; ++symbol) {
      if (lengths[symbol] !== length) continue;
      let reversed = 0;  // codes come with their first bit lowest
      for (let bit = 0; bit < length; ++bit) reversed |= ((code >> bit) & 1) << (length - 1 - bit);
      for (let bits = reversed; bits < table.length; bits += 1 << length) table[bits] = symbol << 4 | length;
      ++code;
    }
  return table;
}

const fixedTables = () => [
  codeTable(Array.from({length: 288}, (_, symbol) => (symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8))),
  codeTable(new Array(30).fill(5)),
];

/** The `size` bytes that were packed; an error where these are not all of them, or others. */
function inflate(packed, size) {
  const out = new Uint8Array(size);
  let [at, filled] = [16, 0];  // bits read, behind the header; bytes written
  const demand = (good) => {
    if (!good) throw new Error("not what was packed");
  };
  const peek = () => (packed[at >> 3] | packed[(at >> 3) + 1] << 8 | packed[(at >> 3) + 2] << 16) >> (at & 7);
  const take = (bits) => {
    const value = peek() & ((1 << bits) - 1);
    at += bits;
    demand(at <= packed.length * 8);
    return value;
  };
  const symbolOf = (table) => {
    const entry = table[peek() & 0x7fff];
    demand(entry !== 0);
    take(entry & 15);
    return entry >> 4;
  };
  const valueOf = (ranges, code) => {
    demand(code < ranges.length);
    return ranges[code][0] + take(ranges[code][1]);
  };
  const ownTables = () => {
    const [literals, distances, codes] = [257 + take(5), 1 + take(5), 4 + take(4)];
    const lengths = new Array(19).fill(0);
    for (let i = 0; i < codes; ++i) lengths[lengthOrder[i]] = take(3);
    const table = codeTable(lengths);
    const all = [];
    while (all.length < literals + distances) {
      const symbol = symbolOf(table);
      if (symbol < 16) all.push(symbol);
      else if (symbol === 16) all.push(...new Array(3 + take(2)).fill(all.at(-1)));
      else all.push(...new Array(symbol === 17 ? 3 + take(3) : 11 + take(7)).fill(0));
    }
    return [codeTable(all.slice(0, literals)), codeTable(all.slice(literals))];
  };
  const put = (byte) => {
    demand(filled < size);
    out[filled++] = byte;
  };

  for (let last = false; !last;) {
    last = take(1) === 1;
    const kind = take(2);
    demand(kind < 3);
    if (kind === 0) {
      at = (at + 7) & ~7;
      const length = take(8) | take(8) << 8;
      take(16);  // its complement
      for (let i = 0; i < length; ++i) put(take(8));
      continue;
    }
    const [literals, distances] = kind === 1 ? fixedTables() : ownTables();
    for (let symbol; (symbol = symbolOf(literals)) !== 256;) {
      if (symbol < 256) {
        put(symbol);
        continue;
      }
      const length = valueOf(lengthRanges, symbol - 257);
      const distance = valueOf(distanceRanges, symbolOf(distances));
      demand(distance <= filled);
      for (let i = 0; i < length; ++i) put(out[filled - distance]);
    }
  }

  let [a, b] = [1, 0];  // Adler-32
  for (const byte of out) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  at = (at + 7) & ~7;
  for (const part of [b >> 8, b & 255, a >> 8, a & 255]) demand(take(8) === part);
  demand(filled === size);
  return out;
}
