/** What a verification can end with besides "ok". */

/** Somebody changed what was written. `bad` is the first bad record, or null where it cannot be said which. */
export class Tampered extends Error {
  constructor(message, bad = null) {
    super(message);
    this.bad = bad;
  }
}

/** Nothing can be said of this with what was given. */
export class CannotTell extends Error {}

export const MAX_SAFE = Number.MAX_SAFE_INTEGER;

/** A count or a sequence number as the format writes it, or null: decimal, no sign, no leading zero, at most 2^53-1. */
export function natural(text) {
  if (!/^(0|[1-9][0-9]{0,15})$/.test(text)) return null;
  const value = Number(text);
  return value <= MAX_SAFE ? value : null;
}

/** Bytes of strict base64 (standard alphabet, padding, no stray bits), or null. */
export function unbase64(text) {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : null;
}

/** Text of strict UTF-8, or null. */
export function utf8(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
