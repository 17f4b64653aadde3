import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./browser.mjs";

localStorage.setItem("ringback.zone", "Europe/Berlin");
const { callingWeek, localTime, minutesOf } = await load("lib/phone-zones.js");
const { dayEnd, dayStart } = await load("lib/zoned.js");

const open = (week, day) => week[day].flatMap((isOpen, hour) => (isOpen ? [hour] : [])).join();
const place = (...zones) => ({ zones, numbers: 1 });
const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday"];

test("minutes of a time, and none of what is no time", () => {
  assert.deepEqual(["09:30", "2026-06-01T09:30", "9:05", "24:00"].map(minutesOf), [570, 570, 545, 1440]);
  assert.deepEqual(["25:99", "24:30", "12:60", "noon", "", undefined].map(minutesOf), [null, null, null, null, null, null]);
});

test("the local time of an instant", () => {
  assert.deepEqual(localTime(Date.UTC(2026, 5, 1, 22, 30), "Europe/Berlin"), { minutes: 30, day: 2 });
  assert.deepEqual(localTime(Date.UTC(2026, 5, 1, 22, 30), "America/New_York"), { minutes: 18 * 60 + 30, day: 1 });
});

test("a window is drawn in its own zone and in that of the callee", () => {
  const window = { startTime: "14:00", endTime: "16:00", timezone: "UTC" };
  assert.equal(open(callingWeek([place("UTC")], "UTC", window, undefined), 0), "14,15");
  assert.equal(open(callingWeek([place("Asia/Tokyo")], "Asia/Tokyo", window, undefined), 1), "0,23");
});

test("a window that crosses midnight", () =>
  assert.equal(open(callingWeek([place("UTC")], "UTC", { startTime: "22:00", endTime: "02:00", timezone: "UTC" }, undefined), 3), "0,1,22,23"));

test("a mixed list is called while one of its places may be", () => {
  const hours = { mode: "enforce", from: "08:00", to: "10:00", days: DAYS }, both = [place("UTC"), place("Asia/Tokyo")];
  assert.equal(open(callingWeek(both, "UTC", null, hours), 2), "0,8,9,23");
  assert.equal(open(callingWeek(both, "UTC", null, hours), 6), "23", "Sunday in UTC is Monday in Tokyo");
});

test("numbers that may be in several zones wait for all of them", () => {
  const hours = { mode: "enforce", from: "08:00", to: "21:00", days: DAYS };
  assert.equal(open(callingWeek([place("UTC", "Asia/Tokyo")], "UTC", null, hours), 2), "8,9,10,11");
  assert.equal(callingWeek([place("UTC", "Asia/Tokyo")], "UTC", null, { ...hours, mode: "warn" }).flat().every(Boolean), true);
});

test("days of the reader's zone, also when the clocks change", () => {
  assert.equal(new Date(dayStart("2026-06-01")).toISOString(), "2026-05-31T22:00:00.000Z");
  assert.equal(dayEnd("2026-03-29") - dayStart("2026-03-29"), 23 * 3_600_000);
  assert.equal(dayEnd("2026-10-25") - dayStart("2026-10-25"), 25 * 3_600_000);
  assert.equal(dayStart("soon"), undefined);
});
