// Fetches the URLs of stdin with axios and prints one CSV line a URL.
import http from "node:http";
import https from "node:https";
import process from "node:process";
import readline from "node:readline";

import axios from "axios";

import { causeName } from "./cause.js";
import { readSettings } from "./settings.js";

const settings = readSettings(process.env);
if (typeof settings === "string") {
  console.error(`node-axios: ${settings}`);
  process.exit(127);
}

// A crawl rarely returns to a host: an idle connection waits this long for its next URL, in milliseconds. Without it Node's
// agents would keep up to 256 for every host.
const agentOptions = { keepAlive: settings.keepalive, timeout: 1000 };
const client = axios.create({
  httpAgent: new http.Agent(agentOptions),
  httpsAgent: new https.Agent(agentOptions),
  maxRedirects: 10,
  responseType: settings.checkJSON ? "arraybuffer" : "stream",
  // Any status is an answer, not an error.
  validateStatus: null,
  headers: settings.userAgent ? { "User-Agent": settings.userAgent } : {},
});

// libuv looks names up in threads that cannot be interrupted, and the process cannot end before them. So the resolver's
// two attempts share the time of a request. See resolv.conf(5); its own default is five seconds for each.
process.env.RES_OPTIONS = `timeout:${Math.min(5, Math.ceil(settings.requestTimeout / 2))} attempts:2`;

process.stdout.on("error", () => process.exit(1)); // the reader closed the pipe

await crawl();
// Abandoned connections may still be in their handshake: they are not awaited.
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
    if (next.value) process.stdout.write(await row(next.value), "latin1");
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

// The final status and the bytes of content after decoding.
async function fetchURL(url) {
  // URL alone would repair blanks and tabs, and axios accepts other schemes, too.
  if (!/^https?:\/\/[^\s/?#]\S*$/i.test(url)) return { code: "InvalidURL", bodyLength: 0 };
  // Bounds the whole fetch. axios's own timeout does not: it does not cover content that drips.
  const controller = new AbortController();
  const { signal } = controller;
  const timer = setTimeout(() => {
    controller.abort(new DOMException("The request timed out", "TimeoutError"));
  }, settings.requestTimeout * 1000);
  try {
    const { status, data } = await client.request({ url, method: settings.method, data: settings.body, signal });
    if (settings.checkJSON) return { code: isExpected(data) ? status : "CheckFailed", bodyLength: data.byteLength };
    let bodyLength = 0;
    for await (const chunk of data) bodyLength += chunk.byteLength;
    return { code: status, bodyLength };
  } catch (error) {
    // axios calls any abort ERR_CANCELED; the signal has the reason.
    throw signal.aborted ? signal.reason : error;
  } finally {
    // AbortSignal.timeout would keep all objects of this request until its time is over.
    clearTimeout(timer);
  }
}

function isExpected(content) {
  try {
    return JSON.parse(content.toString())[0].numbers === 123123;
  } catch {
    return false;
  }
}

// RFC 3339 with microseconds of a time in milliseconds since 1970.
function timestamp(time) {
  const microseconds = Math.floor((time % 1) * 1000);
  return new Date(time).toISOString().replace("Z", `${String(microseconds).padStart(3, "0")}Z`);
}
