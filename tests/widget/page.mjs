// A jsdom page with the element, loaded from the service as on any page, and the sound of a browser: the element's own
// audio code runs in it, block by block, on a microphone and a loudspeaker that are arrays.

import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import vm from "node:vm";
import { JSDOM, ResourceLoader, VirtualConsole } from "jsdom";

const RATE = 48000;
const QUANTUM = 128;

/** Waits until `holds` says so. */
export async function until(what, holds, seconds = 30) {
  const limit = Date.now() + seconds * 1000;
  while (!holds()) {
    if (Date.now() > limit) throw new Error(`no ${what} within ${seconds} s`);
    await sleep(20);
  }
}

/** A microphone and a loudspeaker at 48 kHz, as a browser has them. */
class Sound {
  constructor() {
    this.words = [];
    this.spoken = 0;
    this.heard = [];
    this.nodes = [];
    this.stopped = 0;
    this.closed = 0;
    this.denied = false;
  }

  install(window) {
    const sound = this;
    window.navigator.mediaDevices = {
      async getUserMedia() {
        if (sound.denied) throw new window.DOMException("Permission denied", "NotAllowedError");
        return { getTracks: () => [{ stop: () => sound.stopped++ }] };
      },
    };
    window.AudioContext = class {
      state = "running";
      destination = {};
      audioWorklet = {
        addModule: async (url) => {
          const text = await (await fetch(url)).text();
          this.kinds = {};
          const Processor = class {
            constructor() {
              this.port = sound.port;
            }
          };
          const registerProcessor = (name, kind) => (this.kinds[name] = kind);
          const inside = { AudioWorkletProcessor: Processor, registerProcessor, sampleRate: RATE };
          vm.runInNewContext(text, { ...inside, ArrayBuffer, Float32Array, Int16Array });
        },
      };
      async resume() {
        sound.begun = Date.now();
        sound.blocks = 0;
        sound.timer = setInterval(() => sound.turn(), 5);
      }
      async close() {
        this.state = "closed";
        sound.closed++;
        clearInterval(sound.timer);
        sound.nodes = [];
      }
      createMediaStreamSource() {
        return { connect() {} };
      }
    };
    window.AudioWorkletNode = class {
      constructor(context, name) {
        // Messages reach the other side in order and later.
        const ends = [{ onmessage: null }, { onmessage: null }];
        const post = (to) => (message) => {
          const data = structuredClone(message);
          setImmediate(() => to.onmessage?.({ data }));
        };
        ends[0].postMessage = post(ends[1]);
        ends[1].postMessage = post(ends[0]);
        sound.port = ends[1];
        this.port = ends[0];
        this.processor = new context.kinds[name]();
        sound.nodes.push({ name, processor: this.processor });
      }
      connect() {}
    };
  }

  /** The blocks that are due by the clock. */
  turn() {
    const due = Math.floor(((Date.now() - this.begun) * RATE) / 1000 / QUANTUM);
    for (; this.blocks < due; this.blocks++) {
      for (const { name, processor } of this.nodes) {
        if (name === "ringback-microphone") {
          const block = new Float32Array(QUANTUM);
          for (let n = 0; n < QUANTUM && !this.hasSpoken(); n++) block[n] = this.words[this.spoken++];
          processor.process([[block]], []);
        } else {
          const block = new Float32Array(QUANTUM);
          processor.process([], [[block]]);
          this.heard.push(...block);
        }
      }
    }
  }

  /** Speaks these samples into the microphone. */
  say(samples) {
    this.words = samples;
    this.spoken = 0;
  }

  hasSpoken() {
    return this.spoken >= this.words.length;
  }

  /** How many samples of what was heard are louder than nothing. */
  loud() {
    return this.heard.filter((sample) => Math.abs(sample) > 0.01).length;
  }
}

/** A page at an address of its own, whose server answers `/call` with `mediaUrl`. */
export async function open(service, agent, mediaUrl) {
  const asked = [];
  const server = createServer(async (request, response) => {
    if (request.method !== "POST" || request.url !== "/call") {
      response.writeHead(404).end();
      return;
    }
    let body = "";
    for await (const piece of request) body += piece;
    asked.push(JSON.parse(body));
    try {
      const answer = JSON.stringify({ mediaUrl: await mediaUrl() });
      response.writeHead(200, { "content-type": "application/json" }).end(answer);
    } catch {
      response.writeHead(502).end();
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const home = `http://127.0.0.1:${server.address().port}/`;
  const sound = new Sound();
  const warnings = [];
  const virtualConsole = new VirtualConsole();
  virtualConsole.on("warn", (...words) => warnings.push(words.join(" ")));
  virtualConsole.on("jsdomError", (error) => warnings.push(`error: ${error.message}`));
  const page = new JSDOM(
    `<!doctype html><title>t</title><script src="${service}/widget.js"></script>
     <ringback-call agent="${agent}" start="/call"></ringback-call>`,
    {
      url: home,
      runScripts: "dangerously",
      resources: new ResourceLoader(),
      virtualConsole,
      pretendToBeVisual: true,
      beforeParse(window) {
        window.fetch = (address, options) => fetch(new URL(address, home), options);
        sound.install(window);
      },
    },
  );
  const element = page.window.document.querySelector("ringback-call");
  await until("look", () => element.getAttribute("state") !== null);
  const part = (name) => element.shadowRoot.querySelector(`.${name}`);
  const close = () => {
    element.remove();
    page.window.close();
    server.close();
    server.closeAllConnections();
  };
  return { window: page.window, element, part, sound, asked, warnings, close, state: () => element.getAttribute("state") };
}
