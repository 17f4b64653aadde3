// Keys of a telephone as pairs of tones (ITU-T Q.23), for a person who has a call.
const LOW = [697, 770, 852, 941], HIGH = [1209, 1336, 1477, 1633], KEYS = '123A456B789C*0#D';
/** Seconds. */
const SOUND = 0.12, STEP = 0.2, WAIT = 0.5;

/** @typedef {{ from: number, to: number, frequencies: [number, number] }} Tone Seconds from the first one. */

/** The tones of keys, where `w` waits for half a second; none if a key is not known. @param {string} keys @returns {Tone[]} */
export function tonesOf(keys) {
  let from = 0;
  const tones = [];
  for (const key of keys.toUpperCase().replace(/\s/g, '')) {
    const nth = KEYS.indexOf(key);
    if (key === 'W') { from += WAIT; continue; }
    if (nth < 0) return [];
    tones.push({ from, to: from + SOUND, frequencies: /** @type {[number, number]} */ ([LOW[nth >> 2], HIGH[nth & 3]]) });
    from += STEP;
  }
  return tones;
}
