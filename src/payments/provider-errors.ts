import { MercadoPagoError } from 'mercadopago'
import { printable } from '#domain/validation.ts'
import { type ProviderCause, ProviderMisconfigured, ProviderRefused, ProviderUnavailable } from './provider-port.ts'

/** The credentials are missing, wrong, or not allowed to do this. */
const CREDENTIALS: readonly number[] = [401, 403]

/** The provider may answer otherwise in a moment: time-out, conflict with a call under way, locked, failed dependency, too early, too many. */
const PASSING: readonly number[] = [408, 409, 423, 424, 425, 429]

/** Causes that are told of a refusal; the provider names one or two. */
const MAX_CAUSES = 5

/**
 * What a failed call means. The provider's own texts are passed on only for a refusal, bounded and without any of `secrets`;
 * nothing of what was sent is ever part of an error.
 */
export function providerError(error: unknown, secrets: readonly string[]): Error {
  if (error instanceof ProviderUnavailable || error instanceof ProviderMisconfigured) return error
  const status = statusOf(error)
  if (CREDENTIALS.includes(status)) return new ProviderMisconfigured(`the provider answered ${status}`)
  const isRefusal = status >= 400 && status < 500 && !PASSING.includes(status)
  if (isRefusal) return new ProviderRefused(causesOf(error as MercadoPagoError, secrets))
  if (status > 0) return new ProviderUnavailable(`the provider answered ${status}`)
  return new ProviderUnavailable(`the provider gave no usable answer: ${kindOf(error)}`)
}

/** The HTTP status that an error of the SDK stands for; 0 when there was no answer. */
export const statusOf = (error: unknown): number => (error instanceof MercadoPagoError ? Number(error.status) || 0 : 0)

function causesOf(error: MercadoPagoError, secrets: readonly string[]): ProviderCause[] {
  const safe = (value: unknown) =>
    printable(secrets.reduce((text, secret) => text.replaceAll(secret, '…'), String(value ?? '')))
  const causes: unknown = error.causes
  const listed = Array.isArray(causes) ? causes.filter((cause) => typeof cause === 'object' && cause !== null) : []
  if (listed.length === 0) return [{ code: safe(error.error || error.status), description: safe(error.message) }]
  return listed
    .slice(0, MAX_CAUSES)
    .map(({ code, description }) => ({ code: safe(code), description: safe(description) }))
}

/** What went wrong on the way, by the names that Node gives to it: never a text that could repeat what was sent. */
function kindOf(error: unknown): string {
  const causes: string[] = []
  let cause = error
  while (cause instanceof Error && causes.length < 5) {
    causes.push((cause as { code?: string }).code ?? cause.name)
    cause = (cause as { __cause__?: unknown }).__cause__ ?? cause.cause
  }
  return causes.join(' < ')
}
