// Icons: strokes on a 20 × 20 grid, in the colour of the text.
import { html } from '../lib/ui.js';

const paths = /** @type {Record<string, string>} */ ({
  home: 'M3 9.500 10 4l7 5.500V16a1 1 0 0 1-1 1h-3.500v-4.500h-5V17H4a1 1 0 0 1-1-1z',
  campaign: 'M3 8v4l2 .500L6.500 17H9l-1-4 8 3V4L5 8zM16 8.500v3',
  phone: 'M6.500 3H4a1 1 0 0 0-1 1c0 7.200 5.800 13 13 13a1 1 0 0 0 1-1v-2.500l-3.500-1.500-1.500 1.500A9 9 0 0 1 6.500 8L8 6.500z',
  live: 'M10 11.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM6.500 13.500a5 5 0 0 1 0-7M13.500 '
    + '6.500a5 5 0 0 1 0 7M4 16a8.500 8.500 0 0 1 0-12M16 4a8.500 8.500 0 0 1 0 12',
  chart: 'M3 17h14M5.500 14V9M10 14V4M14.500 14v-3.500',
  calendar: 'M4 5h12v12H4zM4 9h12M7 3v3M13 3v3',
  agent: 'M10 10a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM3.500 17c.500-3 3-5 6.500-5s6 2 6.500 5',
  book: 'M4 4.500C6 3.500 8 3.500 10 5c2-1.500 4-1.500 6-.500v11c-2-1-4-1-6 .500-2-1.500-4-1.500-6-.500zM10 5v11',
  tool: 'M12.500 3.500a4 4 0 0 0-3.700 5.600L3.500 14.400v2.100h2.100l5.300-5.300a4 4 0 0 0 5.400-4.700l-2.300 2.300-2.300-.500-.500-2.300 '
    + '2.200-2.200a4 4 0 0 0-.900-.300z',
  people: 'M7.500 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2 16.500c.300-2.700 2.500-4.500 5.500-4.500s5.200 1.800 5.500 4.500M13 4.300a3 3 0 0 1 0 5.400M15 '
    + '12.500c1.700.600 2.800 2 3 4',
  block: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM5 5l10 10',
  hash: 'M8 3 6.500 17M13.500 3 12 17M3.500 7.500h13.500M3 12.500h13.500',
  shield: 'M10 3 4 5v4.500c0 3.500 2.500 6.200 6 7.500 3.500-1.300 6-4 6-7.500V5z',
  gear: 'M10 12.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM10 2.500v2.200M10 15.300v2.200M2.500 10h2.200M15.300 10h2.200M4.700 4.700l1.600 '
    + '1.600M13.700 13.700l1.600 1.600M15.300 4.700l-1.600 1.600M6.300 13.700l-1.600 1.600',
  exit: 'M8 3H4v14h4M13 6l4 4-4 4M17 10H8',
  menu: 'M3 6h14M3 10h14M3 14h14',
  plus: 'M10 4v12M4 10h12',
  upload: 'M10 13V4M6 8l4-4 4 4M4 13v3h12v-3',
  play: 'M6 4l10 6-10 6z',
  pause: 'M7 4v12M13 4v12',
  stop: 'M5 5h10v10H5z',
  filter: 'M3 5h14M6 10h8M8.500 15h3',
  check: 'M4 10.500 8 14.500 16 6',
  warning: 'M10 3 2.500 16.500h15zM10 8v4M10 14v.500',
});

/** @param {{ name: string }} props */
export const Icon = ({ name }) => html`<svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path d=${paths[name]} /></svg>`;

/** The name of the product with its mark. */
export const Brand = () => html`
  <span class="brand"><img src=${new URL('../icon.svg', import.meta.url).pathname} alt="" width="24" height="24" />Ringback</span>`;
