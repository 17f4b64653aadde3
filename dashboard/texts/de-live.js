// Texte zu laufenden Anrufen und zu Gesprächen mit einem Agenten.
/** @type {typeof import('./en-live.js').default} */
export default {
  liveCalls: {
    title: 'Live', none: 'Kein Anruf läuft. Anrufe erscheinen hier, sobald gewählt wird oder jemand anruft.',
    count: { one: '{n} Anruf', other: '{n} Anrufe' }, more: 'Mehr als {n} Anrufe', words: 'Letzte Worte', mood: 'Stimmung',
    tests: 'Testanrufe', noTests: 'Ohne Testanrufe', withTests: 'Mit Testanrufen', onlyTests: 'Nur Testanrufe', test: 'Testanruf',
    heard: 'Sie hören {callee} mit.', open: 'Anruf öffnen', listenTo: '{callee} mithören', stop: 'Beenden', stopListening: 'Mithören von {callee} beenden',
    wantsPerson: '{agent} will einen Menschen für {callee}: Der Anruf wird weitergeleitet.',
  },
  callNow: {
    title: 'In diesem Moment', waiting: 'Warten auf den Anruf …', noWords: 'Niemand spricht.',
    states: {
      ringing: 'Es klingelt', speaking: 'Der Agent spricht', listening: 'Der Agent hört zu', thinking: 'Der Agent denkt', tool: 'Wartet auf ein Werkzeug',
      menu: 'In einem Telefonmenü oder einer Mailbox', transferring: 'Wird weitergeleitet', operator: 'Ein Mensch hat den Anruf', closing: 'Endet gerade',
    },
    listen: 'Mithören', stopListening: 'Mithören beenden', apart: 'Kontakt links, Agent rechts', takeOver: 'Übernehmen', giveBack: 'Zurückgeben',
    opening: 'Verbinden …', mine: 'Sie haben den Anruf. Sprechen Sie; der Agent schweigt.', theirs: '{by} hat den Anruf', heard: 'Sie hören mit.',
    left: { given_back: '{by} gab den Anruf zurück', lost: 'Verbindung abgebrochen: {by}', not_allowed: '{by} wurde der Anruf entzogen',
      call_ended: '{by} hatte den Anruf bis zum Ende' },
    note: 'Notiz an den Agenten beim Zurückgeben', noteHelp: 'Nur der Agent liest sie. Was inzwischen gesagt wurde, weiß er.',
    notNow: 'Sie können nur übernehmen, solange Agent und Kontakt miteinander sprechen.', accountKey: '{email} (Kontoschlüssel)',
    transferHelp: 'Der Anruf geht an den Agenten zurück, der ihn sofort weiterleitet.', digitsHelp: 'Töne anstelle Ihres Mikrofons.',
    off: 'Mithören und Übernehmen sind in den Schutzregeln ausgeschaltet.',
    lost: 'Sie haben den Anruf nicht mehr. {reason}', leave: 'Sie haben den Anruf. Die Seite verlassen und ihn dem Agenten zurückgeben?',
  },
  sound: {
    heard: 'Sie hören', yours: 'Ihr Mikrofon', volume: 'Lautstärke',
    mute: 'Mikrofon stummschalten', unmute: 'Mikrofon einschalten', muted: 'Niemand hört Sie.', device: 'Mikrofon',
    deviceNumber: 'Mikrofon {n}', silence: 'Stille', decibels: '{n} dB',
    failed: 'Der Ton konnte nicht verbunden werden, oder die Verbindung brach ab. {reason}',
    microphone: {
      NotAllowedError: 'Der Browser hat das Mikrofon verweigert. Erlauben Sie es für diese Seite, neben der Adresse, und versuchen Sie es noch einmal.',
      NotFoundError: 'Es gibt kein Mikrofon. Schließen Sie eines an und versuchen Sie es noch einmal.',
      NotReadableError: 'Das Mikrofon kann nicht benutzt werden. Vielleicht hat es ein anderes Programm.',
    },
  },
  talk: {
    graphRefused: 'Der Gesprächsgraph lässt sich noch nicht benutzen. Ändern Sie zuerst:',
    title: 'Mit ihm sprechen', help: 'Sie sprechen mit dem Agenten, wie er im Formular steht, gespeichert oder nicht.',
    helpOn: 'Sie sprechen mit dem Agenten, wie er zu Beginn des Anrufs war.',
    interviewer: 'Sein Modell ist der eingebaute „interviewer“: Er fragt nach den Daten, die zu erheben sind, und folgt den Anweisungen kaum.',
    mode: 'Wie Sie sprechen', modes: { voice: 'Mit dem Mikrofon', text: 'Tippend' },
    modeHelp: 'Tippen braucht kein Mikrofon, und der Agent keine Sprachdienste. So ein Anruf endet nach zehn Minuten ohne Text.',
    onText: 'Der Anruf hat begonnen. Tippen Sie, was Sie sagen.', words: 'Ihre Worte', send: 'Senden', answering: 'Der Agent antwortet …',
    unsent: 'Nicht gesendet:',
    actions: 'Werkzeuge und Kalender wirklich benutzen', actionsHelp: 'Sonst antworten sie nur „ok“, ohne Inhalt, und außerhalb geschieht nichts.',
    begin: 'Gespräch beginnen', again: 'Noch einmal sprechen', hangUp: 'Auflegen',
    on: 'Der Anruf hat begonnen. Sprechen Sie, und unterbrechen Sie den Agenten, wann Sie wollen.',
    over: 'Der Anruf ist vorbei.', agentHungUp: 'Der Agent hat aufgelegt.', leave: 'Der Anruf läuft noch. Auflegen?',
    orType: 'Ohne Mikrofon können Sie tippen.', seeCall: 'Die Seite dieses Anrufs',
  },
};
