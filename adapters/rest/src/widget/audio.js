// The part of <ringback-call> on the browser's audio thread. It resamples the microphone to 16 kHz in frames
// of 20 ms. It queues received audio, plays it at the loudspeaker's pace, and reports marks as they are
// reached.
"use strict";

const LINE_RATE = 16000;
const FRAME = 320;
const QUANTUM = 128;

// Windowed sinc resampler between any two rates. It keeps the previous samples that it needs between calls.
class Resampler {
  constructor(from, to) {
    this.step = from / to;
    const cutoff = 0.92 * Math.min(1, to / from);
    this.half = Math.ceil(16 / cutoff);
    this.points = 64;
    this.taps = new Float32Array(2 * this.half * this.points + 2);
    for (let i = 0; i < this.taps.length; i++) {
      const x = i / this.points - this.half;
      const angle = Math.PI * x * cutoff;
      const sinc = x === 0 ? 1 : Math.sin(angle) / angle;
      const window = 0.42 + 0.5 * Math.cos((Math.PI * x) / this.half) + 0.08 * Math.cos((2 * Math.PI * x) / this.half);
      this.taps[i] = Math.abs(x) > this.half ? 0 : cutoff * sinc * window;
    }
    this.reset();
  }

  reset() {
    this.past = new Float32Array(2 * this.half);
    this.at = this.half;
  }

  // Returns the samples at the other rate that are complete.
  convert(input) {
    const all = new Float32Array(this.past.length + input.length);
    all.set(this.past);
    all.set(input, this.past.length);
    const output = [];
    for (; this.at + this.half < all.length; this.at += this.step) {
      const first = Math.floor(this.at) - this.half + 1;
      const tap = Math.round((first - this.at + this.half) * this.points);
      let sum = 0;
      for (let n = 0; n < 2 * this.half; n++) sum += all[first + n] * this.taps[tap + n * this.points];
      output.push(sum);
    }
    const keep = Math.max(0, Math.min(Math.floor(this.at) - this.half, all.length));
    this.past = all.slice(keep);
    this.at -= keep;
    return output;
  }
}

class Microphone extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resampler = new Resampler(sampleRate, LINE_RATE);
    this.frame = new Int16Array(FRAME);
    this.filled = 0;
    this.muted = false;
    this.ended = false;
    this.port.onmessage = ({ data }) => {
      if (data === "end") this.ended = true;
      else this.muted = data === "mute";
    };
  }

  process([input]) {
    const heard = input?.[0];
    // When muted, it continues with silence to keep the line's pace.
    const samples = heard && !this.muted ? heard : new Float32Array(QUANTUM);
    for (const sample of this.resampler.convert(samples)) {
      this.frame[this.filled++] = Math.max(-32768, Math.min(32767, Math.round(sample * 32767)));
      if (this.filled === FRAME) {
        this.port.postMessage(this.frame.buffer, [this.frame.buffer]);
        this.frame = new Int16Array(FRAME);
        this.filled = 0;
      }
    }
    return !this.ended;
  }
}

class Speaker extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resampler = new Resampler(LINE_RATE, sampleRate);
    this.queue = [];
    this.offset = 0;
    this.playing = false;
    this.ended = false;
    this.port.onmessage = ({ data }) => this.take(data);
  }

  take(data) {
    if (data === "end") {
      this.ended = true;
    } else if (data === "clear") {
      this.queue = [];
      this.offset = 0;
      this.resampler.reset();
    } else if (data instanceof ArrayBuffer) {
      const samples = Float32Array.from(new Int16Array(data), (sample) => sample / 32768);
      this.queue.push({ samples: this.resampler.convert(samples) });
    } else {
      this.queue.push(data);
    }
  }

  process(_, [output]) {
    const into = output[0];
    let filled = 0;
    while (this.queue.length > 0) {
      const next = this.queue[0];
      if (next.mark !== undefined) {
        this.port.postMessage(next);
      } else {
        while (filled < into.length && this.offset < next.samples.length) into[filled++] = next.samples[this.offset++];
        if (this.offset < next.samples.length) break;
        this.offset = 0;
      }
      this.queue.shift();
    }
    for (let n = 1; n < output.length; n++) output[n].set(into);
    if (this.playing !== filled > 0) {
      this.playing = filled > 0;
      this.port.postMessage({ playing: this.playing });
    }
    return !this.ended;
  }
}

registerProcessor("ringback-microphone", Microphone);
registerProcessor("ringback-speaker", Speaker);
