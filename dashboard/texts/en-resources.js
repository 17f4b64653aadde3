// Texts of the pages that list, make and change one kind of thing each.
export default {
  resource: {
    actions: 'Actions', change: 'Change', changeName: 'Change {name}', deleteName: 'Delete {name}', deleteTitle: 'Delete {name}?', added: 'Added.', saved: 'Saved.', deleted: 'Deleted.',
    noMatch: 'Nothing matches this search.',
    changedMeanwhile: 'Somebody else changed this meanwhile. The fields you did not touch show the new values. Look at what changes, and save again.',
  },
  pairs: { name: 'Name of field {n}', value: 'Value of {name}', remove: 'Remove {name}', namePlaceholder: 'Name', valuePlaceholder: 'Value', add: 'Add a field' },
  knowledge: { title: 'Knowledge' },
  documents: {
    title: 'Documents', help: 'Agents look up answers in documents. A document cannot be changed: add the new one, and delete the old one.', none: 'No documents yet.', add: 'Add a document',
    search: 'Search by name', deleteBody: 'Its text is deleted. A document that an agent or a group holds cannot be deleted.', name: 'Name', source: 'Source', sources: { file: 'File', url: 'Web page', text: 'Text' },
    length: 'Characters', created: 'Added', url: 'Address', urlHelp: 'It is read now and not again.', file: 'File', fileHelp: 'Plain text, Markdown, HTML or PDF, up to 10 MiB.',
    nameOfFile: 'name of the file', text: 'Text', noFile: 'Choose a file.',
  },
  question: {
    title: 'Try a question', help: 'Searches documents as a call does, and shows what it finds. Nothing is stored.', question: 'Question', questionHelp: 'As a person may say it.', agent: 'Documents of the agent', noAgent: 'some documents',
    ask: 'Search', found: { one: '{n} passage, best first', other: '{n} passages, best first' }, given: 'The model gets it', notGiven: 'Found, but not given',
  },
  groups: {
    title: 'Groups', help: 'An agent that holds a group has all of its documents.', none: 'No groups yet.', add: 'Add a group', search: 'Search by name', name: 'Name', documents: 'Documents',
    deleteBody: 'Its documents stay. A group that an agent holds cannot be deleted.', count: { one: '{n} document', other: '{n} documents' },
  },
  tools: {
    title: 'Tools', help: 'With a tool, an agent asks one of your servers during a call. Requests are signed with the webhook secret of your profile.', none: 'No tools yet.', add: 'Add a tool',
    deleteBody: 'A tool that an agent uses cannot be deleted.', name: 'Name', nameHelp: 'Letters, digits, _ and -. The model calls the tool by this name.', description: 'Description',
    descriptionHelp: 'Tells the model when to use the tool and what it does.', url: 'Address', method: 'Method', updated: 'Changed', parameters: 'Arguments',
    parametersHelp: 'A JSON Schema of the type “object”. Empty: the tool has no arguments.', timeout: 'Time limit in milliseconds', notJson: 'This is not JSON: {problem}',
  },
  contacts: {
    title: 'Contacts', help: 'The fields of a contact fill the agents’ placeholders, such as {{city}}, in calls to its number.', none: 'No contacts yet.', add: 'Add a contact', search: 'Search by name or number',
    deleteBody: 'Its conversations stay.', name: 'Name', phone: 'Phone number', email: 'E-mail', others: 'Other fields', othersHelp: 'Each fills the placeholder with its name.', created: 'Added',
    erase: 'Erase this person everywhere', eraseHelp: 'Also erases transcripts, recordings and collected values of calls to this number, and the contact in campaigns. It cannot be undone.',
  },
  doNotCall: {
    title: 'Do-not-call list', help: 'No campaign and no single call dials these numbers. People who ask an agent not to be called again are added by themselves.', none: 'The list is empty.', add: 'Add numbers',
    search: 'Search by number', deleteBody: 'Campaigns and single calls can dial this number again.', number: 'Phone number', since: 'On the list since', numbers: 'Phone numbers',
    numbersHelp: 'One in each line, with + and the country code.', noNumbers: 'Enter at least one number.',
    refused: { one: '{n} number was refused, {added} are on the list. Mend it and send all again:', other: '{n} numbers were refused, {added} are on the list. Mend them and send all again:' },
  },
  numbers: {
    title: 'Numbers', help: 'Numbers that your agents answer or show, and free ones of your carriers that list theirs.', none: 'No agent has a number yet, and no carrier lists one.', add: 'Assign a number', number: 'Phone number',
    numberHelp: 'A number of your carrier, with + and the country code.', answers: 'Answered by', agent: 'Agent', agentHelp: 'An agent for inbound calls answers the number; others show it in their calls.', takeAway: 'Take it from the agents', nobody: 'nobody', provider: 'Carrier',
    shows: 'Shown in calls of',
  },
  safeguards: {
    title: 'Safeguards', tabs: { limits: 'Limits', transfers: 'Transfer rules' }, help: 'These rules hold for campaigns and single calls, from the moment they are saved. A rule that only warns leaves a note in the call. Inbound calls are not affected.',
    mode: 'Rule', modes: { off: 'Off', warn: 'Only warn', enforce: 'Enforced' },
    rules: { callingHours: 'Calling hours', callsPerNumber: 'Calls to one number', allowedPrefixes: 'Allowed destinations', dailyCalls: 'Calls a day' },
    ruleHelp: {
      callingHours: 'In the local time of the person called, by the first digits of the number. Enforced: calls outside wait.', callsPerNumber: 'Unanswered calls count too. Enforced: calls above the limit wait.',
      allowedPrefixes: 'Enforced: other numbers are refused.', dailyCalls: 'All calls of the account. Enforced: campaigns wait for the next day.',
    },
    from: 'From', to: 'Until', days: 'Days', perDay: 'Within 24 hours', perWeek: 'Within 7 days', noLimit: 'no limit', prefixes: 'Beginnings of numbers', prefixesHelp: 'One in each line.', limit: 'Most calls', timezone: 'Time zone of midnight',
    dayNames: { monday: 'Monday', tuesday: 'Tuesday', wednesday: 'Wednesday', thursday: 'Thursday', friday: 'Friday', saturday: 'Saturday', sunday: 'Sunday' },
  },
  transferRules: {
    title: 'Transfer rules', help: 'With a transfer rule, agents hand a call to a person. A change holds for calls that begin after it.', none: 'No transfer rules yet.', add: 'Add a transfer rule',
    deleteBody: 'A rule that an agent uses cannot be deleted.', name: 'Name', condition: 'When', conditionHelp: 'Tells the model when to transfer, such as “somebody is hurt”.', destination: 'To', destinationType: 'To',
    destinationTypes: { phone: 'Phone number', sip_uri: 'SIP address' }, phone: 'Phone number', sip: 'SIP address', type: 'How', updated: 'Changed',
    types: { blind: 'At once', conference: 'Stay until answered', sip_refer: 'By the caller’s network' },
    typeHelp: 'At once: the agent leaves, and the caller hears it ring. Stay until answered: the agent stays with the caller until somebody answers.',
  },
  settings: {
    title: 'Settings', service: 'Service', version: 'Version', api: 'Description of the API',
  },
  services: {
    title: 'Carriers and providers', help: 'All accounts of the service share them. They are set by variables on its machine.', name: 'Name', kind: 'Kind', use: 'Used', state: 'State', first: 'first', fallback: 'as number {n}',
    kinds: { carrier: 'Carrier', llm: 'Language model', stt: 'Speech recognition', tts: 'Voice', embeddings: 'Embeddings' }, states: { ready: 'Set up', fails: 'Fails', missing: 'Not set up' },
    outage: 'Last failure', since: 'Fails since', settings: 'If it does not work, correct these variables:', missing: 'To use it, set these variables and start the service again:', check: 'Check now', checking: 'Checking …',
    numbers: 'Numbers:', enter: 'Enter at the carrier, so that calls come in:',
    problems: {
      draining: 'The service is stopping: start it again if nobody else does.', starting: 'The service is starting: wait a moment.', suspect: 'The service stood still for a moment: if it happens again, find out what holds up its machine.',
      silent: 'The database does not accept the service’s heartbeats: check the database and the network.',
      clock_off: 'The clock of the service is wrong: set it.', fenced: 'Other nodes declared this one dead; it starts anew by itself.', database_away: 'The database does not answer: check it.', disk_full: 'The disk of the database is full: make room.',
      dial_journal: 'The dial journal cannot be written: check the data folder.', overloaded: 'The service is overloaded and refuses changes: add nodes, or raise its limits.', carriers_away: 'No carrier that places calls works: check the carriers in the settings.',
    },
  },
  webhooks: {
    title: 'Webhooks', one: 'Webhook', help: 'An endpoint gets each event of the account as a signed request.', none: 'No webhooks yet.', add: 'Add a webhook', deleteBody: 'Its deliveries are deleted too.',
    url: 'Address', urlHelp: 'Private addresses are refused, unless the service allows them.', types: 'Events', allTypes: 'All events', groups: { call: 'All of calls', campaign: 'All of campaigns', contact: 'All of contacts' },
    description: 'Description', enabled: 'Receives events', enabledHelp: 'When it is turned off, waiting deliveries are given up.', state: 'State', on: 'On', off: 'Off', recent: 'Latest deliveries', created: 'Created',
    counts: { succeeded: '{n} arrived', failed: '{n} failed', pending: '{n} waiting' }, secret: 'Secret of the webhook', test: 'Send a test event', tested: 'A test event is on its way.',
    turnOn: 'Turn on', turnOff: 'Turn off', rotate: 'New secret', rotateTitle: 'Make a new secret?', rotateBody: 'For 24 hours, requests are signed with the old one too.', rotated: 'The secret is replaced.',
    noSecret: 'The webhook is there, but its secret got lost on the way. Make a new one on its page.',
    deliveries: 'Deliveries', noDeliveries: 'Nothing was delivered yet.', type: 'Event', attempts: 'Tries', lastError: 'Last error', at: 'Created', nextTry: 'Next try', resend: 'Send again',
    resendType: 'Send again: {type}', resent: 'It is sent again.', states: { pending: 'Waiting', done: 'Arrived', given_up: 'Given up' },
  },
};
