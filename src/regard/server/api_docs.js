// The forms of /docs: each sends a request to this server, and shows it as a command and its response.

const MAX_SHOWN = 20_000; // characters of a response

function prepare(box, exampleLine) {
  const { method, path } = box.dataset;
  const [field, command] = [box.querySelector("textarea"), box.querySelector(".command")];
  if (field && exampleLine) field.value = withLine(field.value, exampleLine);
  const showCommand = () => (command.textContent = curl(method, new URL(path, document.baseURI).href, field?.value));
  field?.addEventListener("input", showCommand);
  box.querySelector("button").addEventListener("click", () => send(box, method, path, field?.value));
  showCommand();
  box.hidden = false;
}

// The example with a line that the served model expects.
function withLine(json, line) {
  const body = JSON.parse(json);
  if (body.text) body.text = [line.source];
  if (body.pairs) body.pairs = [{ source: line.source, target: line.target }];
  return formatted(JSON.stringify(body));
}

function curl(method, address, body) {
  if (body === undefined) return `curl ${quote(address)}`;
  return `curl -X ${method} -H 'Content-Type: application/json' \\\n    -d ${quote(body.replace(/\n\s*/g, " "))} \\\n    ${quote(address)}`;
}

// Quote an argument for a POSIX shell.
const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

async function send(box, method, path, body) {
  const [status, answer] = [box.querySelector(".status"), box.querySelector(".answer")];
  status.textContent = "Waiting …";
  const start = performance.now();
  try {
    const headers = body === undefined ? {} : { "Content-Type": "application/json" };
    const response = await fetch(path, { method, headers, body });
    const text = await response.text();
    status.textContent = `Status ${response.status}, ${Math.round(performance.now() - start)} ms`;
    answer.textContent = shorten(formatted(text));
    answer.hidden = false;
  } catch {
    // the last response stays
    status.textContent = "The server cannot be reached. It may have been stopped.";
  }
}

// JSON with one field per line, but rows of numbers on one line; other text as it is.
function formatted(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 1).replace(/\[[^[\]{}]*\]/g, (list) => list.replace(/\s*\n\s*/g, " ").replace("[ ", "[").replace(" ]", "]"));
  } catch {
    return text;
  }
}

const shorten = (text) => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}\n…` : text);

// A line that the first model expects, if its file holds one.
async function exampleLine() {
  try {
    const { models } = await (await fetch("v1/models")).json();
    const examples = models[0].summary.examples;
    const isPair = ({ source, target }) => typeof source === "string" && typeof target === "string";
    return Array.isArray(examples) ? examples.find(isPair) : undefined;
  } catch {
    return undefined;
  }
}

const line = await exampleLine();
for (const box of document.querySelectorAll(".try-out")) prepare(box, line);
