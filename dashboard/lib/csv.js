/** @typedef {{ cells: string[], line: number, raw: string }} CsvRecord `line` is where it begins, from 1; `raw` is its text without the line end. */

/** Reads separated records from pieces of text. */
export class CsvReader {
  #text = '';
  #line = 1;
  #separator;

  /** @param {string} [separator] */
  constructor(separator = ',') {
    this.#separator = separator;
  }

  /**
   * The records that are complete. With `isLast`, the rest is one too.
   * @param {string} text @param {boolean} [isLast] @returns {CsvRecord[]}
   */
  push(text, isLast = false) {
    this.#text += text;
    /** @type {CsvRecord[]} */
    const records = [];
    let at = 0;
    for (;;) {
      if (at >= this.#text.length) break;
      const record = this.#record(at, isLast);
      if (!record) break;
      if (record.raw !== '') records.push(record);
      at = record.next;
    }
    this.#text = this.#text.slice(at);
    return records;
  }

  /** @param {number} start @param {boolean} isLast @returns {(CsvRecord & { next: number }) | null} */
  #record(start, isLast) {
    const text = this.#text, separator = this.#separator, cells = [], line = this.#line;
    const lineEnd = text.indexOf('\n', start), end = lineEnd < 0 ? text.length : lineEnd;
    if (lineEnd < 0 && !isLast) return null;
    const plain = text.slice(start, end);
    if (!plain.includes('"')) {
      this.#line++;
      const raw = plain.replace(/\r$/, '');
      return { cells: raw.split(separator).map((cell) => cell.trim()), line, raw, next: end + 1 };
    }
    let at = start, lines = 1;
    for (;;) {
      let cell = '';
      if (text[at] === '"') {
        for (let from = at + 1; ;) {
          const quote = text.indexOf('"', from);
          if (quote < 0 && isLast) throw new FileProblem('open_quote', line);
          if (quote < 0) return null;
          cell += text.slice(from, quote);
          at = quote + 1;
          if (text[at] !== '"') break;
          cell += '"';
          from = at + 1;
        }
        lines += cell.split('\n').length - 1;
      }
      const from = at;
      while (at < text.length && text[at] !== separator && text[at] !== '\n') at++;
      if (at === text.length && !isLast) return null;
      cell += text.slice(from, at);
      cells.push(cell.trim());
      if (text[at] === separator) { at++; continue; }
      this.#line += lines;
      return { cells, line, raw: text.slice(start, at).replace(/\r$/, ''), next: at + 1 };
    }
  }
}

/** A fault that concerns the whole file. */
export class FileProblem extends Error {
  /** @param {string} code @param {number} [line] */
  constructor(code, line) {
    super(code);
    this.code = code;
    this.line = line;
  }
}

const MAX_BYTES = 64 << 20;

/**
 * The records of a file, in groups, without holding up the page.
 * @param {Blob} file @param {AbortSignal} [signal] @param {string} [separator] @returns {AsyncGenerator<CsvRecord[]>}
 */
export async function* records(file, signal, separator) {
  if (file.size > MAX_BYTES) throw new FileProblem('too_large');
  const reader = new CsvReader(separator), decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (/** @type {Uint8Array | undefined} */ bytes) => {
    try { return decoder.decode(bytes, { stream: !!bytes }); } catch { throw new FileProblem('not_utf8'); }
  };
  const STEP = 128 << 10;
  for (let at = 0; at < file.size; at += STEP) {
    signal?.throwIfAborted();
    const bytes = new Uint8Array(await file.slice(at, at + STEP).arrayBuffer());
    yield reader.push(decode(bytes));
    await new Promise((resolve) => setTimeout(resolve));
  }
  yield reader.push(decode(undefined), true);
}
