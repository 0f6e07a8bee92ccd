/**
 * The digits by which phones compare: without Brazil's country code and the zero of long-distance calls. `55` at the
 * beginning of at most eleven digits is an area code.
 */
export const phoneKey = (digits: string): string =>
  digits.replace(/^55(?=\d{10,11}$)/, '').replace(/^0(?=\d{10,11}$)/, '')
