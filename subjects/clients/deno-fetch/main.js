// Fetches the URLs of stdin with Deno's fetch and prints one CSV line a URL.
import { causeName } from "./cause.js";
import { readSettings } from "./settings.js";

const settings = readSettings(Deno.env.toObject());
if (typeof settings === "string") {
  console.error(`deno-fetch: ${settings}`);
  Deno.exit(127);
}

const client = Deno.createHttpClient({
  // A crawl rarely returns to a host: an idle connection waits this long for its next URL, in milliseconds.
  poolIdleTimeout: 1000,
  ...(settings.keepalive ? {} : { poolMaxIdlePerHost: 0 }),
  ...(settings.httpVersion ? { http1: settings.httpVersion === "1.1", http2: settings.httpVersion === "2" } : {}),
});
const headers = settings.userAgent ? { "user-agent": settings.userAgent } : {};
const output = Deno.stdout.writable.getWriter();
const encoder = new TextEncoder();
const decoder = new TextDecoder();

await crawl();
// Abandoned name lookups are not awaited.
Deno.exit(0);

async function crawl() {
  const lines = readLines(Deno.stdin.readable);
  await Promise.all(Array.from({ length: settings.concurrency }, () => work(lines)));
}

// The lines of a stream, as bytes: a URL is printed as it was read, whatever its encoding.
async function* readLines(stream) {
  let pieces = [];
  for await (let chunk of stream) {
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10)) {
      yield joined(...pieces, chunk.subarray(0, end));
      pieces = [];
      chunk = chunk.subarray(end + 1);
    }
    pieces.push(chunk);
  }
  yield joined(...pieces);
}

function joined(...pieces) {
  const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece, offset);
    offset += piece.length;
  }
  return whole;
}

// One of CONCURRENCY workers; they share one generator, which reads a line only when a worker takes it.
async function work(lines) {
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    const line = next.value.at(-1) === 13 ? next.value.subarray(0, -1) : next.value;
    if (line.length) await print(await row(line));
  }
}

async function print(bytes) {
  try {
    await output.write(bytes);
  } catch {
    Deno.exit(1); // the reader closed the pipe
  }
}

// Fetches one URL: `url,code,start_time,duration,body_length` and a line feed.
async function row(line) {
  const startTime = performance.timeOrigin + performance.now();
  const start = performance.now();
  let code;
  let bodyLength = 0;
  try {
    ({ code, bodyLength } = await fetchURL(decoder.decode(line).trim()));
  } catch (error) {
    code = causeName(error);
  }
  const duration = performance.now() - start;
  return joined(line, encoder.encode(`,${code},${timestamp(startTime)},${duration.toFixed(3)},${bodyLength}\n`));
}

// The final status and the bytes of content after decoding. The signal bounds all of it.
async function fetchURL(url) {
  // URL alone would repair blanks and tabs, and fetch accepts other schemes, too.
  if (!/^https?:\/\/[^\s/?#]\S*$/i.test(url)) return { code: "InvalidURL", bodyLength: 0 };
  const signal = AbortSignal.timeout(settings.requestTimeout * 1000);
  const { method, body } = settings;
  const response = await fetch(url, { client, method, headers, body, signal });
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
    return JSON.parse(decoder.decode(content))[0].numbers === 123123;
  } catch {
    return false;
  }
}

// RFC 3339 with microseconds of a time in milliseconds since 1970.
function timestamp(time) {
  const microseconds = Math.floor((time % 1) * 1000);
  return new Date(time).toISOString().replace("Z", `${String(microseconds).padStart(3, "0")}Z`);
}
