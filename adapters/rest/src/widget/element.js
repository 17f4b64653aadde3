// <ringback-call agent="ID" start="/your/server/route">: a button on a page that calls an agent. Its
// configuration comes from the service, which takes it from the agent. Nothing in it is trusted here.
(() => {
  "use strict";

  const script = document.currentScript;
  const home = script?.src ? new URL(".", script.src).href : null;
  const TEXT = 500;
  const BUFFERED = 64 * 1024;
  const VARIANTS = ["tiny", "compact", "full"];
  const PLACEMENTS = ["top-left", "top", "top-right", "bottom-left", "bottom", "bottom-right"];
  const COLOUR = /^(#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})|[a-z]{3,20}|(rgb|hsl)a?\([0-9., %/-]{3,40}\))$/i;
  const COLOURS = {
    bgColor: "--bg", textColor: "--text", btnColor: "--btn", btnTextColor: "--btn-text", borderColor: "--border",
    focusColor: "--focus",
  };
  const RADII = { borderRadius: "--radius", btnRadius: "--btn-radius" };
  const TEXTS = {
    actionText: "Talk to us", startCallText: "Call", endCallText: "Hang up", muteText: "Mute", unmuteText: "Unmute",
    connectingText: "Connecting …", listeningText: "Listening", speakingText: "Speaking", endedText: "The call has ended.",
    failedText: "The call could not be made.", microphoneText: "The microphone may not be used.", termsText: "",
    acceptText: "Accept",
  };
  const STYLE = `
    :host { --bg: #fff; --text: #000; --btn: #000; --btn-text: #fff; --border: #ddd; --focus: #06c; --radius: 16px;
      --btn-radius: 20px; --orb-1: #2792dc; --orb-2: #9ce6e6; }
    .box { position: fixed; z-index: 2147483000; display: flex; gap: 8px; align-items: center; padding: 8px; max-width: 320px;
      box-sizing: border-box; font: 14px/1.4 system-ui, sans-serif; background: var(--bg); color: var(--text);
      border: 1px solid var(--border); border-radius: var(--radius); }
    .full { flex-direction: column; padding: 16px; }
    .top, .top-left, .top-right { top: 16px; } .bottom, .bottom-left, .bottom-right { bottom: 16px; }
    .top-left, .bottom-left { left: 16px; } .top-right, .bottom-right { right: 16px; }
    .top, .bottom { left: 50%; transform: translateX(-50%); }
    .avatar { width: 36px; height: 36px; border-radius: 50%; object-fit: cover; flex: none;
      background: radial-gradient(circle at 30% 30%, var(--orb-1), var(--orb-2)); }
    .full .avatar { width: 72px; height: 72px; } .tiny .action { display: none; }
    button { font: inherit; color: var(--btn-text); background: var(--btn); border: 0; border-radius: var(--btn-radius);
      padding: 8px 14px; cursor: pointer; } button:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
    .terms { max-height: 40vh; overflow: auto; white-space: pre-line; } [hidden] { display: none; }`;

  const own = (object, key) => (object && Object.hasOwn(object, key) ? object[key] : undefined);
  const text = (value, usual, most) => (typeof value === "string" && value.trim() !== "" ? value.slice(0, most) : usual);
  const colour = (value) => (typeof value === "string" && COLOUR.test(value) ? value : null);
  const choice = (value, of, usual) => (of.includes(value) ? value : usual);

  // Returns the URL of a picture, if it can only show a picture.
  const picture = (value) => {
    try {
      const url = new URL(value);
      return url.protocol === "https:" ? url.href : null;
    } catch {
      return null;
    }
  };

  class RingbackCall extends HTMLElement {
    #parts = null;
    #look = {};
    #call = null;
    #muted = false;

    async connectedCallback() {
      if (this.#parts) return;
      this.#parts = {};
      this.#home = this.getAttribute("service") || home;
      try {
        if (this.#home && !this.#home.endsWith("/")) this.#home += "/";
        const address = new URL(`widget/${encodeURIComponent(this.getAttribute("agent") || "")}`, this.#home);
        const answer = await fetch(address.href, { credentials: "omit", referrerPolicy: "no-referrer" });
        if (!answer.ok) throw new Error(`the service answers ${answer.status}`);
        const look = await answer.json();
        this.#look = look && typeof look === "object" ? look : {};
      } catch (error) {
        // A page without the button is better than one whose button does not work.
        console.warn("ringback-call:", error.message);
        this.#tell("unavailable");
        return;
      }
      this.#build();
      addEventListener("pagehide", () => this.hangUp());
    }

    disconnectedCallback() {
      this.hangUp();
    }

    #home = null;

    #said(name) {
      return text(own(this.#look, name), TEXTS[name], name === "termsText" ? 10 * TEXT : TEXT);
    }

    #tell(state) {
      this.setAttribute("state", state);
      this.dispatchEvent(new CustomEvent("ringback-state", { detail: { state } }));
    }

    #build() {
      const look = this.#look;
      const root = this.attachShadow({ mode: "open" });
      // A stylesheet created by script is not subject to the page's policy, unlike a <style> element.
      if ("adoptedStyleSheets" in root) {
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(STYLE);
        root.adoptedStyleSheets = [sheet];
      } else {
        const style = document.createElement("style");
        style.textContent = STYLE;
        root.append(style);
      }
      const make = (tag, name, label, click) => {
        const made = document.createElement(tag);
        made.className = name;
        if (label !== undefined) made.textContent = label;
        if (click) {
          made.type = "button";
          made.addEventListener("click", click);
        }
        return made;
      };
      const variant = choice(own(look, "variant"), VARIANTS, "full");
      const box = make("div", `box ${variant} ${choice(own(look, "placement"), PLACEMENTS, "bottom-right")}`);
      const parts = {
        avatar: this.#avatar(make),
        action: make("span", "action", this.#said("actionText")),
        status: make("span", "status", ""),
        terms: make("div", "terms", this.#said("termsText")),
        accept: make("button", "accept", this.#said("acceptText"), () => this.#accepted()),
        start: make("button", "start", this.#said("startCallText"), () => this.call()),
        mute: make("button", "mute", this.#said("muteText"), () => this.mute(!this.#muted)),
        end: make("button", "end", this.#said("endCallText"), () => this.hangUp()),
      };
      parts.status.setAttribute("role", "status");
      for (const [name, variable] of Object.entries(COLOURS)) {
        const value = colour(own(look, name));
        if (value) box.style.setProperty(variable, value);
      }
      for (const [name, variable] of Object.entries(RADII)) {
        const value = own(look, name);
        if (Number.isFinite(value) && value >= 0 && value <= 100) box.style.setProperty(variable, `${value}px`);
      }
      box.append(...Object.values(parts));
      root.append(box);
      this.#parts = parts;
      this.#show("idle", "");
    }

    #avatar(make) {
      const avatar = own(this.#look, "avatar");
      const url = picture(own(avatar, "url"));
      if (url) {
        const image = make("img", "avatar");
        image.alt = "";
        image.referrerPolicy = "no-referrer";
        image.src = url;
        return image;
      }
      const orb = make("span", "avatar");
      for (const [name, variable] of [["color1", "--orb-1"], ["color2", "--orb-2"]]) {
        const value = colour(own(avatar, name));
        if (value) orb.style.setProperty(variable, value);
      }
      return orb;
    }

    // Shows the buttons of this state and the text.
    #show(state, words) {
      const { action, status, terms, accept, start, mute, end } = this.#parts;
      const calling = ["connecting", "listening", "speaking"].includes(state);
      status.textContent = words;
      status.hidden = words === "";
      action.hidden = calling;
      terms.hidden = accept.hidden = state !== "terms";
      start.hidden = calling || state === "terms";
      end.hidden = !calling;
      mute.hidden = !calling || own(this.#look, "micMutingEnabled") === false;
      mute.textContent = this.#said(this.#muted ? "unmuteText" : "muteText");
      mute.setAttribute("aria-pressed", String(this.#muted));
      this.#tell(state);
    }

    // Storage key for accepted terms: under our own prefix, whatever the configuration contains.
    #termsKey() {
      const key = own(this.#look, "termsKey");
      return typeof key === "string" && key !== "" ? `ringback-terms:${key.slice(0, 100)}` : null;
    }

    #mustAccept() {
      if (this.#said("termsText") === "" || this.#parts.accepted) return false;
      try {
        const key = this.#termsKey();
        return !key || localStorage.getItem(key) !== this.#said("termsText");
      } catch {
        return true;
      }
    }

    #accepted() {
      this.#parts.accepted = true;
      try {
        const key = this.#termsKey();
        if (key) localStorage.setItem(key, this.#said("termsText"));
      } catch {
        // The user is asked again next time.
      }
      this.call();
    }

    async call() {
      if (this.#call || !this.#parts.start) return;
      if (this.#mustAccept()) {
        this.#show("terms", "");
        return;
      }
      const call = (this.#call = {});
      this.#muted = false;
      this.#show("connecting", this.#said("connectingText"));
      try {
        await this.#openAudio(call);
        if (this.#call === call) await this.#openLine(call);
      } catch (error) {
        this.#failed(call, call.tracks ? "failedText" : "microphoneText", error);
      }
    }

    // The microphone first, so that no line is held while the user is asked for permission.
    async #openAudio(call) {
      const wanted = { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true };
      call.context = new AudioContext();
      call.tracks = await navigator.mediaDevices.getUserMedia({ audio: wanted });
      // The user hung up while the browser asked.
      if (this.#call !== call) return this.#release(call);
      await call.context.audioWorklet.addModule(new URL("widget-audio.js", this.#home).href);
      if (this.#call !== call) return this.#release(call);
      await call.context.resume();
      call.microphone = new AudioWorkletNode(call.context, "ringback-microphone", { numberOfOutputs: 0 });
      call.speaker = new AudioWorkletNode(call.context, "ringback-speaker", { numberOfInputs: 0 });
      call.context.createMediaStreamSource(call.tracks).connect(call.microphone);
      call.speaker.connect(call.context.destination);
    }

    async #openLine(call) {
      const answer = await fetch(this.getAttribute("start") || "", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ agentId: this.getAttribute("agent") }),
      });
      if (!answer.ok) throw new Error(`the page's server answers ${answer.status}`);
      const said = await answer.json();
      const url = new URL(own(said, "mediaUrl") || own(own(said, "data"), "mediaUrl"));
      if (!["ws:", "wss:"].includes(url.protocol)) throw new Error("`mediaUrl` is not an address of a WebSocket");
      if (this.#call !== call) return;
      const socket = (call.socket = new WebSocket(url.href));
      socket.binaryType = "arraybuffer";
      socket.onopen = () => socket.send(JSON.stringify({ event: "start", format: "pcm_16000", buffers: true }));
      socket.onmessage = ({ data }) => this.#take(call, data);
      socket.onclose = ({ code, reason }) => {
        if (call.ready && (code === 1000 || code === 1005)) this.#finish(call, "ended", "endedText");
        else this.#failed(call, "failedText", new Error(reason || `closed with ${code}`));
      };
      call.microphone.port.onmessage = ({ data }) => {
        // On a slow network, audio is dropped instead of delayed.
        if (call.ready && socket.readyState === 1 && socket.bufferedAmount < BUFFERED) socket.send(data);
      };
      call.speaker.port.onmessage = ({ data }) => {
        if (this.#call !== call) return;
        if (data.mark !== undefined && socket.readyState === 1) {
          socket.send(JSON.stringify({ event: "mark", name: data.mark }));
        }
        if (data.playing !== undefined) this.#talks(data.playing);
      };
    }

    #take(call, data) {
      if (this.#call !== call) return;
      if (typeof data !== "string") {
        call.speaker.port.postMessage(data, [data]);
        return;
      }
      const message = JSON.parse(data);
      if (message.event === "ready") {
        call.ready = true;
        this.#talks(false);
      } else if (message.event === "mark") {
        call.speaker.port.postMessage({ mark: message.name });
      } else if (message.event === "clear") {
        call.speaker.port.postMessage("clear");
      }
    }

    #talks(speaking) {
      this.#show(speaking ? "speaking" : "listening", this.#said(speaking ? "speakingText" : "listeningText"));
    }

    mute(muted) {
      if (!this.#call?.microphone) return;
      this.#muted = muted;
      this.#call.microphone.port.postMessage(muted ? "mute" : "unmute");
      this.#show(this.getAttribute("state"), this.#parts.status.textContent);
    }

    hangUp() {
      const call = this.#call;
      if (!call) return;
      if (call.socket && call.socket.readyState === 1) call.socket.send('{"event":"stop"}');
      this.#finish(call, "ended", "endedText");
    }

    #failed(call, words, error) {
      if (this.#call !== call) return;
      console.warn("ringback-call:", error.message);
      this.#finish(call, "failed", words);
    }

    #finish(call, state, words) {
      if (this.#call !== call) return;
      this.#call = null;
      this.#release(call);
      this.#show(state, this.#said(words));
    }

    // Stops the microphone and closes the socket.
    #release(call) {
      for (const node of [call.microphone, call.speaker]) if (node) node.port.postMessage("end");
      if (call.tracks) for (const track of call.tracks.getTracks()) track.stop();
      if (call.context && call.context.state !== "closed") call.context.close();
      if (call.socket && call.socket.readyState < 2) call.socket.close(1000);
    }
  }

  if (!customElements.get("ringback-call")) customElements.define("ringback-call", RingbackCall);
})();
