// The adapter's settings, read from the environment.

// Returns the settings, or one line that names the variable and its permitted values.
export function readSettings(environment) {
  const concurrency = environment.CONCURRENCY || "10";
  const requestTimeout = environment.REQUEST_TIMEOUT || "5";
  const keepalive = environment.KEEPALIVE || "1";
  const check = environment.CHECK ?? "";
  const httpVersion = environment.HTTP_VERSION ?? "";
  const userAgent = environment.USER_AGENT ?? "";
  const method = environment.METHOD || "GET";

  if (!/^\d+$/.test(concurrency) || Number(concurrency) < 1) {
    return refusal("CONCURRENCY", "a whole number from 1", concurrency);
  }
  // A timer of 2^31 milliseconds or more would fire at once.
  const isSeconds = /^(\d+\.?\d*|\.\d+)$/.test(requestTimeout);
  if (!isSeconds || !(Number(requestTimeout) > 0) || Number(requestTimeout) > 2147483) {
    return refusal("REQUEST_TIMEOUT", "a number of seconds above 0, up to 2147483", requestTimeout);
  }
  if (/[^\t\x20-\x7e\x80-\xff]/.test(userAgent)) return refusal("USER_AGENT", "what a header can carry", userAgent);
  if (keepalive !== "1") return refusal("KEEPALIVE", "1 (a browser always reuses its connections)", keepalive);
  if (!["", "json"].includes(check)) return refusal("CHECK", "empty or json", check);
  if (method !== "GET") return refusal("METHOD", "empty or GET", method);
  if (!["", "1.1", "2"].includes(httpVersion)) return refusal("HTTP_VERSION", "empty, 1.1 or 2", httpVersion);
  return {
    concurrency: Number(concurrency),
    requestTimeout: Number(requestTimeout),
    userAgent,
    checkJSON: check === "json",
    httpVersion,
  };
}

function refusal(name, wanted, found) {
  return `${name} must be ${wanted}, not ${JSON.stringify(found)}`;
}
