// Tests the element with a real service, and with a line that this test plays. Every check prints a line; the first
// failure ends the program.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocketServer } from "ws";
import { open, until } from "./page.mjs";

const { RINGBACK_URL: service, RINGBACK_KEY: key } = process.env;

async function ask(method, path, body) {
  const answer = await fetch(`${service}/public/v1${path}`, {
    method,
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const said = await answer.json();
  assert.ok(answer.ok, JSON.stringify(said));
  return said.data;
}

async function agent(greetingMessage, widget, entities = {}) {
  const made = await ask("POST", "/agents/create", {
    name: "Ivy",
    direction: "inbound",
    conversationConfig: {
      agent: {
        prompt: { prompt: "You answer for Greenfield Dental.", builtInTools: { endCall: { enabled: true } } },
        greetingMessage,
      },
    },
    platformSettings: { widget, dataCollection: { entities } },
  });
  return made.agentId;
}

/** A page whose server asks the service for the call, with the key. */
async function calling(agentId) {
  const calls = [];
  const page = await open(service, agentId, async () => {
    const made = await ask("POST", "/calls/inbound", { agentId });
    calls.push(made.conversationId);
    return made.mediaUrl;
  });
  return { ...page, calls };
}

async function over(id) {
  for (let n = 0; n < 100; n++) {
    const conversation = await ask("GET", `/conversations/${id}`);
    if (conversation.status !== "in_progress") return conversation;
    await sleep(100);
  }
  throw new Error(`the call ${id} does not end`);
}

/** What somebody said, line by line. */
const said = (conversation, who) =>
  (conversation.transcript ?? "")
    .split("\n")
    .filter((line) => line.startsWith(`${who}: `))
    .map((line) => line.slice(who.length + 2));

/** A line that does what the test says: what came on it, and a way to send. */
async function line() {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  const came = { texts: [], frames: [], sockets: [], closed: [] };
  server.on("connection", (socket) => {
    came.sockets.push(socket);
    socket.on("close", (code) => came.closed.push(code));
    socket.on("message", (data, binary) => {
      if (binary) came.frames.push(data);
      else came.texts.push(JSON.parse(data));
    });
  });
  const url = () => `ws://127.0.0.1:${server.address().port}/`;
  const send = (message) => came.sockets.at(-1).send(Buffer.isBuffer(message) ? message : JSON.stringify(message));
  const close = () => {
    for (const socket of came.sockets) socket.terminate();
    server.close();
  };
  return { came, url, send, close };
}

/** So many milliseconds of a tone at 16 kHz. */
function tone(ms, hz = 440) {
  const samples = Int16Array.from({ length: ms * 16 }, (_, n) => 8000 * Math.sin((2 * Math.PI * hz * n) / 16000));
  return Buffer.from(samples.buffer);
}

const marks = (came) => came.texts.filter((text) => text.event === "mark").map((text) => text.name);

const checks = {
  async "a call is greeted, silent, and leaves a transcript"() {
    const id = await agent("Thank you for calling Greenfield Dental.", { variant: "compact", startCallText: "Ring us" });
    const page = await calling(id);
    assert.equal(page.part("start").textContent, "Ring us");
    page.part("start").click();
    await until("voice", () => page.state() === "speaking");
    await until("end of the greeting", () => page.state() === "listening");
    assert.ok(page.sound.loud() > 10_000, "the greeting is heard");
    assert.deepEqual(page.asked, [{ agentId: id }]);
    await sleep(300);
    page.part("end").click();
    assert.equal(page.state(), "ended");
    assert.deepEqual([page.sound.stopped, page.sound.closed], [1, 1]);
    const conversation = await over(page.calls[0]);
    assert.equal(conversation.status, "completed");
    // The transcript is complete only if the marks came back.
    assert.match(said(conversation, "Agent").join(" "), /Thank you for calling Greenfield Dental\./);
    page.close();
  },

  async "words are understood, and who talks over the agent has it silenced"() {
    // Uses a voice that the service understands: that of another agent.
    const voice = await calling(await agent("Please stop talking now, I have a question for you.", { variant: "tiny" }));
    voice.part("start").click();
    await until("voice", () => voice.state() === "speaking");
    await until("its end", () => voice.state() === "listening");
    const words = voice.sound.heard.slice();
    voice.close();
    const long = "Thank you for calling Greenfield Dental, where every patient is welcome at every hour of the day and night.";
    const page = await calling(await agent(long, { variant: "tiny" }));
    page.part("start").click();
    await until("voice", () => page.state() === "speaking");
    await sleep(1000);
    page.sound.say(words);
    await until("silence", () => page.state() === "listening");
    await sleep(3500);
    page.part("end").click();
    const conversation = await over(page.calls[0]);
    const [heard] = said(conversation, "Agent");
    assert.ok(long.startsWith(heard.replace(/[ …—-]+$/, "")) && heard.length < long.length, heard);
    assert.match(said(conversation, "User").join(" "), /question|talking|please/i);
    page.close();
  },

  async "marks come back when they are due, and those that were cleared never"() {
    const { came, url, send, close } = await line();
    const page = await open(service, await agent("Hello.", { variant: "full" }), async () => url());
    page.part("start").click();
    await until("start", () => came.texts.length > 0);
    assert.deepEqual(came.texts[0], { event: "start", format: "pcm_16000", buffers: true });
    assert.equal(came.frames.length, 0, "nothing is said before the call has begun");
    send({ event: "ready", format: "pcm_16000" });
    const begun = Date.now();
    send(tone(400));
    send({ event: "mark", name: "first" });
    send(tone(5000));
    send({ event: "mark", name: "cleared" });
    await until("first mark", () => marks(came).length === 1);
    assert.ok(Date.now() - begun >= 380, "not before it was played");
    send({ event: "clear" });
    await until("silence", () => page.state() === "listening", 1);
    const loud = page.sound.loud();
    send(tone(200));
    send({ event: "mark", name: "last" });
    await until("last mark", () => marks(came).length === 2, 2);
    assert.deepEqual(marks(came), ["first", "last"]);
    // 200 ms at 48 kHz; a sine is near zero for a part of it.
    const more = page.sound.loud() - loud;
    assert.ok(more > 8500 && more < 9700, `${more} samples`);
    // 20 ms in each message, in real time.
    assert.ok(came.frames.every((frame) => frame.length === 640));
    const spoken = came.frames.length * 20;
    assert.ok(Math.abs(spoken - (Date.now() - begun)) < 250, `${spoken} ms in ${Date.now() - begun}`);
    came.sockets[0].close(1000, "the call is over");
    await until("end", () => page.state() === "ended");
    assert.deepEqual([page.sound.stopped, page.sound.closed, page.warnings], [1, 1, []]);
    page.close();
    close();
  },

  async "what is said arrives as it was said, and muted nothing does"() {
    const { came, url, send, close } = await line();
    const page = await open(service, await agent("Hello.", { variant: "full" }), async () => url());
    page.part("start").click();
    await until("start", () => came.texts.length > 0);
    send({ event: "ready" });
    const sine = (n) => 0.5 * Math.sin((2 * Math.PI * 1000 * n) / 48000);
    await until("frames", () => came.frames.length > 5);
    page.sound.say(Array.from({ length: 48000 }, (_, n) => sine(n)));
    await until("the tone", () => page.sound.hasSpoken());
    await sleep(100);
    const all = Buffer.concat(came.frames);
    const samples = new Int16Array(all.buffer, all.byteOffset, all.length / 2);
    const first = samples.findIndex((sample) => Math.abs(sample) > 1000);
    const middle = samples.slice(first + 2000, first + 12_000);
    // A tone of 1 kHz has sixteen samples a period at 16 kHz: each sample equals the one sixteen before, and the peak
    // is half of full scale.
    const worst = Math.max(...middle.slice(16).map((sample, n) => Math.abs(sample - middle[n])));
    assert.ok(worst < 20, `off by ${worst}`);
    assert.ok(Math.abs(Math.max(...middle) - 16384) < 200, `${Math.max(...middle)}`);
    page.part("mute").click();
    assert.equal(page.part("mute").getAttribute("aria-pressed"), "true");
    await sleep(100);
    const from = came.frames.length;
    page.sound.say(Array.from({ length: 24000 }, (_, n) => sine(n)));
    await until("silence", () => came.frames.length > from + 20);
    assert.ok(came.frames.slice(from).every((frame) => frame.every((byte) => byte === 0)));
    page.part("end").click();
    // jsdom may close before it has sent the `stop` that browsers send first; either ends the call.
    await until("goodbye", () => came.closed.length === 1);
    assert.deepEqual(came.closed, [1000]);
    page.close();
    close();
  },

  async "a look cannot harm the page"() {
    const evil = "</span><img src=x onerror=alert(1)>";
    const id = await agent("Hello.", {
      variant: "evil onclick=x", placement: ["top"], bgColor: "red;background:url(https://evil.example/x)",
      textColor: "url(javascript:alert(1))", btnColor: "#12ab9F", btnTextColor: "rgb(1, 2, 3)", borderRadius: "1px;x",
      btnRadius: 1e9, avatar: { url: "javascript:alert(1)", color1: "expression(x)", color2: "teal" },
      startCallText: evil, actionText: { toString: "x" }, endCallText: 7, ["__proto__"]: { variant: "tiny" }, unknown: [1],
    });
    const page = await open(service, id, async () => "ws://127.0.0.1:1/");
    const box = page.part("box");
    assert.equal(box.className, "box full bottom-right");
    assert.equal(page.part("start").textContent, evil);
    assert.equal(page.element.shadowRoot.querySelector("img, script, iframe"), null);
    const style = (part, name) => part.style.getPropertyValue(name);
    assert.deepEqual(
      ["--bg", "--text", "--btn", "--btn-text", "--radius", "--btn-radius"].map((name) => style(box, name)),
      ["", "", "#12ab9F", "rgb(1, 2, 3)", "", ""],
    );
    assert.deepEqual(["--orb-1", "--orb-2"].map((name) => style(page.part("avatar"), name)), ["", "teal"]);
    assert.deepEqual([page.part("action").textContent, page.part("end").textContent], ["Talk to us", "Hang up"]);
    page.close();
    const seen = await agent("Hello.", { avatar: { url: "https://example.com/a.png" }, variant: "tiny", placement: "top-left" });
    const other = await open(service, seen, async () => "");
    assert.deepEqual([other.part("avatar").src, other.part("avatar").alt], ["https://example.com/a.png", ""]);
    assert.equal(other.part("box").className, "box tiny top-left");
    other.close();
  },

  async "terms are accepted first, and once"() {
    const { came, url, close } = await line();
    const id = await agent("Hello.", { termsText: "Calls are recorded.", termsKey: "v1", micMutingEnabled: false });
    const page = await open(service, id, async () => url());
    page.part("start").click();
    assert.deepEqual([page.state(), page.part("terms").textContent], ["terms", "Calls are recorded."]);
    await sleep(100);
    assert.equal(page.asked.length, 0);
    page.part("accept").click();
    await until("start", () => came.texts.length > 0);
    assert.equal(page.part("mute").hidden, true);
    page.part("end").click();
    assert.equal(page.window.localStorage.getItem("ringback-terms:v1"), "Calls are recorded.");
    page.part("start").click();
    assert.equal(page.state(), "connecting");
    page.close();
    close();
  },

  async "what goes wrong is said, and leaves no microphone open"() {
    const id = await agent("Hello.", { failedText: "Sorry.", microphoneText: "No microphone." });
    const page = await open(service, id, async () => "https://example.com/not-a-socket");
    page.sound.denied = true;
    page.part("start").click();
    await until("refusal", () => page.state() === "failed");
    assert.deepEqual([page.part("status").textContent, page.asked.length], ["No microphone.", 0]);
    page.sound.denied = false;
    page.part("start").click();
    await until("failure", () => page.state() === "failed");
    assert.deepEqual([page.part("status").textContent, page.sound.stopped], ["Sorry.", 1]);
    page.close();
    const nobody = await open(service, "00000000-0000-7000-8000-000000000000", async () => "");
    assert.deepEqual([nobody.state(), nobody.element.shadowRoot], ["unavailable", null]);
    nobody.close();
  },
};

for (const [name, check] of Object.entries(checks)) {
  await check();
  console.log(`ok: ${name}`);
}
process.exit(0);
