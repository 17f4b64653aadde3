/** Names of the placeholders in an agent's main texts that neither the agent nor a contact's own fields fill. @param {any} agent @returns {string[]} */
export function placeholdersOf(agent) {
  const { prompt, greetingMessage, dynamicVariables } = agent?.conversationConfig?.agent ?? {};
  const found = `${prompt?.prompt ?? ''} ${greetingMessage ?? ''}`.matchAll(/\{\{\s*([\w.-]+)\s*\}\}/g);
  const given = new Set(['phoneNumber', 'name', 'email', ...Object.keys(dynamicVariables ?? {})]);
  return [...new Set([...found].map((each) => each[1]))].filter((name) => !given.has(name) && !name.startsWith('system__'));
}
