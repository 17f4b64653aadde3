// Rows of tables.

/** Under which the chosen columns are kept: the same in every language, and for every campaign. @param {string} path @param {string} label */
export const columnsKey = (path, label) => `ringback.columns.${path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ':id') || label}`;

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
