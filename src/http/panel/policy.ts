/**
 * The Content-Security-Policy of every page of the panel: all that it loads, runs and asks comes from this service, nothing
 * stands inline in the page, and nobody shows it in a frame. An image may be in the page itself (`data:`): a logo, a chart.
 */
export const PANEL_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** A form that is refused comes back with what is wrong in it; other failures leave the page as it is (assets/panel.js tells them). */
const RESPONSE_HANDLING = [
  { code: '204', swap: false },
  { code: '[23]..', swap: true },
  { code: '422', swap: true },
  { code: '[45]..', swap: false, error: true },
]

/**
 * The content of `<meta name="htmx-config">`. It keeps htmx within the policy, so no page can use `hx-on`, `js:` values or
 * filters of `hx-trigger`, and lets fetched parts of pages bring no scripts. Pages that are left are not kept in the
 * browser's storage, where whoever uses the computer next could read them: going back loads them anew.
 */
export const HTMX_CONFIG = JSON.stringify({
  allowEval: false,
  allowScriptTags: false,
  includeIndicatorStyles: false,
  selfRequestsOnly: true,
  historyCacheSize: 0,
  refreshOnHistoryMiss: true,
  responseHandling: RESPONSE_HANDLING,
})
