// Fetches the URLs of stdin with got and prints one CSV line a URL.
import http from "node:http";
import https from "node:https";
import process from "node:process";
import readline from "node:readline";

import got from "got";

import { causeName } from "./cause.js";
import { readSettings } from "./settings.js";

const settings = readSettings(process.env);
if (typeof settings === "string") {
  console.error(`node-got: ${settings}`);
  process.exit(127);
}

// A crawl rarely returns to a host: an idle connection waits this long for its next URL, in milliseconds. Without it Node's
// agents would keep up to 256 for every host.
const agentOptions = { keepAlive: settings.keepalive, timeout: 1000 };
const client = got.extend({
  agent: { http: new http.Agent(agentOptions), https: new https.Agent(agentOptions) },
  // got would retry twice.
  retry: { limit: 0 },
  maxRedirects: 10,
  // Any status is an answer, not an error.
  throwHttpErrors: false,
  headers: settings.userAgent ? { "user-agent": settings.userAgent } : {},
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
  // URL alone would repair blanks and tabs.
  if (!/^https?:\/\/[^\s/?#]\S*$/i.test(url)) return { code: "InvalidURL", bodyLength: 0 };
  // Bounds the whole fetch. got's own timeout does not: it starts again with each redirect.
  const controller = new AbortController();
  const { signal } = controller;
  const timer = setTimeout(() => {
    controller.abort(new DOMException("The request timed out", "TimeoutError"));
  }, settings.requestTimeout * 1000);
  try {
    if (settings.checkJSON) {
      const { statusCode, rawBody } = await client(url, { signal });
      return { code: isExpected(rawBody) ? statusCode : "CheckFailed", bodyLength: rawBody.byteLength };
    }
    const stream = client.stream(url, { signal });
    let bodyLength = 0;
    for await (const chunk of stream) bodyLength += chunk.byteLength;
    return { code: stream.response.statusCode, bodyLength };
  } catch (error) {
    // got calls any abort ERR_ABORTED; the signal has the reason.
    throw signal.aborted ? signal.reason : error;
  } finally {
    // AbortSignal.timeout would keep all objects of this request until its time is over.
    clearTimeout(timer);
  }
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
