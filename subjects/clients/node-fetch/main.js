// Fetches the URLs of stdin with Node's built-in fetch and prints one CSV line a URL.
import process from "node:process";
import readline from "node:readline";

import { causeName } from "./cause.js";
import { readURL, timeCalls } from "./harness.js";
import { readSettings } from "./settings.js";

const settings = readSettings(process.env);
if (typeof settings === "string") {
  console.error(`node-fetch: ${settings}`);
  process.exit(127);
}

// The Agent class of the undici inside Node, which fetch exposes only as its global dispatcher; the use of Response
// loads it.
const Agent = Response && globalThis[Symbol.for("undici.globalDispatcher.1")]?.constructor;
// A crawl rarely returns to a host: an idle connection waits this long for its next URL, in milliseconds.
const keepAliveTimeout = 1000;
// An agent keeps a pool for every origin it has used, some 30 KB each: after this number of origins another agent
// replaces it.
const originsPerAgent = 1000;
const origins = new Set();
let agent;

const requestHeaders = {};
if (settings.userAgent) requestHeaders["user-agent"] = settings.userAgent;
if (!settings.keepalive) requestHeaders["connection"] = "close";

// libuv looks names up in threads that cannot be interrupted, and the process cannot end before them. So the resolver's
// two attempts share the time of a request. See resolv.conf(5); its own default is five seconds for each.
process.env.RES_OPTIONS = `timeout:${Math.min(5, Math.ceil(settings.requestTimeout / 2))} attempts:2`;

process.stdout.on("error", () => process.exit(1)); // the reader closed the pipe

await (settings.harness ? timeOne() : crawl());
// Abandoned connections may still be in their handshake: they are not awaited.
process.exit(0);

async function crawl() {
  const lines = readLines();
  await Promise.all(Array.from({ length: settings.concurrency }, () => work(lines)));
}

// Times the calls of one URL, and prints the result.
async function timeOne() {
  const url = await readURL(readLines());
  const line = await timeCalls(() => outcome(url), settings.concurrency);
  // The process ends only after the line is written.
  await new Promise((resolve) => process.stdout.write(line, resolve));
}

function readLines() {
  // Bytes are read and written unchanged: a URL is printed as it was read, whatever its encoding.
  process.stdin.setEncoding("latin1");
  return readline.createInterface({ input: process.stdin, crlfDelay: Infinity })[Symbol.asyncIterator]();
}

// One of CONCURRENCY workers; they share one iterator, which reads a line only when a worker takes it.
async function work(lines) {
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    if (next.value) process.stdout.write(await row(next.value), "latin1");
  }
}

// Fetches one URL: `url,code,start_time,duration,body_length` and a line feed.
async function row(line) {
  const startTime = performance.timeOrigin + performance.now();
  const start = performance.now();
  const { code, bodyLength } = await outcome(Buffer.from(line, "latin1").toString().trim());
  const duration = performance.now() - start;
  return `${line},${code},${timestamp(startTime)},${duration.toFixed(3)},${bodyLength}\n`;
}

// The code of a URL's row and the bytes of its content.
async function outcome(url) {
  try {
    return await fetchInTime(url);
  } catch (error) {
    return { code: causeName(error), bodyLength: 0 };
  }
}

// Bounds a whole fetch. AbortSignal.timeout alone would not: undici can leave the reader of undecodable content waiting,
// signal or not, and the timer of that signal does not keep the process alive.
async function fetchInTime(url) {
  const controller = new AbortController();
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => {
      const error = new DOMException("The request timed out", "TimeoutError");
      controller.abort(error);
      reject(error);
    }, settings.requestTimeout * 1000);
  });
  try {
    return await Promise.race([fetchURL(url, controller.signal), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

// The final status and the bytes of content after decoding.
async function fetchURL(url, signal) {
  // URL alone would repair blanks and tabs, and fetch accepts other schemes, too.
  if (!/^https?:\/\/[^\s/?#]\S*$/i.test(url)) return { code: "InvalidURL", bodyLength: 0 };
  const { method, body } = settings;
  const response = await fetch(url, { method, headers: requestHeaders, body, signal, dispatcher: agentFor(url) });
  if (settings.checkJSON) {
    const content = await response.arrayBuffer();
    return { code: isExpected(content) ? response.status : "CheckFailed", bodyLength: content.byteLength };
  }
  let bodyLength = 0;
  for await (const chunk of response.body ?? []) bodyLength += chunk.byteLength;
  return { code: response.status, bodyLength };
}

// The current agent; undefined, for fetch's own, where Node hides the class. A replaced agent serves its last requests,
// its idle connections end at their timeout, and it is collected.
function agentFor(url) {
  if (Agent && (!agent || origins.size >= originsPerAgent)) {
    agent = new Agent({ keepAliveTimeout });
    origins.clear();
  }
  origins.add(new URL(url).origin);
  return agent;
}

function isExpected(content) {
  try {
    return JSON.parse(Buffer.from(content).toString())[0].numbers === 123123;
  } catch {
    return false;
  }
}

// RFC 3339 with microseconds of a time in milliseconds since 1970.
function timestamp(time) {
  const microseconds = Math.floor((time % 1) * 1000);
  return new Date(time).toISOString().replace("Z", `${String(microseconds).padStart(3, "0")}Z`);
}
