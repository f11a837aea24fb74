/** What holds between records: the table in force (section 2) and the keys (section 4.1). */

import { Malformed, claims, readKey, signedBy } from "./note.mjs";
import { Tampered } from "./outcome.mjs";
import { KIND } from "./record.mjs";

const keysOf = (map) => (map instanceof Map ? [...map.keys()].join() : null);

function readTable(value, at) {
  const refuse = (why) => {
    throw new Tampered(`record ${at}: its table of kinds ${why}`, at);
  };
  if (!(value instanceof Map) || !value.has("log.open")) refuse("lacks log.open");
  const names = (list) =>
    Array.isArray(list) && list.every((name, nth) => value.has(name) && (nth === 0 || list[nth - 1] < name));
  const table = new Map();
  for (const [name, kind] of value) {
    if (!KIND.test(name)) refuse("holds a malformed name");
    if (keysOf(kind) !== "once,ref,then,to") refuse(`says of ${name} something else`);
    const entry = Object.fromEntries(kind);
    if (typeof entry.once !== "boolean" || !["never", "may", "must"].includes(entry.ref)) refuse(`is malformed at ${name}`);
    if (!names(entry.then) || !names(entry.to)) refuse(`names unknown or unsorted kinds at ${name}`);
    if (entry.ref === "never" && (entry.once || entry.to.length > 0)) refuse(`limits references of ${name}, which has none`);
    if (name === "log.open" && entry.ref !== "never") refuse("lets log.open refer");
    table.set(name, entry);
  }
  return table;
}

/** Judges the records of a whole log one after another and collects what is noted. */
export class Kinds {
  constructor() {
    this.table = null;
    this.kindOf = [];
    this.calls = new Set();
    this.pairs = new Set();
    this.awaited = new Map(); // record -> kinds, of which a later one should name it
    this.notes = [];
  }

  take(record) {
    const { seq, kind, ref } = record;
    const refuse = (why) => {
      throw new Tampered(`record ${seq}: ${why}`, seq);
    };
    if (kind === "log.open") this.open(record, refuse);
    if (this.table === null) refuse("the first record is no log.open");
    const rule = this.table.get(kind);
    if (rule === undefined) refuse(`its kind ${kind} is not in the table`);
    if (record.call_id !== null) {
      const call = `${kind} ${record.call_id}`;
      if (this.calls.has(call)) refuse("its call and kind were there before");
      this.calls.add(call);
    }
    if (ref === null) {
      if (rule.ref === "must") refuse("refers to nothing");
    } else {
      this.refer(record, rule, refuse);
    }
    this.kindOf.push(kind);
    if (rule.then.length > 0) this.awaited.set(seq, rule.then);
  }

  refer({ kind, ref }, rule, refuse) {
    if (rule.ref === "never") refuse("refers to something");
    const target = this.kindOf[ref];
    if (rule.to.length > 0 && !rule.to.includes(target)) refuse(`refers to a ${target}`);
    const pair = `${kind} ${ref}`;
    if (rule.once && this.pairs.has(pair)) refuse(`is the second ${kind} of record ${ref}`);
    this.pairs.add(pair);
    if (this.awaited.get(ref)?.includes(kind)) this.awaited.delete(ref);
  }

  open({ seq, body }, refuse) {
    const own = body.get("log");
    if (keysOf(own) !== "kinds,sealed,size") refuse("its body lacks what the log writes");
    const { kinds, sealed, size } = Object.fromEntries(own);
    this.table = readTable(kinds, seq);
    const counts = [0, sealed, size, seq];
    const rise = counts.every((count, at) => Number.isInteger(count) && (at === 0 || counts[at - 1] <= count));
    if (!rise) refuse("what it says of the log it found cannot be");
    if (sealed < size) this.notes.push({ note: "unsealed end", from: sealed, to: size });
  }

  done() {
    for (const [seq, kinds] of this.awaited) this.notes.push({ note: "not followed", seq, kinds });
  }
}

/** The keys that a log has had: which sign a checkpoint of which size. */
export class Keys {
  constructor() {
    this.keys = [];
    this.changes = []; // the record of each change, keys[n] -> keys[n + 1]
  }

  /** One key.rotate record; throws Tampered. */
  take({ seq, body, log }) {
    const own = body.get("log");
    const refuse = (why) => {
      throw new Tampered(`record ${seq}: ${why}`, seq);
    };
    if (keysOf(own) !== "from,to") refuse("its body lacks what the log writes");
    const [from, to] = [own.get("from"), own.get("to")].map((line) => {
      try {
        return readKey(String(line));
      } catch (error) {
        if (error instanceof Malformed) refuse(error.message);
        throw error;
      }
    });
    if (from.name !== log || to.name !== log) refuse("a key of another name");
    if (this.keys.length === 0) this.keys.push(from);
    if (this.keys.at(-1).line !== from.line) refuse("changes a key that is not in force");
    if (this.keys.some((key) => key.id === to.id)) refuse("a key comes back");
    this.keys.push(to);
    this.changes.push(seq);
  }

  /** The keys that sign a checkpoint of `size`: one, or two right after a change. */
  ofSize(size) {
    return this.keys.filter((_, nth) => {
      const from = nth === 0 ? 0 : this.changes[nth - 1] + 1;
      const to = nth === this.changes.length ? Infinity : this.changes[nth] + 1;
      return from <= size && size <= to;
    });
  }

  /** Why the checkpoint is not signed as one of its size must be, or null. */
  complaint(checkpoint) {
    const due = this.ofSize(checkpoint.size);
    if (!due.every((key) => signedBy(checkpoint, key))) return "is not signed by the keys of its size";
    if (this.keys.some((key) => !due.includes(key) && claims(checkpoint, key))) return "carries a line of another time's key";
    return null;
  }

  /** Throws Tampered unless `trusted` is one of them: names are not shared. */
  mustHold(trusted) {
    if (!this.keys.some((key) => key.line === trusted.line)) throw new Tampered("the key is none that the log has had");
  }
}
