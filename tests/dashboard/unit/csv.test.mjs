// Files of CSV, whose cells are written as the service writes them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf, harmless } from "../../../dashboard/lib/csv.js";

test("a cell that begins like a formula is made harmless", () => {
  for (const [cell, expected] of [
    ["=1+1", "'=1+1"], ["+15550100010", "+15550100010"], ["-1,234.50", "-1,234.50"], ["+1+1", "'+1+1"], ["-1-555", "'-1-555"], ["-", "'-"],
    ["+1e9", "'+1e9"], ["@SUM(A1)", "'@SUM(A1)"], ["\t=1", "'\t=1"], ["\r=1", "'\r=1"], ["＝1", "'＝1"], ["'=1", "''=1"], ["'-1", "'-1"],
    ["'tis", "'tis"], ["a=1", "a=1"], ["a;=1;b", "a;'=1;b"], ["a\n+x;'@b\n", "a\n'+x;''@b\n"], ["a;b\n\nc; d", "a;b\n\nc; d"], ["'", "'"], ["", ""],
  ]) assert.equal(harmless(cell), expected);
});

test("a file has a mark, and quotes where it must", () => {
  assert.equal(csvOf([["a", "b c"], ["Köln", "c\"d"], [undefined, "a,b"], [0, -1.5]]), "\ufeffa,b c\nKöln,\"c\"\"d\"\n,\"a,b\"\n0,-1.5\n");
});

test("a line with a semicolon is quoted as a whole", () => {
  assert.equal(csvOf([["a;b", 1], ["a", 1]]), "\ufeff\"a;b\",\"1\"\na,1\n");
});
