// The state of the page is in its address: every view can be linked to.

const usualState = {view: "", filter: "", sort: "", case: "", a: "", b: "", paths: ""};
const views = {
  ladder: {name: "Ladder", make: ladderView},
  cases: {name: "Cases", make: casesView},
  case: {make: caseView},
  compare: {name: "Compare", make: compareView},
};
let shown = [];
let scrolled = [];

/** Called once the view is in the document. */
function onShow(call) {
  shown.push(call);
}
/** Called when the page is scrolled, resized or (with true: show all) printed. */
function onScroll(call) {
  scrolled.push(call);
}

function linkTo(state) {
  const parts = Object.keys(usualState).filter((key) => state[key] !== undefined && String(state[key]) !== "")
    .map((key) => `${key}=${encodeURIComponent(state[key]).replace(/%20/g, "+").replace(/%3A/g, ":").replace(/%3D/g, "=").replace(/%22/g, '"').replace(/%3E/g, ">").replace(/%3C/g, "<")}`);
  return `#${parts.join("&")}`;
}

function stateOfAddress() {
  const state = {...usualState};
  for (const part of location.hash.slice(1).split("&")) {
    const at = part.indexOf("=");
    const name = at < 0 ? part : part.slice(0, at);
    if (!(name in state) || at < 0) continue;
    try {
      state[name] = decodeURIComponent(part.slice(at + 1).replace(/\+/g, " "));
    } catch {
      state[name] = part.slice(at + 1);
    }
  }
  // A link may name no view: what it asks for tells.
  if (!views[state.view])
    state.view = state.case !== "" ? "case" : state.filter !== "" || state.sort !== "" ? "cases" : state.a !== "" || state.b !== "" ? "compare" : "ladder";
  return state;
}

function go(state) {
  location.hash = linkTo(state);
}

function show() {
  const state = stateOfAddress();
  shown = [];
  scrolled = [];
  const main = document.getElementById("main");
  main.className = `view-${state.view}`;
  main.replaceChildren(...[views[state.view].make(state)].flat(3).filter(Boolean));
  document.getElementById("views").replaceChildren(...Object.entries(views)
    .filter(([key, {name}]) => name && (key !== "compare" || index.sets.length > 1))
    .map(([key, {name}]) => make("a", {
      href: linkTo(key === "cases" ? {...state, view: key, case: ""} : {view: key}),
      "aria-current": key === state.view || (key === "cases" && state.view === "case") ? "page" : null,
    }, name)));
  for (const call of shown) call();
}

// Light, dark or as the system: a choice that lasts where the browser lets a file keep one.
const themes = ["", "light", "dark"];

function keepTheme(theme) {
  try {
    theme === undefined ? (theme = localStorage.getItem("parity-theme") || "") : localStorage.setItem("parity-theme", theme);
  } catch {
    theme = theme || "";
  }
  if (!themes.includes(theme)) theme = "";
  document.documentElement.dataset.theme = theme;
  document.getElementById("theme").replaceChildren(...{light: ["☀", " light"], dark: ["☾", " dark"], "": ["◐", " system"]}[theme].map((text) => make("span", {}, text)));
}

document.getElementById("theme").addEventListener("click", () =>
  keepTheme(themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length]));
keepTheme();

let waiting = false;
function updateSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    for (const call of scrolled) call(false);
  });
}
addEventListener("scroll", updateSoon, {passive: true});
addEventListener("resize", updateSoon);
addEventListener("beforeprint", () => scrolled.forEach((call) => call(true)));
addEventListener("afterprint", () => scrolled.forEach((call) => call(false)));
// A case that was asked for before the page's last part was read, or before its loading was stopped.
document.addEventListener("readystatechange", () => stateOfAddress().view === "case" && show(), {once: true});
let lastView = "";
addEventListener("hashchange", () => {
  show();
  const view = stateOfAddress().view;
  if (view !== lastView || view === "case") scrollTo(0, 0);
  lastView = view;
});
// "/" leads to the filter box, as in many tables of this kind.
addEventListener("keydown", (event) => {
  if (event.key !== "/" || /INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) return;
  event.preventDefault();
  if (!document.getElementById("filter")) go({...stateOfAddress(), view: "cases", case: ""});
  setTimeout(() => document.getElementById("filter").focus());
});

const footer = [...new Set(index.sets.map((set) => `parity ${set.version}${set.commit ? ` (${set.commit})` : ""}, ${set.started}`))];
document.getElementById("footer").replaceChildren(`${several(rowCount, "case")} from ${index.sources.map(({name}) => name).join(", ")}. `, footer.slice(0, 4).join("; "));
show();
lastView = stateOfAddress().view;
