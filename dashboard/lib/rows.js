// Rows of tables.

/** Under which the chosen columns are kept: the same in every language, and for every campaign. @param {string} path @param {string} label */
export const columnsKey = (path, label) => `ringback.columns.${path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ':id') || label}`;

/** @typedef {{ key: string, isDown: boolean }} Order */
/** What a column is sorted by, if it can be: by the API, or by its value. @param {{ key: string, value?: any, sort?: string }} column */
export const sorterOf = ({ key, value, sort }) => sort ?? (value && key);

/**
 * The order that the address has, if a column has it too, or else the usual one.
 * @param {Record<string, string | undefined>} query @param {{ key: string, value?: any, sort?: string }[]} columns @param {Order} usual @returns {Order}
 */
export const orderOf = ({ sort, up }, columns, usual) =>
  (columns.some((column) => sorterOf(column) === (sort ?? usual.key)) && (sort || up) ? { key: sort ?? usual.key, isDown: !up } : usual);

/** An order for the address, which does not name the usual one. @param {Order} order @param {Order} usual */
export const orderQuery = ({ key, isDown }, usual) =>
  (key === usual.key && isDown === usual.isDown ? { sort: undefined, up: undefined } : { sort: key, up: isDown ? undefined : 'true' });

/**
 * The rows by a value, those without one last.
 * @template T @param {T[]} rows @param {(row: T) => number | string | undefined} value @param {boolean} isDown @returns {T[]}
 */
export function sorted(rows, value, isDown) {
  const known = rows.map((row) => ({ row, by: value(row) }));
  known.sort((a, b) => {
    if (a.by === undefined || b.by === undefined) return Number(a.by === undefined) - Number(b.by === undefined);
    const order = typeof a.by === 'number' && typeof b.by === 'number' ? a.by - b.by : String(a.by).localeCompare(String(b.by));
    return isDown ? -order : order;
  });
  return known.map(({ row }) => row);
}

/**
 * Where the rows beside the one with this address lead. Rows that lead nowhere are passed over.
 * @param {{ rows: any[], place: { href?: (row: any) => string } } | undefined} list @param {string} path
 * @returns {{ at: number, before?: string, after?: string, isLast: boolean }} `at` is -1 if there is no such row.
 */
export function neighbours(list, path) {
  const ways = (list?.rows ?? []).map((row) => list?.place.href?.(row) || ''), at = ways.findIndex((way) => way.split('?')[0] === path);
  if (at < 0) return { at, isLast: false };
  const after = ways.slice(at + 1).find(Boolean);
  return { at, before: ways.slice(0, at).findLast(Boolean), after, isLast: !after };
}
