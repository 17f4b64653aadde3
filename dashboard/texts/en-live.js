// Texts of calls in progress and of talks with an agent.
export default {
  liveCalls: {
    title: 'Live', none: 'No call is in progress. Calls appear here as soon as they are dialed or come in.',
    count: { one: '{n} call', other: '{n} calls' }, more: 'More than {n} calls', words: 'Last words', mood: 'Mood',
    tests: 'Test calls', noTests: 'Without test calls', withTests: 'With test calls', onlyTests: 'Only test calls', test: 'Test call',
  },
  callNow: {
    title: 'At this moment', waiting: 'Waiting for the call …', noWords: 'Nobody is speaking.',
    states: {
      ringing: 'Rings', speaking: 'The agent speaks', listening: 'The agent listens', thinking: 'The agent thinks', tool: 'Waits for a tool',
      menu: 'In a phone menu or mailbox', transferring: 'Is being transferred', operator: 'A person has the call', closing: 'Is ending',
    },
    listen: 'Listen', stopListening: 'Stop listening', apart: 'Contact left, agent right', takeOver: 'Take over', giveBack: 'Give back',
    opening: 'Connecting …', mine: 'You have the call. Speak; the agent is silent.', theirs: '{by} has the call', heard: 'You are listening.',
    left: { given_back: '{by} gave the call back', lost: 'Connection lost: {by}', not_allowed: 'The call was taken away from {by}',
      call_ended: '{by} had the call until its end' },
    note: 'Note to the agent when you give back', noteHelp: 'Only the agent reads it. It knows what was said meanwhile.',
    notNow: 'You can take over only while the agent and the contact are talking.', accountKey: 'Somebody (account key)',
    off: 'Listening and taking over are switched off under Safeguards.',
    lost: 'You no longer have the call. {reason}', leave: 'You have the call. Leave the page and give it back to the agent?',
  },
  sound: {
    heard: 'You hear', yours: 'Your microphone', volume: 'Volume', silence: 'silence', decibels: '{n} dB',
    failed: 'The sound could not be connected, or the connection broke. {reason}',
    microphone: {
      NotAllowedError: 'The browser refused the microphone. Allow it for this page, beside the address, and try again.',
      NotFoundError: 'There is no microphone. Connect one and try again.',
      NotReadableError: 'The microphone cannot be used. Another program may have it.',
    },
  },
  talk: {
    graphRefused: 'The conversation graph cannot be used yet. Mend this first:',
    title: 'Talk to it', help: 'You talk with the agent as it is in the form, saved or not.',
    helpOn: 'You talk with the agent as it was when the call began.',
    interviewer: 'Its model is the built-in “interviewer”: it asks for the data to collect, and hardly follows the instructions.',
    mode: 'How you talk', modes: { voice: 'By microphone', text: 'By typing' },
    modeHelp: 'Typing needs no microphone, and the agent no speech providers. Such a call ends after ten minutes without a text.',
    onText: 'The call has begun. Type what you say.', words: 'Your words', send: 'Send', answering: 'The agent is answering …',
    unsent: 'Not sent:',
    actions: 'Really use tools and calendars', actionsHelp: 'Otherwise they answer only “ok”, without content, and nothing outside is touched.',
    begin: 'Begin to talk', again: 'Talk again', hangUp: 'Hang up', on: 'The call has begun. Speak, and interrupt the agent whenever you like.',
    over: 'The call is over.', agentHungUp: 'The agent has hung up.', leave: 'The call is still on. Hang up?',
    orType: 'Without a microphone you can talk by typing.',
    seeCall: 'The page of this call',
  },
};
