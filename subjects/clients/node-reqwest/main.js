// Fetches the URLs of stdin with reqwest, a native module, and prints one CSV line a URL.
import { createRequire } from "node:module";
import process from "node:process";
import readline from "node:readline";

import { readSettings } from "./settings.js";

const { Client } = createRequire(import.meta.url)("./reqwest.node");

const settings = readSettings(process.env);
if (typeof settings === "string") {
  console.error(`node-reqwest: ${settings}`);
  process.exit(127);
}

const client = new Client({
  timeout: settings.requestTimeout,
  keepalive: settings.keepalive,
  ...(settings.userAgent ? { userAgent: settings.userAgent } : {}),
  ...(settings.httpVersion ? { httpVersion: settings.httpVersion } : {}),
});

process.stdout.on("error", () => process.exit(1)); // the reader closed the pipe

await crawl();
// Abandoned name lookups block a thread until the resolver gives up: they are not awaited.
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
    code = error.message; // the name of the innermost cause: see src/cause.rs
  }
  const duration = performance.now() - start;
  return `${line},${code},${timestamp(startTime)},${duration.toFixed(3)},${bodyLength}\n`;
}

// The final status and the bytes of content after decoding. The client's timeout bounds all of it.
async function fetchURL(url) {
  // reqwest's URL alone would repair blanks and tabs.
  if (!/^https?:\/\/[^\s/?#]\S*$/i.test(url)) return { code: "InvalidURL", bodyLength: 0 };
  const { status, length, content } = await client.get(url, settings.checkJSON);
  return { code: settings.checkJSON && !isExpected(content) ? "CheckFailed" : status, bodyLength: length };
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
