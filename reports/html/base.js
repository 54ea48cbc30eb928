// Elements, numbers and colours of verdicts: what every other part uses.

/** Makes an element: make("td", {class: "x", onclick: f}, "text", child, [children]). */
function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A name that may be broken behind its underscores, and nowhere else. */
function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part, i) => (i > 0 ? [make("wbr"), part] : [part]));
}

/** A number of the data: what is not finite is a word there. */
function number(value) {
  if (typeof value === "number") return value;
  return value === "inf" ? Infinity : value === "-inf" ? -Infinity : NaN;
}

/** A number for people: three digits, no exponent where none is needed. */
function short(value, digits = 3) {
  const x = number(value);
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e-3 && size < 1e5) return String(Number(x.toPrecision(digits)));
  return x.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
}

/** An error over its bound; tiny ones are all alike. */
function ratioText(value) {
  const x = number(value);
  return x > 0 && x < 0.001 ? "<0.001" : short(x);
}

/** A share close to 1 shows the digits that matter: "1 − 2.1e-8". */
function nearOne(gap) {
  const x = number(gap);
  if (!(Math.abs(x) <= 0.01)) return short(1 - x, 4);
  return Math.abs(x) < 1e-16 ? "1" : x > 0 ? `1 − ${short(x, 2)}` : `1 + ${short(-x, 2)}`;
}

function seconds(value) {
  const x = number(value);
  if (!(x > 0)) return "–";
  return x < 1e-3 ? `${short(x * 1e6)} µs` : x < 1 ? `${short(x * 1e3)} ms` : `${short(x)} s`;
}

function count(value) {
  return value.toLocaleString("en");
}

/** "1 case", "3 cases" */
function several(n, word) {
  return `${count(n)} ${word}${n === 1 ? "" : "s"}`;
}

// Each verdict has a glyph, so that none is told by its colour alone.
const glyphs = {
  pass: "✓", fail: "✗", suspect: "?", drift: "≠", crash: "!", timeout: "…", untrusted: "○", unsupported: "–",
};

function badge(verdict) {
  return make("span", {class: `badge v-${verdict}`}, make("span", {class: "glyph", "aria-hidden": "true"}, glyphs[verdict]), verdict);
}

/** A button that copies a text; the text is its attribute too. */
function copyButton(text, label = "copy") {
  const button = make("button", {type: "button", class: "copy", "data-copy": text, title: "Copy to the clipboard"}, label);
  button.addEventListener("click", async () => {
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      // Pages opened from a file may have no clipboard: a selection and the old command do it.
      const area = make("textarea", {class: "offscreen", readonly: true});
      area.value = text;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
      button.focus();
    }
    button.textContent = done ? "copied" : "not allowed: select it";
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}
