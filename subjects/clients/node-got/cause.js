// The name of an error: Node's or got's name of its innermost cause.

// A code (`ECONNREFUSED`, `CERT_HAS_EXPIRED`, `ERR_TOO_MANY_REDIRECTS`) if there is one, else the name of an error
// class (`TimeoutError`), else the message as one word (`RedirectCountExceeded`).
export function causeName(error) {
  // Both addresses of a host failed: the last cause is as good as the first.
  const inner = error.cause ?? error.errors?.at(-1);
  if (inner instanceof Error && (inner.code || inner.message)) return causeName(inner);
  if (typeof error.code === "string") return word(error.code);
  if (!["Error", "TypeError"].includes(error.name)) return word(error.name);
  return word(error.message.replace(/[^A-Za-z0-9]+(.)?/g, (_, letter) => (letter ?? "").toUpperCase()));
}

function word(text) {
  const name = text.replace(/[^A-Za-z0-9_.-]/g, "");
  return /^[A-Za-z]/.test(name) ? name[0].toUpperCase() + name.slice(1) : `Error${name}`;
}
