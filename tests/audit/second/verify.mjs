#!/usr/bin/env node
/**
 * A second verifier of the log in audit/SPEC.md, written from that text alone: it reads bundles (section 5.2).
 *
 *   node verify.mjs BUNDLE VKEY [CHECKPOINT...]     one bundle: a line of JSON, exit code 0 ok, 1 tampered, 2 cannot tell
 *   node verify.mjs --batch                         for each line {"bundle", "vkey", "since"} on stdin a line of JSON
 *
 * VKEY is the line itself, CHECKPOINT a file with one checkpoint kept elsewhere. Everything is held in memory.
 */

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { Tiles, checkpointsOf, keyLineOf, leavesOf, readBundle } from "./bundle.mjs";
import { Malformed, readCheckpoint, readKey } from "./note.mjs";
import { CannotTell, Tampered } from "./outcome.mjs";
import { leafHash, readRecord } from "./record.mjs";
import { Keys, Kinds } from "./rules.mjs";
import { levelsOf, rootsOf } from "./tree.mjs";

const CODES = { ok: 0, tampered: 1, "cannot tell": 2 };

/** Judges one bundle: {outcome, bad, records, signed, confirmed, notes, reason}. */
function judge(folder, vkey, elsewhere) {
  const report = { outcome: "ok", bad: null, records: null, signed: null, confirmed: null, notes: [], reason: null };
  try {
    verify(folder, understood(() => readKey(vkey), "the key"), elsewhere, report);
  } catch (error) {
    if (error instanceof Tampered) Object.assign(report, { outcome: "tampered", bad: error.bad, reason: error.message });
    else if (error instanceof CannotTell) Object.assign(report, { outcome: "cannot tell", reason: error.message });
    else throw error;
  }
  return report;
}

/** What `read` returns; what it cannot read, nothing can be said of. */
function understood(read, what) {
  try {
    return read();
  } catch (error) {
    if (error instanceof Malformed) throw new CannotTell(`${what}: ${error.message}`);
    throw error;
  }
}

function verify(folder, trusted, elsewhere, report) {
  // 1. A bundle of the log that the key belongs to, and the keys that it has had.
  const bundle = readBundle(folder);
  const newest = understoodAsTampered(() => readCheckpoint(bundle.newest));
  if (newest.name !== trusted.name) throw new CannotTell(`of ${newest.name}, not of ${trusted.name}`);
  const stored = checkpointsOf(folder);
  const leaves = leavesOf(bundle.records);
  report.records = leaves.length;
  const keys = keysOf(leaves, trusted);
  const kept = elsewhere.map((bytes) => understood(() => readCheckpoint(bytes), "a checkpoint from elsewhere"));

  // 2. Each record in order, against the leaf hashes in the tiles.
  const size = newest.size;
  if (leaves.length > size) throw new Tampered("more records than the newest checkpoint covers", size);
  const whole = leaves.length === size;
  const tiles = new Tiles(folder);
  const hashes = tiles.hashes(0, size);
  const roots = rootsOf(hashes, [...stored, ...kept].map((one) => one.size));
  report.signed = 0;
  const good = (one) => keys.complaint(one) === null && roots.get(one.size)?.equals(one.root);
  try {
    records(leaves, hashes, trusted.name, whole, report);
  } catch (error) {
    if (!(error instanceof Tampered)) throw error;
    for (const one of stored.filter((each) => each.size <= error.bad && good(each))) report.signed = one.size;
    throw error;
  }

  // 3. The other tiles.
  levelsOf(hashes).slice(1).forEach((level, nth) => {
    const found = tiles.hashes(nth + 1, level.length);
    if (!found.every((hash, at) => hash.equals(level[at]))) throw new Tampered(`tiles of level ${nth + 1} hold other hashes`);
  });
  if (whole) tiles.entries(leaves);
  tiles.done();

  // 4. Each stored checkpoint.
  checkpoints(stored, size, keys, roots, trusted.name, report);
  if (keyLineOf(folder) !== keys.keys.at(-1).line) throw new Tampered("audit.vkey is not the newest key");
  if (!stored.at(-1).bytes.equals(bundle.newest)) throw new Tampered("the newest checkpoint is not the last stored one");

  // 5. Each checkpoint from elsewhere; one that shows tampering counts more than one of which nothing can be said.
  let untold = null;
  for (const one of kept) {
    const complaint = one.name === trusted.name ? keys.complaint(one) : "is of another log";
    if (complaint !== null) {
      untold ??= `a checkpoint from elsewhere ${complaint}`;
    } else if (one.size > size || !roots.get(one.size).equals(one.root)) {
      throw new Tampered(`a checkpoint from elsewhere, of ${one.size} records, is of another history`);
    } else {
      report.confirmed = Math.max(report.confirmed ?? 0, one.size);
    }
  }
  if (untold !== null) throw new CannotTell(untold);
}

function understoodAsTampered(read) {
  try {
    return read();
  } catch (error) {
    if (error instanceof Malformed) throw new Tampered(`the newest checkpoint: ${error.message}`);
    throw error;
  }
}

/** The keys of the log; a record that names none or cannot be read is judged later. */
function keysOf(leaves, trusted) {
  const keys = new Keys();
  let broken = null;
  leaves.forEach((leaf, at) => {
    try {
      const record = readRecord(leaf, at);
      if (record.kind === "key.rotate" && broken === null) keys.take(record);
    } catch (error) {
      if (!(error instanceof Tampered)) throw error;
      broken ??= error;
    }
  });
  if (keys.keys.length === 0) keys.keys.push(trusted);
  if (broken === null) keys.mustHold(trusted);
  return keys;
}

function records(leaves, hashes, log, whole, report) {
  const kinds = new Kinds();
  const keys = new Keys();
  let last = null;
  leaves.forEach((leaf, at) => {
    const record = readRecord(leaf, whole ? at : null);
    const seq = whole ? at : record.seq;
    const refuse = (why) => {
      throw new Tampered(`record ${seq}: ${why}`, seq);
    };
    if (record.seq !== seq || seq >= hashes.length) refuse(`says it is record ${record.seq}`);
    if (last !== null && seq <= last.seq) refuse("stands behind a later one");
    if (!leafHash(leaf).equals(hashes[seq])) refuse("is not the one that was hashed");
    if (record.log !== log) refuse(`is of ${record.log}`);
    if (seq > 0 && record.prev !== hashes[seq - 1].toString("hex")) refuse("does not follow the record before it");
    if (whole) kinds.take(record);
    if (record.kind === "key.rotate") keys.take(record);
    if (last?.seq === seq - 1) clocks(last, record, report.notes);
    last = record;
  });
  kinds.done();
  report.notes.push(...kinds.notes);
}

function clocks(last, record, notes) {
  if (record.time < last.time) notes.push({ note: "clock went back", seq: record.seq });
  if (record.boot_id === last.boot_id && BigInt(record.mono_ns) < BigInt(last.mono_ns)) {
    notes.push({ note: "monotonic clock went back", seq: record.seq });
  }
}

function checkpoints(stored, size, keys, roots, log, report) {
  if (stored.length === 0 || stored[0].size !== 0) throw new Tampered("the checkpoint of the empty log is not there");
  const sizes = [];
  for (const one of stored) {
    const complaint = one.name === log ? keys.complaint(one) : "is of another log";
    if (complaint !== null) throw new Tampered(`the checkpoint of ${one.size} records ${complaint}`);
    if (one.size <= (sizes.at(-1) ?? -1)) throw new Tampered(`the checkpoint of ${one.size} records stands behind a later one`);
    if (one.size > size) throw new Tampered(`the checkpoint of ${one.size} records is larger than the log`);
    if (!roots.get(one.size).equals(one.root)) throw new Tampered(`the checkpoint of ${one.size} records has another root`);
    sizes.push(one.size);
    report.signed = one.size;
  }
  for (const change of keys.changes) {
    if (!sizes.includes(change + 1)) throw new Tampered(`no checkpoint of ${change + 1} records, where the key changed`);
  }
}

async function main(args) {
  if (args[0] === "--batch") {
    for await (const line of createInterface({ input: process.stdin })) {
      const { bundle, vkey, since = [] } = JSON.parse(line);
      console.log(JSON.stringify(judge(bundle, vkey, since.map((path) => readFileSync(path)))));
    }
    return 0;
  }
  const [folder, vkey, ...since] = args;
  if (vkey === undefined) {
    console.error("usage: verify.mjs BUNDLE VKEY [CHECKPOINT...] | --batch");
    return 2;
  }
  const report = judge(folder, vkey, since.map((path) => readFileSync(path)));
  console.log(JSON.stringify(report));
  return CODES[report.outcome];
}

process.exitCode = await main(process.argv.slice(2));
