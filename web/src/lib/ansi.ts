// Terminal colours in output as pieces of text with a class. Everything else that a terminal would
// obey (cursor, titles, links) is dropped; nothing of it is ever markup.

export interface Piece {
  text: string;
  style: string; // names of classes, separated by spaces; empty: plain
}

interface Pen {
  color: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
}
const plain: Pen = { color: '', bold: false, dim: false, italic: false, underline: false };
const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

// CSI sequences, OSC sequences up to BEL or ST, and two-byte escapes.
// eslint-disable-next-line no-control-regex
const escapes = /\u001b(?:\[([0-?]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;

function styleOf(pen: Pen): string {
  const classes: string[] = [];
  if (pen.color) classes.push(`ansi-${pen.color}`);
  if (pen.bold) classes.push('ansi-bold');
  if (pen.dim) classes.push('ansi-dim');
  if (pen.italic) classes.push('ansi-italic');
  if (pen.underline) classes.push('ansi-underline');
  return classes.join(' ');
}

function obey(pen: Pen, codes: number[]): Pen {
  let out = { ...pen };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 0) out = { ...plain };
    else if (code === 1) out.bold = true;
    else if (code === 2) out.dim = true;
    else if (code === 3) out.italic = true;
    else if (code === 4) out.underline = true;
    else if (code === 22) out.bold = out.dim = false;
    else if (code === 23) out.italic = false;
    else if (code === 24) out.underline = false;
    else if (code >= 30 && code <= 37) out.color = names[code - 30] ?? '';
    else if (code >= 90 && code <= 97) out.color = names[code - 90] ?? '';
    else if (code === 39) out.color = '';
    else if (code === 38 || code === 48) at += codes[at + 1] === 5 ? 2 : 4; // other palettes: left as they are
  }
  return out;
}

/** One line, with what a carriage return wrote over left out; the pen goes on to the next line. */
export class AnsiReader {
  #pen: Pen = plain;

  read(line: string): Piece[] {
    const end = line.endsWith('\r') ? line.length - 1 : line.length;
    const start = line.lastIndexOf('\r', end - 1) + 1;
    const shown = line.slice(start, end);
    const pieces: Piece[] = [];
    let from = 0;
    const add = (text: string) => {
      // eslint-disable-next-line no-control-regex
      const clean = text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '');
      if (clean) pieces.push({ text: clean, style: styleOf(this.#pen) });
    };
    for (const found of shown.matchAll(escapes)) {
      add(shown.slice(from, found.index));
      from = found.index + found[0].length;
      if (found[2] === 'm') this.#pen = obey(this.#pen, (found[1] ?? '').split(';').map(Number));
    }
    add(shown.slice(from));
    return pieces;
  }
}

/** A line as people would copy it. */
export function plainText(pieces: Piece[]): string {
  return pieces.map((piece) => piece.text).join('');
}
