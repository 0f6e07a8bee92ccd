import type { RequestHandler, Response } from 'express'

/** How the provider's endpoints behave: as they should, or in one of the ways in which they fail. */
export const FAULTS = ['none', 'slow', 'down', 'error', 'limited', 'html', 'wrong_types', 'huge', 'trickle'] as const
export type Fault = (typeof FAULTS)[number]

export interface Faults {
  mode: Fault
  /** How late an answer is in mode `slow`. */
  delay_ms: number
  /** Calls that arrived, whatever was made of them. */
  calls: number
}

const HUGE_BYTES = 8 * 1024 * 1024
const TRICKLE_EVERY_MS = 200

const WRONG_TYPES = { id: {}, status: 7, transaction_amount: 'much', live_mode: 'yes', external_reference: [] }

const BROKEN: { readonly [F in Exclude<Fault, 'none' | 'slow'>]: (response: Response) => void } = {
  down: (response) => response.destroy(),
  error: (response) => response.status(500).json({ message: 'internal_error', error: 'internal_error', status: 500 }),
  limited: (response) => response.status(429).set('Retry-After', '1').json({ message: 'too many requests' }),
  html: (response) => response.type('html').send('<!doctype html><title>Maintenance</title>'),
  wrong_types: (response) => response.json({ ...WRONG_TYPES, results: [WRONG_TYPES] }),
  huge: (response) => response.type('json').send(`{"id":1,"status":"${'x'.repeat(HUGE_BYTES)}"}`),
  trickle(response) {
    response.type('json').write('{"id":')
    const timer = setInterval(() => response.write(' '), TRICKLE_EVERY_MS)
    response.on('close', () => clearInterval(timer))
  },
}

/** Behaves as the fault in force says, before or instead of the endpoint. */
export function failing(faults: Faults): RequestHandler {
  return (_request, response, next) => {
    faults.calls += 1
    const { mode } = faults
    if (mode === 'none') return next()
    if (mode !== 'slow') return BROKEN[mode](response)
    const timer = setTimeout(next, faults.delay_ms)
    response.on('close', () => clearTimeout(timer))
  }
}
