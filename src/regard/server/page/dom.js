// Elements built by hand: text goes in as text, so that no line and no token can become markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

export function button(attributes, onClick, ...children) {
  const node = element("button", { type: "button", ...attributes }, ...children);
  node.addEventListener("click", onClick);
  return node;
}

export const byId = (id) => document.getElementById(id);

export function fill(select, options, chosen) {
  select.replaceChildren(
    ...options.map(([value, label]) => element("option", { value, selected: value === chosen }, label)),
  );
  select.value = chosen;
}
