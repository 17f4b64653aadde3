// Verifies a service's webhooks, and refuses changed ones, with the official Standard Webhooks package.
//
//   node verify.cjs FILE     a JSON array of { id, timestamp, signature, body, secrets: [valid], others: [not valid] }
const { readFileSync } = require("node:fs");
const { Webhook } = require("standardwebhooks");

const refused = (secret, body, headers) => {
  try {
    new Webhook(secret).verify(body, headers);
  } catch {
    return true;
  }
  return false;
};

const hits = JSON.parse(readFileSync(process.argv[2], "utf8"));
for (const { id, timestamp, signature, body, secrets, others } of hits) {
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
  for (const secret of secrets) {
    const told = new Webhook(secret).verify(body, headers);
    if (told.type !== "post_call") throw new Error(`read ${told.type}`);
    if (!refused(secret, body.replace("post_call", "pre_call"), headers)) throw new Error("a changed body was taken");
    if (!refused(secret, body, { ...headers, "webhook-id": "another" })) throw new Error("a changed id was taken");
  }
  for (const secret of others) {
    if (!refused(secret, body, headers)) throw new Error("another secret's signature was taken");
  }
}
if (hits.length === 0) throw new Error("nothing to verify");
console.log(`JavaScript: ${hits.length} webhooks verified, changed ones refused`);
