// The name of an error: Deno's name of its innermost cause.

// An error class where it is specific (`TimeoutError`), else the message of the cause as one word: its last part
// without details of the host, so that "client error (Connect): tcp connect error: Connection refused (os error 111)"
// is `ConnectionRefused`.
export function causeName(error) {
  if (!["Error", "TypeError"].includes(error.name)) return error.name;
  const parts = (error.cause ?? error).message.replace(/ \([^)]*\)/g, "").split(": ");
  const [telling] = (parts.findLast((part) => !/\d/.test(part)) ?? error.name).split('"');
  const name = telling.replace(/[^A-Za-z0-9]*([A-Za-z0-9]?)([A-Za-z0-9]*)/g, (_, head, tail) => head.toUpperCase() + tail);
  return /^[A-Za-z]/.test(name) ? name : `Error${name}`;
}
