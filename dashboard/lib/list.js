import { get } from './api.js';

/** A list of the API, read page after page with its cursor. */
export class PagedList {
  /** @type {any[]} */
  rows = [];
  loading = false;
  hasMore = true;
  /** The number of all rows, where the API says it. @type {import('./api.js').Pagination | undefined} */
  counted;
  /** @type {any} */
  error = null;
  /** Rows that the table shows; it sets them. */
  sight = { from: 0, to: 0 };
  /** Where somebody was in it: the table sets and uses it. @type {{ top: number, row: number, href?: (row: any) => string, isOpened?: boolean }} */
  place = { top: 0, row: 0 };
  /** @type {{ cursor?: string, rows: any[] }[]} */
  #pages = [];
  /** @type {string | undefined} */
  #next;
  #again = false;
  #closing = new AbortController();

  /**
   * @param {string} path @param {Record<string, any>} query The filters.
   * @param {(row: any) => string} rowKey @param {() => void} onChange
   */
  constructor(path, query, rowKey, onChange) {
    this.path = path;
    this.query = query;
    this.rowKey = rowKey;
    this.onChange = onChange;
  }

  close() { this.#closing.abort(); }

  /** Goes on where it was closed. @param {() => void} onChange */
  reopen(onChange) {
    this.onChange = onChange;
    if (!this.#closing.signal.aborted) return;
    this.#closing = new AbortController();
    this.loading = this.#again = false;
    this.error = null;
  }

  /** Reads the next page that has rows: where a filter leaves few, pages may be empty. */
  async more() {
    if (this.loading || !this.hasMore) return;
    await this.#read(async () => {
      let found = 0;
      while (found === 0 && this.hasMore) {
        const answer = await this.#page(this.#next);
        this.#pages.push({ cursor: this.#next, rows: answer.data });
        this.#setNext(answer);
        found = answer.data.length;
      }
    });
  }

  /** Reads the first page and those in sight again. New rows come on top. */
  async refresh() {
    if (this.loading) { this.#again = true; return; }
    await this.#read(async () => {
      let first = 0;
      for (const [at, page] of [...this.#pages].entries()) {
        const last = first + page.rows.length, isShown = first < this.sight.to && last > this.sight.from;
        first = last;
        if (at > 0 && !isShown) continue;
        const answer = await this.#page(page.cursor), fresh = new Set(answer.data.map(this.rowKey));
        // Rows that new ones pushed off the page stay behind them.
        const end = page.rows.findLastIndex((row) => fresh.has(this.rowKey(row)));
        const pushed = answer.pagination?.hasMore ? page.rows.slice(end + 1) : [];
        page.rows = [...answer.data, ...pushed];
        if (at === this.#pages.length - 1 && pushed.length === 0) this.#setNext(answer);
      }
    });
  }

  /** Reads from the beginning. The present rows are shown until the first page is there. */
  restart() {
    this.#pages = [];
    this.#next = undefined;
    this.hasMore = true;
    if (this.loading) this.#again = true;
    else this.more();
  }

  /** Leaves a row out that was deleted. @param {string} key */
  drop(key) {
    for (const page of this.#pages) page.rows = page.rows.filter((row) => this.rowKey(row) !== key);
    this.rows = this.rows.filter((row) => this.rowKey(row) !== key);
  }

  /** @param {import('./api.js').Answer} answer */
  #setNext(answer) {
    this.#next = answer.pagination?.nextCursor;
    this.hasMore = !!answer.pagination?.hasMore;
  }

  /** Rows are counted with the first page only. @param {string | undefined} cursor */
  async #page(cursor) {
    const { include, ...query } = this.query;
    const answer = await get(this.path, { query: { pageSize: 50, ...query, include: cursor ? undefined : include, cursor }, signal: this.#closing.signal });
    if (!cursor) this.counted = answer.pagination;
    return answer;
  }

  /** @param {() => Promise<void>} read */
  async #read(read) {
    const { signal } = this.#closing;
    this.loading = true;
    this.error = null;
    this.onChange();
    try {
      await read();
      const seen = new Set();
      this.rows = this.#pages.flatMap((page) => page.rows).filter((row) => !seen.has(this.rowKey(row)) && seen.add(this.rowKey(row)));
    } catch (error) {
      if (!signal.aborted) this.error = error;
    }
    if (signal.aborted) return;
    this.loading = false;
    this.onChange();
    if (this.#again) { this.#again = false; this.refresh(); }
  }
}

/** A list of rows that are all there, for the table. @param {any[]} rows @param {string} [path] @returns {import('./data.js').List} */
export function staticList(rows, path = '') {
  const list = new PagedList(path, {}, () => '', () => {});
  list.rows = rows;
  list.hasMore = false;
  return Object.assign(list, { key: path });
}

/**
 * All rows of a list, or as many as are wanted.
 * @param {string} path @param {Record<string, any>} query @param {AbortSignal} signal
 * @param {{ most?: number, rowsOf?: (data: any) => any[], isEnough?: (rows: any[]) => boolean }} [options]
 * @returns {Promise<{ rows: any[], data: any, isWhole: boolean }>} `data` of the last answer.
 */
export async function readAll(path, query, signal, { most = 5000, rowsOf = (data) => data, isEnough = () => false } = {}) {
  const rows = [];
  for (let cursor = /** @type {string | undefined} */ (undefined); ;) {
    const { data, pagination } = await get(path, { query: { ...query, pageSize: 100, cursor }, signal });
    rows.push(...rowsOf(data));
    cursor = pagination?.nextCursor;
    if (!cursor || rows.length >= most || isEnough(rows)) return { rows, data, isWhole: !cursor };
  }
}
