// All texts of the dashboard, by page. Values in braces are filled in; { one, other } are chosen by `n`.
export default {
  common: {
    cancel: 'Cancel', save: 'Save', delete: 'Delete', close: 'Close', retry: 'Try again', dismiss: 'Dismiss', loading: 'Loading …',
    nothing: 'Nothing here yet.', columns: 'Columns', copy: 'Copy', copied: 'Copied.', all: 'All', search: 'Search',
  },
  shell: {
    skip: 'Skip to content', menu: 'Menu', navigation: 'Main navigation', signOut: 'Sign out', notFound: 'There is no such page',
    toOverview: 'Go to the overview', lost: 'The connection is lost. It is tried again by itself; nothing you typed is lost.',
    busy: 'The service is busy. Requests are sent again by themselves.',
    updated: 'This page could not be loaded. The dashboard may have been updated.', reload: 'Load again',
  },
  signIn: {
    title: 'Sign in', email: 'E-mail address', key: 'API key', keyHelp: 'It is exchanged for a session and not kept in the browser.',
    submit: 'Sign in', again: 'Your session has ended', kept: 'Sign in again to go on where you were. Nothing you typed is lost.',
    linkUsed: 'This login link was used already or is older than 10 minutes. Make a new one, or sign in with your key.',
    noKey: 'Without a key', linkHelp: 'On the machine of the service, make a link that signs you in once:',
    createHelp: 'If there is no account yet, create one:', exampleEmail: 'you@example.com',
  },
  form: {
    optional: 'optional', default: 'default: {value}', nothing: 'not set', yes: 'yes', no: 'no', changes: 'What changes', sending: 'Sending …',
    leave: 'Leave without saving your changes?',
  },
  error: {
    unknown: 'Something went wrong in this page. Load it again.', network: 'The service cannot be reached at the moment.',
    unauthorized: 'E-mail address or key is wrong.', not_found: 'This does not exist, or not any more.',
    overloaded: 'The service has too much to do at the moment. Try again soon.', unavailable: 'The service is not available at the moment. Try again soon.',
    storage_full: 'The disk of the service is full: nothing can be saved until there is room.', rate_limited: 'Too many requests. Wait a moment.',
    internal: 'The service made a mistake. Its log has the details.',
  },
  status: {
    draft: 'Draft', waiting: 'Waiting', running: 'Running', delayed: 'Delayed', paused: 'Paused', stopped: 'Stopped', completed: 'Completed',
    failed: 'Failed', cancelled: 'Cancelled', pending: 'Pending', in_progress: 'In progress', scheduled: 'Scheduled', positive: 'Positive',
    neutral: 'Neutral', negative: 'Negative',
  },
  overview: { title: 'Overview' },
  campaigns: { title: 'Campaigns' },
  campaign: { title: 'Campaign' },
  newCampaign: { title: 'New campaign' },
  profile: { title: 'Profile' },
};
