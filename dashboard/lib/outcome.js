// How a call or a contact's calls came out.

/** Reasons that the API gives, and `voicemail`. */
const REASONS = ['busy', 'no-answer', 'rejected', 'invalid-number', 'carrier-error', 'media-lost', 'agent-error', 'restricted', 'do-not-call', 'not-allowed',
  'voicemail'];
/** Those that are a fault; by the others the person was not reached. */
const FAULTS = ['carrier-error', 'media-lost', 'agent-error'];

/**
 * @typedef {{ text: string, rest?: string, tone?: 'good' | 'bad' | 'warn' | 'info' | 'live' }} Outcome `text` is a key of the texts, empty
 *   where the service's words in `rest` say it all; without a tone the badge is grey.
 */

/**
 * @param {{ status: string, errorMessage?: string, voiceMailDetected?: boolean, callTransferred?: boolean }} call Or a contact of a campaign.
 * @param {string} [campaignStatus] Of the contact's campaign. @returns {Outcome}
 */
export function outcomeOf({ status, errorMessage, voiceMailDetected, callTransferred }, campaignStatus) {
  if (status === 'in_progress') return { text: 'status.in_progress', tone: 'live' };
  if (status === 'scheduled') return { text: 'status.scheduled', tone: 'info' };
  if (status === 'pending') return campaignStatus === 'stopped' ? { text: 'campaign.notCalled' } : { text: 'status.pending', tone: 'info' };
  if (errorMessage) {
    const code = REASONS.find((each) => errorMessage === each || (errorMessage.startsWith(each) && /[:\s]/.test(errorMessage[each.length])));
    const tone = status === 'failed' && (!code || FAULTS.includes(code)) ? 'bad' : undefined;
    return code ? { text: `reason.${code}`, rest: errorMessage.slice(code.length).replace(/^[:\s]+/, ''), tone } : { text: '', rest: errorMessage, tone };
  }
  if (voiceMailDetected) return { text: 'reason.voicemail', tone: 'info' };
  if (status === 'completed') return { text: callTransferred ? 'call.transferred' : 'reason.completed', tone: 'good' };
  return { text: `status.${status}`, tone: status === 'failed' ? 'bad' : undefined };
}

/** What a search field's text looks for: a number, or else words and names. @param {string} text @returns {{ search?: string, phoneNumber?: string }} */
export function searchOf(text) {
  const given = text.trim(), digits = given.replace(/\D/g, '').length;
  return /^[+\d][\d\s()./-]*$/.test(given) && digits >= 8 ? { phoneNumber: given } : { search: given };
}
