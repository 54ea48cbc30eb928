// The orders of summation that `parity probe` revealed, beside the cases of their paths.

/** What was found of the paths that a case took, on its device. */
function treesOf(row, detail) {
  const {trees} = index.probed;
  const set = setOf(row);
  const here = trees.filter((tree) => tree.backend === set.backend && tree.device === set.name);
  const taken = new Set(detail.outputs.map((output) => `${output.op} ${output.path}`));
  return here.filter((tree) => taken.has(`${tree.op} ${tree.path}`));
}

function treeWords(tree) {
  if (tree.contradiction) return make("p", {class: "reason v-fail"}, tree.contradiction);
  const declared = (tree.declared || []).join(" or ");
  const text = tree.agrees === 1 ? "as the path declares" : tree.agrees === 0 ? `not confirmed: the path declares ${declared}`
    : declared ? `none of the candidates (${declared})` : "the path declares no order";
  return make("p", {class: "fact"}, tree.why ? `no tree: ${tree.why}; ` : "", text);
}

/** The drawings are SVG that this project made; each is read when it is opened. */
function treeBox(tree, set) {
  const other = tree.driver === set.driver ? "" : `, with ${tree.driver}`;
  const box = make("details", {class: "tree"}, make("summary", {}, make("b", {}, `${tree.op}: ${tree.order || "no single tree"}`),
    make("span", {class: "muted"}, ` ${tree.name}, ${count(tree.terms)} terms, ${tree.path} ${tree.formats}${other}`)));
  box.addEventListener("toggle", () => {
    if (!box.open || box.children.length > 1) return;
    box.append(treeWords(tree));
    if (tree.drawing === undefined) return;
    const drawing = new DOMParser().parseFromString(index.probed.drawings[tree.drawing], "image/svg+xml").documentElement;
    box.append(make("div", {class: "scroll"}, document.importNode(drawing, true)));
  });
  return box;
}

function treesSection(row, detail) {
  const trees = treesOf(row, detail);
  if (trees.length === 0) return null;
  return make("section", {class: "trees"}, make("h3", {}, "Order of summation, as probed"), trees.map((tree) => treeBox(tree, setOf(row))));
}
