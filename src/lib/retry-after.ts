/** The forms of RFC 9110 5.6.7: IMF-fixdate, RFC 850, asctime. All begin with the day of the week. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w: -]+$/i

/**
 * Milliseconds that a Retry-After header asks to wait, in seconds or until a date: at least 0, of any size. Null if it is
 * absent or in no known form. `now` in Unix ms.
 */
export function parseRetryAfter_ms(header: string | readonly string[] | undefined, now: number): number | null {
  const text = (typeof header === 'string' ? header : header?.[0])?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1000
  if (!HTTP_DATE.test(text)) return null
  const until = Date.parse(/\bGMT$/i.test(text) ? text : `${text} GMT`)
  return Number.isNaN(until) ? null : Math.max(0, until - now)
}
