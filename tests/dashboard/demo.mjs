// An account as a dental practice would have it, for pictures. All names are invented; the numbers are reserved for fiction.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { ask, until } from "./browser.mjs";

let number = 0;
const phone = () => `+1202555${String(100 + number++).padStart(4, "0")}`;
const PEOPLE = [
  ["Maria Lopez", "cooperative"], ["James Carter", "hesitant"], ["Aisha Khan", "interrupts"], ["Tom Becker", "cooperative"],
  ["Linh Tran", "voicemail"], ["Sofia Rossi", "noisy"], ["David Cohen", "busy"], ["Grace Miller", "hello-first"],
  ["Omar Haddad", "hangs-up"], ["Emma Novak", "backchannel"], ["Lucas Silva", "cooperative"], ["Priya Nair", "hum"],
  ["Noah Fischer", "no-answer"], ["Chloe Martin", "screening"], ["Kenji Sato", "spells"], ["Anna Kowalska", "opts-out"],
].map(([name, persona]) => ({ phoneNumber: phone(), name, persona }));

const CALLEE = { phoneNumber: "+12025550170", name: "Robin Weiss" };

/** The file that is dropped: all people, and one row that cannot be used. */
export const CONTACTS_FILE = `phone,name,city,persona\n${PEOPLE.map(({ phoneNumber, name, persona }, at) =>
  `${phoneNumber},${name},${["Lisbon", "Porto"][at % 2]},${persona}\n`).join("")}202 555,Ben Adams,Lisbon,\n`;

const entities = {
  preferredDay: { type: "string", description: "preferred day for a visit" },
  firstVisit: { type: "boolean", description: "whether this is your first visit" },
};

const ava = {
  name: "Ava, check-ups", tags: ["practice"], direction: "outbound",
  conversationConfig: {
    agent: {
      greetingMessage: "Hello {{name}}, this is Ava from Greenfield Dental. You are due for a check-up.",
      prompt: {
        prompt: "You are Ava from Greenfield Dental. You call patients who are due for a check-up and book a visit.",
        builtInTools: {
          endCall: { enabled: true },
          voicemailDetection: { enabled: true, voicemailMessage: "Hello {{name}}, this is Ava from Greenfield Dental. Please call us back." },
        },
      },
    },
    turn: { turnTimeout: 4, silenceEndCallTimeout: 9 },
  },
  platformSettings: { dataCollection: { entities }, privacy: { recordVoice: true } },
};

const inbound = (name, prompt, greetingMessage) => ({
  name, tags: ["practice"], direction: "inbound", conversationConfig: { agent: { prompt: { prompt }, greetingMessage } },
});

/** Everything but calls. Returns what the pictures need. */
export async function furnish() {
  const { documentId } = await ask("POST", "/knowledge-base/documents/text", { name: "Prices", text:
    "# Check-ups\nA check-up takes 30 minutes and costs 60 euros.\n\n# Cleaning\nA cleaning costs 80 euros. It can follow the check-up on the same day.\n" });
  const hours = await ask("POST", "/knowledge-base/documents/text", { name: "Opening hours", text:
    "# Opening hours\nThe practice is open from Monday to Friday, from nine to six. On Wednesdays it closes at one.\n" });
  await ask("POST", "/knowledge-base/documents/text", { name: "Getting here", text: "# Parking\nPatients may park behind the house for two hours.\n" });
  await ask("POST", "/knowledge-base/groups", { name: "For patients", documentIds: [documentId, hours.documentId] });
  const { toolId } = await ask("POST", "/tools", {
    name: "findFreeVisit", description: "Finds the next free visit on a day.", url: "https://practice.example/visits/free",
    parameters: { type: "object", properties: { day: { type: "string" } }, required: ["day"] },
  });
  await ask("POST", "/tools", { name: "findInvoice", description: "Looks up the latest invoice of a patient.",
    url: "https://practice.example/invoices/latest" });
  await ask("POST", "/transfer-rules", {
    name: "Emergencies", condition: "the patient is in pain", transferDestination: { type: "phone", phoneNumber: "+12025550190" },
  });
  const { agentId } = await ask("POST", "/agents/create", ava);
  const prompt = `${ava.conversationConfig.agent.prompt.prompt} Answer questions about prices and opening hours from the documents.`;
  const knowledgeBase = [documentId, hours.documentId];
  await ask("PATCH", `/agents/${agentId}`, { conversationConfig: { agent: { prompt: { prompt } } } });
  await ask("PATCH", `/agents/${agentId}`, { conversationConfig: { agent: { prompt: { knowledgeBase } } } });
  const leo = await ask("POST", "/agents/create",
    inbound("Leo, reception", "You are Leo at the desk of Greenfield Dental.", "Greenfield Dental, this is Leo. How can I help?"));
  await ask("POST", "/agents/create",
    inbound("Nora, evenings", "You are Nora. You take messages in the evening.", "Greenfield Dental is closed. May I take a message?"));
  await ask("PATCH", `/agents/${leo.agentId}`, { conversationConfig: { agent: { prompt: { toolIds: [toolId] } } } });
  await ask("PATCH", `/phone-numbers/${encodeURIComponent("+12025550180")}`, { agentId: leo.agentId });
  for (const each of PEOPLE.slice(0, 9)) await ask("POST", "/contacts", { phoneNumber: each.phoneNumber, name: each.name, city: "Lisbon" });
  await ask("POST", "/contacts", { phoneNumber: CALLEE.phoneNumber, name: CALLEE.name });
  for (const last of [191, 192, 193]) await ask("POST", "/do-not-call", { phoneNumber: `+12025550${last}` });
  await ask("POST", "/me/api-keys", { name: "Practice software", scopes: ["read", "live"] });
  const campaign = (name, contacts, fields) => ask("POST", "/campaigns", { name, agentId, contacts, ...fields });
  await campaign("Recall in autumn", PEOPLE.slice(0, 6), {});
  const reminders = await campaign("Reminders of this week", ["cooperative", "busy", "hello-first", "voicemail", "cooperative"]
    .map((persona, at) => ({ phoneNumber: `+12025550${160 + at}`, name: ["Eva Lind", "Paul Roth", "Nina Berg", "Hugo Lam", "Lea Marsh"][at],
      persona })), { launch: true });
  await until(async () => (await ask("GET", `/campaigns/${reminders.campaignId}`)).status === "completed", "the end of the reminders", 1200);
  const counted = async () => (await ask("GET", `/analytics?groupBy=agent&agentId=${agentId}`)).rows[0]?.calls;
  await until(async () => (await counted()) === 5, "the reminders in the analytics", 600);
  return { agentId };
}

/** Limits that only warn, so that the pictures can be made at any hour. */
export const limit = () => ask("PATCH", "/safeguards", {
  callingHours: { mode: "warn", from: "09:00", to: "20:00", days: ["monday", "tuesday", "wednesday", "thursday", "friday"] },
  callsPerNumber: { mode: "warn", perDay: 2, perWeek: 5 }, allowedPrefixes: { mode: "warn", prefixes: ["+1202"] },
});

/** A receiver of webhooks that refuses the first test, and the webhook for it. */
export async function addWebhook() {
  let wasTested = false;
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const { type } = JSON.parse(text);
    response.writeHead(type === "webhook.test" && !wasTested ? 500 : 204).end();
    wasTested ||= type === "webhook.test";
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { webhookId } = await ask("POST", "/webhooks", {
    url: `http://localhost:${server.address().port}/calls`, description: "Practice software", types: ["call.*", "contact.opted_out"],
  });
  return { webhookId, close: () => server.close() };
}

/** A single call, dialed. */
export async function call(agentId) {
  const { conversationId } = await ask("POST", "/calls", { agentId, ...CALLEE, dynamicVariables: { persona: "hesitant" } });
  return conversationId;
}

export const isOver = async (id) => {
  const { status, analysedBy } = await ask("GET", `/conversations/${id}`);
  assert.notEqual(status, "failed");
  return status === "completed" && !!analysedBy;
};
