// The client of the HTTP interface, from which the page gets all data.

const KEY = "melm.key";
const FIRST_PAUSE = 500; // milliseconds
const LONGEST_PAUSE = 5000;

// The problem document of a response (RFC 9457), or status 0 if there is no response.
export class ResponseError extends Error {
  constructor(status, document = {}) {
    super(document.detail ?? document.title ?? "The service does not answer.");
    this.status = status;
    this.errors = document.errors ?? [];
  }

  get isOutage() {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

let askForKey = null;

// `ask` asks the user for a key and resolves to it.
export function onKeyNeeded(ask) {
  askForKey = ask;
}

export function getKey() {
  return sessionStorage.getItem(KEY);
}

export async function request(path, { method = "GET", headers = {}, body, signal } = {}) {
  const key = getKey();
  const authorization = key ? { Authorization: `Bearer ${key}` } : {};
  let response;
  try {
    response = await fetch(path, { method, body, signal, headers: { ...authorization, ...headers } });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ResponseError(0);
  }
  if (response.status === 401 && askForKey) {
    sessionStorage.setItem(KEY, await askForKey(key !== null));
    return request(path, { method, headers, body, signal });
  }
  if (!response.ok)
    throw new ResponseError(response.status, await response.json().catch(() => ({ title: response.statusText })));
  return response;
}

export async function get(path, options) {
  return (await request(path, options)).json();
}

export async function post(path, body, options = {}) {
  const headers = { "Content-Type": "application/json", ...options.headers };
  return (await request(path, { ...options, method: "POST", headers, body: JSON.stringify(body) })).json();
}

export async function postCsv(path, text, options = {}) {
  const headers = { "Content-Type": "text/csv", Accept: "application/json" };
  return (await request(path, { ...options, method: "POST", headers, body: text })).json();
}

export const pause = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });

// Repeats a call until the service answers. `onOutage(true)` is called when it stops answering, `onOutage(false)` when it is back.
export async function persist(call, { signal, onOutage = () => {} }) {
  for (let wait = FIRST_PAUSE, away = false; ; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
    try {
      const answer = await call();
      if (away) onOutage(false);
      return answer;
    } catch (error) {
      if (!(error instanceof ResponseError && error.isOutage)) throw error;
      if (!away) onOutage(true);
      away = true;
    }
    await pause(wait, signal);
  }
}

// A fit's events as they happen, until it has ended. By fetch, because EventSource cannot send a key.
export async function* events(fitId, { signal, onOutage }) {
  let last = "0";
  for (;;) {
    const open = () => request(`v1/fits/${fitId}/events/stream`, { signal, headers: { "Last-Event-ID": last } });
    const response = await persist(open, { signal, onOutage });
    try {
      for await (const event of parse(response.body)) {
        last = event.id;
        yield event;
        if (["succeeded", "failed", "canceled"].includes(event.type)) return;
      }
    } catch (error) {
      if (signal.aborted) throw error; // otherwise the connection was lost: resume after the last event
    }
    await pause(FIRST_PAUSE, signal);
  }
}

async function* parse(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    buffer += value;
    const blocks = buffer.split("\n\n");
    buffer = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice("data: ".length));
    }
  }
}

// The fit once it has ended.
export async function ended(fitId, { signal, onOutage }) {
  for (;;) {
    const ask = () => get(`v1/fits/${fitId}`, { signal, headers: { Prefer: "wait=20" } });
    const fit = await persist(ask, { signal, onOutage });
    if (!isActive(fit)) return fit;
  }
}

export const isActive = (fit) => fit.status === "queued" || fit.status === "running";
