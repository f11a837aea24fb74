/** A record (section 1): its members, and the hash of its leaf. */

import { createHash } from "node:crypto";

import { NotCanonical, parseObject } from "./canonical.mjs";
import { Tampered } from "./outcome.mjs";

export const NAME = /^[A-Za-z0-9._:/-]{1,128}$/;
export const KIND = /^[a-z][a-z0-9_.]{0,31}$/;
const LABEL = /^[A-Za-z0-9._:-]{1,64}$/;
const HASH = /^[0-9a-f]{64}$/;
const MONO = /^(0|[1-9][0-9]{0,19})$/;

const text = (pattern) => (value) => typeof value === "string" && pattern.test(value);
const orNull = (test) => (value) => value === null || test(value);
const natural = (value) => Number.isInteger(value) && value >= 0;

const MEMBERS = {
  agent: orNull(text(LABEL)),
  body: (value) => value instanceof Map,
  boot_id: text(LABEL),
  call_id: orNull(text(LABEL)),
  kind: text(KIND),
  log: text(NAME),
  mono_ns: text(MONO),
  prev: orNull(text(HASH)),
  ref: orNull(natural),
  seq: natural,
  session: orNull(text(LABEL)),
  time: natural,
  v: (value) => value === 1,
};

/** The members of the record with these leaf bytes; throws Tampered naming `at`. */
export function readRecord(leaf, at) {
  let members;
  try {
    members = parseObject(leaf);
  } catch (error) {
    if (error instanceof NotCanonical) throw new Tampered(`record ${at}: ${error.message}`, at);
    throw error;
  }
  const names = [...members.keys()];
  if (names.join() !== Object.keys(MEMBERS).join()) throw new Tampered(`record ${at}: its members are ${names}`, at);
  for (const [name, test] of Object.entries(MEMBERS)) {
    if (!test(members.get(name))) throw new Tampered(`record ${at}: ${name} is malformed`, at);
  }
  const record = Object.fromEntries(members);
  if ((record.prev === null) !== (record.seq === 0)) throw new Tampered(`record ${at}: prev is null only in record 0`, at);
  if (record.ref !== null && record.ref >= record.seq) throw new Tampered(`record ${at}: refers to no earlier one`, at);
  return record;
}

export function leafHash(leaf) {
  return createHash("sha256").update(Buffer.of(0)).update(leaf).digest();
}
