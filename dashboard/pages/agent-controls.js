// The controls of an agent's fields. A form keeps texts, numbers, booleans and rows; `toForm` makes them of the API's value,
// `fromForm` the other way round.
import { t } from '../lib/i18n.js';
import { at } from '../lib/merge.js';
import { nameOf } from '../components/picker.js';

/** @typedef {import('../components/form.js').Field & { toForm?: (value: any) => any, fromForm?: (value: any) => any, page?: string }} AgentField */
/** @typedef {{ value: string, label: string, sample?: string }} Option `sample`: address of how a voice sounds. */
/** @typedef {import('../components/rows.js').RowColumn} RowColumn */
/** @typedef {(string | [path: string, more: Partial<RowColumn>])[]} Columns */

/** Label and help are in the texts by the last two names of the path. @param {string} path @param {Partial<AgentField>} [control] @returns {AgentField} */
export function field(path, control = {}) {
  const key = `agentFields.${path.split('.').slice(-2).join('.')}`;
  return { name: path, label: t(`${key}.0`), help: t(`${key}.1`, { fallback: '' }), ...control };
}

/** @param {string} path @param {number} rows */
export const text = (path, rows) => field(path, { type: 'textarea', rows });
/** @param {string} path */
export const flag = (path) => field(path, { type: 'checkbox', default: false });
/** @param {string} path @param {Partial<AgentField>} control */
export const number = (path, control) => field(path, { type: 'number', ...control });
/** @param {string[]} values @returns {Option[]} */
export const options = (values) => values.map((value) => ({ value, label: t(`agentFields.values.${value}`, { fallback: value }) }));
/** @param {string} path @param {string[]} values @param {string} [preset] */
export const choice = (path, values, preset) => field(path, { type: 'select', default: preset, options: options(values) });
/** Some of what there is. @param {string} path @param {Option[]} [options] @param {string} [page] Where they are made. @returns {AgentField} */
export const some = (path, options, page) => field(path, { type: 'checks', options, page });

/** A list of texts, one a line. @param {string} path */
export const lines = (path) => field(path, {
  type: 'textarea', rows: 2,
  toForm: (value) => (value ?? []).join('\n'),
  fromForm: (value) => value.split('\n').map((/** @type {string} */ line) => line.trim()).filter(Boolean),
  check: () => undefined,
});

/** Anything else, as JSON. @param {string} path @param {any} [example] */
export const json = (path, example) => field(path, {
  type: 'textarea', rows: 5, code: true, placeholder: example && JSON.stringify(example, null, 2),
  toForm: (value) => (value && Object.keys(value).length ? JSON.stringify(value, null, 2) : ''),
  fromForm: (value) => (value.trim() ? JSON.parse(value) : undefined),
  check: jsonProblem,
});

/** @param {string | undefined} value */
function jsonProblem(value) {
  try {
    if (value?.trim()) JSON.parse(value);
  } catch (error) {
    const found = /line (\d+) column (\d+)/.exec(String(error));
    return found ? t('agent.notJsonAt', { line: Number(found[1]), column: Number(found[2]) }) : t('agent.notJson');
  }
}

/** @param {any} value @returns {boolean} */
const isBlank = (value) => value === undefined || (value !== null && typeof value === 'object' && Object.values(value).every(isBlank));

/** A list of objects. @param {string} path @param {Columns} columns @returns {AgentField} */
export function rows(path, columns) {
  const described = columns.map((each) => {
    const [name, more] = typeof each === 'string' ? [each, {}] : each;
    return { path: name, label: t(`agentFields.columns.${name.split('.').at(-1)}`), ...more };
  });
  const part = (/** @type {any} */ row) => (/** @type {RowColumn} */ { path, from }) => (from ? nameOf(at(row, path)) : at(row, path));
  const say = (/** @type {any} */ row) => described.map(part(row)).filter((value) => value !== undefined && value !== '').join(' · ');
  return field(path, {
    type: 'rows', columns: described, check: () => undefined,
    say: (value) => (value?.length ? value.map(say).join('\n') : t('form.nothing')),
    fromForm: (value) => value.filter((/** @type {any} */ row) => !isBlank(row)),
  });
}

/** A map, as rows of `key` and `value`. @param {string} path @param {Columns} columns @param {any} empty What a key alone stands for. @returns {AgentField} */
export function map(path, columns, empty) {
  const list = rows(path, ['key', ...columns]);
  const filled = (/** @type {any} */ value) => list.fromForm?.(value ?? []) ?? [];
  return {
    ...list,
    toForm: (value) => Object.entries(value ?? {}).map(([key, each]) => ({ key, value: each })),
    fromForm: (value) => Object.fromEntries(filled(value).map((/** @type {any} */ row) => [row.key, row.value ?? empty])),
    check: (value) => {
      const names = filled(value).map((/** @type {any} */ row) => row.key);
      if (names.some((/** @type {string} */ name) => !name?.trim())) return t('form.nameless');
      const twice = names.find((/** @type {string} */ name, /** @type {number} */ nth) => names.indexOf(name) < nth);
      return twice && t('form.nameTwice', { name: twice });
    },
  };
}
