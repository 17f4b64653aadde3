// What the service refuses, in the reader's language: by its code and, where that says more, by its field.
import { sentence, t } from './i18n.js';

/** @typedef {import('./api.js').FieldProblem} FieldProblem */

/** Limits and choices stand in the service's words only. @param {string} message @returns {[kind: string, values: Record<string, string>]} */
function detailsOf(message) {
  const range = /(-?\d[\d.]*) to (\d[\d.]*)(, or -1 for never)?/.exec(message), choice = /is not one of (.+)$/.exec(message);
  const length = /(?:at most|more than) (\d+) characters/.exec(message);
  if (choice) return ['Choice', { list: choice[1].replace(/["`]/g, '') }];
  if (length) return ['Most', { most: length[1] }];
  return range ? [range[3] ? 'OrNever' : 'Range', { from: range[1], to: range[2] }] : ['', {}];
}

/** @param {FieldProblem} problem @returns {string} */
export function refusalText({ path, code, message }) {
  const field = path.replace(/\[\d+\]/g, '').split('.').at(-1), [kind, values] = detailsOf(message), said = sentence(message);
  const general = t(`problem.${code}`, { fallback: t('problem.other', { said }), said });
  return t(`problem.fields.${field}.${code}`, { fallback: kind ? t(`problem.${code}${kind}`, { fallback: general, said, ...values }) : general });
}
