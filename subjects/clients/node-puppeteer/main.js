// Opens the URLs of stdin in Chromium, driven by Puppeteer, and prints one CSV line a URL.
import process from "node:process";
import readline from "node:readline";

import { startBrowser } from "./browser.js";
import { readSettings } from "./settings.js";
import { Tab } from "./tab.js";

const settings = readSettings(process.env);
if (typeof settings === "string") {
  console.error(`node-puppeteer: ${settings}`);
  process.exit(127);
}

// The browser, once there is a line, and a tab for each worker: no URL shares the processor with their start.
let started;

process.stdout.on("error", () => process.exit(1)); // the reader closed the pipe
// Puppeteer would close the browser first, and every URL in flight would be printed as an error.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));

await crawl();
// Abandoned work is not awaited; the browser ends with its pipe to this process.
process.exit(0);

async function crawl() {
  // Bytes are read and written unchanged: a URL is printed as it was read, whatever its encoding.
  process.stdin.setEncoding("latin1");
  const lines = readline.createInterface({ input: process.stdin, crlfDelay: Infinity })[Symbol.asyncIterator]();
  await Promise.all(Array.from({ length: settings.concurrency }, () => work(lines)));
}

async function start() {
  const browser = await startBrowser(settings);
  const tabs = await Promise.all(Array.from({ length: settings.concurrency }, () => Tab.open(browser)));
  return { browser, tabs };
}

// One of CONCURRENCY workers, each with a tab; they share one iterator, which reads a line only when a worker takes it.
async function work(lines) {
  let tab;
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    if (!next.value) continue;
    started ??= start();
    const { browser, tabs } = await started;
    if (!tab?.isFresh) {
      tab?.close();
      tab = tabs.pop() ?? (await Tab.open(browser));
    }
    process.stdout.write(await row(next.value, tab), "latin1");
  }
}

// Opens one URL: `url,code,start_time,duration,body_length` and a line feed.
async function row(line, tab) {
  const startTime = performance.timeOrigin + performance.now();
  const start = performance.now();
  let code;
  let bodyLength = 0;
  try {
    ({ code, bodyLength } = await openInTime(Buffer.from(line, "latin1").toString().trim(), tab));
  } catch (error) {
    code = causeName(error);
  }
  const duration = performance.now() - start;
  return `${line},${code},${timestamp(startTime)},${duration.toFixed(3)},${bodyLength}\n`;
}

// Bounds all of it. Chromium itself would wait for minutes.
async function openInTime(url, tab) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      tab.isFresh = false; // it may still be loading: the next URL gets another tab
      reject(new Error("TimeoutError"));
    }, settings.requestTimeout * 1000);
  });
  try {
    return await Promise.race([openURL(url, tab), late]);
  } finally {
    clearTimeout(timer);
  }
}

// The final status and the bytes of the main document after decoding.
async function openURL(url, tab) {
  // Chromium would repair blanks and tabs, and accepts other schemes, too.
  if (!/^https?:\/\/[^\s/?#]\S*$/i.test(url) || !URL.canParse(url)) return { code: "InvalidURL", bodyLength: 0 };
  const { status, isHTTP2, bodyLength } = await tab.open(url);
  if (settings.httpVersion === "2" && !isHTTP2) return { code: "NotHTTP2", bodyLength: 0 };
  const isChecked = !settings.checkJSON || isExpected(await tab.content());
  return { code: isChecked ? status : "CheckFailed", bodyLength };
}

function isExpected(content) {
  try {
    return JSON.parse(content)[0].numbers === 123123;
  } catch {
    return false;
  }
}

// The name of an error: Chromium's, as `ERR_CONNECTION_REFUSED` for "net::ERR_CONNECTION_REFUSED".
function causeName(error) {
  const name = error.message.replace("net::", "").replace(/[^A-Za-z0-9_.-]/g, "");
  return /^[A-Za-z]/.test(name) ? name : `Error${name}`;
}

// RFC 3339 with microseconds of a time in milliseconds since 1970.
function timestamp(time) {
  const microseconds = Math.floor((time % 1) * 1000);
  return new Date(time).toISOString().replace("Z", `${String(microseconds).padStart(3, "0")}Z`);
}
