// How many processes serve: this one, or a cluster of workers below it, as in Node's documentation of cluster.
import cluster from "node:cluster";
import process from "node:process";

// Calls `serve` in every serving process. SIGTERM ends them all at once.
export function serveWith(workers, serve) {
  if (cluster.isWorker || workers === 1) {
    process.on("SIGTERM", () => process.exit(0));
    serve();
    return;
  }
  for (let worker = 0; worker < workers; worker += 1) cluster.fork();
  let isEnding = false;
  process.on("SIGTERM", () => {
    isEnding = true;
    for (const worker of Object.values(cluster.workers)) worker.process.kill();
  });
  cluster.on("exit", () => {
    // If a worker dies by itself, the server is broken, not just smaller.
    if (!isEnding) process.exit(1);
    if (Object.keys(cluster.workers).length === 0) process.exit(0);
  });
}
