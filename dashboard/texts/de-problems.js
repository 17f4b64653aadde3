// Was der Dienst ablehnt: nach Code, und nach dem letzten Namen des Feldes und Code. {said} sind die Worte des Dienstes, auf Englisch.
/** @type {typeof import('./en-problems.js').default} */
export default {
  problem: {
    own: '{said}', other: 'Der Dienst sagt: {said}', required: 'Das fehlt.', wrong_type: 'Das hat die falsche Form. Der Dienst sagt: {said}',
    out_of_range: 'Außerhalb des Bereichs. Der Dienst sagt: {said}', out_of_rangeRange: 'Von {from} bis {to}.',
    out_of_rangeOrNever: 'Von {from} bis {to}, oder -1 für nie.', not_allowed: 'Das ist nicht erlaubt. Der Dienst sagt: {said}',
    not_allowedChoice: 'Möglich ist: {list}.', invalid_valueChoice: 'Möglich ist: {list}.', not_found: 'Das gibt es nicht oder nicht mehr.',
    invalid: 'Das passt nicht. Der Dienst sagt: {said}', invalid_value: 'Das passt nicht. Der Dienst sagt: {said}',
    too_long: 'Das ist zu lang. Der Dienst sagt: {said}', too_longMost: 'Höchstens {most} Zeichen.', not_allowedMost: 'Höchstens {most} Zeichen.',
    too_many: 'Das sind zu viele. Der Dienst sagt: {said}',
    unknown_field: 'Dieses Feld kennt der Dienst nicht.',
    invalid_phone: 'Keine Telefonnummer: Schreiben Sie + und 7 bis 15 Ziffern, etwa +4930123456.',
    invalid_email: 'Keine E-Mail-Adresse.', invalid_url: 'Keine Adresse im Web: Schreiben Sie etwa https://example.com/zeiten.',
    address_not_allowed: 'Diese Adresse darf der Dienst nicht anfragen. Der Dienst sagt: {said}',
    not_configured: 'Das ist im Dienst nicht eingerichtet. Der Dienst sagt: {said}', duplicate: 'Das ist zweimal genannt.',
    duplicate_number: 'Diese Nummer kommt zweimal vor.',
    fields: {
      to: { not_allowed: 'Muss nach „Von“ liegen: Zeiten gehen nicht über Mitternacht.' }, days: { required: 'Wählen Sie mindestens einen Tag.' },
      prefixes: { invalid: 'Schreiben Sie in jede Zeile + und 1 bis 15 Ziffern, etwa +4930.' },
      digits: { invalid_value: 'Nur 0–9, *, #, A–D, und w für eine halbe Sekunde.' },
      followUpIntervals: { wrong_type: 'Schreiben Sie ganze Zahlen, etwa 60, 1440.' }, timezone: { invalid: 'Keine Zeitzone wie Europe/Berlin.' },
      expiresAt: { out_of_range: 'Muss in der Zukunft liegen.' }, scopes: { out_of_range: 'Wählen Sie mindestens ein Recht.' },
      name: { not_allowed: 'Mit 1 bis 64 Buchstaben a–z, A–Z, Ziffern, _ und -.' }, description: { required: 'Sagen Sie dem Modell, wann es das benutzt.' },
      postCallWebhook: { invalid: 'Beginnen Sie mit https:// oder http:// und einem Host.' }, types: { required: 'Wählen Sie mindestens eines.' },
      transferDestination: { required: 'Nennen Sie eine Telefonnummer oder SIP-Adresse.' },
      startTime: { invalid_value: 'Schreiben Sie eine Zeit, etwa 09:00.' },
    },
  },
};
