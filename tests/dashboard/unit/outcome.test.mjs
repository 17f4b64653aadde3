// How a call came out, what a search looks for, and the typical delay.

import assert from "node:assert/strict";
import { test } from "node:test";
import { outcomeOf, searchOf } from "../../../dashboard/lib/outcome.js";

test("people who were not reached are no fault", () => {
  for (const reason of ["busy", "no-answer", "rejected", "invalid-number", "do-not-call", "not-allowed"]) {
    assert.deepEqual(outcomeOf({ status: "failed", errorMessage: reason }), { text: `reason.${reason}`, rest: "", tone: undefined });
  }
});

test("faults are, with the words of the carrier", () => {
  assert.deepEqual(outcomeOf({ status: "failed", errorMessage: "carrier-error: 503 from proxy" }),
    { text: "reason.carrier-error", rest: "503 from proxy", tone: "bad" });
  assert.deepEqual(outcomeOf({ status: "failed", errorMessage: "busyness" }), { text: "", rest: "busyness", tone: "bad" });
  assert.deepEqual(outcomeOf({ status: "failed" }), { text: "status.failed", tone: "bad" });
});

test("a voicemail, a transfer and a conversation", () => {
  assert.equal(outcomeOf({ status: "completed", voiceMailDetected: true }).text, "reason.voicemail");
  assert.equal(outcomeOf({ status: "completed", callTransferred: true }).text, "call.transferred");
  assert.deepEqual(outcomeOf({ status: "completed" }), { text: "reason.completed", tone: "good" });
});

test("what is not over, or never began", () => {
  // A reason of the attempt before does not matter any more.
  assert.equal(outcomeOf({ status: "in_progress", errorMessage: "busy" }).text, "status.in_progress");
  assert.equal(outcomeOf({ status: "scheduled" }).text, "status.scheduled");
  assert.equal(outcomeOf({ status: "pending" }, "paused").text, "status.pending");
  assert.equal(outcomeOf({ status: "pending" }, "stopped").text, "campaign.notCalled");
  assert.deepEqual(outcomeOf({ status: "cancelled" }), { text: "status.cancelled", tone: undefined });
});

test("a number is searched as a number, anything else as words", () => {
  assert.deepEqual(searchOf(" +1 (555) 010-0000 "), { phoneNumber: "+1 (555) 010-0000" });
  assert.deepEqual(searchOf("030 1234567"), { phoneNumber: "030 1234567" });
  for (const words of ["", "invoice 12345678", "2026", '"call me back"', "appoint*", "+1555"]) assert.deepEqual(searchOf(words), { search: words });
});
