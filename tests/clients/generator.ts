// Runs a campaign by the TypeScript client of openapi-generator.

import assert from "node:assert/strict";
import { AgentsApi, CampaignsApi, Configuration, ContactsApi, ConversationsApi, ResponseError } from "./generated/index.js";

const service = new Configuration({ basePath: process.env.RINGBACK_URL!, apiKey: () => process.env.RINGBACK_KEY! });
const agents = new AgentsApi(service);
const campaigns = new CampaignsApi(service);
const conversations = new ConversationsApi(service);

const agent = await agents.createAgent({
  newAgent: {
    name: "Ava",
    conversationConfig: {
      agent: {
        prompt: { prompt: "You are Ava from Greenfield Dental.", builtInTools: { endCall: { enabled: true } } },
        greetingMessage: "Hello {{name}}, this is Ava from Greenfield Dental.",
      },
    },
    platformSettings: { dataCollection: { entities: { preferredDay: { type: "string", description: "preferred day" } } } },
  },
});
const agentId = agent.data.agentId;
assert.equal((await agents.getAgent({ agentId })).data.conversationConfig.tts.speed, 1);

const contacts = [{ phoneNumber: "+1 (555) 010-0021", name: "Tom", persona: "cooperative" }];
const draft = await campaigns.createCampaign({ newCampaign: { name: "From JSON", agentId, contacts } });
assert.equal((await campaigns.launchCampaign({ campaignId: draft.data.campaignId })).data.active, true);
const file = new File(["phone,name,persona\n+15550100010,Maria,cooperative\n"], "contacts.csv", { type: "text/csv" });
const launched = await campaigns.createCampaignFromCsv({ file, name: "From a file", agentId, launch: true });

for (const campaignId of [draft.data.campaignId, launched.data.campaignId]) {
  let found;
  for (let tries = 0; tries < 120 && !found?.summary; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    [found] = (await conversations.listConversations({ campaignId, status: "completed" })).data;
  }
  assert(found, `campaign ${campaignId} has no completed conversation after a minute`);
  const { data } = await conversations.getConversation({ conversationId: found.conversationId });
  assert(data.conversationDuration > 0 && data.transcript?.includes("Agent: "));
  assert.equal(data.dataCollected?.items?.[0]?.entity, "preferredDay");
}

await assert.rejects(new ContactsApi(service).createContact({ newContact: { phoneNumber: "12345" } }), (refused) => {
  return refused instanceof ResponseError && refused.response.status === 400;
});
console.log("openapi-generator, typescript: agent, campaigns and conversations are as described");
