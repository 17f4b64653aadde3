/** Filled by a contact's own fields. */
const OF_CONTACT = ['phoneNumber', 'name', 'email'];

/**
 * Names of the placeholders in an agent's texts that neither the agent nor `own` fills.
 * @param {any} agent @param {string[]} [own] @returns {string[]}
 */
export function placeholdersOf(agent, own = OF_CONTACT) {
  const { agent: { prompt, greetingMessage, dynamicVariables } = {}, conversation } = agent?.conversationConfig ?? {};
  const tools = Object.values(prompt?.builtInTools ?? {}).filter((tool) => tool?.enabled), names = new Set();
  const given = new Set([...own, ...Object.keys(dynamicVariables ?? {})]);
  const texts = [prompt?.prompt, greetingMessage, conversation?.listeningAnnouncement, tools, agent?.platformSettings?.dataCollection?.entities];
  JSON.stringify(texts, (_, value) => {
    for (const [, name] of typeof value === 'string' ? value.matchAll(/\{\{([^{}]+)\}\}/g) : []) names.add(name.trim());
    return value;
  });
  return [...names].filter((name) => name && !given.has(name) && !name.startsWith('system__'));
}
