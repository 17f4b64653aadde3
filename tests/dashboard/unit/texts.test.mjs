// The texts of both languages.

import assert from "node:assert/strict";
import { test } from "node:test";
import de from "../../../dashboard/texts/de.js";
import en from "../../../dashboard/texts/en.js";

const keys = (texts, path = "") => Object.entries(texts).flatMap(([name, text]) =>
  (text && typeof text === "object" ? keys(text, `${path}${name}.`) : [`${path}${name}`])).sort();
const places = (text) => [...new Set(String(text).match(/\{\w+\}/g))].sort();

test("German has the keys of English", () => assert.deepEqual(keys(de), keys(en)));

test("both languages fill in the same values", () => {
  const at = (texts, key) => key.split(".").reduce((part, name) => part[name], texts);
  for (const key of keys(en)) assert.deepEqual(places(at(de, key)), places(at(en, key)), key);
});
