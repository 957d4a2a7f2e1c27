// Serves the contract's endpoints with Node's built-in http.
import { isUtf8 } from "node:buffer";
import { setMaxListeners } from "node:events";
import fs from "node:fs";
import http from "node:http";
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";

import { serveWith } from "./processes.js";
import { readSettings } from "./settings.js";

// The contract permits the refusal of a larger count: memory must have a bound.
const mostUnits = 100;

const settings = readSettings(process.env);
if (typeof settings === "string") {
  console.error(`node-http: ${settings}`);
  process.exit(127);
}
const json = fs.readFileSync(new URL("document.json", import.meta.url));

serveWith(settings.workers, () => {
  const server = http.createServer(answer);
  server.on("error", (error) => {
    console.error(`node-http: ${error.message}`);
    process.exit(1);
  });
  server.listen(settings.port, settings.host);
});

function answer(request, response) {
  // A target may be a whole URL; most are only the path.
  const target = request.url.startsWith("/") ? request.url : request.url.replace(/^https?:\/\/[^/?]*/i, "");
  const path = target.split("?", 1)[0] || "/";
  if (path === "/plain" && request.method === "GET") {
    send(response, 200, "text/plain", "Hello, World!");
  } else if (path === "/json" && request.method === "GET") {
    send(response, 200, "application/json", json);
  } else if (path === "/" && (request.method === "GET" || request.method === "POST")) {
    work(request, response).catch(() => response.destroy()); // the client disconnected
  } else {
    send(response, 404, "text/plain", "not found\n");
  }
}

async function work(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const order = parse(Buffer.concat(chunks));
  if (!order) {
    send(response, 400, "text/plain", "malformed content\n");
    return;
  }
  const units = Array.from({ length: order.count }, () => settings.workloadsMs).flat();
  const signal = settings.timeoutMs && AbortSignal.timeout(settings.timeoutMs);
  // The signal cancels every timer; Node warns of more than ten listeners.
  if (signal) setMaxListeners(units.length, signal);
  try {
    const texts = await Promise.all(units.map((milliseconds) => wait(milliseconds, order.text, { signal })));
    send(response, 200, "application/json", JSON.stringify({ texts }));
  } catch (error) {
    if (error.name !== "AbortError") throw error;
    send(response, 503, "text/plain", "timed out\n");
  }
}

// The parsed content of a request; undefined if it is malformed.
function parse(content) {
  if (!isUtf8(content)) return undefined; // which JSON.parse would repair
  let order;
  try {
    order = JSON.parse(content);
  } catch {
    return undefined;
  }
  const isOrder = typeof order?.text === "string" && Number.isInteger(order.count);
  return isOrder && order.count >= 1 && order.count <= mostUnits ? order : undefined;
}

function send(response, status, type, content) {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(content) });
  response.end(content);
}
