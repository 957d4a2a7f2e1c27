// Serves the contract's endpoints with Fastify.
import { isUtf8 } from "node:buffer";
import { setMaxListeners } from "node:events";
import fs from "node:fs";
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";

import Fastify from "fastify";

import { serveWith } from "./processes.js";
import { readSettings } from "./settings.js";

const settings = readSettings(process.env);
if (typeof settings === "string") {
  console.error(`node-fastify: ${settings}`);
  process.exit(127);
}
const json = fs.readFileSync(new URL("document.json", import.meta.url));

// The contract permits the refusal of a larger count: memory must have a bound.
const order = {
  type: "object",
  required: ["text", "count"],
  properties: { text: { type: "string" }, count: { type: "integer", minimum: 1, maximum: 100 } },
};
const answer = { type: "object", properties: { texts: { type: "array", items: { type: "string" } } } };

serveWith(settings.workers, async () => {
  try {
    await server().listen({ host: settings.host, port: settings.port });
  } catch (error) {
    console.error(`node-fastify: ${error.message}`);
    process.exit(1);
  }
});

function server() {
  // Fastify's default turns "1" into 1; the contract requires a number.
  const fastify = Fastify({ ajv: { customOptions: { coerceTypes: false } } });
  // Without this the content of a GET is not read.
  fastify.addHttpMethod("GET", { hasBody: true, overrideExisting: true });
  // Content is JSON whatever its declared type, and its other keys are ignored.
  const parse = fastify.getDefaultJsonParser("ignore", "ignore");
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", { parseAs: "buffer" }, (request, content, done) => {
    // Invalid UTF-8 is not JSON, but would be repaired; the schema refuses missing content.
    parse(request, isUtf8(content) ? content.toString() : "malformed", done);
  });

  fastify.get("/plain", (_, reply) => {
    reply.send("Hello, World!");
  });
  fastify.get("/json", (_, reply) => {
    reply.type("application/json").send(json);
  });
  fastify.route({
    method: ["GET", "POST"],
    url: "/",
    schema: { body: order, response: { 200: answer } },
    exposeHeadRoute: false, // a HEAD has no content for a schema
    handler: ({ body }, reply) => work(body, reply),
  });
  return fastify;
}

// Has its own timer: Fastify 5.12 takes content that was read to its end for a disconnected client, then stops its own
// handlerTimeout and fires the request's signal at once (https://github.com/fastify/fastify/pull/6725).
async function work({ text, count }, reply) {
  const units = Array.from({ length: count }, () => settings.workloadsMs).flat();
  const signal = settings.timeoutMs && AbortSignal.timeout(settings.timeoutMs);
  // The signal cancels every timer; Node warns of more than ten listeners.
  if (signal) setMaxListeners(units.length, signal);
  try {
    return { texts: await Promise.all(units.map((milliseconds) => wait(milliseconds, text, { signal }))) };
  } catch (error) {
    if (error.name !== "AbortError") throw error;
    return reply.code(503).send({ error: "timed out" });
  }
}
