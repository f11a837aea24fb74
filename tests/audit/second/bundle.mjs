/** The files of a bundle (section 5.2), none of them judged but for its form. */

import { lstatSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { Malformed, readCheckpoint } from "./note.mjs";
import { CannotTell, Tampered, natural } from "./outcome.mjs";
import { WIDTH, tilePath, tilesOver } from "./tree.mjs";

/** The bytes of a regular file, or null. */
function bytesOf(path) {
  try {
    return lstatSync(path).isFile() ? readFileSync(path) : null;
  } catch {
    return null;
  }
}

export function readBundle(folder) {
  const records = bytesOf(join(folder, "records.jsonl"));
  const newest = bytesOf(join(folder, "checkpoint"));
  if (records === null || newest === null) throw new CannotTell("no bundle: records.jsonl and checkpoint should be there");
  return { folder, records, newest };
}

/** The line in audit.vkey; throws Tampered. */
export function keyLineOf(folder) {
  const line = bytesOf(join(folder, "audit.vkey"))?.toString("latin1");
  if (!line?.endsWith("\n")) throw new Tampered("audit.vkey is not there or no line");
  return line.slice(0, -1);
}

/** The leaves in records.jsonl, one a line. */
export function leavesOf(records) {
  const leaves = [];
  for (let from = 0; from < records.length; ) {
    const end = records.indexOf(10, from);
    if (end < 0) throw new Tampered("records.jsonl ends within a line", null);
    leaves.push(records.subarray(from, end));
    from = end + 1;
  }
  return leaves;
}

/** The stored checkpoints, oldest first, each preceded by its length; throws Tampered. */
export function checkpointsOf(folder) {
  const whole = bytesOf(join(folder, "checkpoints"));
  if (whole === null) throw new Tampered("the file checkpoints is not there");
  const found = [];
  for (let from = 0; from < whole.length; ) {
    const end = whole.indexOf(10, from);
    const length = end < 0 ? null : natural(whole.toString("latin1", from, end));
    if (length === null || end + 1 + length > whole.length) throw new Tampered("the file checkpoints is malformed");
    const bytes = whole.subarray(end + 1, end + 1 + length);
    found.push({ ...parsed(bytes), bytes });
    from = end + 1 + length;
  }
  return found;
}

function parsed(bytes) {
  try {
    return readCheckpoint(bytes);
  } catch (error) {
    if (error instanceof Malformed) throw new Tampered(`a stored checkpoint: ${error.message}`);
    throw error;
  }
}

/** Every path below `tile/`, of regular files or of anything that should not be there. */
function tilePaths(folder) {
  const paths = new Set();
  const walk = (below) => {
    for (const entry of readdirSync(join(folder, "tile", below), { withFileTypes: true })) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) walk(path);
      else paths.add(path);
    }
  };
  try {
    walk("");
  } catch (error) {
    if (!["ENOENT", "ENOTDIR"].includes(error.code)) throw error;
  }
  return paths;
}

/** The files below `tile/`, taken one by one; whatever is left at the end should not be there. */
export class Tiles {
  constructor(folder) {
    this.folder = folder;
    this.left = tilePaths(folder);
  }

  take(level, index, width) {
    const path = tilePath(level, index, width);
    const bytes = this.left.delete(path) ? bytesOf(join(this.folder, "tile", path)) : null;
    if (bytes === null) throw new Tampered(`tile/${path} is not there`);
    return bytes;
  }

  /** All hashes of one level. */
  hashes(level, count) {
    const hashes = [];
    for (const [index, width] of tilesOver(count)) {
      const bytes = this.take(level, index, width);
      if (bytes.length !== 32 * width) throw new Tampered(`tile/${tilePath(level, index, width)} is of another length`);
      for (let nth = 0; nth < width; nth += 1) hashes.push(bytes.subarray(32 * nth, 32 * (nth + 1)));
    }
    return hashes;
  }

  /** The bundles of leaves below tile/entries must be these. */
  entries(leaves) {
    for (const [index, width] of tilesOver(leaves.length)) {
      const parts = leaves.slice(index * WIDTH, index * WIDTH + width).flatMap((leaf) => {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(leaf.length);
        return [length, leaf];
      });
      if (!this.take("entries", index, width).equals(Buffer.concat(parts))) {
        throw new Tampered(`tile/${tilePath("entries", index, width)} holds other leaves`);
      }
    }
  }

  done() {
    if (this.left.size > 0) throw new Tampered(`tile/${[...this.left][0]} should not be there`);
  }
}
