/** Keys and checkpoints of section 4. */

import { createHash, createPublicKey, verify } from "node:crypto";

import { natural, unbase64, utf8 } from "./outcome.mjs";
import { NAME } from "./record.mjs";

const TYPE = 1;
const CHARACTERS = 65_536;
const LINES = 16;
const SPKI = Buffer.from("302a300506032b6570032100", "hex"); // RFC 8410, before the 32 bytes of an Ed25519 key

/** A malformed key or checkpoint. */
export class Malformed extends Error {}

/** The key of one vkey line: {line, name, id, public}; throws Malformed. */
export function readKey(line) {
  const fields = line.split("+");
  const [name, id] = fields;
  const coded = fields.slice(2).join("+"); // base64 has the sign too
  if (fields.length < 3 || !NAME.test(name) || !/^[0-9a-f]{8}$/.test(id)) throw new Malformed("not a vkey line");
  const bytes = unbase64(coded);
  if (bytes === null || bytes.length !== 33 || bytes[0] !== TYPE) throw new Malformed("not a key of 32 bytes");
  const hash = createHash("sha256").update(`${name}\n`).update(bytes).digest("hex");
  if (hash.slice(0, 8) !== id) throw new Malformed("the key is not that of its id");
  return { line, name, id, public: bytes.subarray(1) };
}

function verifies(key, text, signature) {
  const handle = createPublicKey({ key: Buffer.concat([SPKI, key.public]), format: "der", type: "spki" });
  return verify(null, Buffer.from(text), handle, signature);
}

/** The checkpoint in these bytes, its signatures not yet judged: {name, size, root, text, lines}; throws Malformed. */
export function readCheckpoint(bytes) {
  const whole = utf8(bytes);
  if (whole === null) throw new Malformed("not UTF-8");
  if ([...whole].length > CHARACTERS) throw new Malformed("too long");
  if (/[\x00-\x09\x0b-\x1f\x7f]/.test(whole)) throw new Malformed("a control character");
  const middle = whole.lastIndexOf("\n\n");
  if (middle < 0 || !whole.endsWith("\n")) throw new Malformed("not a note");
  const text = whole.slice(0, middle + 1);
  const [name, count, coded, ...more] = text.slice(0, -1).split("\n");
  const size = natural(count ?? "");
  const root = unbase64(coded ?? "");
  if (more.length > 0 || !NAME.test(name) || size === null || root === null || root.length !== 32) {
    throw new Malformed("not three lines of a checkpoint");
  }
  const lines = whole.slice(middle + 2, -1).split("\n").map(readSignature);
  if (lines.length > LINES) throw new Malformed("too many signatures");
  return { name, size, root, text, lines };
}

function readSignature(line) {
  const found = /^\u2014 ([^\p{White_Space}+]{1,255}) ([A-Za-z0-9+/=]+)$/u.exec(line);
  const bytes = found && unbase64(found[2]);
  if (!bytes || bytes.length < 5) throw new Malformed("not a signature line");
  return { name: found[1], id: bytes.toString("hex", 0, 4), signature: bytes.subarray(4) };
}

/** Whether the checkpoint carries a line of the key's name and id. */
export function claims(checkpoint, key) {
  return checkpoint.lines.some((line) => line.name === key.name && line.id === key.id);
}

/** Whether it does and every such line verifies. */
export function signedBy(checkpoint, key) {
  const own = checkpoint.lines.filter((line) => line.name === key.name && line.id === key.id);
  return own.length > 0 && own.every((line) => line.signature.length === 64 && verifies(key, checkpoint.text, line.signature));
}
