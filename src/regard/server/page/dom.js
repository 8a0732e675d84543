// Helpers that build elements. Text is always inserted as text, so no token can become markup.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export function element(name, attributes = {}, ...children) {
  return build(document.createElement(name), attributes, children);
}

export function svgElement(name, attributes = {}, ...children) {
  return build(document.createElementNS(SVG_NAMESPACE, name), attributes, children);
}

export function button(attributes, onClick, ...children) {
  const node = element("button", { type: "button", ...attributes }, ...children);
  node.addEventListener("click", onClick);
  return node;
}

export const byId = (id) => document.getElementById(id);

// options: [name, label] pairs
export function fillSelect(select, options, selected) {
  select.replaceChildren(
    ...options.map(([name, label]) => element("option", { value: name, selected: name === selected }, label)),
  );
  select.value = selected;
}
