// What happens in a call while it lasts, word by word.
import { stream } from './events.js';
import { useEffect, useRef, useState } from './ui.js';

/** Words of an older speech that are still shown. */
const MOST_WORDS = 400;

/**
 * @typedef {object} Feed
 * @property {string} [state] What the call does, as in docs/live.md.
 * @property {Record<string, { said: string, now: string }>} words The present words of each speaker, until their turn is over.
 * @property {string | null} [by] Who has the call instead of the agent; undefined until it changes.
 * @property {string} [node] Where the call is in the graph of its agent.
 * @property {any} [refusal] Why there is nothing to follow, until `retry`.
 */

/** @param {Feed} feed @param {string} type @param {any} data @returns {Feed} */
function next(feed, type, data) {
  const without = (/** @type {string} */ speaker) => Object.fromEntries(Object.entries(feed.words).filter(([each]) => each !== speaker));
  if (type === 'state') return { ...feed, state: data.state };
  // Words that the agent was about to say are not said any more.
  if (type === 'operator') return { ...feed, by: data.by, words: data.by ? without('agent') : feed.words };
  if (type === 'node') return { ...feed, node: data.node };
  if (type === 'turn') return { ...feed, words: without(data.speaker) };
  if (type !== 'words') return feed;
  const { said = '' } = feed.words[data.speaker] ?? {}, all = `${said} ${data.text}`.trim().slice(-MOST_WORDS);
  return { ...feed, words: { ...feed.words, [data.speaker]: data.final ? { said: all, now: '' } : { said, now: data.text } } };
}

/**
 * Follows a call in progress.
 * @param {string} id @param {() => void} onTurn A turn is over, or some may have been missed.
 * @param {() => void} [onGone] There is nothing to follow, or not any more. @returns {Feed & { retry: () => void }}
 */
export function useCallFeed(id, onTurn, onGone) {
  const [feed, setFeed] = useState(/** @type {Feed} */ ({ words: {} }));
  const [round, setRound] = useState(0);
  const latest = useRef({ onTurn, onGone });
  latest.current = { onTurn, onGone };
  useEffect(() => stream(`/conversations/${id}/live`, ({ type, id: number, data }) => {
    // Each stream counts its events, and begins with how things are.
    setFeed((old) => next(number === '1' ? { words: {} } : old, type, data));
    if (type === 'turn' || type === 'lost' || type === 'operator') latest.current.onTurn();
  }, { onRefused: (refusal) => { setFeed({ words: {}, refusal }); latest.current.onGone?.(); } }), [id, round]);
  return { ...feed, retry: () => { setFeed({ words: {} }); setRound(round + 1); } };
}
