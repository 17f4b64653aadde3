import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./browser.mjs";

const { applyPatch, at, differences, mergePatch, put } = await load("lib/merge.js");

test("a patch turns what was into what is", () => {
  const before = { a: 1, b: { c: 2, d: [1, 2] }, gone: "x" }, after = { a: 1, b: { c: 3, d: [2] }, new: { e: null } };
  const patch = mergePatch(before, after);
  assert.deepEqual({ ...patch }, { b: Object.assign(Object.create(null), { c: 3, d: [2] }), new: { e: null }, gone: null });
  assert.deepEqual(applyPatch(before, patch), { a: 1, b: { c: 3, d: [2] }, new: {} });
});

test("nothing changed makes an empty patch, and lists are replaced as a whole", () => {
  assert.deepEqual(Object.keys(mergePatch({ a: { b: [1] } }, { a: { b: [1] } })), []);
  assert.deepEqual(mergePatch({ a: [1, 2] }, { a: [1] }).a, [1]);
});

test("names that objects inherit are data", () => {
  const patch = mergePatch({}, JSON.parse('{"__proto__": {"x": 1}, "constructor": 2}'));
  assert.deepEqual(Object.keys(patch), ["__proto__", "constructor"]);
  assert.equal({}.x, undefined);
});

test("a patch leaves its target alone", () => {
  const target = Object.freeze({ a: Object.freeze({ b: 1 }) });
  assert.deepEqual(applyPatch(target, { a: { b: null, c: 2 } }), { a: { c: 2 } });
  assert.deepEqual(applyPatch("text", { a: 1 }), { a: 1 });
  assert.deepEqual(applyPatch({ a: 1 }, [1]), [1]);
});

test("values by path", () => {
  const body = {};
  put(body, "a.b.c", 1);
  assert.deepEqual(body, { a: { b: { c: 1 } } });
  assert.equal(at(body, "a.b.c"), 1);
  assert.equal(at(body, "a.x.c"), undefined);
});

test("differences by path", () => {
  assert.deepEqual(differences({ a: 1, b: { c: [1] } }, { a: 1, b: { c: [2], d: 3 } }),
    [{ path: "b.c", old: [1], new: [2] }, { path: "b.d", old: undefined, new: 3 }]);
});
