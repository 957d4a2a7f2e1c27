// Fetches the URLs of stdin with Bun's fetch and prints one CSV line a URL.
import process from "node:process";
import readline from "node:readline";

import { causeName } from "./cause.js";
import { readSettings } from "./settings.js";

const settings = readSettings(process.env);
if (typeof settings === "string") {
  console.error(`bun-fetch: ${settings}`);
  process.exit(127);
}

const session = new Bun.FetchSession({
  // A crawl rarely returns to a host: an idle connection waits a second (Bun makes it a few) for its next URL, not minutes.
  keepAlive: settings.keepalive && { idleTimeout: 1 },
});
const { method, body } = settings;
const options = { session, method, maxRedirects: 10, headers: {}, body };
if (settings.userAgent) options.headers["user-agent"] = settings.userAgent;
if (settings.httpVersion) options.protocol = { 1.1: "http1.1", 2: "http2" }[settings.httpVersion];

process.stdout.on("error", () => process.exit(1)); // the reader closed the pipe

await crawl();
// Abandoned name lookups are not awaited.
process.exit(0);

async function crawl() {
  // Bytes are read and written unchanged: a URL is printed as it was read, whatever its encoding.
  process.stdin.setEncoding("latin1");
  const lines = readline.createInterface({ input: process.stdin, crlfDelay: Infinity })[Symbol.asyncIterator]();
  await Promise.all(Array.from({ length: settings.concurrency }, () => work(lines)));
}

// One of CONCURRENCY workers; they share one iterator, which reads a line only when a worker takes it.
async function work(lines) {
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    // Bun ignores the encoding that write is given.
    if (next.value) process.stdout.write(Buffer.from(await row(next.value), "latin1"));
  }
}

// Fetches one URL: `url,code,start_time,duration,body_length` and a line feed.
async function row(line) {
  const startTime = performance.timeOrigin + performance.now();
  const start = performance.now();
  let code;
  let bodyLength = 0;
  try {
    ({ code, bodyLength } = await fetchURL(Buffer.from(line, "latin1").toString().trim()));
  } catch (error) {
    code = causeName(error);
  }
  const duration = performance.now() - start;
  return `${line},${code},${timestamp(startTime)},${duration.toFixed(3)},${bodyLength}\n`;
}

// The final status and the bytes of content after decoding. The signal bounds all of it.
async function fetchURL(url) {
  // URL alone would repair blanks and tabs, and fetch accepts other schemes, too.
  if (!/^https?:\/\/[^\s/?#]\S*$/i.test(url)) return { code: "InvalidURL", bodyLength: 0 };
  const signal = AbortSignal.timeout(settings.requestTimeout * 1000);
  const response = await fetch(url, { ...options, signal });
  if (settings.checkJSON) {
    const content = await response.bytes();
    return { code: isExpected(content) ? response.status : "CheckFailed", bodyLength: content.byteLength };
  }
  let bodyLength = 0;
  for await (const chunk of response.body ?? []) bodyLength += chunk.byteLength;
  return { code: response.status, bodyLength };
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
