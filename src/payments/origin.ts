import { InvalidWebhookSignatureError, WebhookSignatureValidator } from 'mercadopago'

/** What says where a notification comes from. */
interface Origin {
  /** `data.id` of the payload: the payment that it speaks of. */
  readonly dataId: string | null
  /** Headers `x-signature` and `x-request-id`, as received. */
  readonly signature: string | undefined
  readonly requestId: string | undefined
}

/**
 * Whether a notification was signed with the secret, by the provider's own validator. The signature covers data.id, the
 * request id and a time; what is not covered is never believed. No tolerance for the time: the provider repeats for days,
 * and a repetition changes nothing (RCV-6).
 */
export function isSigned({ dataId, signature, requestId }: Origin, secret: string): boolean {
  const base = { xSignature: signature, xRequestId: requestId, secret }
  // The provider signs ids with letters in lower case; the validator takes what it is given.
  return [dataId?.toLowerCase(), dataId].some((id) => isValid({ ...base, dataId: id }))
}

function isValid(options: Parameters<typeof WebhookSignatureValidator.validate>[0]): boolean {
  try {
    WebhookSignatureValidator.validate(options)
    return true
  } catch (error) {
    if (error instanceof InvalidWebhookSignatureError) return false
    throw error
  }
}
