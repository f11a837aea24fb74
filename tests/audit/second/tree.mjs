/** The tree of section 3. */

import { createHash } from "node:crypto";

export const WIDTH = 256;

function node(left, right) {
  return createHash("sha256").update(Buffer.of(1)).update(left).update(right).digest();
}

/** The roots of the trees of 0, 1, 2, ... leaves, for the sizes asked for: Map of size to root. */
export function rootsOf(hashes, sizes) {
  const wanted = new Set(sizes);
  const roots = new Map();
  const peaks = []; // complete subtrees from left to right: [leaves, hash]
  const note = (size) => {
    if (!wanted.has(size)) return;
    const root = peaks.map(([, hash]) => hash).reduceRight((right, left) => (right === null ? left : node(left, right)), null);
    roots.set(size, root ?? createHash("sha256").digest());
  };
  note(0);
  hashes.forEach((hash, at) => {
    peaks.push([1, hash]);
    while (peaks.length > 1 && peaks.at(-1)[0] === peaks.at(-2)[0]) {
      const [[leaves, left], [, right]] = peaks.splice(-2);
      peaks.push([2 * leaves, node(left, right)]);
    }
    note(at + 1);
  });
  return roots;
}

function rootOfFull(hashes) {
  let row = hashes;
  while (row.length > 1) row = row.flatMap((hash, at) => (at % 2 === 0 ? [node(hash, row[at + 1])] : []));
  return row[0];
}

/** All levels of tiles over these leaf hashes: levels[L] is the list of hashes of the complete subtrees of 256^L leaves. */
export function levelsOf(hashes) {
  const levels = [hashes];
  while (levels.at(-1).length >= WIDTH) {
    const below = levels.at(-1);
    const above = [];
    for (let at = 0; at + WIDTH <= below.length; at += WIDTH) above.push(rootOfFull(below.slice(at, at + WIDTH)));
    levels.push(above);
  }
  return levels;
}

/** The path of a tile of c2sp.org/tlog-tiles below `tile/`: level a number or "entries", width from 1 to 256. */
export function tilePath(level, index, width) {
  const parts = [String(index % 1000).padStart(3, "0")];
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
    parts.unshift(`x${String(rest % 1000).padStart(3, "0")}`);
  }
  return `${level}/${parts.join("/")}${width < WIDTH ? `.p/${width}` : ""}`;
}

/** Index and width of each tile over `count` hashes. */
export function* tilesOver(count) {
  for (let index = 0; index * WIDTH < count; index += 1) {
    yield [index, Math.min(WIDTH, count - index * WIDTH)];
  }
}
