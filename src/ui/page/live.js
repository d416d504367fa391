// Requests to the server, and the stream of changes. Decides when to retry. The token is stored for this tab only and is sent in a
// header, so that no other site can make the browser send it.

const KEY = "tidegate-token";
const LONGEST_PAUSE = 15000;

/** The server rejects the token. */
export class Unknown extends Error {}

export function token() {
  return sessionStorage.getItem(KEY) || "";
}

export function keep(text) {
  if (text) sessionStorage.setItem(KEY, text);
  else sessionStorage.removeItem(KEY);
}

function headers() {
  return token() ? { Authorization: `Bearer ${token()}` } : {};
}

/** Requests JSON; throws the error of the server. */
export async function ask(path) {
  const answer = await fetch(path, { headers: headers(), cache: "no-store", credentials: "omit", redirect: "error" });
  const told = await answer.json();
  if (answer.status === 401) throw new Unknown(told.error);
  if (!answer.ok) throw new Error(told.error || `status ${answer.status}`);
  return told;
}

/** Sends an action of the user; throws the error of the hub. The header is one that no form of another site can send. */
export async function act(path, body) {
  const answer = await fetch(path, {
    method: "POST", headers: { ...headers(), "Content-Type": "application/json", "Tidegate-Action": "1" }, body: JSON.stringify(body),
    cache: "no-store", credentials: "omit", redirect: "error",
  });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error || `status ${answer.status}`);
  return told;
}

/** Follows changes until it is stopped. `hear(name, data)` gets every event, `state` the state of the connection. */
export function follow(path, hear, state) {
  const stop = new AbortController();
  run(path, hear, state, stop.signal);
  return () => stop.abort();
}

async function run(path, hear, state, signal) {
  let pause = 500;
  while (!signal.aborted) {
    try {
      const answer = await fetch(path, { headers: headers(), cache: "no-store", credentials: "omit", redirect: "error", signal });
      if (answer.status === 401) return state("unknown");
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      state("live");
      pause = 500;
      await read(answer.body.getReader(), hear);
    } catch (error) {
      if (signal.aborted) return;
    }
    state("lost");
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

async function read(reader, hear) {
  const decoder = new TextDecoder();
  let parts = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const text = decoder.decode(value, { stream: true });
    parts.push(text);
    // A large event arrives in many parts: they are joined once, after the last part.
    if (!text.includes("\n\n") && !text.startsWith("\n")) continue;
    const events = parts.join("").split("\n\n");
    parts = [events.pop()];
    for (const event of events) tell(event, hear);
  }
}

function tell(event, hear) {
  let name = "";
  let data = "";
  for (const line of event.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data = line.slice(6);
  }
  if (name) hear(name, data ? JSON.parse(data) : null);
}
