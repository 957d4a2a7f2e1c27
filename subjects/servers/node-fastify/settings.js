// The server's settings, read from the environment.
import { isIPv4 } from "node:net";

const longestMs = 600_000;
const mostWorkloads = 100;

// Returns the settings, or one line that names the variable and its permitted values.
export function readSettings(environment) {
  const host = environment.HOST || "127.0.0.1";
  const port = environment.PORT || "8080";
  const threads = environment.THREADS || "1";
  const workers = environment.WORKERS || "1";
  const workloads = environment.WORKLOADS_MS || "500,1000,2000";
  const timeout = environment.TIMEOUT_MS || "";

  if (!isIPv4(host)) return refusal("HOST", "an IPv4 address", host);
  if (!isWhole(port, 1, 65535)) return refusal("PORT", "a whole number from 1 to 65535", port);
  if (threads !== "1") {
    return refusal("THREADS", "1 (Node runs JavaScript on one thread; WORKERS makes more processes)", threads);
  }
  if (!isWhole(workers, 1, 1024)) return refusal("WORKERS", "a whole number from 1 to 1024", workers);
  const waits = workloads.split(",");
  if (waits.length > mostWorkloads || !waits.every((wait) => isWhole(wait, 0, longestMs))) {
    const wanted = `1 to ${mostWorkloads} whole numbers up to ${longestMs}, joined by commas`;
    return refusal("WORKLOADS_MS", wanted, workloads);
  }
  if (timeout && !isWhole(timeout, 1, longestMs)) {
    return refusal("TIMEOUT_MS", `a whole number from 1 to ${longestMs}`, timeout);
  }
  return {
    host,
    port: Number(port),
    workers: Number(workers),
    workloadsMs: waits.map(Number),
    timeoutMs: timeout ? Number(timeout) : undefined,
  };
}

function isWhole(text, least, most) {
  return /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most;
}

function refusal(name, wanted, found) {
  return `${name} must be ${wanted}, not ${JSON.stringify(found)}`;
}
