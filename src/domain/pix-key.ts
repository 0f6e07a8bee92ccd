import * as z from 'zod'
import { bareTaxNumber, isCnpj, isCpf } from './person-values.ts'
import { Email, limitedText } from './text.ts'

const EXPECTED = 'deve ser uma chave Pix: CPF, CNPJ, telefone com DDD, e-mail ou chave aleatória'

/** Longest key of the central bank's directory: an e-mail. */
const MAX_LENGTH = 77

const RANDOM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Area code, then a mobile number or one of a fixed line. */
const NUMBER = /^(?:[14689][1-9]|2[12478]|3[1-578]|5[1345]|7[134579])(?:9\d{8}|[2-5]\d{7})$/

/** `+55`, area code and number; null if the text is no Brazilian phone, or a CPF with a wrong digit. */
function phoneOf(text: string): string | null {
  if (!/^[\d\s()+-]+$/.test(text)) return null
  const digits = text.replace(/\D/g, '')
  const own = /^\s*\+/.test(text) || digits.length > 11 ? /^55(\d{10,11})$/.exec(digits)?.[1] : digits
  return own && NUMBER.test(own) ? `+55${own}` : null
}

/** A key as the directory has it; null if it is of no kind. Eleven digits are a CPF if they can be one. */
function pixKeyOf(typed: string): string | null {
  const text = typed.trim()
  if (text.includes('@')) return Email.safeParse(text).data ?? null
  if (RANDOM.test(text)) return text.toLowerCase()
  if (/^[+(]/.test(text)) return phoneOf(text)
  const number = bareTaxNumber(text)
  return isCpf(number) || isCnpj(number) ? number : phoneOf(text)
}

/** Key by which a shop receives Pix. */
export const PixKey = limitedText(200, EXPECTED).transform((typed, context) => {
  const key = pixKeyOf(typed)
  if (key !== null && key.length <= MAX_LENGTH) return key
  context.addIssue({ code: 'custom', message: EXPECTED })
  return z.NEVER
})
