// All pages: address, module, and the place in the navigation.
/**
 * @typedef {object} Route
 * @property {string} path `:name` is a parameter.
 * @property {string} title Key of the text in the tab and of the page's heading.
 * @property {string} [nav] The navigation entry that is marked; its own path if missing.
 * @property {() => Promise<{ default: (props: { params: Record<string, string> }) => any }>} load
 */
/** @type {Route[]} */
export const routes = [
  { path: '/', title: 'overview.title', load: () => import('./pages/overview.js') },
  { path: '/campaigns', title: 'campaigns.title', load: () => import('./pages/campaigns.js') },
  { path: '/campaigns/new', title: 'newCampaign.title', nav: '/campaigns', load: () => import('./pages/new-campaign.js') },
  { path: '/campaigns/:id', title: 'campaign.title', nav: '/campaigns', load: () => import('./pages/campaign.js') },
  { path: '/live', title: 'liveCalls.title', load: () => import('./pages/live.js') },
  { path: '/calls', title: 'calls.title', load: () => import('./pages/calls.js') },
  { path: '/calls/:id', title: 'call.title', nav: '/calls', load: () => import('./pages/call.js') },
  { path: '/analytics', title: 'analytics.title', load: () => import('./pages/analytics.js') },
  { path: '/appointments', title: 'appointments.title', load: () => import('./pages/appointments.js') },
  { path: '/knowledge', title: 'knowledge.title', load: () => import('./pages/knowledge.js') },
  { path: '/tools', title: 'tools.title', load: () => import('./pages/tools.js') },
  { path: '/contacts', title: 'contacts.title', load: () => import('./pages/contacts.js') },
  { path: '/do-not-call', title: 'doNotCall.title', load: () => import('./pages/do-not-call.js') },
  { path: '/numbers', title: 'numbers.title', load: () => import('./pages/numbers.js') },
  { path: '/safeguards', title: 'safeguards.title', load: () => import('./pages/safeguards.js') },
  { path: '/settings', title: 'settings.title', load: () => import('./pages/settings.js') },
  { path: '/settings/webhooks/:id', title: 'webhooks.one', nav: '/settings', load: () => import('./pages/webhook.js') },
  { path: '/agents', title: 'agents.title', load: () => import('./pages/agents.js') },
  { path: '/agents/new', title: 'agents.new', nav: '/agents', load: () => import('./pages/new-agent.js') },
  { path: '/agents/:id', title: 'agent.title', nav: '/agents', load: () => import('./pages/agent.js') },
  { path: '/agents/:id/versions', title: 'agentVersions.title', nav: '/agents', load: () => import('./pages/agent-versions.js') },
  { path: '/profile', title: 'profile.title', load: () => import('./pages/profile.js') },
];

/** The navigation: groups of paths with the icon of each. A path without a route is left out. @type {{ path: string, icon: string }[][]} */
export const navigation = [
  [{ path: '/', icon: 'home' }, { path: '/campaigns', icon: 'campaign' }, { path: '/live', icon: 'live' }, { path: '/calls', icon: 'phone' },
     { path: '/analytics', icon: 'chart' }, { path: '/appointments', icon: 'calendar' }],
  [{ path: '/agents', icon: 'agent' }, { path: '/knowledge', icon: 'book' }, { path: '/tools', icon: 'tool' }],
  [{ path: '/contacts', icon: 'people' }, { path: '/do-not-call', icon: 'block' }, { path: '/numbers', icon: 'hash' }, { path: '/safeguards', icon: 'shield' }],
  [{ path: '/settings', icon: 'gear' }],
];
