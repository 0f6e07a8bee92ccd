import { hash } from '@node-rs/argon2'

/** A hash that the service takes as any other, made and checked at the least cost: that of its own is paid in test/access/. */
export const cheapHash = (password: string): Promise<string> =>
  hash(password, { memoryCost: 8, timeCost: 1, parallelism: 1 })
