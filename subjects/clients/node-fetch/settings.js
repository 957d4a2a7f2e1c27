// The adapter's settings, read from the environment.

// Returns the settings, or one line that names the variable and its permitted values.
export function readSettings(environment) {
  const concurrency = environment.CONCURRENCY || "10";
  const requestTimeout = environment.REQUEST_TIMEOUT || "5";
  const keepalive = environment.KEEPALIVE || "1";
  const check = environment.CHECK ?? "";
  const httpVersion = environment.HTTP_VERSION ?? "";
  const harness = environment.HARNESS ?? "";
  const method = environment.METHOD || "GET";
  const body = environment.BODY || undefined;

  if (!/^\d+$/.test(concurrency) || Number(concurrency) < 1) {
    return refusal("CONCURRENCY", "a whole number from 1", concurrency);
  }
  // A timer of 2^31 milliseconds or more would fire at once.
  const isSeconds = /^(\d+\.?\d*|\.\d+)$/.test(requestTimeout);
  if (!isSeconds || !(Number(requestTimeout) > 0) || Number(requestTimeout) > 2147483) {
    return refusal("REQUEST_TIMEOUT", "a number of seconds above 0, up to 2147483", requestTimeout);
  }
  // The methods that fetch forbids.
  if (!/^[-!#$%&'*+.^_`|~0-9A-Za-z]+$/.test(method) || /^(connect|trace|track)$/i.test(method)) {
    return refusal("METHOD", "a token such as POST, but not CONNECT, TRACE or TRACK", method);
  }
  if (body && /^(get|head)$/i.test(method)) return refusal("BODY", "empty with METHOD=GET and METHOD=HEAD", body);
  if (!["0", "1"].includes(keepalive)) return refusal("KEEPALIVE", "0 or 1", keepalive);
  if (!["", "json"].includes(check)) return refusal("CHECK", "empty or json", check);
  if (!["", "1.1"].includes(httpVersion)) {
    return refusal("HTTP_VERSION", "empty or 1.1 (Node's fetch speaks nothing else)", httpVersion);
  }
  if (!["", "timeit"].includes(harness)) return refusal("HARNESS", "empty or timeit", harness);
  return {
    concurrency: Number(concurrency),
    requestTimeout: Number(requestTimeout),
    userAgent: environment.USER_AGENT ?? "",
    method,
    body,
    keepalive: keepalive === "1",
    checkJSON: check === "json",
    harness: harness === "timeit",
  };
}

function refusal(name, wanted, found) {
  return `${name} must be ${wanted}, not ${JSON.stringify(found)}`;
}
