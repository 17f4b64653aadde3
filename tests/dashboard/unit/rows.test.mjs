// Order of rows, the rows beside one, and where the chosen columns are kept.

import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsKey, neighbours, orderOf, orderQuery, sorted, sorterOf } from "../../../dashboard/lib/rows.js";

test("columns are kept by what the list is of, not by its title", () => {
  assert.equal(columnsKey("/conversations", "Anrufe"), "ringback.columns./conversations");
  const one = "/campaigns/01a2294f-8530-7145-8bc5-f7128594f229/contacts", other = one.replace("01a2", "01a3");
  assert.equal(columnsKey(one, "Contacts"), "ringback.columns./campaigns/:id/contacts");
  assert.equal(columnsKey(other, "Kontakte"), columnsKey(one, "Contacts"));
  assert.equal(columnsKey("", "Rows"), "ringback.columns.Rows");
});

test("rows are sorted both ways, those without a value last", () => {
  const rows = [{ n: 2 }, {}, { n: 10 }, { n: 1 }];
  assert.deepEqual(sorted(rows, ({ n }) => n, true).map(({ n }) => n), [10, 2, 1, undefined]);
  assert.deepEqual(sorted(rows, ({ n }) => n, false).map(({ n }) => n), [1, 2, 10, undefined]);
  assert.deepEqual(rows.map(({ n }) => n), [2, undefined, 10, 1], "the rows themselves keep their order");
});

test("the calls beside one pass over rows without a call", () => {
  const list = { rows: [{ id: 1 }, {}, { id: 2 }, { id: 3 }], place: { href: ({ id }) => id && `/calls/${id}?turn=4` } };
  assert.deepEqual(neighbours(list, "/calls/2"), { at: 2, before: "/calls/1?turn=4", after: "/calls/3?turn=4", isLast: false });
  assert.deepEqual(neighbours(list, "/calls/3"), { at: 3, before: "/calls/2?turn=4", after: undefined, isLast: true });
  assert.deepEqual(neighbours(list, "/calls/9"), { at: -1, isLast: false });
  assert.deepEqual(neighbours(undefined, "/calls/1"), { at: -1, isLast: false });
});

test("the order is that of the address, if a column has it", () => {
  const columns = [{ key: "name" }, { key: "calls", value: ({ n }) => n }, { key: "time", sort: "start_time" }], usual = { key: "calls", isDown: true };
  assert.deepEqual(columns.map(sorterOf), [undefined, "calls", "start_time"]);
  assert.equal(orderOf({}, columns, usual), usual);
  assert.deepEqual(orderOf({ sort: "start_time" }, columns, usual), { key: "start_time", isDown: true });
  assert.deepEqual(orderOf({ up: "true" }, columns, usual), { key: "calls", isDown: false });
  for (const sort of ["name", "gone"]) assert.equal(orderOf({ sort, up: "true" }, columns, usual), usual);
});

test("the address names an order, and by it alone the order is found again", () => {
  const columns = ["day", "calls"].map((key) => ({ key, value: () => 0 }));
  for (const usual of [{ key: "calls", isDown: true }, { key: "day", isDown: false }]) {
    assert.deepEqual(orderQuery(usual, usual), { sort: undefined, up: undefined });
    for (const key of ["day", "calls"]) {
      for (const isDown of [true, false]) assert.deepEqual(orderOf(orderQuery({ key, isDown }, usual), columns, usual), { key, isDown });
    }
  }
});
