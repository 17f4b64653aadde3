// What the service refuses, by code, and by the field's last name and code. {said} are the service's own words.
export default {
  problem: {
    own: '{said}', other: '{said}', required: 'This is needed.', wrong_type: 'This has the wrong form. {said}', out_of_range: 'Out of range. {said}',
    out_of_rangeRange: 'Between {from} and {to}.', out_of_rangeOrNever: 'Between {from} and {to}, or -1 for never.', not_allowed: 'This is not allowed. {said}',
    not_allowedChoice: 'Choose one of {list}.', invalid_valueChoice: 'Choose one of {list}.', not_found: 'This does not exist, or not any more.',
    invalid: 'This does not fit. {said}', invalid_value: 'This does not fit. {said}',
    too_long: 'This is too long. {said}', too_longMost: 'At most {most} characters.', not_allowedMost: 'At most {most} characters.',
    too_many: 'These are too many. {said}',
    unknown_field: 'The service does not know this field.', invalid_phone: 'Not a phone number: write + and 7 to 15 digits, such as +15551234567.',
    invalid_email: 'Not an e-mail address.', invalid_url: 'Not an address of the web: write one such as https://example.com/hours.',
    address_not_allowed: 'The service may not ask this address. {said}',
    not_configured: 'This is not set up in the service. {said}', duplicate: 'This is named twice.', duplicate_number: 'This number occurs twice.',
    fields: {
      to: { not_allowed: 'Must be later than “From”: hours do not cross midnight.' }, days: { required: 'Choose at least one day.' },
      prefixes: { invalid: 'Write + and 1 to 15 digits in each line, such as +4930.' },
      digits: { invalid_value: 'Only 0–9, *, #, A–D, and w for half a second.' },
      followUpIntervals: { wrong_type: 'Write whole numbers, such as 60, 1440.' }, timezone: { invalid: 'Not a time zone, such as Europe/Berlin.' },
      expiresAt: { out_of_range: 'Must be in the future.' }, scopes: { out_of_range: 'Choose at least one right.' },
      name: { not_allowed: 'Use 1 to 64 letters a–z, A–Z, digits, _ and -.' }, description: { required: 'Tell the model when to use it.' },
      postCallWebhook: { invalid: 'Begin with https:// or http:// and a host.' }, types: { required: 'Choose at least one.' },
      transferDestination: { required: 'Give a phone number or a SIP address.' }, startTime: { invalid_value: 'Write a time such as 09:00.' },
    },
  },
};
