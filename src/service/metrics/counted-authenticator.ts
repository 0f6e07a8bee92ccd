import type { ApiAuthenticator } from '#access/api-authenticator.ts'
import type { Metrics } from './metrics.ts'

/** Counts admitted and refused body bytes. */
export function countedAuthenticator(gate: ApiAuthenticator, { onBytes }: Pick<Metrics, 'onBytes'>): ApiAuthenticator {
  return {
    async admit(keyHash, bytes = 0) {
      const admission = await gate.admit(keyHash, bytes)
      if (admission.kind === 'admitted') onBytes('admitted', bytes)
      if (admission.kind === 'too_many_bytes') onBytes('refused', bytes)
      return admission
    },
    async charge(companyId, bytes) {
      const charge = await gate.charge(companyId, bytes)
      onBytes(charge.isCounted ? 'admitted' : 'refused', bytes)
      return charge
    },
  }
}
