/** @type {typeof import('./en.js').default} */
const texts = {
  common: {
    cancel: 'Abbrechen', save: 'Speichern', delete: 'Löschen', close: 'Schließen', retry: 'Noch einmal', dismiss: 'Ausblenden', loading: 'Lädt …',
    nothing: 'Hier ist noch nichts.', columns: 'Spalten', copy: 'Kopieren', copied: 'Kopiert.', all: 'Alle', search: 'Suchen',
  },
  shell: {
    skip: 'Zum Inhalt', menu: 'Menü', navigation: 'Hauptnavigation', signOut: 'Abmelden', notFound: 'Diese Seite gibt es nicht',
    toOverview: 'Zur Übersicht', lost: 'Die Verbindung ist unterbrochen. Es wird von selbst weiter versucht; nichts Eingegebenes geht verloren.',
    busy: 'Der Dienst ist ausgelastet. Anfragen werden von selbst wiederholt.',
    updated: 'Diese Seite konnte nicht geladen werden. Vielleicht wurde die Oberfläche aktualisiert.', reload: 'Neu laden',
  },
  signIn: {
    title: 'Anmelden', email: 'E-Mail-Adresse', key: 'API-Schlüssel', keyHelp: 'Er wird gegen eine Sitzung getauscht und nicht im Browser gespeichert.',
    submit: 'Anmelden', again: 'Ihre Sitzung ist beendet', kept: 'Melden Sie sich wieder an, um fortzufahren. Nichts Eingegebenes geht verloren.',
    linkUsed: 'Dieser Anmeldelink wurde schon benutzt oder ist älter als 10 Minuten. Erzeugen Sie einen neuen, oder melden Sie sich mit Ihrem Schlüssel an.',
    noKey: 'Ohne Schlüssel', linkHelp: 'Erzeugen Sie auf dem Rechner des Dienstes einen Link, der Sie einmal anmeldet:',
    createHelp: 'Wenn es noch kein Konto gibt, legen Sie eines an:', exampleEmail: 'sie@example.com',
  },
  form: {
    optional: 'freiwillig', default: 'Vorgabe: {value}', nothing: 'nicht gesetzt', yes: 'ja', no: 'nein', changes: 'Was sich ändert', sending: 'Wird gesendet …',
    leave: 'Die Seite verlassen, ohne die Änderungen zu speichern?',
  },
  error: {
    unknown: 'Auf dieser Seite ist etwas schiefgegangen. Laden Sie sie neu.', network: 'Der Dienst ist gerade nicht erreichbar.',
    unauthorized: 'E-Mail-Adresse oder Schlüssel ist falsch.', not_found: 'Das gibt es nicht oder nicht mehr.',
    overloaded: 'Der Dienst hat gerade zu viel zu tun. Versuchen Sie es gleich noch einmal.', unavailable: 'Der Dienst ist gerade nicht verfügbar. Versuchen Sie es gleich noch einmal.',
    storage_full: 'Der Datenträger des Dienstes ist voll: Es kann nichts gespeichert werden, bis Platz ist.', rate_limited: 'Zu viele Anfragen. Warten Sie einen Augenblick.',
    internal: 'Der Dienst hat einen Fehler gemacht. Einzelheiten stehen in seinem Protokoll.',
  },
  status: {
    draft: 'Entwurf', waiting: 'Wartet', running: 'Läuft', delayed: 'Verzögert', paused: 'Pausiert', stopped: 'Angehalten', completed: 'Abgeschlossen',
    failed: 'Fehlgeschlagen', cancelled: 'Abgebrochen', pending: 'Ausstehend', in_progress: 'Läuft gerade', scheduled: 'Geplant', positive: 'Positiv',
    neutral: 'Neutral', negative: 'Negativ',
  },
  overview: { title: 'Übersicht' },
  campaigns: { title: 'Kampagnen' },
  campaign: { title: 'Kampagne' },
  newCampaign: { title: 'Neue Kampagne' },
  profile: { title: 'Profil' },
};
export default texts;
