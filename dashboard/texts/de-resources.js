/** @type {typeof import('./en-resources.js').default} */
const texts = {
  resource: {
    actions: 'Aktionen', change: 'Ändern', changeName: '{name} ändern', deleteName: '{name} löschen', deleteTitle: '{name} löschen?',
    added: 'Hinzugefügt.', saved: 'Gespeichert.', deleted: 'Gelöscht.',
    noMatch: 'Nichts passt zu dieser Suche.',
    changedMeanwhile: 'Jemand anderes hat dies inzwischen geändert. Was Sie nicht angerührt haben, zeigt die neuen Werte. Sehen Sie nach, was sich '
      + 'ändert, und speichern Sie noch einmal.',
  },
  pairs: { name: 'Name von Feld {n}', value: 'Wert von {name}', remove: '{name} entfernen', namePlaceholder: 'Name', valuePlaceholder: 'Wert',
    add: 'Feld hinzufügen' },
  knowledge: { title: 'Wissen' },
  documents: {
    title: 'Dokumente', help: 'Agenten schlagen Antworten in Dokumenten nach. Ein Dokument lässt sich nicht ändern: Fügen Sie das neue hinzu, und '
      + 'löschen Sie das alte.', none: 'Noch keine Dokumente.', add: 'Dokument hinzufügen',
    search: 'Nach Namen suchen', deleteBody: 'Sein Text wird gelöscht. Ein Dokument, das ein Agent oder eine Gruppe hat, lässt sich nicht löschen.',
    name: 'Name', source: 'Quelle', sources: { file: 'Datei', url: 'Webseite', text: 'Text' },
    length: 'Zeichen', created: 'Hinzugefügt', url: 'Adresse', urlHelp: 'Sie wird jetzt gelesen, später nicht wieder.', file: 'Datei',
    fileHelp: 'Reiner Text, Markdown, HTML oder PDF, bis 10 MiB.',
    nameOfFile: 'Name der Datei', text: 'Text', noFile: 'Wählen Sie eine Datei.',
  },
  question: {
    title: 'Frage ausprobieren', help: 'Durchsucht Dokumente wie ein Anruf und zeigt, was er fände. Nichts wird gespeichert.', question: 'Frage',
    questionHelp: 'So, wie ein Mensch sie stellt.', agent: 'Dokumente des Agenten', noAgent: 'einige Dokumente',
    ask: 'Suchen', found: { one: '{n} Stelle, die beste zuerst', other: '{n} Stellen, die beste zuerst' }, given: 'Das Modell bekommt sie',
    notGiven: 'Gefunden, nicht weitergegeben',
  },
  groups: {
    title: 'Gruppen', help: 'Ein Agent, der eine Gruppe hat, hat alle ihre Dokumente.', none: 'Noch keine Gruppen.', add: 'Gruppe hinzufügen',
    search: 'Nach Namen suchen', name: 'Name', documents: 'Dokumente',
    deleteBody: 'Ihre Dokumente bleiben. Eine Gruppe, die ein Agent hat, lässt sich nicht löschen.', count: { one: '{n} Dokument', other: '{n} Dokumente' },
  },
  tools: {
    title: 'Werkzeuge', help: 'Mit einem Werkzeug fragt ein Agent während des Anrufs einen Ihrer Server. Anfragen sind mit dem Webhook-Geheimnis '
      + 'Ihres Profils signiert.', none: 'Noch keine Werkzeuge.', add: 'Werkzeug hinzufügen',
    deleteBody: 'Ein Werkzeug, das ein Agent benutzt, lässt sich nicht löschen.', name: 'Name',
    nameHelp: 'Buchstaben, Ziffern, _ und -. Unter diesem Namen ruft das Modell das Werkzeug auf.', description: 'Beschreibung',
    descriptionHelp: 'Sagt dem Modell, wann es das Werkzeug benutzt und was es tut.', url: 'Adresse', method: 'Methode', updated: 'Geändert',
    parameters: 'Argumente',
    parametersHelp: 'Ein JSON-Schema vom Typ „object“. Leer: Das Werkzeug hat keine Argumente.', timeout: 'Zeitgrenze in Millisekunden',
    notJson: 'Das ist kein JSON: {problem}',
  },
  contacts: {
    title: 'Kontakte', help: 'Die Felder eines Kontakts füllen die Platzhalter der Agenten, etwa {{city}}, in Anrufen bei seiner Nummer.',
    none: 'Noch keine Kontakte.', add: 'Kontakt hinzufügen', search: 'Nach Name oder Nummer suchen',
    deleteBody: 'Seine Gespräche bleiben.', name: 'Name', phone: 'Telefonnummer', email: 'E-Mail', others: 'Weitere Felder',
    othersHelp: 'Jedes füllt den Platzhalter mit seinem Namen.', created: 'Hinzugefügt',
    erase: 'Diese Person überall tilgen',
    eraseHelp: 'Tilgt auch Mitschriften, Aufnahmen und erhobene Werte der Anrufe bei dieser Nummer, und den Kontakt in Kampagnen. Es lässt sich '
      + 'nicht rückgängig machen.',
  },
  doNotCall: {
    title: 'Sperrliste', help: 'Keine Kampagne und kein einzelner Anruf wählt diese Nummern. Wer einen Agenten bittet, nicht mehr angerufen zu '
      + 'werden, kommt von selbst dazu.', none: 'Die Liste ist leer.', add: 'Nummern hinzufügen',
    search: 'Nach Nummer suchen', deleteBody: 'Kampagnen und einzelne Anrufe können diese Nummer wieder wählen.', number: 'Telefonnummer',
    since: 'Auf der Liste seit', numbers: 'Telefonnummern',
    numbersHelp: 'Eine je Zeile, mit + und Landesvorwahl.', noNumbers: 'Geben Sie mindestens eine Nummer ein.',
    refused: { one: '{n} Nummer wurde abgelehnt, {added} sind auf der Liste. Berichtigen Sie sie, und senden Sie alle noch einmal:',
      other: '{n} Nummern wurden abgelehnt, {added} sind auf der Liste. Berichtigen Sie sie, und senden Sie alle noch einmal:' },
  },
  numbers: {
    title: 'Nummern', help: 'Nummern, die Ihre Agenten annehmen oder zeigen, und freie Ihrer Telefonanbieter, soweit sie sie auflisten.',
    none: 'Noch hat kein Agent eine Nummer, und kein Telefonanbieter listet eine auf.', add: 'Nummer zuweisen', number: 'Telefonnummer',
    numberHelp: 'Eine Nummer Ihres Anbieters, mit + und Landesvorwahl.', answers: 'Angenommen von', agent: 'Agent',
    agentHelp: 'Ein Agent für eingehende Anrufe nimmt sie an; andere zeigen die Nummer bei ihren Anrufen.', takeAway: 'Den Agenten wegnehmen',
    nobody: 'niemand', provider: 'Telefonanbieter',
    shows: 'Gezeigt in Anrufen von',
  },
  safeguards: {
    title: 'Schutzregeln', tabs: { limits: 'Grenzen', transfers: 'Weiterleitungen' },
    help: 'Diese Regeln gelten für Kampagnen und einzelne Anrufe, sobald sie gespeichert sind. Eine Regel, die nur warnt, hinterlässt einen Vermerk '
      + 'im Anruf. Eingehende Anrufe sind nicht betroffen.',
    mode: 'Regel', modes: { off: 'Aus', warn: 'Nur warnen', enforce: 'Durchgesetzt' },
    rules: { callingHours: 'Anrufzeiten', callsPerNumber: 'Anrufe bei einer Nummer', allowedPrefixes: 'Erlaubte Ziele', dailyCalls: 'Anrufe am Tag' },
    ruleHelp: {
      callingHours: 'In der Ortszeit des Angerufenen, nach den ersten Ziffern der Nummer. Durchgesetzt: Anrufe außerhalb warten.',
      callsPerNumber: 'Auch unbeantwortete zählen. Durchgesetzt: Anrufe über der Grenze warten.',
      allowedPrefixes: 'Durchgesetzt: Andere Nummern werden abgelehnt.',
      dailyCalls: 'Alle Anrufe des Kontos. Durchgesetzt: Kampagnen warten auf den nächsten Tag.',
    },
    from: 'Von', to: 'Bis', days: 'Tage', perDay: 'In 24 Stunden', perWeek: 'In 7 Tagen', noLimit: 'keine Grenze', prefixes: 'Anfänge von Nummern',
    prefixesHelp: 'Einer je Zeile.', limit: 'Höchstens', timezone: 'Zeitzone der Mitternacht',
    dayNames: { monday: 'Montag', tuesday: 'Dienstag', wednesday: 'Mittwoch', thursday: 'Donnerstag', friday: 'Freitag', saturday: 'Samstag',
      sunday: 'Sonntag' },
  },
  transferRules: {
    title: 'Weiterleitungen', help: 'Mit einer Weiterleitung geben Agenten einen Anruf an einen Menschen. Eine Änderung gilt für Anrufe, die danach '
      + 'beginnen.', none: 'Noch keine Weiterleitungen.', add: 'Weiterleitung hinzufügen',
    deleteBody: 'Eine Weiterleitung, die ein Agent benutzt, lässt sich nicht löschen.', name: 'Name', condition: 'Wann',
    conditionHelp: 'Sagt dem Modell, wann es weiterleitet, etwa „jemand ist verletzt“.', destination: 'Wohin', destinationType: 'Wohin',
    destinationTypes: { phone: 'Telefonnummer', sip_uri: 'SIP-Adresse' }, phone: 'Telefonnummer', sip: 'SIP-Adresse', type: 'Wie', updated: 'Geändert',
    types: { blind: 'Sofort', conference: 'Bleiben, bis jemand abnimmt', sip_refer: 'Durch das Netz des Anrufers' },
    typeHelp: 'Sofort: Der Agent geht, und der Anrufer hört es klingeln. Bleiben: Der Agent bleibt beim Anrufer, bis jemand abnimmt.',
  },
  settings: {
    title: 'Einstellungen', service: 'Dienst', version: 'Version', api: 'Beschreibung der API',
  },
  services: {
    title: 'Telefon- und KI-Anbieter', help: 'Alle Konten des Dienstes teilen sie. Sie werden mit Variablen auf seinem Rechner eingestellt.',
    name: 'Name', kind: 'Art', use: 'Benutzt', state: 'Zustand', first: 'zuerst', fallback: 'als Nummer {n}',
    kinds: { carrier: 'Telefonanbieter', llm: 'Sprachmodell', stt: 'Spracherkennung', tts: 'Stimme', embeddings: 'Embeddings' },
    states: { ready: 'Eingerichtet', fails: 'Fehler', missing: 'Nicht eingerichtet' },
    outage: 'Letzter Fehler', since: 'Fehler seit', settings: 'Wenn er nicht funktioniert, berichtigen Sie diese Variablen:',
    missing: 'Um ihn zu benutzen, setzen Sie diese Variablen und starten Sie den Dienst neu:', check: 'Jetzt prüfen', checking: 'Wird geprüft …',
    numbers: 'Nummern:', enter: 'Beim Telefonanbieter einzutragen, damit Anrufe ankommen:',
    problems: {
      draining: 'Der Dienst hält an: Starten Sie ihn neu, wenn es niemand anderes tut.', starting: 'Der Dienst startet: Warten Sie einen Moment.',
      suspect: 'Der Dienst stand einen Moment still: Wenn es wieder geschieht, suchen Sie, was seinen Rechner aufhält.',
      silent: 'Die Datenbank nimmt die Lebenszeichen des Dienstes nicht an: Prüfen Sie die Datenbank und das Netz.',
      clock_off: 'Die Uhr des Dienstes geht falsch: Stellen Sie sie.', fenced: 'Andere Knoten haben diesen für tot erklärt; er startet von selbst neu.',
      database_away: 'Die Datenbank antwortet nicht: Prüfen Sie sie.', disk_full: 'Der Datenträger der Datenbank ist voll: Schaffen Sie Platz.',
      dial_journal: 'Das Wähljournal lässt sich nicht schreiben: Prüfen Sie den Datenordner.',
      overloaded: 'Der Dienst ist überlastet und lehnt Änderungen ab: Nehmen Sie Knoten hinzu, oder erhöhen Sie seine Grenzen.',
      carriers_away: 'Kein Telefonanbieter, der wählen kann, funktioniert: Prüfen Sie die Anbieter in den Einstellungen.',
    },
  },
  webhooks: {
    title: 'Webhooks', one: 'Webhook', help: 'Ein Endpunkt bekommt jedes Ereignis des Kontos als signierte Anfrage.', none: 'Noch keine Webhooks.',
    add: 'Webhook hinzufügen', deleteBody: 'Seine Zustellungen werden mit gelöscht.',
    url: 'Adresse', urlHelp: 'Private Adressen werden abgelehnt, wenn der Dienst sie nicht erlaubt.', types: 'Ereignisse',
    allTypes: 'Alle Ereignisse', groups: { call: 'Alle von Anrufen', campaign: 'Alle von Kampagnen', contact: 'Alle von Kontakten' },
    description: 'Beschreibung', enabled: 'Bekommt Ereignisse', enabledHelp: 'Wird er ausgeschaltet, werden wartende Zustellungen aufgegeben.',
    state: 'Zustand', on: 'An', off: 'Aus', recent: 'Letzte Zustellungen', created: 'Angelegt',
    counts: { succeeded: '{n} angekommen', failed: '{n} gescheitert', pending: '{n} warten' }, secret: 'Geheimnis des Webhooks',
    test: 'Testereignis senden', tested: 'Ein Testereignis ist unterwegs.',
    turnOn: 'Einschalten', turnOff: 'Ausschalten', rotate: 'Neues Geheimnis', rotateTitle: 'Ein neues Geheimnis erzeugen?',
    rotateBody: '24 Stunden lang werden Anfragen auch mit dem alten signiert.', rotated: 'Das Geheimnis ist ersetzt.',
    noSecret: 'Der Webhook ist da, aber sein Geheimnis ging unterwegs verloren. Erzeugen Sie auf seiner Seite ein neues.',
    deliveries: 'Zustellungen', noDeliveries: 'Noch nichts zugestellt.', type: 'Ereignis', attempts: 'Versuche', lastError: 'Letzter Fehler',
    at: 'Angelegt', nextTry: 'Nächster Versuch', resend: 'Noch einmal senden',
    resendType: 'Noch einmal senden: {type}', resent: 'Wird noch einmal gesendet.', states: { pending: 'Wartet', done: 'Angekommen', given_up: 'Aufgegeben' },
  },
};
export default texts;
