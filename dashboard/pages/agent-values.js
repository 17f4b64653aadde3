// From an agent to the values of its form and back, and what changed between two agents.
import { t } from '../lib/i18n.js';
import { applyPatch, at, isObject, mergePatch, put } from '../lib/merge.js';
import { agentFields } from './agent-fields.js';

/** @typedef {import('../lib/merge.js').Difference} Difference */
/** @typedef {import('../components/changes.js').Change & { field?: string }} AgentChange */

/** @param {any} agent @returns {Record<string, any>} */
export const formValues = (agent) => Object.fromEntries(agentFields().map(({ name, toForm }) => [name, toForm ? toForm(at(agent, name)) : at(agent, name)]));

/**
 * What is sent of the fields that changed: for an object, only what changed in it.
 * @param {Record<string, any>} changed Values of the form. @param {any} [saved]
 */
export function agentPatch(changed, saved) {
  const body = {};
  for (const { name, fromForm } of agentFields()) {
    if (!(name in changed)) continue;
    const value = fromForm ? fromForm(changed[name]) : changed[name], old = at(saved ?? {}, name);
    const isUnset = value === undefined || value === '';
    // As JSON, so that cells that were emptied are not there.
    const next = isUnset ? null : JSON.parse(JSON.stringify(value));
    if (saved || !isUnset) put(body, name, isObject(old) && isObject(next) ? mergePatch(old, next) : next);
  }
  return body;
}

/**
 * The same changes on top of what somebody else saved meanwhile.
 * @param {Record<string, any>} changed @param {any} saved @param {any} latest @returns {Record<string, any>}
 */
export function rebased(changed, saved, latest) {
  const values = formValues(applyPatch(latest, agentPatch(changed, saved)));
  return Object.fromEntries(Object.keys(changed).map((name) => [name, values[name]]));
}

/** Differences between two agents, for people. @param {Difference[]} found @returns {AgentChange[]} */
export function changesOf(found) {
  const fields = agentFields();
  return found.filter(({ path }) => !/^(metadata|agentId)(\.|$)/.test(path)).map((each) => {
    const known = fields.find(({ name }) => each.path === name || each.path.startsWith(`${name}.`) || each.path.startsWith(`${name}[`));
    const inner = known ? each.path.slice(known.name.length).replace(/^\./, '') : '';
    const label = known ? [known.label, inner].filter(Boolean).join(' · ') : labelOf(each.path, fields);
    const write = (/** @type {any} */ value) => say(value, inner ? undefined : known);
    return { label, old: write(each.old), next: write(each.new), field: known?.name };
  });
}

/**
 * What has no field of its own: a part of the graph, or several fields at once.
 * @param {string} path @param {import('./agent-controls.js').AgentField[]} fields
 */
function labelOf(path, fields) {
  const [first, , ...inner] = path.split('.');
  if (first === 'workflow') return [t('graph.tab'), ...inner].join(' · ');
  return fields.filter(({ name }) => name.startsWith(`${path}.`)).map(({ label }) => label).join(', ') || path.split('.').at(-1) || path;
}

/** @param {any} value @param {import('./agent-controls.js').AgentField | undefined} known @returns {string} */
function say(value, known) {
  if (value === undefined || value === null || value === '') return t('form.nothing');
  if (typeof value === 'boolean') return t(value ? 'form.yes' : 'form.no');
  if (Array.isArray(value) && known?.say) return known.say(value);
  if (Array.isArray(value) && value.every((each) => typeof each !== 'object')) return value.join(', ') || t('form.nothing');
  return typeof value === 'object' ? JSON.stringify(value) : known?.options?.find((option) => option.value === value)?.label ?? String(value);
}
