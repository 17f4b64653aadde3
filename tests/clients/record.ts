// Overrides and commands of a live call, its events and record, searches, versions, numbers, voices, webhooks, analytics
// and keys, with the generated client.

import assert from "node:assert/strict";
import { client, clientOf, made } from "./client.js";

/** Returns the first result of `read` that is not undefined. */
async function until<T>(read: () => Promise<T | undefined>, seconds = 60): Promise<T> {
  for (let tries = 0; tries < seconds * 4; tries += 1) {
    const result = await read();
    if (result !== undefined) return result;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  throw new Error(`nothing came in ${seconds} s`);
}

const agent = made(
  await client.POST("/public/v1/agents/create", {
    body: {
      name: "Ava",
      direction: "outbound",
      conversationConfig: {
        agent: {
          prompt: { prompt: "You book check-ups.", builtInTools: { endCall: { enabled: true } } },
          greetingMessage: "Hello {{name}}, this is Ava.",
        },
      },
      platformSettings: {
        overrides: { greetingMessage: true },
        dataCollection: { entities: { preferredDay: { type: "string", description: "preferred day for a visit" } } },
      },
    },
  }),
);
const { agentId } = agent;

const stream = await client.GET("/public/v1/events", { params: { query: { type: "call.*" } }, parseAs: "stream" });
assert(stream.data);
const streamed = stream.data.pipeThrough(new TextDecoderStream()).getReader();

const { conversationId } = made(
  await client.POST("/public/v1/calls", {
    body: {
      agentId,
      phoneNumber: "+15550100010",
      name: "Maria",
      dynamicVariables: { persona: "cooperative" },
      overrides: { greetingMessage: "Good day {{name}}, the practice is calling." },
    },
  }),
);
const call = { params: { path: { conversationId } } };
// Refused until the call talks.
await until(async () => {
  const said = await client.POST("/public/v1/conversations/{conversationId}/say", {
    ...call,
    body: { text: "By the way, parking is free." },
  });
  return said.data;
});
made(await client.POST("/public/v1/conversations/{conversationId}/instructions", { ...call, body: { text: "Be brief." } }));

const path = { agentId };
made(
  await client.PATCH("/public/v1/agents/{agentId}", {
    params: { path, header: { "If-Match": '"1"' } },
    body: { name: "Eva" },
  }),
);
const stale = await client.PATCH("/public/v1/agents/{agentId}", {
  params: { path, header: { "If-Match": '"1"' } },
  body: { name: "Ida" },
});
assert.equal(stale.response.status, 409);
assert.equal(made(await client.GET("/public/v1/agents/{agentId}/versions", { params: { path } })).length, 2);
const restored = await client.POST("/public/v1/agents/{agentId}/versions/{version}/restore", {
  params: { path: { agentId, version: 1 } },
});
const before = made(restored);
assert("name" in before && before.name === "Ava", "a key without `read` gets less");

const copied = await client.POST("/public/v1/agents/{agentId}/duplicate", { params: { path }, body: { name: "Copy" } });
made(
  await client.PATCH("/public/v1/phone-numbers/{phoneNumber}", {
    params: { path: { phoneNumber: "+15550109002" } },
    body: { agentId: made(copied).agentId },
  }),
);
const numbers = made(await client.GET("/public/v1/phone-numbers"));
assert.deepEqual([numbers[0]?.phoneNumber, numbers[0]?.agents[0]?.name], ["+15550109002", "Copy"]);
assert.equal(made(await client.GET("/public/v1/voices")).voices[0]?.provider, "babble");
assert.equal(made(await client.GET("/public/v1/models")).models[0]?.model, "interviewer");

const webhook = made(
  await client.POST("/public/v1/webhooks", { body: { url: "https://example.com/hook", types: ["call.*"] } }),
);
const hook = { params: { path: { webhookId: webhook.webhookId } } };
made(await client.POST("/public/v1/webhooks/{webhookId}/test", hook));
const deliveries = made(await client.GET("/public/v1/webhooks/{webhookId}/deliveries", hook));
assert.equal(deliveries[0]?.type, "webhook.test");

await until(async () => {
  const shown = made(await client.GET("/public/v1/conversations/{conversationId}", call));
  return shown.status === "completed" && shown.summary !== undefined && shown.cost?.currency === "USD" ? shown : undefined;
});
for (let text = ""; !text.includes("event: call.ended"); ) {
  const { value, done } = await streamed.read();
  assert(!done, text);
  text += value;
}
await streamed.cancel();
const turns = made(await client.GET("/public/v1/conversations/{conversationId}/turns", call));
const words = turns.map((turn) => turn.words).join(" ");
assert(words.includes("Good day Maria") && words.includes("parking is free"), words);
const events = made(await client.GET("/public/v1/conversations/{conversationId}/events", call));
for (const type of ["dialed", "answered", "overridden", "say"]) {
  assert(events.some((event) => event.type === type), JSON.stringify(events));
}
const found = await until(async () => {
  const query = { search: '"parking is free"' };
  return made(await client.GET("/public/v1/conversations", { params: { query } }))[0];
});
assert.equal(found.conversationId, conversationId);
assert(found.matches?.[0]?.text.includes("parking"), JSON.stringify(found));

// A call is counted half a minute after its end.
const counted = await until(async () => {
  const counts = made(await client.GET("/public/v1/analytics", { params: { query: { agentId } } }));
  return counts.rows[0];
}, 120);
assert.equal(counted.outcomes.completed, 1, JSON.stringify(counted));

const key = made(await client.POST("/public/v1/me/api-keys", { body: { name: "wallboard", scopes: ["read"] } }));
assert(key.apiKey);
const reader = clientOf(key.apiKey);
made(await reader.GET("/public/v1/conversations/{conversationId}", call));
const forbidden = await reader.DELETE("/public/v1/conversations/{conversationId}", call);
assert.equal(forbidden.response.status, 403);
// For ten seconds after its end a call may still write something.
await until(async () => (await client.DELETE("/public/v1/conversations/{conversationId}", call)).data);
assert.equal((await client.GET("/public/v1/conversations/{conversationId}", call)).response.status, 404);
console.log("typescript: overrides, live control, records, numbers, webhooks, analytics and keys are as described");
