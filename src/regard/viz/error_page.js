"use strict";
(() => {
  const PAGE = 100;
  const { labels, choices, rows, space } = JSON.parse(document.getElementById("data").textContent);
  const form = document.getElementById("filters");
  const list = document.getElementById("list");
  const count = document.getElementById("count");
  const more = document.getElementById("more");
  const edits = (row) => row.outputs.reduce((sum, output) => sum + output.edits, 0);
  const orders = {
    "as in the file": null,
    "most edits first": (a, b) => edits(b) - edits(a),
    "least likely first": (a, b) => a.outputs[0].score - b.outputs[0].score,
  };
  let shown = PAGE;
  let matching = rows;

  function element(name, text, attributes = {}) {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  }

  function field(name, control) {
    const label = element("label", name);
    control.name = name;
    label.append(control);
    form.append(label);
    return control;
  }

  function menu(name, options, all) {
    const control = element("select");
    if (all) control.append(new Option(all, ""));
    for (const option of options) control.append(new Option(option, option));
    return field(name, control);
  }

  const search = field("text", element("input", undefined, { type: "search" }));
  const menus = new Map();
  for (const [factor, options] of Object.entries(choices)) {
    if (options.length > 1) menus.set(factor, menu(factor, options, "all"));
  }
  for (const label of labels) {
    const factor = `edit ${label}`.trim();
    const names = new Set(rows.flatMap((row) => row.groups[factor]));
    menus.set(factor, menu(factor, [...names].sort(), "all"));
  }
  const order = menu("order", Object.keys(orders));
  const clear = element("button", "Clear", { type: "button" });
  form.append(clear);

  const haystack = rows.map((row) =>
    [row.source, ...row.outputs.flatMap((one) => [side(one, 0), side(one, 1)])]
      .join("\n").toLowerCase());

  function side(output, which) {
    return output.parts.map((part) => part[part.length > 1 ? which : 0]).filter(Boolean).join(space);
  }

  function marked(parts, which) {
    const line = element("bdi");
    for (const part of parts) {
      const text = part[part.length > 1 ? which : 0];
      if (text && line.textContent) line.append(space);
      if (part.length === 1) line.append(text);
      else if (text) line.append(element("mark", text));
    }
    if (!line.textContent) line.append(element("span", "(nothing)", { class: "ok" }));
    return line;
  }

  function addRow(grid, name, parts, which, note) {
    grid.append(element("span", name, { class: "ok" }), marked(parts, which),
      element("span", note, { class: "ok" }));
  }

  function item(row) {
    const node = element("li");
    const source = element("bdi", row.source);
    const grid = element("div", undefined, { class: "rows" });
    row.outputs.forEach((output, number) => {
      const name = labels[number] || "output";
      const first = row.outputs[0];
      const other = number > 0 && side(first, 0) !== side(output, 0);
      if (number === 0 || other) {
        const others = row.others && number === 0 ? `or ${row.others} more` : "";
        const parts = row.outputs.length > 1 ? [[side(output, 0)]] : output.parts;
        addRow(grid, "expected", parts, 0, others);
      }
      const note = output.exact ? "✓" : `${output.edits} edit${output.edits === 1 ? "" : "s"}`;
      addRow(grid, name, output.parts, 1, note);
    });
    node.append(element("span", row.pair, { class: "ok" }), source, grid);
    return node;
  }

  function draw() {
    list.replaceChildren(...matching.slice(0, shown).map(item));
    more.hidden = matching.length <= shown;
    const number = new Intl.NumberFormat("en");
    count.textContent = `${number.format(matching.length)} of ${number.format(rows.length)} sources`;
  }

  function apply() {
    const words = search.value.trim().toLowerCase();
    matching = rows.filter((row, number) =>
      (!words || haystack[number].includes(words)) &&
      [...menus].every(([factor, control]) =>
        !control.value || (row.groups[factor] || []).includes(control.value)));
    if (orders[order.value]) matching = [...matching].sort(orders[order.value]);
    shown = PAGE;
    draw();
  }

  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  clear.addEventListener("click", () => { form.reset(); apply(); });
  more.addEventListener("click", () => { shown += PAGE; draw(); });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-factor]");
    const control = button && menus.get(button.dataset.factor);
    if (!control) return;
    form.reset();
    control.value = button.dataset.value;
    apply();
    document.getElementById("lines").scrollIntoView();
  });
  apply();
})();
