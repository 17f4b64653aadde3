import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./browser.mjs";

const { duration, money, number, percent, relative, sentence, t } = await load("lib/i18n.js");
const { refusalText } = await load("lib/problems.js");
const english = (await load("texts/en.js")).default, german = (await load("texts/de.js")).default;

const keys = (texts, path = "") => Object.entries(texts).flatMap(([name, value]) =>
  (value && typeof value === "object" ? keys(value, `${path}${name}.`) : [`${path}${name}`]));

test("German has the keys of English, and no other", () => assert.deepEqual(keys(german).sort(), keys(english).sort()));

test("both languages fill in the same values", () => {
  const values = (text) => [...String(text).matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort().join();
  const at = (texts, key) => key.split(".").reduce((part, name) => part[name], texts);
  // A plural may say "one" instead of the number.
  const differ = keys(english).filter((key) => !key.endsWith(".one") && values(at(english, key)) !== values(at(german, key)));
  assert.deepEqual(differ, []);
});

test("texts with values and plurals", () => {
  assert.equal(t("liveCalls.count", { n: 1 }), "1 call");
  assert.equal(t("liveCalls.count", { n: 2000 }), "2,000 calls");
  assert.equal(t("no.such.key"), "no.such.key");
  assert.equal(t("no.such.key", { fallback: "instead" }), "instead");
});

test("formats", () => {
  assert.deepEqual([duration(42), duration(3723), duration(59.6)], ["0:42", "1:02:03", "1:00"]);
  assert.deepEqual([number(1234567), percent(0.125)], ["1,234,567", "12.5%"]);
  assert.deepEqual([money(12.5, "USD"), money(0.0014, "USD"), money(0, "USD")], ["US$12.50", "US$0.0014", "US$0.00"]);
  assert.deepEqual([relative(5 * 60_000, 0), relative(0, 3 * 3_600_000), relative(0, 30_000)], ["in 5 minutes", "3 hours ago", "30 seconds ago"]);
  // Forty-one hours, and two calendar days.
  assert.equal(relative(Date.parse("2026-11-28T18:00:00Z"), Date.parse("2026-11-30T11:00:00Z")), "2 days ago");
});

test("words of the service as a sentence", () => {
  assert.equal(sentence("the carrier is `simulated`"), "The carrier is simulated.");
  assert.equal(sentence("Saved."), "Saved.");
  assert.equal(sentence(""), "");
});

test("problems by field, by code with its limits, by code, and else in the service's words", () => {
  const said = (path, code, message) => refusalText({ path, code, message });
  assert.equal(said("callingHours.to", "not_allowed", "must be later than `from`"), "Must be later than “From”: hours do not cross midnight.");
  assert.equal(said("conversationConfig.turn.turnTimeout", "out_of_range", "99 is out of range: 1 to 30, or -1 for never"), "Between 1 and 30, or -1 for never.");
  assert.equal(said("tts.speed", "out_of_range", "9 is out of range: 0.5 to 2"), "Between 0.5 and 2.");
  assert.equal(said("direction", "not_allowed", '"x" is not one of "outbound", "inbound"'), "Choose one of outbound, inbound.");
  assert.equal(said("allowedPrefixes.prefixes[0]", "invalid", "x"), "Write + and 1 to 15 digits in each line, such as +4930.");
  assert.equal(said("name", "too_long", "has more than 200 characters"), "At most 200 characters.");
  assert.equal(said("x", "required", "is required"), "This is needed.");
  assert.equal(said("x", "brand_new", "cannot be `y`"), "Cannot be y.");
});
