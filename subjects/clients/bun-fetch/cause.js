// The name of an error: the name that Bun gives to it; Bun does not wrap the errors of its sockets.

// A code (`ECONNREFUSED`, `CERT_HAS_EXPIRED`, `TooManyRedirects`) if there is one, else the name of an error class
// (`TimeoutError`).
export function causeName(error) {
  const name = (typeof error.code === "string" ? error.code : error.name).replace(/[^A-Za-z0-9_.-]/g, "");
  return /^[A-Za-z]/.test(name) ? name : `Error${name}`;
}
