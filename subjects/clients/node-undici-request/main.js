// Fetches the URLs of stdin with undici's request and prints one CSV line a URL.
import process from "node:process";
import readline from "node:readline";
import { promisify } from "node:util";
import zlib from "node:zlib";

import { Agent, DecoratorHandler, interceptors, request } from "undici";

import { causeName } from "./cause.js";
import { readSettings } from "./settings.js";

const settings = readSettings(process.env);
if (typeof settings === "string") {
  console.error(`node-undici-request: ${settings}`);
  process.exit(127);
}

const timeout = settings.requestTimeout * 1000;
const maxRedirections = 10;
const agent = new Agent({
  // A crawl rarely returns to a host: an idle connection waits this long for its next URL, in milliseconds.
  keepAliveTimeout: 1000,
  // With undici's ten seconds an abandoned connection attempt would continue.
  connect: { timeout },
  // undici's way to turn keep-alive off.
  ...(settings.keepalive ? {} : { pipelining: 0 }),
});
// undici's interceptors take an interim answer, such as 103 Early Hints, for the answer, and fail at the one that follows.
class FinalAnswer extends DecoratorHandler {
  onResponseStart(controller, statusCode, ...rest) {
    if (statusCode >= 200) super.onResponseStart(controller, statusCode, ...rest);
  }
}
// request does not follow redirects: undici documents an interceptor for them.
const dispatcher = agent.compose(
  (dispatch) => (options, handler) => dispatch(options, new FinalAnswer(handler)),
  interceptors.redirect({ maxRedirections }),
);
// Nor does it decode codings: Node's zlib does. undici's interceptor for that is experimental and lets content wait;
// and undici 7 ends the process when a server closes a connection whose content waits (nodejs/undici#5360).
const decoders = {
  gzip: promisify(zlib.gunzip),
  deflate: promisify(zlib.inflate),
  br: promisify(zlib.brotliDecompress),
  ...(zlib.zstdDecompress && { zstd: promisify(zlib.zstdDecompress) }),
};
const requestHeaders = { "accept-encoding": Object.keys(decoders).join(", ") };
if (settings.userAgent) requestHeaders["user-agent"] = settings.userAgent;

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
    ({ code, bodyLength } = await fetchInTime(Buffer.from(line, "latin1").toString().trim()));
  } catch (error) {
    code = causeName(error);
  }
  const duration = performance.now() - start;
  return `${line},${code},${timestamp(startTime)},${duration.toFixed(3)},${bodyLength}\n`;
}

// Bounds a whole fetch. The signal alone would not: undici reacts to it only once a connection is established.
async function fetchInTime(url) {
  const controller = new AbortController();
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      const error = new DOMException("The request timed out", "TimeoutError");
      controller.abort(error);
      reject(error);
    }, timeout);
  });
  try {
    return await Promise.race([fetchURL(url, controller.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

// The final status and the bytes of content after decoding.
async function fetchURL(url, signal) {
  // URL alone would repair blanks and tabs.
  if (!/^https?:\/\/[^\s/?#]\S*$/i.test(url)) return { code: "InvalidURL", bodyLength: 0 };
  const { method, body: requestBody } = settings;
  const options = { dispatcher, method, headers: requestHeaders, body: requestBody, signal };
  const { statusCode, headers, body } = await request(url, options);
  // undici returns the redirect that it does not follow any more; its throwOnMaxRedirect would refuse the tenth target
  // too.
  if (headers.location && [301, 302, 303, 307, 308].includes(statusCode)) {
    await body.dump();
    return { code: "TooManyRedirects", bodyLength: 0 };
  }
  // Read as a whole, content never waits.
  const content = await decoded(await body.bytes(), headers["content-encoding"]);
  if (settings.checkJSON && !isExpected(content)) return { code: "CheckFailed", bodyLength: content.byteLength };
  return { code: statusCode, bodyLength: content.byteLength };
}

async function decoded(content, coding) {
  const decode = decoders[coding];
  return decode && content.byteLength ? decode(content) : content;
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
