// Texte des Gesprächsgraphen.
export default {
  graph: {
    tab: 'Gesprächsgraph', settingsTab: 'Einrichtung', tabs: 'Teile des Agenten', all: 'Der ganze Graph', tools: 'Änderungen am Graphen',
    help: 'Ein Graph führt Schritt für Schritt durch einen Anruf: Der Agent spricht in einem Knoten und geht auf einer Kante weiter, sobald deren '
      + 'Bedingung gilt. Ohne Graph folgt der Agent allein seinen Anweisungen.',
    begin: 'Mit einem Start beginnen', examples: 'Oder mit einem Beispiel beginnen', use: '{name} verwenden', add: 'Knoten hinzufügen', undo: 'Rückgängig',
    redo: 'Wiederholen', settings: 'Der ganze Graph',
    json: 'Als JSON', jsonField: 'Der Graph', jsonHelp: 'Zum Aufbewahren, oder zum Ersetzen durch einen anderen Graphen. Die API von ElevenLabs schreibt '
      + 'Graphen in derselben Form; auch ihr snake_case wird gelesen, ebenso ein Agent, der einen Graphen hat.',
    useJson: 'Diesen Graphen verwenden', noGraph: 'Das ist kein JSON-Objekt.', download: 'Herunterladen',
    keys: 'Vom Punkt unter einem Knoten zu einem anderen ziehen verbindet beide. Mit der Tastatur: Pfeile wählen einen Knoten, Enter öffnet sein Formular, '
      + 'Entf entfernt, +, − und 0 vergrößern.',
    drawing: 'Zeichnung des Graphen; die Liste darunter sagt dasselbe', list: 'Der Graph als Liste', larger: 'Größer', smaller: 'Kleiner',
    whole: 'Alles zeigen',
    draw: 'Zu einem anderen Knoten ziehen', global: 'von überall', edge: 'Kante', present: 'hier ist der Anruf', isIn: 'Der Anruf ist in {name}.',
    hasFindings: 'bitte ansehen', findings: { one: 'Ein Teil des Graphen ist anzusehen.', other: '{n} Teile des Graphen sind anzusehen.' },
    refused: 'Der Graph ist nicht gespeichert: Einige Teile sind falsch.', save: 'Graph speichern', unsaved: 'Der Graph hat ungespeicherte Änderungen.',
    isSaved: 'Der Graph ist gespeichert.', remove: { nodes: 'Diesen Knoten entfernen', edges: 'Diese Kante entfernen' },
    meanwhile: 'Jemand anderes hat den Graphen inzwischen geändert. Diese Änderungen stehen nun neben Ihren. Sehen Sie ihn an und speichern Sie noch einmal.',
    warning: { one: 'Ein Teil des Gesprächsgraphen ist anzusehen.', other: '{n} Teile des Gesprächsgraphen sind anzusehen.' },
    ways: 'Führt weiter zu', waysHelp: 'Geprüft von oben nach unten.', leadsTo: 'Führt weiter zu', connect: 'Verbinden', earlier: 'Früher prüfen: {name}',
    later: 'Später prüfen: {name}', noWords: 'noch ohne Bedingung', unknown: 'unbekannt', thisAgent: 'Dieser Agent',
    notFormula: 'Ab Zeichen {at} ergibt das keinen Sinn.',
    types: {
      start: 'Start', end: 'Ende', update_state: 'Variablen setzen', override_agent: 'Sprechen', say: 'Sagen', tool: 'Werkzeuge nutzen',
      standalone_agent: 'Übergeben', phone_number: 'Weiterleiten',
    },
    values: {
      success: 'Erfolg', failure: 'Misserfolg', auto: 'automatisch: wartet nach Start und Sagen, spricht sonst', generate_immediately: 'spricht sofort',
      wait_for_user: 'wartet auf die andere Person', literal: 'diese Worte', prompt: 'vom Modell geschrieben', phone: 'Telefonnummer',
      phone_dynamic_variable: 'Variable mit einer Telefonnummer', sip_uri: 'SIP-Adresse', sip_uri_dynamic_variable: 'Variable mit einer SIP-Adresse',
      blind: 'blind', conference: 'Konferenz', sip_refer: 'SIP REFER', unconditional: 'immer', llm: 'wenn, in Worten', expression: 'wenn, als Formel',
      result: 'nach dem Ergebnis der Werkzeuge', else: 'sonst', true: 'die Werkzeuge hatten Erfolg', false: 'ein Werkzeug schlug fehl', never: 'nie',
    },
    columns: { variableName: 'Variable', expression: 'Formel', required: 'Muss einen Wert haben' },
    fields: {
      label: ['Beschriftung', ''], outcome: ['Ergebnis', 'Steht in den Angaben zum Anruf.'],
      updates: ['Variablen', 'Etwa tier = if(seats > 50, "large", "small").'], additionalPrompt: ['Was hier zu tun ist', 'Zusätzlich zu den Anweisungen.'],
      entryBehavior: ['Beim Eintritt', ''], extract: ['Achtet auf', 'Variablen, die dem entnommen werden, was hier gesagt wird.'],
      additionalToolIds: ['Weitere Werkzeuge', ''], additionalKnowledgeBase: ['Weiteres Wissen', ''],
      message: { type: ['Nachricht', ''], text: ['Worte', 'Platzhalter wie {{name}} werden gefüllt.'], prompt: ['Was das Modell sagen soll', ''] },
      waitForUserResponse: ['Geht erst nach einer Antwort weiter', ''],
      tools: ['Werkzeuge', 'Sie laufen nebeneinander. Der Knoten hat Erfolg, wenn alle Erfolg haben.'],
      agentId: ['Agent', ''], nodeId: ['Knoten, in dem es weitergeht', ''], transferMessage: ['Sagt vorher', ''], delayMs: ['Wartet (ms)', ''],
      enableTransferredAgentFirstMessage: ['Der andere Agent begrüßt', ''],
      transferDestination: { type: ['An', ''], phoneNumber: ['Telefonnummer oder Name der Variable', ''], sipUri: ['SIP-Adresse oder Name der Variable', ''] },
      transferType: ['Wie', 'Soweit der Anbieter es kann.'],
      global: {
        condition: ['Von überall erreicht, wenn', 'Etwa: verlangt einen Menschen. Leer lassen, wenn nur Kanten zu diesem Knoten führen.'],
        cooldownTurns: ['Nicht wieder für (Redebeiträge)', ''], goBack: ['Geht danach zurück', ''],
      },
      source: ['Von', ''], target: ['Nach', ''],
      condition: {
        type: ['Wird genommen', ''], condition: ['Bedingung', 'Etwa: möchte mit dem Verkauf sprechen.'],
        expression: ['Formel', 'Mit and, or, ==, !=, <, >, +, if(a, b, c) und ask("Frage", boolean).'], successful: ['Ergebnis', ''],
        label: ['Beschriftung', 'Steht statt der Bedingung.'],
      },
      router: ['Modell, das Bedingungen prüft', 'Ein kleines antwortet schneller. Ohne Angabe das des Agenten.'],
      preventSubagentLoops: ['Ein Anruf kommt zu jedem Agenten nur einmal', ''],
    },
    backward: '{label} rückwärts', path: 'Weg durch den Graphen', pathDrawing: 'Der Graph, mit der Reihenfolge der Knoten in diesem Anruf, wie in der Liste',
    example: {
      reception: ['Empfang', 'Findet heraus, worum es geht, und leitet an eine von drei Abteilungen weiter.'],
      qualification: ['Qualifizierung', 'Fragt nach Interesse und Zahl der Plätze und geht entsprechend weiter.'],
      appointment: ['Termin', 'Vereinbart Tag und Uhrzeit und wiederholt beides.'], survey: ['Umfrage', 'Fragt nach Bewertung und Empfehlung und zählt sie.'],
    },
  },
};
