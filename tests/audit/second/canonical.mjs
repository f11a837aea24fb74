/** The canonical form of section 1, read byte by byte: objects become Maps, arrays Arrays. */

import { MAX_SAFE, utf8 } from "./outcome.mjs";

const DEPTH = 32;
const BYTES = 16_384;
const SHORT = new Map([..."\"\\bfnrt"].map((letter, at) => [letter, "\"\\\b\f\n\r\t"[at]]));

export class NotCanonical extends Error {}

/** The object that `bytes` are the canonical form of; throws NotCanonical. */
export function parseObject(bytes) {
  if (bytes.length > BYTES) throw new NotCanonical(`more than ${BYTES} bytes`);
  const text = utf8(bytes);
  if (text === null) throw new NotCanonical("not UTF-8");
  const reader = new Reader(text);
  const value = reader.object(1);
  if (reader.at !== text.length) reader.refuse("something after the object");
  return value;
}

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  refuse(why) {
    throw new NotCanonical(`${why} at character ${this.at}`);
  }

  take(literal) {
    if (!this.text.startsWith(literal, this.at)) this.refuse(`no ${literal}`);
    this.at += literal.length;
  }

  value(depth) {
    switch (this.text[this.at]) {
      case "{": return this.object(depth);
      case "[": return this.array(depth);
      case '"': return this.string();
      case "t": this.take("true"); return true;
      case "f": this.take("false"); return false;
      case "n": this.take("null"); return null;
      default: return this.integer();
    }
  }

  integer() {
    const [digits] = /^-?[0-9]*/.exec(this.text.slice(this.at, this.at + 20));
    if (!/^(0|-?[1-9][0-9]*)$/.test(digits)) this.refuse("no integer");
    const value = Number(digits);
    if (Math.abs(value) > MAX_SAFE) this.refuse("an integer beyond 2^53-1");
    this.at += digits.length;
    return value;
  }

  string() {
    this.take('"');
    let out = "";
    for (;;) {
      const char = this.text[this.at];
      if (char === undefined) this.refuse("a string without end");
      this.at += 1;
      if (char === '"') return out;
      if (char < " ") this.refuse("a control character that is not escaped");
      out += char === "\\" ? this.escape() : char;
    }
  }

  escape() {
    const letter = this.text[this.at];
    this.at += 1;
    if (SHORT.has(letter)) return SHORT.get(letter);
    const code = /^00[01][0-9a-f]$/.exec(this.text.slice(this.at, this.at + 4));
    if (letter !== "u" || code === null) this.refuse("an escape that is not canonical");
    const char = String.fromCharCode(parseInt(code[0], 16));
    if ([...SHORT.values()].includes(char)) this.refuse("a long escape where there is a short one");
    this.at += 4;
    return char;
  }

  array(depth) {
    this.nest(depth);
    this.take("[");
    const out = [];
    if (this.text[this.at] !== "]") {
      out.push(this.value(depth + 1));
      while (this.text[this.at] === ",") {
        this.at += 1;
        out.push(this.value(depth + 1));
      }
    }
    this.take("]");
    return out;
  }

  object(depth) {
    this.nest(depth);
    this.take("{");
    const out = new Map();
    let last = null;
    while (this.text[this.at] !== "}") {
      if (last !== null) this.take(",");
      const name = this.string();
      if (!/^[\x00-\x7f]*$/.test(name)) this.refuse("a member name that is not ASCII");
      if (last !== null && !(last < name)) this.refuse("member names that do not rise");
      this.take(":");
      out.set(name, this.value(depth + 1));
      last = name;
    }
    this.take("}");
    return out;
  }

  nest(depth) {
    if (depth > DEPTH) this.refuse(`nested deeper than ${DEPTH}`);
  }
}
