// The one door to the vendored library.
export {
  html, render, useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useReducer,
} from '../vendor/htm-preact.js';
