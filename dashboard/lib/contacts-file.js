// Checks a file of contacts as the service will, before anything is sent. The service checks again and has the last word.
import { FileProblem, records } from './csv.js';

const NAMES = /** @type {Record<Role, string[]>} */ ({
  phone: ['phone', 'phonenumber', 'mobile', 'mobilenumber', 'number', 'contactnumber', 'telephone'],
  name: ['name', 'fullname', 'contactname'],
  email: ['email', 'emailaddress', 'mail'],
});
/** Names that only this page knows: it tells the service the column. They count if none of the others is there. */
const GERMAN_PHONES = ['telefon', 'telefonnummer', 'handy', 'handynummer', 'rufnummer'];
const MAX_ROWS = 1_000_000, MAX_PROBLEMS = 1000, FIRST_ROWS = 5;

/** @typedef {'phone' | 'name' | 'email'} Role */
/** @typedef {{ row: number, line: number, column: string | null, value: string | null, code: string, message?: string }} RowProblem */
/**
 * @typedef {object} Report
 * @property {string[]} headers
 * @property {Record<Role, string>} columns Header of each role; empty if there is none.
 * @property {string[][]} first The first rows.
 * @property {number} total
 * @property {number} badRows
 * @property {RowProblem[]} problems At most 1,000.
 * @property {Map<string, number>} numbers Line of each valid number.
 */

/** As headers are compared. @param {string} header */
const plain = (header) => header.toLowerCase().replace(/[\s_-]/g, '');

/** The number in E.164, or null. @param {string} text */
export function phoneNumber(text) {
  const digits = text.replace(/[\s\-.()/]/g, '').replace(/^00/, '+');
  return /^\+[1-9]\d{6,14}$/.test(digits) ? digits : null;
}

/** The column that a role has by its header. @param {string[]} headers @param {Role} role */
function recognise(headers, role) {
  const named = (/** @type {string[]} */ names) => headers.filter((header) => names.includes(plain(header)));
  const found = named(NAMES[role]);
  if (found.length > 1 && role === 'phone') throw new FileProblem('ambiguous_column');
  const all = found.length === 0 && role === 'phone' ? named(GERMAN_PHONES) : found;
  return all.length === 1 ? all[0] : '';
}

/**
 * @param {Blob} file
 * @param {Partial<Record<Role, string>>} chosen Columns that somebody corrected.
 * @param {(rows: number) => void} onProgress @param {AbortSignal} [signal]
 * @returns {Promise<Report>} throws `FileProblem`
 */
export async function check(file, chosen, onProgress, signal) {
  /** @type {Report | null} */
  let report = null;
  let at = { phone: -1, name: -1, email: -1 };
  for await (const group of records(file, signal)) {
    for (const record of group) {
      if (!report) {
        report = begin(record.cells, chosen);
        const { headers, columns } = report;
        at = { phone: headers.indexOf(columns.phone), name: headers.indexOf(columns.name), email: headers.indexOf(columns.email) };
      } else addRow(report, record, at);
    }
    onProgress(report?.total ?? 0);
  }
  if (!report || report.total === 0) throw new FileProblem('empty');
  return report;
}

/** @param {string[]} cells @param {Partial<Record<Role, string>>} chosen @returns {Report} */
function begin(cells, chosen) {
  const headers = cells.map((cell, nth) => (nth === 0 ? cell.replace(/^\uFEFF/, '') : cell));
  if (headers.length === 1 && /[;\t|]/.test(headers[0])) throw new FileProblem('wrong_separator');
  const role = (/** @type {Role} */ name) => chosen[name] ?? (name === 'phone' && chosen.phone ? '' : recognise(headers, name));
  return { headers, columns: { phone: role('phone'), name: role('name'), email: role('email') }, first: [], total: 0, badRows: 0, problems: [],
    numbers: new Map() };
}

/** @param {Report} report @param {import('./csv.js').CsvRecord} record @param {Record<Role, number>} at */
function addRow(report, { cells, line }, at) {
  const row = ++report.total;
  if (row > MAX_ROWS) throw new FileProblem('too_many_rows');
  if (row <= FIRST_ROWS) report.first.push(cells);
  /** @type {{ column: string | null, value: string | null, code: string }[]} */
  const found = [];
  if (cells.length !== report.headers.length) found.push({ column: null, value: null, code: 'ragged_row' });
  else if (at.phone >= 0) {
    const text = cells[at.phone], number = phoneNumber(text), column = report.columns.phone;
    if (!text) found.push({ column, value: null, code: 'missing_phone' });
    else if (!number) found.push({ column, value: text, code: 'invalid_phone' });
    else if (report.numbers.has(number)) found.push({ column, value: text, code: 'duplicate_number' });
    else report.numbers.set(number, line);
    const email = at.email >= 0 ? cells[at.email] : '';
    if (email && !/^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(email)) found.push({ column: report.columns.email, value: email, code: 'invalid_email' });
  }
  if (found.length) report.badRows++;
  for (const problem of found) if (report.problems.length < MAX_PROBLEMS) report.problems.push({ row, line, ...problem });
}

/** The same file without some of its rows. @param {File} file @param {Set<number>} rows @returns {Promise<File>} */
export async function withoutRows(file, rows) {
  /** @type {string[]} */
  const parts = [];
  let row = -1;
  for await (const group of records(file)) {
    parts.push(group.filter(() => !rows.has(++row)).map(({ raw }) => `${raw}\n`).join(''));
  }
  return new File(parts, file.name, { type: 'text/csv' });
}

/** Enough for the header line. */
const HEAD_BYTES = 1 << 20;

/**
 * The same file with commas, if its cells are separated by semicolons or tabs, as spreadsheets write them in many countries.
 * @param {File} file @returns {Promise<File>}
 */
export async function withCommas(file) {
  const [head] = (await file.slice(0, HEAD_BYTES).text()).split('\n', 1);
  const separator = head.includes(',') ? undefined : [';', '\t'].find((each) => head.includes(each));
  if (!separator) return file;
  /** @type {string[]} */
  const parts = [];
  for await (const group of records(file, undefined, separator)) parts.push(group.map(({ cells }) => `${cells.map(quoted).join(',')}\n`).join(''));
  return new File(parts, file.name, { type: 'text/csv' });
}

const quoted = (/** @type {string} */ cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
