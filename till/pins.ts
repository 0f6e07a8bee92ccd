import { toHex } from './chain.ts'
import type { Operator } from './stored.ts'

const ITERATIONS = 200_000
export const MAX_WRONG_PINS = 5

async function hashPin(pin: string, salt: Uint8Array): Promise<string> {
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(pin), 'PBKDF2', false, ['deriveBits'])
  const method = { name: 'PBKDF2', hash: 'SHA-256', salt: salt as Uint8Array<ArrayBuffer>, iterations: ITERATIONS }
  return toHex(new Uint8Array(await crypto.subtle.deriveBits(method, key, 256)))
}

export const isPin = (text: string): boolean => /^\d{4,8}$/.test(text)

export async function withPin(operator: Operator, pin: string): Promise<Operator> {
  const salt = crypto.getRandomValues(new Uint8Array(16))
  return { ...operator, pin: { salt, hash: await hashPin(pin, salt) }, wrongPins: 0 }
}

/** The operator after a try: a wrong one counts, a right one forgets the wrong ones. */
export async function tryPin(operator: Operator, pin: string): Promise<{ isRight: boolean; operator: Operator }> {
  if (!operator.pin || operator.wrongPins >= MAX_WRONG_PINS) return { isRight: false, operator }
  const isRight = (await hashPin(pin, operator.pin.salt)) === operator.pin.hash
  return { isRight, operator: { ...operator, wrongPins: isRight ? 0 : operator.wrongPins + 1 } }
}
