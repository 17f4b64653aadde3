// The sound of a call in this browser: a WebSocket of the API, with the worklets of the call button (docs/widget.md).

import { store, stored } from './i18n.js';

/**
 * Frames have 20 ms: those that are kept before they are played, and the most that may wait. More would be too far behind the call.
 * A listener gets five at a time.
 */
const AHEAD = 4, AHEAD_OF_LISTENER = 8, MOST = 15, MOST_UNSENT = 16_000;
/** Close code after a packet that cannot be decoded. */
const UNDECODED = 4000;
/** Opus is decoded at this many times the rate that is played, and has nothing above the latter. */
const OPUS_RATE = 48_000, TIMES = 3;

/** The format to hear a call in. Browsers decode Opus at secure addresses only. */
export const heardFormat = () => ('AudioDecoder' in globalThis ? 'opus' : 'pcm_16000');

/** A line that could not be opened, or was closed with this code before it was ready. */
export class LineError extends Error {
  /** @param {number} code @param {string} reason */
  constructor(code, reason) {
    super(reason);
    this.code = code;
  }
}

/**
 * @typedef {object} Wanted
 * @property {() => Promise<string>} url Asked for once the sound is ready, as its ticket is soon too old.
 * @property {Record<string, any>} start The first message.
 * @property {boolean} [isApart] The audio has two channels.
 * @property {boolean} [withMicrophone]
 * @property {Record<string, any>} [farewell] Sent when this side closes.
 * @property {(code: number, reason: string) => void} [onEnd] The other side closed.
 */
/** @typedef {Awaited<ReturnType<typeof openLine>>} Line */

/**
 * Opens a line that lasts until `signal` is aborted or the other side closes.
 * @param {Wanted} wanted @param {AbortSignal} signal
 */
export async function openLine({ url, start, isApart, withMicrophone, farewell, onEnd }, signal) {
  const context = new AudioContext(), gain = context.createGain(), sound = context.createAnalyser(), voice = context.createAnalyser();
  const microphone = withMicrophone ? microphoneOf(context, voice) : undefined;
  /** @type {WebSocket | undefined} */
  let socket;
  let last = farewell;
  const close = () => {
    microphone?.stop();
    if (context.state !== 'closed') context.close();
    if (socket?.readyState === WebSocket.OPEN && last) socket.send(JSON.stringify(last));
    socket?.close(1000);
  };
  signal.addEventListener('abort', close, { once: true });
  try {
    await microphone?.choose(stored('microphone') ?? '');
    await context.audioWorklet.addModule('/widget-audio.js');
    signal.throwIfAborted();
    await context.resume();
    sound.connect(gain).connect(context.destination);
    const address = await url();
    signal.throwIfAborted();
    socket = new WebSocket(ownAddress(address));
    const channels = isApart ? 2 : 1;
    const ahead = start.channels ? AHEAD_OF_LISTENER : AHEAD;
    const player = play(context, sound, channels, start.buffers ? 0 : ahead, (mark) => send({ event: 'mark', name: mark }));
    if (start.format === 'opus') player.take = decoded(channels, player.take, signal, (why) => socket?.close(UNDECODED, why.slice(0, 100)));
    await connect(socket, start, player);
  } catch (error) {
    close();
    throw error;
  }
  const open = socket, send = (/** @type {any} */ message) => { if (open.readyState === WebSocket.OPEN) open.send(JSON.stringify(message)); };
  open.onclose = ({ code, reason }) => { if (!signal.aborted) { close(); onEnd?.(code, reason); } };
  if (microphone) {
    const recorder = new AudioWorkletNode(context, 'ringback-microphone', { numberOfOutputs: 0 });
    voice.connect(recorder);
    // On a slow network, audio is dropped instead of delayed.
    recorder.port.onmessage = ({ data }) => {
      if (open.readyState === WebSocket.OPEN && open.bufferedAmount < MOST_UNSENT) open.send(data);
    };
  }
  return {
    /** @param {number} volume 0 to 1 */
    setVolume: (volume) => { gain.gain.value = volume; },
    /** Decibels of what is heard. */
    sound: () => decibels(sound),
    /** Decibels of the microphone, if there is one. */
    voice: microphone && (() => decibels(voice)),
    microphone,
    /** Closes with another farewell. @param {any} message */
    leave: (message) => { last = message; },
  };
}

/**
 * A microphone that can be muted and replaced by another one.
 * @param {AudioContext} context @param {AudioNode} output
 */
function microphoneOf(context, output) {
  /** @type {{ stream: MediaStream, source: AudioNode } | undefined} */
  let present;
  let isMuted = false, isOver = false;
  const tracks = () => present?.stream.getAudioTracks() ?? [];
  function stop() {
    isOver = true;
    for (const track of tracks()) track.stop();
  }
  return {
    stop,
    /** The one in use. */
    device: () => tracks()[0]?.getSettings().deviceId ?? '',
    /** @param {boolean} muted */
    mute(muted) {
      isMuted = muted;
      for (const track of tracks()) track.enabled = !muted;
    },
    /** @param {string} deviceId Kept for the next call; empty for the browser's choice. */
    async choose(deviceId) {
      const audio = { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true,
        ...(deviceId && { deviceId: { ideal: deviceId } }) };
      const stream = await navigator.mediaDevices.getUserMedia({ audio }), old = isOver ? stream.getAudioTracks() : tracks();
      for (const track of old) track.stop();
      if (isOver) return;
      present?.source.disconnect();
      present = { stream, source: context.createMediaStreamSource(stream) };
      present.source.connect(output);
      for (const track of tracks()) track.enabled = !isMuted;
      if (deviceId) store('microphone', deviceId);
    },
  };
}

/**
 * Takes packets of Opus and passes frames on.
 * @param {number} channels @param {(frame: ArrayBuffer) => void} take @param {AbortSignal} signal @param {(reason: string) => void} onError
 */
function decoded(channels, take, signal, onError) {
  const decoder = new AudioDecoder({
    error: (error) => onError(error.message),
    output(audio) {
      const side = new Float32Array(audio.numberOfFrames), frame = new Int16Array(Math.floor(side.length / TIMES) * channels);
      for (let channel = 0; channel < channels; channel++) {
        audio.copyTo(side, { planeIndex: channel, format: 'f32-planar' });
        for (let at = channel, n = 0; at < frame.length; at += channels, n += TIMES) frame[at] = 32_767 * Math.max(-1, Math.min(1, side[n]));
      }
      audio.close();
      take(frame.buffer);
    },
  });
  decoder.configure({ codec: 'opus', sampleRate: OPUS_RATE, numberOfChannels: channels });
  signal.addEventListener('abort', () => decoder.state !== 'closed' && decoder.close(), { once: true });
  let packets = 0;
  return (/** @type {ArrayBuffer} */ data) => {
    if (decoder.state === 'configured') decoder.decode(new EncodedAudioChunk({ type: 'key', timestamp: 20_000 * packets++, data }));
  };
}

/** The policy allows this page's own host only, which may be another than the service's public one. @param {string} url */
function ownAddress(url) {
  const { pathname, search } = new URL(url);
  return `${location.origin.replace(/^http/, 'ws')}${pathname}${search}`;
}

/** Resolves at `ready`. @param {WebSocket} socket @param {any} start @param {ReturnType<typeof play>} player @returns {Promise<void>} */
function connect(socket, start, player) {
  socket.binaryType = 'arraybuffer';
  return new Promise((resolve, reject) => {
    socket.onopen = () => socket.send(JSON.stringify(start));
    socket.onclose = ({ code, reason }) => reject(new LineError(code, reason));
    socket.onmessage = ({ data }) => {
      if (typeof data !== 'string') return player.take(data);
      const message = JSON.parse(data);
      if (message.event === 'ready') resolve();
      else if (message.event === 'mark') player.mark(message.name);
      else if (message.event === 'clear') player.clear();
    };
  });
}

/**
 * Plays audio of 16,000 samples a second. `ahead`: so many frames are kept before they are played, so that those that come late are
 * not missed, and what is too far behind is dropped.
 * @param {AudioContext} context @param {AudioNode} output @param {number} channels @param {number} ahead @param {(mark: string) => void} onMark
 */
function play(context, output, channels, ahead, onMark) {
  const merger = context.createChannelMerger(channels);
  merger.connect(output);
  const speakers = Array.from({ length: channels }, (_, at) => {
    const speaker = new AudioWorkletNode(context, 'ringback-speaker', { numberOfInputs: 0, outputChannelCount: [1] });
    speaker.connect(merger, 0, at);
    return speaker.port;
  });
  /** @type {ArrayBuffer[] | null} */
  let kept = [];
  let waiting = 0;
  const toAll = (/** @type {any} */ message) => { for (const port of speakers) port.postMessage(message); };
  const clear = () => { toAll('clear'); kept = []; waiting = 0; };
  speakers[0].onmessage = ({ data }) => {
    if (data.playing === false) kept ??= [];
    else if (typeof data.mark === 'string') onMark(data.mark);
    else if (data.mark !== undefined) waiting = Math.max(0, waiting - 1);
  };
  const pass = (/** @type {ArrayBuffer} */ frame) => {
    const samples = new Int16Array(frame);
    for (const [at, port] of speakers.entries()) port.postMessage(channels === 1 ? frame : samples.filter((_, nth) => nth % channels === at).buffer);
    if (!ahead) return;
    waiting++;
    toAll({ mark: waiting });
  };
  return {
    clear,
    mark: (/** @type {string} */ name) => toAll({ mark: name }),
    take(/** @type {ArrayBuffer} */ frame) {
      if (!ahead) return pass(frame);
      if (waiting >= MOST) clear();
      if (!kept) return pass(frame);
      kept.push(frame);
      if (kept.length < ahead) return;
      const frames = kept;
      kept = null;
      for (const each of frames) pass(each);
    },
  };
}

const samples = new Float32Array(2048);
/** @param {AnalyserNode} analyser */
function decibels(analyser) {
  analyser.getFloatTimeDomainData(samples);
  return 10 * Math.log10(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length + 1e-9);
}
