// Creates an agent, a campaign from a file and one from JSON, and reads their conversations with the generated client.

import assert from "node:assert/strict";
import { client } from "./client.js";
import type { components } from "./ringback.js";

type Conversation = components["schemas"]["Conversation"];

async function createAgent(): Promise<string> {
  const { data, error } = await client.POST("/public/v1/agents/create", {
    body: {
      name: "Ava",
      direction: "outbound",
      conversationConfig: {
        agent: {
          prompt: {
            prompt: "You are Ava from Greenfield Dental. You book check-ups.",
            builtInTools: { endCall: { enabled: true } },
          },
          greetingMessage: "Hello {{name}}, this is Ava from Greenfield Dental.",
        },
      },
      platformSettings: {
        dataCollection: { entities: { preferredDay: { type: "string", description: "preferred day for a visit" } } },
      },
    },
  });
  assert(data, JSON.stringify(error));
  const agentId: string = data.data.agentId;
  const read = await client.GET("/public/v1/agents/{agentId}", { params: { path: { agentId } } });
  assert(read.data, JSON.stringify(read.error));
  const speed: number = read.data.data.conversationConfig.tts.speed;
  assert.equal(speed, 1);
  return agentId;
}

async function launchFile(agentId: string): Promise<string> {
  const { data, error } = await client.POST("/public/v1/campaigns/csv", {
    body: {
      file: "phone,name,persona\n+15550100010,Maria,cooperative\n",
      name: "From a file",
      agentId,
      launch: true,
    },
    bodySerializer: (body) => {
      const form = new FormData();
      form.set("file", new File([body.file], "contacts.csv", { type: "text/csv" }));
      form.set("name", body.name);
      form.set("agentId", body.agentId);
      form.set("launch", String(body.launch));
      return form;
    },
  });
  assert(data, JSON.stringify(error));
  assert.equal(data.data.contactCount, 1);
  return data.data.campaignId;
}

async function launchJson(agentId: string): Promise<string> {
  const { data, error } = await client.POST("/public/v1/campaigns", {
    body: {
      name: "From JSON",
      agentId,
      contacts: [{ phoneNumber: "+1 (555) 010-0021", name: "Tom", persona: "cooperative" }],
      launch: false,
    },
  });
  assert(data, JSON.stringify(error));
  assert.equal(data.data.status, "draft" satisfies components["schemas"]["CampaignStatus"]);
  const { campaignId } = data.data;
  const launched = await client.POST("/public/v1/campaigns/{campaignId}/launch", { params: { path: { campaignId } } });
  assert(launched.data, JSON.stringify(launched.error));
  assert.equal(launched.data.data.active, true);
  return campaignId;
}

async function conversationOf(campaignId: string): Promise<Conversation> {
  for (let tries = 0; tries < 120; tries += 1) {
    const list = await client.GET("/public/v1/conversations", {
      params: { query: { campaignId, status: "completed", pageSize: 10 } },
    });
    assert(list.data, JSON.stringify(list.error));
    const first = list.data.data[0];
    if (first?.summary !== undefined) {
      const { conversationId } = first;
      const one = await client.GET("/public/v1/conversations/{conversationId}", { params: { path: { conversationId } } });
      assert(one.data, JSON.stringify(one.error));
      return one.data.data;
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error(`campaign ${campaignId} has no completed conversation after a minute`);
}

const agentId = await createAgent();
for (const campaignId of [await launchFile(agentId), await launchJson(agentId)]) {
  const conversation = await conversationOf(campaignId);
  assert.equal(conversation.status, "completed");
  assert.equal(conversation.agentId, agentId);
  assert(conversation.conversationDuration > 0);
  assert(conversation.transcript?.includes("Agent: "), conversation.transcript);
  assert(conversation.dataCollected.items.some((item) => item.entity === "preferredDay" && item.value.length > 0));
  const score: number | undefined = conversation.sentiment?.sentiment_score;
  assert(score !== undefined && score >= -1 && score <= 1);
}

const refused = await client.POST("/public/v1/contacts", { body: { phoneNumber: "12ab" } });
assert.equal(refused.response.status, 400);
assert.equal(refused.error?.error.fields?.[0]?.path, "phoneNumber");
console.log("typescript: agent, campaigns and conversations are as described");
