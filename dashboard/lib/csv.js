// CSV files like those of the service: a spreadsheet takes no cell for a formula, and knows the text as UTF-8.

/** @param {string} part */
function isFormula(part) {
  const text = part.replace(/^'+/, '');
  // Some spreadsheets turn the wide forms into the plain ones.
  return /^[=+\-@\t\r＝＋－＠]/.test(text) && !/^[+-]\d+([.,]\d+)*$/.test(text);
}

/** A cell in which no part is a formula; spreadsheets may split at semicolons and line breaks. @param {string} cell */
export const harmless = (cell) => cell.split(/([\n;])/).map((part) => (isFormula(part) ? `'${part}` : part)).join('');

/** @param {(string | number | undefined)[][]} lines */
export const csvOf = (lines) => `\ufeff${lines.map((line) => {
  const cells = line.map((cell) => harmless(String(cell ?? ''))), all = cells.some((cell) => cell.includes(';'));
  return `${cells.map((cell) => (all || /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\n`;
}).join('')}`;

/** Saves a text as a file. @param {string} name @param {string} type @param {string} text */
export function download(name, type, text) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
