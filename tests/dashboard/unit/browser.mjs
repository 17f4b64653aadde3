// What the dashboard's modules expect of a browser when they are loaded.
const kept = new Map();
Object.assign(globalThis, {
  localStorage: { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, String(value)) },
  addEventListener() {}, location: { pathname: "/", search: "", origin: "http://127.0.0.1" },
});
Object.defineProperty(globalThis, "navigator", { value: { language: "en-GB" }, configurable: true });

/** A module of the dashboard, in English (British) and UTC or the zone that was chosen. */
export const load = (path) => import(new URL(`../../../dashboard/${path}`, import.meta.url));
