import { InvalidWebhookSignatureError, WebhookSignatureValidator } from 'mercadopago'

/** Data that authenticates a notification. */
interface Origin {
  /** `data.id` of the payload: the payment concerned. */
  readonly dataId: string | null
  /** Headers `x-signature` and `x-request-id`, as received. */
  readonly signature: string | undefined
  readonly requestId: string | undefined
}

/**
 * Verifies the signature of a notification with the provider's own validator. It covers data.id, the request id and a
 * time; everything else is untrusted. No time tolerance: the provider repeats for days, and a repetition changes
 * nothing (RCV-6).
 */
export function isSigned({ dataId, signature, requestId }: Origin, secret: string): boolean {
  const base = { xSignature: signature, xRequestId: requestId, secret }
  // The provider signs ids in lower case; the validator takes them as given.
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
