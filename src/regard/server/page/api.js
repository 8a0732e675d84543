// The server, as this page needs it: one question, one answer or one refusal.
//
// Addresses are relative, so that the page also works behind a proxy that adds a path.

const TRIES = 8;

export class Refusal extends Error {
  // status 0 is a server that did not answer at all
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export const models = () => answered("v1/models", {});

// A full queue is asked again after as many seconds as it says; `onWait` is told of each wait.
export async function translate(body, { signal, onWait }) {
  for (let tried = 1; ; tried++) {
    try {
      return await answered("v1/translate", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
        signal,
      });
    } catch (problem) {
      if (problem.status !== 429 || tried === TRIES) throw problem;
      onWait(problem.wait);
      await pause(problem.wait, signal);
    }
  }
}

async function answered(path, options) {
  let response;
  try {
    response = await fetch(path, options);
    // an answer may also break off in its middle
    if (response.ok) return await response.json();
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refusal(0, "");
  }
  const refusal = new Refusal(response.status, await detailOf(response));
  refusal.wait = Math.max(1, Number(response.headers.get("Retry-After")) || 1);
  throw refusal;
}

async function detailOf(response) {
  try {
    const { detail, title } = await response.json();
    return typeof detail === "string" ? detail : (title ?? "");
  } catch {
    return "";
  }
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
