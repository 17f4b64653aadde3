// The generated client of the service under test.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { paths } from "./ringback.js";

function setting(name: string): string {
  const value = process.env[name];
  assert(value, `${name} is not set`);
  return value;
}

/** Returns a client with a key. */
export const clientOf = (key: string) =>
  createClient<paths>({ baseUrl: setting("RINGBACK_URL"), headers: { "x-api-key": key } });

export const client = clientOf(setting("RINGBACK_KEY"));

/** Returns the data of a successful response. */
export function made<T>({ data, error }: { data?: { data: T }; error?: unknown }): T {
  assert(data, JSON.stringify(error));
  return data.data;
}
