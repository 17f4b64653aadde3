// Expressions of a conversation graph as one line of text, such as `party_size > 8 and day == "Monday"`, and back.
import { isObject } from './merge.js';

/** Operators by how loosely they bind. Those of the first two levels join any number of parts. */
const LEVELS = [{ or: 'or' }, { and: 'and' }, { '==': 'eq', '!=': 'neq', '>=': 'gte', '<=': 'lte', '>': 'gt', '<': 'lt' }, { '+': 'add', '-': 'sub' },
  { '*': 'mul', '/': 'div' }];
const SIGNS = new Map(LEVELS.flatMap((level, at) => Object.entries(level).map(([sign, name]) => [`${name}_operator`, { sign, at }])));
const TYPES = ['string', 'number', 'integer', 'boolean'], TOP = LEVELS.length;
const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|'([^']*)'|\{\{([^}]+)\}\}|(\d+(?:\.\d+)?)|([A-Za-z_][\w.]*)|(==|!=|>=|<=|[-+*/<>(),]))/y;
/** Longest text of a formula: what is nested deeper than this allows could not be shown. */
export const MOST_CHARS = 2000;
const WORDS = ['and', 'or', 'if', 'ask', 'true', 'false', 'null'];

/** No text can be made of the expression, or no expression of the text: then `at` says where it stops making sense. */
export class FormulaError extends Error {
  constructor(at = 0) { super('formula'); this.at = at; }
}

/** @param {any} node @param {number} [level] Of the operator around it. @returns {string} */
function written(node, level = 0) {
  const type = isObject(node) ? node.type : undefined;
  if (type === 'string_literal' || type === 'number_literal' || type === 'boolean_literal') return JSON.stringify(node.value);
  if (type === 'null_literal') return 'null';
  if (type === 'dynamic_variable') return /^[A-Za-z_][\w.]*$/.test(node.name) && !WORDS.includes(node.name) ? node.name : `{{${node.name}}}`;
  if (type === 'conditional_operator') return `if(${[node.condition, node.trueExpression, node.falseExpression].map((each) => written(each)).join(', ')})`;
  if (type === 'llm') {
    if (!TYPES.includes(node.valueSchema?.type)) throw new FormulaError();
    return `ask(${JSON.stringify(node.prompt)}, ${node.valueSchema.type})`;
  }
  const { sign, at } = SIGNS.get(type) ?? {};
  if (!sign || at === undefined) throw new FormulaError();
  const parts = at < 2 ? node.children : [node.left, node.right];
  if (!Array.isArray(parts) || parts.length < 2) throw new FormulaError();
  const text = parts.map((part, nth) => written(part, at < 2 || nth ? at + 1 : at)).join(` ${sign} `);
  return at < level ? `(${text})` : text;
}

/** An expression as text; what has no short form is JSON. @param {any} expression */
export function formulaOf(expression) {
  if (expression === undefined) return '';
  try {
    const text = written(expression);
    if (JSON.stringify(parse(text)).length === JSON.stringify(expression).length) return text;
  } catch { /* As JSON. */ }
  return JSON.stringify(expression);
}

/** The expression of a text. @param {string} text @returns {any} Undefined if it is empty. */
export function parse(text) {
  if (text.trim() === '') return undefined;
  if (text.trim().startsWith('{"')) {
    try { return JSON.parse(text); } catch { throw new FormulaError(); }
  }
  /** @type {{ at: number, kind: number, value: string }[]} */
  const tokens = [];
  for (TOKEN.lastIndex = 0; text.slice(TOKEN.lastIndex).trim();) {
    const at = TOKEN.lastIndex, found = TOKEN.exec(text);
    if (!found) throw new FormulaError(at);
    const kind = found.findIndex((each, nth) => nth > 0 && each !== undefined);
    tokens.push({ at, kind, value: found[kind] });
  }
  let place = 0;
  const fail = () => new FormulaError(tokens[place]?.at ?? text.length);
  const takes = (/** @type {string} */ sign) => (tokens[place]?.kind > 4 && tokens[place].value === sign ? !!++place : false);
  const must = (/** @type {string} */ sign) => { if (!takes(sign)) throw fail(); };

  /** @param {number} level @returns {any} */
  function operation(level) {
    if (level === TOP) return value();
    const children = [operation(level + 1)];
    for (;;) {
      const found = Object.entries(LEVELS[level]).find(([sign]) => takes(sign));
      if (!found && children.length === 1) return children[0];
      if (!found) return { type: level === 0 ? 'or_operator' : 'and_operator', children };
      const right = operation(level + 1);
      if (level < 2) children.push(right);
      else children[0] = { type: `${found[1]}_operator`, left: children[0], right };
    }
  }
  /** @returns {any} */
  function value() {
    const token = tokens[place++];
    if (!token) throw fail();
    const { kind, value: word } = token;
    if (kind === 1) return { type: 'string_literal', value: JSON.parse(word) };
    if (kind === 2) return { type: 'string_literal', value: word };
    if (kind === 3) return { type: 'dynamic_variable', name: word.trim() };
    if (kind === 4) return { type: 'number_literal', value: Number(word) };
    if (kind === 6 && word === '-' && tokens[place]?.kind === 4) return { type: 'number_literal', value: -Number(tokens[place++].value) };
    if (kind === 6 && word === '(') return closed(operation(0));
    if (word === 'true' || word === 'false') return { type: 'boolean_literal', value: word === 'true' };
    if (word === 'null') return { type: 'null_literal' };
    if (word === 'if' && takes('(')) {
      const condition = operation(0);
      must(',');
      const trueExpression = operation(0);
      must(',');
      return closed({ type: 'conditional_operator', condition, trueExpression, falseExpression: operation(0) });
    }
    if (word === 'ask' && takes('(')) {
      const prompt = value();
      must(',');
      const type = tokens[place++]?.value;
      if (prompt.type !== 'string_literal' || !TYPES.includes(type)) { place--; throw fail(); }
      return closed({ type: 'llm', prompt: prompt.value, valueSchema: { type } });
    }
    if (kind === 5 && !WORDS.includes(word)) return { type: 'dynamic_variable', name: word };
    place--;
    throw fail();
  }
  /** @template T @param {T} node @returns {T} */
  function closed(node) { must(')'); return node; }
  const all = operation(0);
  if (place < tokens.length) throw fail();
  return all;
}
