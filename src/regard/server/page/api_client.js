// The client of the server's HTTP API.
//
// Paths are relative, so the page also works behind a proxy that adds a path prefix.

const MAX_ATTEMPTS = 8;

export class ApiError extends Error {
  // status 0: no response arrived
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export const fetchModels = () => fetchJson("v1/models", {});

// While the queue is full, retry after the number of seconds the server gives; `onWait` gets it each time.
export async function translate(body, { signal, onWait }) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await fetchJson("v1/translate", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
        signal,
      });
    } catch (error) {
      if (error.status !== 429 || attempt === MAX_ATTEMPTS) throw error;
      onWait(error.retryAfter);
      await sleep(error.retryAfter, signal);
    }
  }
}

async function fetchJson(path, options) {
  let response;
  try {
    response = await fetch(path, options);
    // the connection may also break while the body is read
    if (response.ok) return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "");
  }
  const error = new ApiError(response.status, await detailOf(response));
  error.retryAfter = Math.max(1, Number(response.headers.get("Retry-After")) || 1);
  throw error;
}

async function detailOf(response) {
  try {
    const { detail, title } = await response.json();
    return typeof detail === "string" ? detail : (title ?? "");
  } catch {
    return "";
  }
}

function sleep(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
