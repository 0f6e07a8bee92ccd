import { Unavailable } from './errors.ts'

/**
 * The company is on another shard (SHARD-42). The shard router forwards the request there; a caller that cannot be
 * forwarded gets 503.
 */
export class WrongShardError extends Unavailable {
  constructor(readonly companyId: number) {
    super(`company ${companyId} lives in another shard`)
  }
}
